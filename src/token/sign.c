#include "token/sign.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <pthread.h>

static const struct {
    char   digest[8];
    size_t bytes;
} algorithms[] = {
    [TOKEN_HMAC_SHA1] = { "SHA1", 20 },
    [TOKEN_HMAC_SHA256] = { "SHA256", 32 },
    [TOKEN_HMAC_SHA384] = { "SHA384", 48 },
    [TOKEN_HMAC_SHA512] = { "SHA512", 64 },
};

struct contexts {
    EVP_MAC_CTX *of[FL_COUNT(algorithms)];
};

static pthread_once_t fetched = PTHREAD_ONCE_INIT;
static EVP_MAC       *hmac;
static pthread_key_t  mine;
static bool           ready;

static void free_contexts(void *at)
{
    struct contexts *c = at;

    for (size_t i = 0; i < FL_COUNT(c->of); i++)
        EVP_MAC_CTX_free(c->of[i]);
    free(c);
}

static void fetch(void)
{
    hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    ready = hmac != NULL && pthread_key_create(&mine, free_contexts) == 0;
}

static struct contexts *contexts_here(void)
{
    struct contexts *c;

    if (pthread_once(&fetched, fetch) != 0 || !ready)
        return NULL;
    if ((c = pthread_getspecific(mine)) != NULL)
        return c;
    if ((c = calloc(1, sizeof *c)) != NULL && pthread_setspecific(mine, c) != 0) {
        free(c);
        return NULL;
    }
    return c;
}

static EVP_MAC_CTX *context_of(enum token_algorithm a)
{
    struct contexts *c = contexts_here();
    char             digest[sizeof algorithms[a].digest];
    OSSL_PARAM       params[2];
    EVP_MAC_CTX     *made;

    if (c == NULL || c->of[a] != NULL)
        return c == NULL ? NULL : c->of[a];
    memcpy(digest, algorithms[a].digest, sizeof digest);
    params[0] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0);
    params[1] = OSSL_PARAM_construct_end();
    made = EVP_MAC_CTX_new(hmac);
    if (made != NULL && EVP_MAC_CTX_set_params(made, params) != 1) {
        EVP_MAC_CTX_free(made);
        return NULL;
    }
    return c->of[a] = made;
}

size_t token_password_bytes(enum token_algorithm a)
{
    return algorithms[a].bytes;
}

enum fl_status token_sign(enum token_algorithm a, struct fl_slice key, struct fl_slice identifier,
                          uint8_t password[TOKEN_PASSWORD_MAX], struct fl_error *err)
{
    static const uint8_t nothing[1];
    EVP_MAC_CTX         *c = context_of(a);
    size_t               len = 0;
    bool                 good;

    if (c == NULL)
        return fl_fail(err, FL_SYSTEM, 0, "OpenSSL gives no HMAC with %s", algorithms[a].digest);
    good = EVP_MAC_init(c, key.at, key.len, NULL) == 1 && EVP_MAC_update(c, identifier.at, identifier.len) == 1 &&
           EVP_MAC_final(c, password, &len, TOKEN_PASSWORD_MAX) == 1 && len == algorithms[a].bytes;
    /* The context lies in ordinary memory: what derives from the key is overwritten at once. */
    good = EVP_MAC_init(c, nothing, sizeof nothing, NULL) == 1 && good;
    return good ? FL_OK : fl_fail(err, FL_SYSTEM, 0, "OpenSSL failed at HMAC with %s", algorithms[a].digest);
}
