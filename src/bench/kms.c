#include "bench/kms.h"

#include <assert.h>
#include <jansson.h>
#include <netdb.h>
#include <stdio.h>

enum { URL_MAX = 2048 };

struct talk {
    const struct kms_bench_config *config;
    struct http_session           *session;
};

/* One request; *reply is the caller's to end. extra: header lines. */
static enum fl_status ask(struct talk *t, const char *method, struct fl_slice extra, struct fl_slice body,
                          struct http_reply *reply, struct fl_error *err, const char *tail_format, ...) FL_PRINTF(7, 8);
static enum fl_status ask(struct talk *t, const char *method, struct fl_slice extra, struct fl_slice body,
                          struct http_reply *reply, struct fl_error *err, const char *tail_format, ...)
{
    char    url[URL_MAX];
    int     at = snprintf(url, sizeof url, "%s", t->config->url), n;
    va_list args;

    va_start(args, tail_format);
    n = vsnprintf(url + at, sizeof url - (size_t)at, tail_format, args);
    va_end(args);
    if (n < 0 || (size_t)(at + n) >= sizeof url)
        return fl_fail(err, FL_USAGE, 0, "the URL of a request is longer than %d bytes", URL_MAX - 1);
    return http_call(&t->session, method, url, extra, body, t->config->tls, t->config->timeout_ns, reply, err);
}

static enum fl_status unexpected(const struct http_reply *reply, const char *what, int expected, struct fl_error *err)
{
    return fl_fail(err, FL_DENIED, 0, "%s: the server answers %d %.*s, where %d is expected", what, reply->status,
                   (int)FL_MIN(reply->reason.len, (size_t)80), (const char *)reply->reason.at, expected);
}

static enum fl_status make_key(struct talk *t, struct fl_error *err)
{
    struct http_reply reply = { 0 };
    char              body[512];
    bool              there;
    enum fl_status    status = ask(t, "GET", FL_LIT(""), FL_LIT(""), &reply, err, "/v1/key/%s/_metadata?user.name=%s",
                                   t->config->key, t->config->user);

    if (status != FL_OK)
        return status;
    if (reply.status != 200)
        status = unexpected(&reply, "reading the key's metadata", 200, err);
    there = reply.body.len > 8; /* a missing key is {} */
    http_reply_done(&reply);
    if (status != FL_OK || there)
        return status;
    snprintf(body, sizeof body, "{\"name\":\"%s\"}", t->config->key);
    status = ask(t, "POST", FL_LIT("Content-Type: application/json\r\n"), fl_slice_str(body), &reply, err,
                 "/v1/keys?user.name=%s", t->config->user);
    if (status != FL_OK)
        return status;
    if (reply.status != 201)
        status = unexpected(&reply, "creating the key", 201, err);
    http_reply_done(&reply);
    return status;
}

static enum fl_status get_token(struct talk *t, char **url_string, struct fl_error *err)
{
    struct http_reply reply = { 0 };
    enum fl_status    status =
        ask(t, "GET", FL_LIT(""), FL_LIT(""), &reply, err, "/v1/?op=GETDELEGATIONTOKEN&renewer=%s&user.name=%s",
            t->config->renewer, t->config->user);
    json_t     *root;
    const char *text = NULL;

    if (status != FL_OK)
        return status;
    root = json_loadb((const char *)reply.body.at, reply.body.len, 0, NULL);
    if (reply.status != 200)
        status = unexpected(&reply, "getting a token", 200, err);
    else if (json_unpack(root, "{s:{s:s}}", "Token", "urlString", &text) != 0)
        status = fl_fail(err, FL_DENIED, 0, "the answer to GETDELEGATIONTOKEN holds no Token.urlString");
    else if ((*url_string = fl_slice_dup(fl_slice_str(text))) == NULL)
        status = fl_fail(err, FL_NO_MEMORY, 0, "no memory for a token");
    json_decref(root);
    http_reply_done(&reply);
    return status;
}

/* The metadata GET with a token, or with none (NULL), must end in one of two statuses. */
static enum fl_status check_access(struct talk *t, const char *token, const char *what, int expected, int or_else,
                                   struct fl_error *err)
{
    struct http_reply reply = { 0 };
    char              header[URL_MAX] = "";
    enum fl_status    status;

    if (token != NULL)
        snprintf(header, sizeof header, "X-Hadoop-Delegation-Token: %s\r\n", token);
    status = ask(t, "GET", fl_slice_str(header), FL_LIT(""), &reply, err, "/v1/key/%s/_metadata", t->config->key);
    if (status != FL_OK)
        return status;
    if (reply.status != expected && reply.status != or_else)
        status = unexpected(&reply, what, expected, err);
    else if (expected == 200 && memmem(reply.body.at, reply.body.len, t->config->key, strlen(t->config->key)) == NULL)
        status = fl_fail(err, FL_DENIED, 0, "%s: the answer doesn't name the key '%s'", what, t->config->key);
    http_reply_done(&reply);
    return status;
}

static enum fl_status check_server(struct talk *t, const char *token, struct fl_error *err)
{
    FL_AUTO_MEM char *forged = fl_slice_dup(fl_slice_str(token));
    size_t            middle;
    enum fl_status    status;

