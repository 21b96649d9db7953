/* tls/transport.c - TLS as io/ runs it: socket bytes into an engine, an engine's bytes to the socket.
 *
 * One read() brings all records that are there; a record that is not whole yet stays in our buffer, so the engine is
 * asked only when it can answer. What a turn has to say is encrypted together and leaves with one send().              */
#include "io/transport.h"
#include "tls/provider.h"

#include <stdlib.h>

enum {
    RECORD_HEAD = 5,
    RECORD_MAX = RECORD_HEAD + 16384 + 256, /* RFC 8446 5.2; TLS 1.2 suites of ours stay below */
    READ_ROOM = 2 * RECORD_MAX,
    WRITE_STEP = 32 * 1024, /* plaintext encrypted before it is sent: its ciphertext fits a lent buffer */
};

struct tls_state {
    struct tls_context *context;
    struct tls_engine  *engine;
    enum fl_status      next; /* what read() will say once what it gave is taken; FL_OK: nothing yet */
    struct fl_error     error;
    bool                heard; /* the peer has sent something */
};

static struct tls_state *state_of(const struct io_conn *c)
{
    return io_conn_transport_state(c);
}

/* ---- the socket's side ------------------------------------------------------------------------------------------------ */

static enum fl_status fetch(struct io_conn *c, struct tls_state *t, struct fl_error *err)
{
    struct fl_buf *in = &t->engine->in;
    enum fl_status s;

    if (!io_lend(io_conn_reactor(c), in))
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory to read from %s", io_conn_peer_text(c));
    if (io_room(in) < RECORD_MAX && fl_buf_reserve(in, RECORD_MAX, err) != FL_OK)
        return err != NULL ? err->status : FL_NO_MEMORY;
    s = io_wire_read(c, in, err);
    t->heard |= s == FL_OK;
    return s;
}

static void give_back(struct io_conn *c, struct tls_state *t)
{
    io_return(io_conn_reactor(c), &t->engine->in);
    io_return(io_conn_reactor(c), &t->engine->out);
}

static enum fl_status name_peer(struct io_conn *c, enum fl_status s, struct fl_error *err)
{
    if (s != FL_OK && s != FL_WANT_READ && s != FL_CLOSED)
        FL_IGNORE(fl_fail_in(err, "%s", io_conn_peer_text(c))); /* its status is s */
    return s;
}

/* ---- handshake ---------------------------------------------------------------------------------------------------------- */

static enum fl_status handshake(struct io_conn *c, struct fl_error *err)
{
    struct tls_state *t = state_of(c);
    enum fl_status    s = fetch(c, t, err);

    if (s == FL_CLOSED && !t->heard)
        return FL_CLOSED; /* a port scan or a health check: came and went */
    if (s == FL_CLOSED)
        return fl_fail(err, FL_MALFORMED, 0, "%s: the peer left in the middle of the TLS handshake",
                       io_conn_peer_text(c));
    if (s != FL_OK && s != FL_WANT_READ)
        return s;
    if (!io_lend(io_conn_reactor(c), &t->engine->out))
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory to write to %s", io_conn_peer_text(c));
    s = name_peer(c, t->engine->provider->step(t->engine, err), err);
    give_back(c, t);
    return s;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------ */

/* A length that no record may have counts as whole too: the engine shall see it and refuse. */
static bool record_is_whole(const struct fl_buf *in)
{
    struct fl_slice s = fl_buf_slice(in);
    size_t          len;

    if (s.len < RECORD_HEAD || s.at == NULL)
        return false;
    len = RECORD_HEAD + (size_t)s.at[3] * 256 + s.at[4];
    return s.len >= len || len > RECORD_MAX;
}

static bool engine_can_answer(const struct tls_state *t)
{
    return record_is_whole(&t->engine->in) || t->engine->provider->pending(t->engine);
}

static bool tls_pending(const struct io_conn *c)
{
    const struct tls_state *t = state_of(c);

    return t->next != FL_OK || engine_can_answer(t);
}

/* Decrypts what is here; notes the status that ended it. */
static void decrypt(struct io_conn *c, struct tls_state *t, struct fl_buf *into)
{
    enum fl_status s = FL_OK;

    /* Reading may produce ciphertext: alerts, key updates. */
    if (!io_lend(io_conn_reactor(c), &t->engine->out))
        s = fl_fail(&t->error, FL_NO_MEMORY, 0, "no memory to write");
    while ((s == FL_OK || s == FL_WANT_READ) && io_room(into) > 0 && engine_can_answer(t))
        s = t->engine->provider->read(t->engine, into, &t->error);
    if (s != FL_OK && s != FL_WANT_READ)
        t->next = name_peer(c, s, &t->error);
}

static enum fl_status tls_read(struct io_conn *c, struct fl_buf *into, struct fl_error *err)
{
    struct tls_state *t = state_of(c);
    size_t            before = fl_buf_len(into);
    enum fl_status    s;

