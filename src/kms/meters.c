/* What is counted: Hadoop's meters with their moving averages, and our own counters. */
#include "kms/call.h"

#include "base/clock.h"

#include <stdatomic.h>

#define HADOOP(what) "meter=\"hadoop.kms." what ".calls.meter\""
#define CALLS "featherlock_kms_calls_total", .kind = FL_COUNTER, .help = "Calls, by Hadoop's meters"

static const struct fl_metric table[KMS_METERS] = {
    [KMS_M_ADMIN] = { .name = CALLS, .labels = HADOOP("admin") },
    [KMS_M_KEY] = { .name = CALLS, .labels = HADOOP("key") },
    [KMS_M_INVALID] = { .name = CALLS, .labels = HADOOP("invalid") },
    [KMS_M_UNAUTHORIZED] = { .name = CALLS, .labels = HADOOP("unauthorized") },
    [KMS_M_UNAUTHENTICATED] = { .name = CALLS, .labels = HADOOP("unauthenticated") },
    [KMS_M_GENERATE] = { .name = CALLS, .labels = HADOOP("generate_eek") },
    [KMS_M_DECRYPT] = { .name = CALLS, .labels = HADOOP("decrypt_eek") },
    [KMS_M_REENCRYPT] = { .name = CALLS, .labels = HADOOP("reencrypt_eek") },
    [KMS_M_REENCRYPT_BATCH] = { .name = CALLS, .labels = HADOOP("reencrypt_eek_batch") },
    [KMS_M_TOKEN_CREATE] = { "featherlock_kms_token_operations_total", "op=\"create\"", "Token operations asked for",
                             FL_COUNTER },
    [KMS_M_TOKEN_RENEW] = { "featherlock_kms_token_operations_total", "op=\"renew\"", "Token operations asked for",
                            FL_COUNTER },
    [KMS_M_TOKEN_CANCEL] = { "featherlock_kms_token_operations_total", "op=\"cancel\"", "Token operations asked for",
                             FL_COUNTER },
    [KMS_M_TOKEN_VERIFIED] = { "featherlock_kms_token_verifications_total", "result=\"accepted\"", "Tokens presented",
                               FL_COUNTER },
    [KMS_M_TOKEN_REFUSED] = { "featherlock_kms_token_verifications_total", "result=\"refused\"", "Tokens presented",
                              FL_COUNTER },
    [KMS_M_GROUP_LOOKUPS] = { "featherlock_kms_group_lookups_total", NULL, "Requests that waited for a user's groups",
                              FL_COUNTER },
};

static const char *const names[KMS_M_HADOOP] = {
    [KMS_M_ADMIN] = "hadoop.kms.admin.calls.meter",
    [KMS_M_KEY] = "hadoop.kms.key.calls.meter",
    [KMS_M_INVALID] = "hadoop.kms.invalid.calls.meter",
    [KMS_M_UNAUTHORIZED] = "hadoop.kms.unauthorized.calls.meter",
    [KMS_M_UNAUTHENTICATED] = "hadoop.kms.unauthenticated.calls.meter",
    [KMS_M_GENERATE] = "hadoop.kms.generate_eek.calls.meter",
    [KMS_M_DECRYPT] = "hadoop.kms.decrypt_eek.calls.meter",
    [KMS_M_REENCRYPT] = "hadoop.kms.reencrypt_eek.calls.meter",
    [KMS_M_REENCRYPT_BATCH] = "hadoop.kms.reencrypt_eek_batch.calls.meter",
};

enum { ONE, FIVE, FIFTEEN, WINDOWS };
enum { TICK_S = 5 };
/* 1 - e^(-5 s / 1, 5, 15 min): what a tick's rate weighs. */
static const double share[WINDOWS] = { 0.07995558537067671, 0.01652854617838251, 0.005540151995103271 };

/* Written by the main thread, read by any: each average is one atomic word. */
struct kms_rates {
    int64_t        last[KMS_M_HADOOP];
    bool           warm[KMS_M_HADOOP];
    _Atomic double average[KMS_M_HADOOP][WINDOWS]; /* events a second */
};

const char *kms_meter_name(enum kms_meter m)
{
    return names[m];
}

enum fl_status kms_meters_new(struct kms *k, struct fl_error *err)
{
    k->metrics = fl_metrics_new(table, FL_COUNT(table), io_reactors_count(k->reactors));
    k->rates = calloc(1, sizeof *k->rates);
    if (k->metrics == NULL || k->rates == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the counters");
    return FL_OK;
}

void kms_meters_free(struct kms *k)
{
    fl_metrics_free(k->metrics);
    free(k->rates);
}

/* The moving averages of Dropwizard: exponential, begun with the first rate seen. */
void kms_meters_tick(struct kms *k)
{
    for (int m = 0; m < KMS_M_HADOOP; m++) {
        int64_t now = fl_metric_sum(k->metrics, (unsigned)m);
        double  rate = (double)(now - k->rates->last[m]) / TICK_S;

        k->rates->last[m] = now;
        for (int w = 0; w < WINDOWS; w++) {
            double was = atomic_load_explicit(&k->rates->average[m][w], memory_order_relaxed);
            double now_is = k->rates->warm[m] ? was + share[w] * (rate - was) : rate;

            atomic_store_explicit(&k->rates->average[m][w], now_is, memory_order_relaxed);
        }
        k->rates->warm[m] = true;
    }
}

void kms_meter_rates(const struct kms *k, enum kms_meter m, struct kms_rate *out)
{
    double alive = (double)(fl_now_ns() - k->started_ns) / FL_NS_PER_S;

    out->mean = alive > 0 ? (double)fl_metric_sum(k->metrics, m) / alive : 0;
    out->one = atomic_load_explicit(&k->rates->average[m][ONE], memory_order_relaxed);
    out->five = atomic_load_explicit(&k->rates->average[m][FIVE], memory_order_relaxed);
    out->fifteen = atomic_load_explicit(&k->rates->average[m][FIFTEEN], memory_order_relaxed);
}