    if (forged == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a token");
    /* The password precedes kind (7 bytes) and an empty service (1): 11 characters from the end on. */
    middle = strlen(forged) > 24 ? strlen(forged) - 20 : 0;
    forged[middle] = forged[middle] == 'A' ? 'B' : 'A';
    status = check_access(t, token, "a real token", 200, 200, err);
    if (status == FL_OK)
        status = check_access(t, forged, "a forged token", 403, 401, err);
    if (status == FL_OK)
        status = check_access(t, NULL, "no token at all", 401, 403, err);
    return status;
}

static enum fl_status resolve(struct kms_bench *b, const struct http_url *url, struct fl_error *err)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    char            port[8];
    int             failed;

    snprintf(port, sizeof port, "%u", url->port);
    failed = getaddrinfo(url->host, port, &hints, &found);
    if (failed != 0)
        return fl_fail(err, FL_USAGE, 0, "host '%s': %s", url->host, gai_strerror(failed));
    memcpy(&b->target.addr, found->ai_addr, found->ai_addrlen);
    b->target.addr_len = found->ai_addrlen;
    freeaddrinfo(found);
    return FL_OK;
}

/* Where request i begins and ends in bytes, until all are written and nothing moves any more. */
static bool put_verify(struct kms_bench *b, const struct http_url *url, const struct kms_bench_config *c,
                       const char *token)
{
    return fl_buf_printf(
        &b->bytes, "GET %.*s/v1/key/%s/_metadata HTTP/1.1\r\nHost: %s:%u\r\nX-Hadoop-Delegation-Token: %s\r\n\r\n",
        FL_SLICE_ARGS(url->target), c->key, url->host, url->port, token);
}

static bool put_create(struct kms_bench *b, const struct http_url *url, const struct kms_bench_config *c)
{
    return fl_buf_printf(&b->bytes,
                         "GET %.*s/v1/?op=GETDELEGATIONTOKEN&renewer=%s&user.name=%s HTTP/1.1\r\nHost: %s:%u\r\n\r\n",
                         FL_SLICE_ARGS(url->target), c->renewer, c->user, url->host, url->port);
}

static enum fl_status write_requests(struct kms_bench *b, const struct http_url *url, const struct kms_bench_config *c,
                                     char **tokens, struct fl_error *err)
{
    FL_AUTO_MEM size_t *ends = calloc(c->tokens + 1, sizeof *ends);
    bool                ok = ends != NULL && (b->verify = calloc(c->tokens, sizeof *b->verify)) != NULL;

    for (unsigned i = 0; ok && i < c->tokens; i++) {
        ok = put_verify(b, url, c, tokens[i]);
        ends[i] = b->bytes.write;
    }
    ok = ok && put_create(b, url, c);
    if (!ok)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for %u requests", c->tokens + 1);
    for (unsigned i = 0; i < c->tokens; i++) {
        size_t from = i == 0 ? 0 : ends[i - 1];

        b->verify[i] = fl_slice_of(b->bytes.data + from, ends[i] - from);
    }
    b->verify_count = c->tokens;
    b->create = fl_slice_of(b->bytes.data + ends[c->tokens - 1], b->bytes.write - ends[c->tokens - 1]);
    return FL_OK;
}

static enum fl_status prepare_tls(struct kms_bench *b, const struct http_url *url, const struct kms_bench_config *c,
                                  struct fl_error *err)
{
    if (!url->secure)
        return FL_OK;
    b->tls.name = fl_slice_dup(fl_slice_str(url->host));
    b->target.attach = tls_attach_client;
    b->target.attach_arg = &b->tls;
    if (b->tls.name == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a host name");
    return tls_context_new(&b->tls.context, c->tls, err);
}

static enum fl_status gather_tokens(struct talk *t, char **tokens, struct fl_error *err)
{
    enum fl_status status = make_key(t, err);

    assert(tokens != NULL && t->config->tokens > 0);
    for (unsigned i = 0; status == FL_OK && i < t->config->tokens; i++)
        status = get_token(t, &tokens[i], err);
    return status == FL_OK ? check_server(t, tokens[0], err) : status;
}

enum fl_status kms_bench_prepare(struct kms_bench *out, const struct kms_bench_config *config, struct fl_error *err)
{
    struct talk        talk = { .config = config };
    struct http_url    url;
    struct kms_bench   b = { 0 };
    FL_AUTO_MEM char **tokens = calloc(FL_MAX(config->tokens, 1U), sizeof *tokens);
    enum fl_status     status = http_url_parse(config->url, &url, err);

    fl_buf_init(&b.bytes, 0);
    if (status == FL_OK && tokens == NULL)
        status = fl_fail(err, FL_NO_MEMORY, 0, "no memory for %u tokens", config->tokens);
    if (status == FL_OK && fl_slice_equal(url.target, FL_LIT("/")))
        url.target = FL_LIT("");
    if (status == FL_OK)
        status = resolve(&b, &url, err);
    if (status == FL_OK)
        status = prepare_tls(&b, &url, config, err);
    if (status == FL_OK)
        status = gather_tokens(&talk, tokens, err);
    if (status == FL_OK)
        status = write_requests(&b, &url, config, tokens, err);
    http_session_free(talk.session);
    for (unsigned i = 0; tokens != NULL && i < config->tokens; i++)
        free(tokens[i]);
    if (status != FL_OK) {
        kms_bench_done(&b);
        return status;
    }
    *out = b;
    if (out->target.attach != NULL)
        out->target.attach_arg = &out->tls; /* it has moved with the struct */
    return FL_OK;
}

void kms_bench_done(struct kms_bench *b)
{
    fl_buf_done(&b->bytes);
    free(b->verify);
    free((void *)(uintptr_t)b->tls.name);
    tls_context_free(b->tls.context);
}
