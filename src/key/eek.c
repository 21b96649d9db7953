#include "key/key.h"

#include <openssl/evp.h>
#include <pthread.h>

/* OpenSSL 3 looks a cipher up by name at each use of EVP_aes_*, and a context that is given a cipher again throws its
 * state away. So the ciphers are fetched once a process, and each thread keeps one context a key length: a call sets
 * key and IV only, which allocates nothing. */
enum { SIZES = 3, POOL_BYTES = 1024 };

static const char *const cipher_names[SIZES] = { "AES-128-CTR", "AES-192-CTR", "AES-256-CTR" };
static EVP_CIPHER       *ciphers[SIZES];

/* Random bytes taken ahead of need, wiped as they are handed out. They lie in a secret: locked, and emptied in a
 * forked child, since all zeros means that none are left. */
struct pool {
    size_t  left; /* of bytes, at the end */
    uint8_t bytes[POOL_BYTES];
};

struct thread_state {
    EVP_CIPHER_CTX   *contexts[SIZES];
    struct fl_secret *pool;
};

static pthread_once_t                once = PTHREAD_ONCE_INIT;
static pthread_key_t                 at_thread_end;
static bool                          usable;
static __thread struct thread_state *here;

static void free_state(void *arg)
{
    struct thread_state *t = arg;

    for (int i = 0; i < SIZES; i++)
        EVP_CIPHER_CTX_free(t->contexts[i]);
    fl_secret_free(t->pool);
    free(t);
}

static void prepare_process(void)
{
    usable = pthread_key_create(&at_thread_end, free_state) == 0;
    for (int i = 0; i < SIZES; i++) {
        ciphers[i] = EVP_CIPHER_fetch(NULL, cipher_names[i], NULL);
        usable = usable && ciphers[i] != NULL;
    }
}

static bool fill_state(struct thread_state *t)
{
    t->pool = fl_secret_new(sizeof(struct pool));
    if (t->pool == NULL)
        return false;
    for (int i = 0; i < SIZES; i++) {
        t->contexts[i] = EVP_CIPHER_CTX_new();
        if (t->contexts[i] == NULL || EVP_EncryptInit_ex2(t->contexts[i], ciphers[i], NULL, NULL, NULL) != 1)
            return false;
    }
    return true;
}

/* The calling thread's own, made at its first use; NULL without memory or ciphers. */
static struct thread_state *thread_state(void)
{
    struct thread_state *t = here;

    if (t != NULL)
        return t;
    pthread_once(&once, prepare_process);
    if (!usable || (t = calloc(1, sizeof *t)) == NULL)
        return NULL;
    if (!fill_state(t) || pthread_setspecific(at_thread_end, t) != 0) {
        free_state(t);
        return NULL;
    }
    return here = t;
}

static enum fl_status take_random(struct thread_state *t, uint8_t *out, size_t len, struct fl_error *err)
{
    struct pool *p = (struct pool *)(void *)fl_secret_bytes(t->pool);
    uint8_t     *from;

    if (p->left < len) {
        enum fl_status s = fl_random(p->bytes, sizeof p->bytes, err);
        if (s != FL_OK)
            return s;
        p->left = sizeof p->bytes;
    }
    from = p->bytes + sizeof p->bytes - p->left;
    memcpy(out, from, len);
    fl_wipe(from, len);
    p->left -= len;
    return FL_OK;
}

static EVP_CIPHER_CTX *context_for(const struct thread_state *t, size_t kek_len)
{
    switch (kek_len) {
    case 16: return t->contexts[0];
    case 24: return t->contexts[1];
    case 32: return t->contexts[2];
    default: return NULL;
    }
}

static enum fl_status no_state(struct fl_error *err)
{
    return fl_fail(err, FL_NO_MEMORY, 0, "no memory for AES-CTR, or libcrypto does not offer it");
}

static enum fl_status bad_length(size_t kek_len, struct fl_error *err)
{
    return fl_fail(err, FL_USAGE, 0, "a key of %zu bytes cannot encrypt keys: AES takes 16, 24 or 32", kek_len);
}

/* data and out may be the same bytes. */
static enum fl_status crypt_with(const struct thread_state *t, struct fl_slice kek, const uint8_t iv[KEY_IV_LEN],
                                 struct fl_slice data, uint8_t *out, struct fl_error *err)
{
    EVP_CIPHER_CTX *context = context_for(t, kek.len);
    uint8_t         counter[KEY_IV_LEN];
    int             made = 0;

    if (context == NULL)
        return bad_length(kek.len, err);
    if (data.len > INT32_MAX)
        return fl_fail(err, FL_USAGE, 0, "%zu bytes to encrypt, where %d are allowed", data.len, INT32_MAX);
    for (int i = 0; i < KEY_IV_LEN; i++)
        counter[i] = iv[i] ^ 0xff;
    /* The counter is all 128 bits, big-endian, and wraps: EVP's CTR mode does just that. */
    if (EVP_EncryptInit_ex2(context, NULL, kek.at, counter, NULL) != 1 ||
        (data.len > 0 && EVP_EncryptUpdate(context, out, &made, data.at, (int)data.len) != 1))
        return fl_fail(err, FL_SYSTEM, 0, "libcrypto failed at AES-CTR of %zu bytes", data.len);
    return FL_OK;
}

enum fl_status key_eek_crypt(struct fl_slice kek, const uint8_t iv[KEY_IV_LEN], struct fl_slice data, uint8_t *out,
                             struct fl_error *err)
{
    struct thread_state *t = thread_state();

    return t == NULL ? no_state(err) : crypt_with(t, kek, iv, data, out, err);
}

enum fl_status key_eek_generate(struct fl_slice kek, uint8_t iv[KEY_IV_LEN], uint8_t *eek, struct fl_error *err)
{
    struct thread_state *t = thread_state();
    uint8_t              dek[32];
    enum fl_status       s;

    if (t == NULL)
        return no_state(err);
    if (context_for(t, kek.len) == NULL)
        return bad_length(kek.len, err);
    s = take_random(t, iv, KEY_IV_LEN, err);
    if (s == FL_OK)
        s = take_random(t, dek, kek.len, err);
    if (s == FL_OK)
        s = crypt_with(t, kek, iv, fl_slice_of(dek, kek.len), eek, err);
    fl_wipe(dek, sizeof dek);
    return s;
}

enum fl_status key_eek_reencrypt(struct fl_slice from_kek, struct fl_slice to_kek, const uint8_t iv[KEY_IV_LEN],
                                 struct fl_slice eek, uint8_t *out, struct fl_error *err)
{
    struct thread_state *t = thread_state();
    enum fl_status       s;

    if (t == NULL)
        return no_state(err);
    if (context_for(t, to_kek.len) == NULL) /* before the plain DEK lies in out */
        return bad_length(to_kek.len, err);
    s = crypt_with(t, from_kek, iv, eek, out, err);
    if (s == FL_OK)
        s = crypt_with(t, to_kek, iv, fl_slice_of(out, eek.len), out, err);
    if (s != FL_OK)
        fl_wipe(out, eek.len);
    return s;
}
