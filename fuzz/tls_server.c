/* A server's TLS engine. First byte even: any bytes instead of a handshake, cut as a network cuts. Odd: any bytes as
 * records after a good handshake. Plaintext must never come out of them, and a failed engine must stay failed. */
#include "tls/provider.h"

#include "io/transport.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void need(bool fine)
{
    if (!fine)
        abort();
}

static void write_identity(FILE *f)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509     *x = X509_new();

    need(key != NULL && x != NULL);
    X509_gmtime_adj(X509_getm_notBefore(x), 0);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key);
    need(X509_sign(x, key, EVP_sha256()) > 0 && PEM_write_X509(f, x) == 1 &&
         PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1);
    X509_free(x);
    EVP_PKEY_free(key);
}

static struct tls_context *contexts[2]; /* server, client */

static void make_contexts(void)
{
    char              path[] = "/tmp/fl-fuzz-XXXXXX";
    int               fd = mkstemp(path);
    FILE             *f = fdopen(fd, "w");
    struct tls_config server = { .certificate_file = path }, client = { .client = true, .insecure_noverify = true };

    need(f != NULL);
    write_identity(f);
    fclose(f);
    need(tls_context_new(&contexts[0], &server, NULL) == FL_OK &&
         tls_context_new(&contexts[1], &client, NULL) == FL_OK);
    unlink(path);
}

static void carry(struct tls_engine *from, struct tls_engine *to)
{
    need(fl_buf_put_slice(&to->in, fl_buf_slice(&from->out)));
    fl_buf_consume(&from->out, fl_buf_len(&from->out));
}

static void shake(struct tls_engine *server)
{
    struct tls_engine *client = NULL;

    need(tls_context_engine(contexts[1], &client, NULL, NULL) == FL_OK);
    need(client->provider->step(client, NULL) == FL_WANT_READ);
    carry(client, server);
    need(server->provider->step(server, NULL) == FL_WANT_READ);
    carry(server, client);
    need(client->provider->step(client, NULL) == FL_OK);
    carry(client, server);
    need(server->provider->step(server, NULL) == FL_OK);
    client->provider->free(client);
}

/* One call with what has come so far; true as long as the engine may go on. */
static bool ask(struct tls_engine *e, bool shaken)
{
    uint8_t         bytes[17000];
    struct fl_buf   plain = { .data = bytes, .cap = sizeof bytes, .limit = sizeof bytes };
    struct fl_error err = { FL_OK, 0, "" }, again = { FL_OK, 0, "" };
    enum fl_status  s = shaken ? e->provider->read(e, &plain, &err) : e->provider->step(e, &err);

    need(s != FL_OK && s != FL_CLOSED && fl_buf_len(&plain) == 0);
    if (s == FL_WANT_READ)
        return true;
    need(err.text[0] != '\0' && e->provider->step(e, &again) == s);
    need(fl_slice_equal(fl_slice_str(err.text), fl_slice_str(again.text)));
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    bool               shaken = len > 0 && data[0] % 2 == 1;
    size_t             step = len > 1 ? 1 + data[1] : 1;
    struct tls_engine *e = NULL;

    if (contexts[0] == NULL)
        make_contexts();
    need(tls_context_engine(contexts[0], &e, NULL, NULL) == FL_OK);
    if (shaken)
        shake(e);
    for (size_t i = 2; i < len; i += step) {
        need(fl_buf_put(&e->in, data + i, len - i < step ? len - i : step));
        if (!ask(e, shaken))
            break;
    }
    e->provider->free(e);
    return 0;
}
