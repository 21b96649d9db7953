/* http/call.c - the blocking client of the command line: a reactor of its own behind a function that waits. */
#include "http/client.h"
#include "tls/tls.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/un.h>

struct http_session {
    struct io_reactors *reactors;
    struct tls_context *context;
    struct tls_client   tls;
    struct http_url     place; /* of the client; target is none of it */
    uint64_t            timeout_ns;
    struct http_client *client; /* the reactor's */
    struct fl_buf       request;
    bool                head_only;

    /* The call under way: written by the reactor before it says done, read by the caller after. */
    struct io_mail         mail;
    const struct addrinfo *address; /* to connect to, where there is no client yet */
    struct http_reply      reply;
    struct fl_error        err;
    enum fl_status         status;
    bool                   was_open;
    pthread_mutex_t        lock;
    pthread_cond_t         is_done;
    bool                   done;
};

/* ---- on the reactor ------------------------------------------------------------------------------------------------------ */

static void say_done(struct http_session *s, enum fl_status status)
{
    pthread_mutex_lock(&s->lock);
    s->status = status;
    s->done = true;
    pthread_cond_signal(&s->is_done);
    pthread_mutex_unlock(&s->lock);
}

static struct fl_slice put(uint8_t **to, struct fl_slice from)
{
    struct fl_slice copy = fl_slice_of(*to, from.len);

    if (from.len > 0)
        memcpy(*to, from.at, from.len);
    *to += from.len;
    return copy;
}

/* One block: the headers' array, then all bytes. */
static enum fl_status copy_reply(const struct http_reply *from, struct http_reply *out, struct fl_error *err)
{
    size_t   headers = from->header_count * sizeof from->headers[0], bytes = from->reason.len + from->body.len;
    uint8_t *block, *to;

    for (size_t i = 0; i < from->header_count; i++)
        bytes += from->headers[i].name.len + from->headers[i].value.len;
    block = malloc(headers + bytes + 1);
    if (block == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for an answer of %zu bytes", headers + bytes);
    to = block + headers;
    *out = (struct http_reply){ .status = from->status,
                                .headers = (struct http_header *)(void *)block,
                                .header_count = from->header_count,
                                .owned = block };
    for (size_t i = 0; i < from->header_count; i++) {
        out->headers[i].name = put(&to, from->headers[i].name);
        out->headers[i].value = put(&to, from->headers[i].value);
    }
    out->reason = put(&to, from->reason);
    out->body = put(&to, from->body);
    return FL_OK;
}

static void on_reply(struct http_client *c, const struct http_reply *reply, const struct fl_error *err, void *owner)
{
    struct http_session *s = owner;

    s->was_open = http_client_was_open(c);
    if (reply == NULL) {
        s->err = *err;
        say_done(s, err->status);
    } else {
        say_done(s, copy_reply(reply, &s->reply, &s->err));
    }
}

static enum fl_status make_client(struct http_session *s)
{
    struct http_client_config config = {
        .to = s->address->ai_addr,
        .to_len = s->address->ai_addrlen,
        .attach = s->place.secure ? tls_attach_client : NULL,
        .attach_arg = &s->tls,
        .timeout_ns = s->timeout_ns,
        .on_reply = on_reply,
        .owner = s,
    };

    return http_client_new(&s->client, io_reactors_at(s->reactors, 0), &config, &s->err);
}

static void send_mail(struct io_mail *m)
{
    struct http_session *s = FL_CONTAINER(m, struct http_session, mail);
    enum fl_status       status = s->client == NULL ? make_client(s) : FL_OK;

    s->was_open = false;
    if (status == FL_OK)
        status = http_client_send(s->client, fl_buf_slice(&s->request), s->head_only, &s->err);
    if (status != FL_OK)
        say_done(s, status);
}

static void close_mail(struct io_mail *m)
{
    struct http_session *s = FL_CONTAINER(m, struct http_session, mail);

    http_client_free(s->client);
    s->client = NULL;
    say_done(s, FL_OK);
}

/* ---- on the caller's thread -------------------------------------------------------------------------------------------------- */

static enum fl_status run(struct http_session *s, void (*deliver)(struct io_mail *m))
{
    s->done = false;
    s->mail.deliver = deliver;
    io_post(io_reactors_at(s->reactors, 0), &s->mail);
    pthread_mutex_lock(&s->lock);
    while (!s->done)
        pthread_cond_wait(&s->is_done, &s->lock);
    pthread_mutex_unlock(&s->lock);
    return s->status;
}

void http_session_free(struct http_session *s)
{
    if (s == NULL)
        return;
    if (s->client != NULL)
        FL_IGNORE(run(s, close_mail) != FL_OK); /* it never fails */
    if (s->reactors != NULL) {
        io_reactors_drain(s->reactors, 0);
        io_reactors_join(s->reactors);
        io_reactors_free(s->reactors);
    }
    tls_context_free(s->context);
    pthread_cond_destroy(&s->is_done);
    pthread_mutex_destroy(&s->lock);
    fl_buf_done(&s->request);
    free(s);
}
FL_AUTO_DEFINE(http_session);

static enum fl_status new_session(struct http_session **out, struct fl_error *err)
{
    static const struct io_config config = { .reactors = 1, .workers = 1, .max_connections = 16 };
    FL_AUTO(http_session) s = calloc(1, sizeof *s);
    enum fl_status status;

