#include "store/inside.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdio.h>

/* One key for the life of a store, and no count of its uses: keys are few, and a store of tokens that writes 35,000
 * of them a second without a pause uses 2^32 nonces in 34 hours, where the chance that any two of them are alike is
 * 2^-33; it grows with the square. Whoever gets near that makes a new store from a backup and a new passphrase. */
struct seal {
    struct fl_secret *key;
    EVP_CIPHER_CTX   *closing, *opening; /* with the key set: a record sets its nonce only */
};

enum { KEY_BYTES = 32 };

void seal_free(struct seal *s)
{
    if (s == NULL)
        return;
    EVP_CIPHER_CTX_free(s->closing);
    EVP_CIPHER_CTX_free(s->opening);
    fl_secret_free(s->key);
    free(s);
}

static bool set_key(struct seal *s)
{
    EVP_CIPHER    *gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    const uint8_t *key = fl_secret_slice(s->key).at;
    bool           set;

    s->closing = EVP_CIPHER_CTX_new();
    s->opening = EVP_CIPHER_CTX_new();
    set = gcm != NULL && s->closing != NULL && s->opening != NULL &&
          EVP_EncryptInit_ex2(s->closing, gcm, key, NULL, NULL) == 1 &&
          EVP_DecryptInit_ex2(s->opening, gcm, key, NULL, NULL) == 1;
    EVP_CIPHER_free(gcm); /* the contexts hold it */
    return set;
}

static enum fl_status derive_key(struct fl_secret *key, struct fl_slice passphrase, const struct scrypt_params *p,
                                 const uint8_t salt[SCRYPT_SALT], struct fl_error *err)
{
    uint64_t memory = (uint64_t)128 * p->r * (p->n + p->p + 2);

    /* Its block is so large that malloc maps it, and unmaps it at the end. */
    if (EVP_PBE_scrypt((const char *)passphrase.at, passphrase.len, salt, SCRYPT_SALT, p->n, p->r, p->p, memory,
                       fl_secret_bytes(key), KEY_BYTES) != 1)
        return fl_fail(err, FL_NO_MEMORY, 0, "scrypt (N=%u, r=%u, p=%u) failed: it needs %llu KiB of memory", p->n,
                       p->r, p->p, (unsigned long long)memory / 1024);
    return FL_OK;
}

static enum fl_status fill_seal(struct seal *s, struct fl_slice passphrase, const struct scrypt_params *params,
                                const uint8_t salt[SCRYPT_SALT], struct fl_error *err)
{
    enum fl_status status;

    if ((s->key = fl_secret_new(KEY_BYTES)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the store's key");
    if ((status = derive_key(s->key, passphrase, params, salt, err)) != FL_OK)
        return status;
    if (!set_key(s))
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for AES-256-GCM, or libcrypto does not offer it");
    return FL_OK;
}

enum fl_status seal_new(struct seal **out, struct fl_slice passphrase, const struct scrypt_params *params,
                        const uint8_t salt[SCRYPT_SALT], struct fl_error *err)
{
    struct seal   *s = calloc(1, sizeof *s);
    enum fl_status status;

    if (s == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the store's key");
    if ((status = fill_seal(s, passphrase, params, salt, err)) == FL_OK)
        *out = s;
    else
        seal_free(s);
    return status;
}

static bool feed(EVP_CIPHER_CTX *c, uint8_t *out, struct fl_slice in, int *made)
{
    *made = 0;
    return in.len == 0 || (in.len <= INT32_MAX && EVP_CipherUpdate(c, out, made, in.at, (int)in.len) == 1);
}

static bool feed_place(EVP_CIPHER_CTX *c, const char *table, uint8_t format, struct fl_slice key)
{
    int made;

    return feed(c, NULL, fl_slice_of(table, strlen(table) + 1), &made) &&
           feed(c, NULL, fl_slice_of(&format, 1), &made) && feed(c, NULL, key, &made);
}

enum fl_status seal_close(struct seal *s, const char *table, struct fl_slice key, struct fl_slice value, uint8_t *out,
                          struct fl_error *err)
{
    EVP_CIPHER_CTX *c = s->closing;
    uint8_t        *nonce = out + 1, *text = nonce + SEAL_NONCE, *tag = text + value.len;
    int             made, rest;
    enum fl_status  status = fl_random(nonce, SEAL_NONCE, err);

    if (status != FL_OK)
        return status;
    out[0] = SEAL_FORMAT;
    if (EVP_EncryptInit_ex2(c, NULL, NULL, nonce, NULL) != 1 || !feed_place(c, table, SEAL_FORMAT, key) ||
        !feed(c, text, value, &made) || EVP_EncryptFinal_ex(c, tag, &rest) != 1 ||
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, SEAL_TAG, tag) != 1)
        return fl_fail(err, FL_SYSTEM, 0, "libcrypto failed at AES-256-GCM of %zu bytes", value.len);
    return FL_OK;
}

/* Record keys are names with a byte in front, or numbers: shown as text where they are, else in hex. */
static enum fl_status bad_record(const char *table, struct fl_slice key, const char *what, struct fl_error *err)
{
    char   shown[100];
    size_t len = 0;
    bool   text = true;

    for (size_t i = 0; i < key.len; i++)
        text = text && isprint(key.at[i]);
    for (size_t i = 0; i < key.len && len + 3 < sizeof shown; i++)
        len += (size_t)snprintf(shown + len, sizeof shown - len, text ? "%c" : "%02x", key.at[i]);
    shown[len] = '\0';
    return fl_fail(err, FL_MALFORMED, 0, "record '%s' of table %s %s", shown, table, what);
}

enum fl_status seal_open(struct seal *s, const char *table, struct fl_slice key, struct fl_slice sealed, uint8_t *out,
                         struct fl_error *err)
{
    EVP_CIPHER_CTX *c = s->opening;
    uint8_t         tag[SEAL_TAG];
    struct fl_slice text;
    int             made, rest;

    if (sealed.len < SEAL_OVERHEAD)
        return bad_record(table, key, "is too short: it is damaged", err);
    if (sealed.at[0] != SEAL_FORMAT)
        return bad_record(table, key, "has a format that this version doesn't know", err);
    text = fl_slice_of(sealed.at + 1 + SEAL_NONCE, sealed.len - SEAL_OVERHEAD);
    memcpy(tag, sealed.at + sealed.len - SEAL_TAG, SEAL_TAG);
    if (EVP_DecryptInit_ex2(c, NULL, NULL, sealed.at + 1, NULL) != 1 || !feed_place(c, table, SEAL_FORMAT, key) ||
        !feed(c, out, text, &made) || EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, SEAL_TAG, tag) != 1 ||
        EVP_DecryptFinal_ex(c, out + text.len, &rest) != 1) {
        fl_wipe(out, text.len);
        return bad_record(table, key, "doesn't open: it is damaged, or was moved here from another place", err);
    }
    return FL_OK;
}
