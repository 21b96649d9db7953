/* Pages for monitoring: /metrics and /health without authentication, since they tell nothing of keys or users. */
#include "kms/call.h"

#include "base/clock.h"

static void put(struct fl_buf *b, const char *name, const char *kind, const char *help, uint64_t value)
{
    fl_buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name, kind, name, (unsigned long long)value);
}

/* ---- /metrics ---------------------------------------------------------------------------------------------------- */

static void put_io(const struct kms *k, struct fl_buf *b)
{
    struct io_stats   sum = { .accepted = 0 }, s;
    struct http_stats http;

    for (unsigned i = 0; i < io_reactors_count(k->reactors); i++) {
        io_reactor_stats(io_reactors_at(k->reactors, i), &s);
        sum.accepted += s.accepted;
        sum.open += s.open;
        sum.refused += s.refused;
        sum.closed_timeout += s.closed_timeout;
        sum.closed_error += s.closed_error;
        sum.bytes_in += s.bytes_in;
        sum.bytes_out += s.bytes_out;
    }
    put(b, "featherlock_connections_accepted_total", "counter", "Connections accepted", sum.accepted);
    put(b, "featherlock_connections_open", "gauge", "Connections open now", sum.open);
    put(b, "featherlock_connections_refused_total", "counter", "Connections above the limit", sum.refused);
    put(b, "featherlock_connections_timeout_total", "counter", "Connections closed by a timeout", sum.closed_timeout);
    put(b, "featherlock_connections_error_total", "counter", "Connections closed by an error", sum.closed_error);
    put(b, "featherlock_received_bytes_total", "counter", "Bytes received", sum.bytes_in);
    put(b, "featherlock_sent_bytes_total", "counter", "Bytes sent", sum.bytes_out);
    http_service_stats(k->http, &http);
    put(b, "featherlock_http_requests_total", "counter", "Whole requests", http.requests);
    put(b, "featherlock_http_refused_total", "counter", "Requests that are no HTTP or break a limit", http.refused);
    put(b, "featherlock_http_parked", "gauge", "Requests that wait for a store or a worker", http.parked);
}

static void put_stores(const struct kms *k, struct fl_buf *b)
{
    struct tokens_stats t;
    struct audit_stats  a;
    struct store_stats  s;

    put(b, "featherlock_keys", "gauge", "Keys", keys_count(k->keys));
    tokens_stats(k->tokens, &t);
    put(b, "featherlock_tokens_live", "gauge", "Delegation tokens that are known", t.live);
    put(b, "featherlock_tokens_created_total", "counter", "Tokens created", t.created);
    put(b, "featherlock_tokens_renewed_total", "counter", "Tokens renewed", t.renewed);
    put(b, "featherlock_tokens_cancelled_total", "counter", "Tokens cancelled", t.cancelled);
    put(b, "featherlock_tokens_expired_total", "counter", "Tokens removed after their end", t.expired);
    put(b, "featherlock_token_store_failures_total", "counter", "Token operations that the store failed", t.failures);
    audit_stats(k->audit, &a);
    put(b, "featherlock_audit_records_total", "counter", "Audit records taken", a.records);
    put(b, "featherlock_audit_dropped_total", "counter", "Audit records dropped", a.dropped);
    put(b, "featherlock_audit_refused_total", "counter", "Audit records that found no room", a.refused);
    put(b, "featherlock_audit_lines_total", "counter", "Audit lines written", a.written_lines);
    put(b, "featherlock_audit_write_errors_total", "counter", "Writes of the audit file that failed", a.write_errors);
    put(b, "featherlock_unlocked_secret_bytes", "gauge", "Secret bytes that could not be locked in memory",
        fl_secret_unlocked_bytes());
    if (k->store == NULL)
        return;
    store_stats(k->store, &s);
    put(b, "featherlock_store_commits_total", "counter", "Commits of the embedded store", s.commits);
    put(b, "featherlock_store_jobs_total", "counter", "Changes of the embedded store", s.jobs);
    put(b, "featherlock_store_waiting", "gauge", "Changes that wait for a commit", s.waiting);
    put(b, "featherlock_store_used_bytes", "gauge", "Bytes used in the embedded store", s.used_bytes);
    put(b, "featherlock_store_map_bytes", "gauge", "Address space of the embedded store", s.map_bytes);
}

static void serve_metrics(struct kms_call *c)
{
    struct fl_buf *b = kms_body(c);

    fl_metrics_prometheus(c->kms->metrics, b);
    put_io(c->kms, b);
    put_stores(c->kms, b);
    kms_send(c, &(struct kms_answer){ .status = 200,
                                      .content_type = "text/plain; version=0.0.4; charset=utf-8",
                                      .body = fl_buf_slice(b) });
}

/* ---- /health ----------------------------------------------------------------------------------------------------- */

/* Ready until the drain begins: a balancer should look elsewhere then. */
static void serve_health(struct kms_call *c)
{
    struct fl_buf *b = kms_body(c);
    bool           draining = io_reactor_draining(http_reactor_of(c->x));

    fl_buf_printf(b, "{\n  \"status\" : \"%s\",\n  \"version\" : \"" FL_VERSION "\",\n  \"uptimeSeconds\" : %llu\n}",
                  draining ? "draining" : "serving",
                  (unsigned long long)((fl_now_ns() - c->kms->started_ns) / FL_NS_PER_S));
    kms_send(c, &(struct kms_answer){ .status = draining ? 503 : 200, .body = fl_buf_slice(b) });
}

bool kms_admin_open(struct kms_call *c)
{
    if (c->route.resource != KMS_R_OUTSIDE || (c->r->method != HTTP_GET && c->r->method != HTTP_HEAD))
        return false;
    if (fl_slice_equal(c->r->path, FL_LIT("/metrics")))
        serve_metrics(c);
    else if (fl_slice_equal(c->r->path, FL_LIT("/health")))
        serve_health(c);
    else
        return false;
    return true;
}