    if (s == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for an HTTP session");
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->is_done, NULL);
    fl_buf_init(&s->request, 0);
    status = io_reactors_new(&s->reactors, &config, err);
    if (status == FL_OK && (status = io_reactors_start(s->reactors, err)) != FL_OK) {
        io_reactors_free(s->reactors);
        s->reactors = NULL;
    }
    if (status == FL_OK)
        *out = FL_TAKE(s);
    return status;
}

/* Names are alike in any case, paths of sockets are not. */
static bool same_host(const struct http_url *a, const struct http_url *b)
{
    return a->local == b->local && (a->local ? strcmp(a->host, b->host) : strcasecmp(a->host, b->host)) == 0;
}

static bool same_place(const struct http_session *s, const struct http_url *url, uint64_t timeout_ns)
{
    return s->client != NULL && s->place.secure == url->secure && s->place.port == url->port &&
           same_host(&s->place, url) && s->timeout_ns == timeout_ns;
}

static enum fl_status go_to(struct http_session *s, const struct http_url *url, uint64_t timeout_ns,
                            const struct tls_config *tls, struct fl_error *err)
{
    struct tls_config as_client = { 0 }; /* the system's trust */

    if (tls != NULL)
        as_client = *tls;
    if (s->client != NULL)
        FL_IGNORE(run(s, close_mail) != FL_OK); /* it never fails */
    s->place = *url;
    s->timeout_ns = timeout_ns;
    s->tls.name = s->place.host;
    if (!url->secure || s->context != NULL)
        return FL_OK;
    as_client.client = true;
    if (tls_context_new(&s->context, &as_client, err) != FL_OK)
        return fl_fail_in(err, "TLS for '%s'", url->host);
    s->tls.context = s->context;
    return FL_OK;
}

static bool put_request(struct fl_buf *b, const char *method, const struct http_url *url, struct fl_slice headers,
                        struct fl_slice body)
{
    bool v6 = strchr(url->host, ':') != NULL, usual = url->port == (url->secure ? 443 : 80);

    fl_buf_clear(b);
    fl_buf_printf(b, "%s %.*s HTTP/1.1\r\nHost: %s%s%s", method, FL_SLICE_ARGS(url->target), v6 ? "[" : "",
                  url->local ? "localhost" : url->host, v6 ? "]" : "");
    if (!usual && !url->local)
        fl_buf_printf(b, ":%u", url->port);
    fl_buf_printf(b, "\r\nUser-Agent: featherlock/%s\r\n", FL_VERSION);
    fl_buf_put_slice(b, headers);
    if (body.len > 0 || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0)
        fl_buf_printf(b, "Content-Length: %zu\r\n", body.len);
    FL_BUF_LIT(b, "\r\n");
    return fl_buf_put_slice(b, body);
}

static enum fl_status call_local(struct http_session *s)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct addrinfo    only = { .ai_addr = (struct sockaddr *)&at, .ai_addrlen = sizeof at };
    enum fl_status     status;

    if (strlen(s->place.host) >= sizeof at.sun_path)
        return fl_fail(&s->err, FL_USAGE, 0, "socket path '%s' has %zu bytes, where %zu are allowed", s->place.host,
                       strlen(s->place.host), sizeof at.sun_path - 1);
    memcpy(at.sun_path, s->place.host, strlen(s->place.host));
    s->address = &only;
    status = run(s, send_mail);
    s->address = NULL;
    if (status != FL_OK && !s->was_open)
        FL_IGNORE(run(s, close_mail) != FL_OK); /* it never fails */
    return status;
}

/* Every address of the name in turn, until one takes the connection; its answer is then the answer. */
static enum fl_status call_first_open(struct http_session *s)
{
    static const struct addrinfo hints = { .ai_family = AF_UNSPEC,
                                           .ai_socktype = SOCK_STREAM,
                                           .ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV };
    struct addrinfo             *list = NULL;
    char                         port[8];
    enum fl_status               status = FL_NOT_FOUND;
    int                          failed;

    snprintf(port, sizeof port, "%u", s->place.port);
    failed = getaddrinfo(s->place.host, port, &hints, &list);
    if (failed != 0)
        return fl_fail(&s->err, FL_NOT_FOUND, failed == EAI_SYSTEM ? errno : 0, "no address for host '%s': %s",
                       s->place.host, gai_strerror(failed));
    for (s->address = list; s->address != NULL; s->address = s->address->ai_next) {
        status = run(s, send_mail);
        if (status == FL_OK || s->was_open)
            break;
        FL_IGNORE(run(s, close_mail) != FL_OK); /* it never fails */
    }
    freeaddrinfo(list);
    return status;
}

enum fl_status http_call(struct http_session **session, const char *method, const char *url,
                         struct fl_slice extra_headers, struct fl_slice body, const struct tls_config *tls,
                         uint64_t timeout_ns, struct http_reply *reply, struct fl_error *err)
{
    struct http_url      where;
    struct http_session *s;
    enum fl_status       status = http_url_parse(url, &where, err);

    if (status == FL_OK && *session == NULL)
        status = new_session(session, err);
    s = *session;
    if (status != FL_OK || s == NULL)
        return status;
    if (!same_place(s, &where, timeout_ns) && (status = go_to(s, &where, timeout_ns, tls, err)) != FL_OK)
        return status;
    s->head_only = strcmp(method, "HEAD") == 0;
    s->err = (struct fl_error){ 0 };
    if (!put_request(&s->request, method, &where, extra_headers, body))
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a request of %zu bytes", body.len);
    if (s->client != NULL)
        status = run(s, send_mail);
    else
        status = where.local ? call_local(s) : call_first_open(s);
    if (status == FL_OK)
        *reply = s->reply;
    else if (err != NULL)
        *err = s->err;
    return status;
}

void http_reply_done(struct http_reply *reply)
{
    free(reply->owned);
    *reply = (struct http_reply){ 0 };
}
