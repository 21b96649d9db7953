#include "auth/mac.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <pthread.h>
#include <stdatomic.h>

/* OpenSSL 3 looks an algorithm up by name under locks at every one-shot HMAC() and hashes the padded key each time,
 * which together cost several times the MAC of a cookie. So the algorithm is fetched once a process, and a thread
 * keeps a context already keyed for each of the secrets in use: current and previous, of at most two doors. */
enum { KEPT = 4 };

struct kept {
    uint64_t     id[KEPT];
    EVP_MAC_CTX *ctx[KEPT];
    unsigned     next; /* the one to be replaced */
};

static pthread_once_t             once = PTHREAD_ONCE_INIT;
static pthread_key_t              at_thread_end;
static bool                       have_key;
static EVP_MAC                   *hmac;
static _Thread_local struct kept *mine;

static void free_kept(void *at)
{
    struct kept *k = at;

    for (unsigned i = 0; i < KEPT; i++)
        EVP_MAC_CTX_free(k->ctx[i]);
    free(k);
    mine = NULL;
}

static void fetch_once(void)
{
    hmac = EVP_MAC_fetch(NULL, OSSL_MAC_NAME_HMAC, NULL);
    have_key = pthread_key_create(&at_thread_end, free_kept) == 0;
}

uint64_t auth_mac_id(void)
{
    static atomic_uint_fast64_t last;

    return atomic_fetch_add(&last, 1) + 1;
}

static struct kept *contexts(void)
{
    if (mine != NULL)
        return mine;
    pthread_once(&once, fetch_once);
    if (hmac == NULL || !have_key || (mine = calloc(1, sizeof *mine)) == NULL)
        return NULL;
    if (pthread_setspecific(at_thread_end, mine) != 0) {
        free(mine);
        mine = NULL;
    }
    return mine;
}

static EVP_MAC_CTX *keyed(struct kept *k, uint64_t id, struct fl_slice key)
{
    char         digest[] = "SHA256";
    OSSL_PARAM   params[] = { OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                              OSSL_PARAM_construct_end() };
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(hmac);

    if (ctx == NULL || EVP_MAC_init(ctx, key.at, key.len, params) != 1) {
        EVP_MAC_CTX_free(ctx);
        return NULL;
    }
    EVP_MAC_CTX_free(k->ctx[k->next]);
    k->ctx[k->next] = ctx;
    k->id[k->next] = id;
    k->next = (k->next + 1) % KEPT;
    return ctx;
}

bool auth_mac(uint64_t id, struct fl_slice key, struct fl_slice text, uint8_t out[AUTH_MAC_LEN])
{
    struct kept *k = contexts();
    EVP_MAC_CTX *ctx = NULL;
    size_t       len = 0;

    if (k == NULL)
        return false;
    for (unsigned i = 0; i < KEPT && ctx == NULL; i++)
        if (k->id[i] == id)
            ctx = k->ctx[i];
    if (ctx == NULL)
        ctx = keyed(k, id, key);
    else if (EVP_MAC_init(ctx, NULL, 0, NULL) != 1) /* starts again under the key it has */
        return false;
    return ctx != NULL && EVP_MAC_update(ctx, text.at, text.len) == 1 &&
           EVP_MAC_final(ctx, out, &len, AUTH_MAC_LEN) == 1 && len == AUTH_MAC_LEN;
}