    if (t->next == FL_OK && !engine_can_answer(t)) {
        s = fetch(c, t, err);
        if (s == FL_CLOSED) /* RFC 8446 6.1: an end without close_notify may be an attacker's cut */
            return fl_fail(err, FL_MALFORMED, 0, "%s: the stream was cut off: it ended without close_notify",
                           io_conn_peer_text(c));
        if (s != FL_OK) {
            give_back(c, t);
            return s;
        }
    }
    if (t->next == FL_OK)
        decrypt(c, t, into);
    give_back(c, t);
    if (fl_buf_len(into) > before)
        return FL_OK;
    if (t->next != FL_OK && t->next != FL_CLOSED && err != NULL)
        *err = t->error;
    return t->next != FL_OK ? t->next : FL_WANT_READ;
}

/* ---- writing ------------------------------------------------------------------------------------------------------------ */

static void skip(struct iovec *v, int *n, size_t bytes)
{
    int at = 0;

    while (at < *n && bytes >= v[at].iov_len)
        bytes -= v[at++].iov_len;
    memmove(v, v + at, (size_t)(*n - at) * sizeof *v);
    *n -= at;
    if (*n > 0) {
        v[0].iov_base = (char *)v[0].iov_base + bytes;
        v[0].iov_len -= bytes;
    }
}

static enum fl_status tls_write(struct io_conn *c, const struct iovec *given, int n, size_t *done, struct fl_error *err)
{
    enum { PIECES = 8 };
    struct tls_state *t = state_of(c);
    struct iovec      v[PIECES];
    size_t            taken;
    enum fl_status    s;

    *done = 0;
    n = FL_MIN(n, PIECES);
    if (n > 0)
        memcpy(v, given, (size_t)n * sizeof *v);
    while ((s = io_wire_send(c, &t->engine->out, err)) == FL_OK && n > 0) {
        if (!io_lend(io_conn_reactor(c), &t->engine->out))
            return fl_fail(err, FL_NO_MEMORY, 0, "no memory to write to %s", io_conn_peer_text(c));
        s = t->engine->provider->write(t->engine, v, n, WRITE_STEP, &taken, err);
        if (s != FL_OK)
            return name_peer(c, s == FL_WANT_READ ? fl_fail(err, FL_MALFORMED, 0, "TLS write in a handshake") : s, err);
        *done += taken;
        skip(v, &n, taken);
    }
    io_return(io_conn_reactor(c), &t->engine->out);
    return s;
}

static void tls_shutdown(struct io_conn *c)
{
    struct tls_state *t = state_of(c);

    if (io_lend(io_conn_reactor(c), &t->engine->out))
        t->engine->provider->shutdown(t->engine);
}

/* ---- beginning and end -------------------------------------------------------------------------------------------------- */

static void state_free(struct tls_state *t)
{
    if (t == NULL)
        return;
    if (t->engine != NULL)
        t->engine->provider->free(t->engine);
    tls_context_free(t->context);
    free(t);
}

static void tls_free(struct io_conn *c)
{
    state_free(state_of(c));
}

static const struct io_transport transport = {
    .name = "tls",
    .secure = true,
    .handshake = handshake,
    .read = tls_read,
    .write = tls_write,
    .pending = tls_pending,
    .shutdown = tls_shutdown,
    .free = tls_free,
};

/* Takes the count that the caller has on context. */
static enum fl_status attach(struct io_conn *c, struct tls_context *context, const char *name, struct fl_error *err)
{
    struct tls_state *t = calloc(1, sizeof *t);
    enum fl_status    s;

    if (t == NULL) {
        tls_context_free(context);
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for TLS with %s", io_conn_peer_text(c));
    }
    t->context = context;
    if ((s = tls_context_engine(context, &t->engine, name, err)) != FL_OK) {
        state_free(t);
        return s;
    }
    t->engine->in.limit = READ_ROOM;
    io_conn_set_transport(c, &transport, t);
    return FL_OK;
}

enum fl_status tls_attach_server(struct io_conn *c, void *holder, struct fl_error *err)
{
    return attach(c, tls_holder_ref(holder), NULL, err);
}

enum fl_status tls_attach_client(struct io_conn *c, void *client, struct fl_error *err)
{
    const struct tls_client *with = client;

    return attach(c, tls_context_ref(with->context), with->name, err);
}

enum fl_status tls_conn_export(struct io_conn *c, enum tls_fact what, struct fl_buf *out, struct fl_error *err)
{
    struct tls_engine *e;

    if (io_conn_transport(c) != &transport)
        return fl_fail(err, FL_NOT_FOUND, 0, "%s: the connection is not TLS", io_conn_peer_text(c));
    e = state_of(c)->engine;
    return e->provider->export(e, what, out, err);
}
