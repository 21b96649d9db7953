/* /jmx as Hadoop's servlet answers it (8.4): the beans that watchers of a Java KMS look for. */
#include "kms/call.h"

#include "base/clock.h"
#include "base/encode.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define METER "metrics:name="
#define TOKENS "Hadoop:service=KMS,name=DelegationTokenSecretManagerMetrics"

/* A Java double always shows that it is one. */
static void put_number(struct fl_buf *b, const char *name, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.12g", value);
    fl_buf_printf(b, ",\n    \"%s\" : %s%s", name, text, strpbrk(text, ".e") == NULL ? ".0" : "");
}

static void put_count(struct fl_buf *b, const char *name, uint64_t value)
{
    fl_buf_printf(b, ",\n    \"%s\" : %llu", name, (unsigned long long)value);
}

/* ---- beans ------------------------------------------------------------------------------------------------------- */

static void put_meter(const struct kms *k, enum kms_meter m, struct fl_buf *b)
{
    struct kms_rate r;

    kms_meter_rates(k, m, &r);
    FL_BUF_LIT(b, ",\n    \"modelerType\" : \"com.codahale.metrics.JmxReporter$JmxMeter\"");
    put_count(b, "Count", (uint64_t)fl_metric_sum(k->metrics, m));
    put_number(b, "FifteenMinuteRate", r.fifteen);
    put_number(b, "FiveMinuteRate", r.five);
    put_number(b, "MeanRate", r.mean);
    put_number(b, "OneMinuteRate", r.one);
    FL_BUF_LIT(b, ",\n    \"RateUnit\" : \"events/second\"");
}

/* One of the three rates of Hadoop's bean; the time in milliseconds is the mean of all so far. */
static void put_operation(struct fl_buf *b, const char *name, uint64_t count, uint64_t ns)
{
    fl_buf_printf(b, ",\n    \"%sNumOps\" : %llu", name, (unsigned long long)count);
    fl_buf_printf(b, ",\n    \"%sAvgTime\" : %.3f", name,
                  count == 0 ? 0. : (double)ns / (double)FL_NS_PER_MS / (double)count);
}

/* As in Java, what expires isn't counted as removed. */
static void put_tokens(const struct kms *k, struct fl_buf *b)
{
    struct tokens_stats t;
    char                host[256] = "";

    tokens_stats(k->tokens, &t);
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    FL_BUF_LIT(b, ",\n    \"modelerType\" : \"DelegationTokenSecretManagerMetrics\""
                  ",\n    \"tag.Context\" : \"token\",\n    \"tag.Hostname\" : ");
    fl_json_put_string(b, fl_slice_str(host));
    put_operation(b, "RemoveToken", t.cancelled, t.cancelled_ns);
    put_operation(b, "StoreToken", t.created, t.created_ns);
    put_count(b, "TokenFailure", t.failures);
    put_operation(b, "UpdateToken", t.renewed, t.renewed_ns);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

/* qry: a pattern of beans' names with '*' and '?'. NULL: none that could be read, so all. */
static const char *pattern_of(const struct kms_call *c)
{
    struct fl_slice value;
    bool            found;

    if (http_query_find(c->r, "qry", false, &found, &value, NULL) != FL_OK || !found)
        return NULL;
    value = fl_arena_copy(c->arena, value); /* ends it with a NUL */
    return value.len == 0 ? NULL : (const char *)value.at;
}

static bool begin_bean(struct fl_buf *b, const char *name, const char *pattern, size_t *count)
{
    if (pattern != NULL && fnmatch(pattern, name, FNM_NOESCAPE) != 0)
        return false;
    fl_buf_printf(b, "%s{\n    \"name\" : \"%s\"", (*count)++ == 0 ? "" : ", ", name);
    return true;
}

static void put_beans(const struct kms *k, const char *pattern, struct fl_buf *b)
{
    size_t count = 0;

    FL_BUF_LIT(b, "{\n  \"beans\" : [ ");
    if (begin_bean(b, TOKENS, pattern, &count)) {
        put_tokens(k, b);
        FL_BUF_LIT(b, "\n  }");
    }
    for (int m = 0; m < KMS_M_HADOOP; m++) {
        char name[64];

        snprintf(name, sizeof name, METER "%s", kms_meter_name((enum kms_meter)m));
        if (!begin_bean(b, name, pattern, &count))
            continue;
        put_meter(k, (enum kms_meter)m, b);
        FL_BUF_LIT(b, "\n  }");
    }
    fl_buf_put_str(b, count == 0 ? "]\n}" : " ]\n}");
}

bool kms_admin_closed(struct kms_call *c)
{
    struct fl_buf *b;

    if ((!fl_slice_equal(c->r->path, FL_LIT("/jmx")) && !fl_slice_equal(c->r->path, FL_LIT("/kms/jmx"))) ||
        (c->r->method != HTTP_GET && c->r->method != HTTP_HEAD))
        return false;
    b = kms_body(c);
    put_beans(c->kms, pattern_of(c), b);
    kms_meter(c, KMS_M_INVALID); /* Java's filter takes it for an answer without a status */
    kms_send(c, &(struct kms_answer){
                    .status = 200, .content_type = "application/json; charset=utf8", .body = fl_buf_slice(b) });
    return true;
}
