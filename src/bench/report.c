#include "bench/report.h"

#include <jansson.h>

static uint64_t total_good(const struct load_result *r)
{
    return r->good[LOAD_VERIFY] + r->good[LOAD_CREATE];
}

static uint64_t total_bad(const struct load_result *r)
{
    return r->bad[LOAD_VERIFY] + r->bad[LOAD_CREATE];
}

static double per_request_us(double cpu_s, const struct load_result *r)
{
    return cpu_s < 0 || total_good(r) == 0 ? -1 : cpu_s * 1e6 / (double)total_good(r);
}

static void print_us(FILE *out, double us, int width)
{
    if (us < 0)
        fprintf(out, " %*s", width, "-");
    else
        fprintf(out, us < 1000 ? " %*.1f" : " %*.0f", width, us);
}

static void table_line(FILE *out, const struct report_row *row, enum load_op op)
{
    static const double       points[] = { 50, 90, 99, 99.9 };
    const struct load_result *r = &row->result;

    if (r->good[op] + r->bad[op] == 0)
        return;
    fprintf(out, "%3u:%-3u %3u  %-7s %10.0f %7llu", row->verify_percent, row->create_percent, row->repeat,
            load_op_name(op), (double)r->good[op] / r->seconds, (unsigned long long)r->bad[op]);
    for (size_t i = 0; i < FL_COUNT(points); i++)
        print_us(out, (double)fl_hist_percentile(r->latency[op], points[i]) / 1e3, 8);
    print_us(out, (double)fl_hist_max(r->latency[op]) / 1e3, 8); /* exact, where percentiles are of buckets */
    if (op == LOAD_VERIFY || r->good[LOAD_VERIFY] == 0) {
        print_us(out, per_request_us(r->server_cpu_s, r), 8);
        print_us(out, per_request_us(r->own_cpu_s, r), 8);
    }
    fputc('\n', out);
}

void report_table(const struct report *r, FILE *out)
{
    fprintf(out, "%s, %u connections, %u thread%s, %u tokens, %.3g s after %.3g s of warm-up\n", r->url, r->connections,
            r->threads, r->threads == 1 ? "" : "s", r->tokens, r->duration_s, r->warmup_s);
    fprintf(out,
            "mix     run  op      requests/s  errors   p50 us      p90      p99    p99.9      max  server       own"
            "  us CPU a request\n");
    for (size_t i = 0; i < r->count; i++) {
        const struct load_result *result = &r->rows[i].result;

        for (unsigned op = 0; op < LOAD_OPS; op++)
            table_line(out, &r->rows[i], (enum load_op)op);
        if (result->first_bad_status != 0)
            fprintf(out, "        first wrong status: %d\n", result->first_bad_status);
        if (result->first_error.status != FL_OK)
            fprintf(out, "        first failure: %s\n", result->first_error.text);
    }
}

static json_t *op_json(const struct load_result *r, enum load_op op)
{
    const struct fl_hist *h = r->latency[op];

    return json_pack("{s:I, s:I, s:f, s:{s:I, s:I, s:I, s:I, s:I, s:f}}", "good", (json_int_t)r->good[op], "bad",
                     (json_int_t)r->bad[op], "per_second", (double)r->good[op] / r->seconds, "latency_ns", "p50",
                     (json_int_t)fl_hist_percentile(h, 50), "p90", (json_int_t)fl_hist_percentile(h, 90), "p99",
                     (json_int_t)fl_hist_percentile(h, 99), "p999", (json_int_t)fl_hist_percentile(h, 99.9), "max",
                     (json_int_t)fl_hist_max(h), "mean", fl_hist_mean(h));
}

static json_t *row_json(const struct report_row *row)
{
    const struct load_result *r = &row->result;
    double                    server = per_request_us(r->server_cpu_s, r);
    json_t                   *j = json_pack("{s:i, s:i, s:i, s:f, s:f, s:I, s:I, s:f, s:o, s:o}", "verify_percent",
                                            (int)row->verify_percent, "create_percent", (int)row->create_percent, "repeat",
                                            (int)row->repeat, "seconds", r->seconds, "per_second", (double)total_good(r) / r->seconds,
                                            "errors", (json_int_t)total_bad(r), "late", (json_int_t)r->late, "own_cpu_us_per_request",
                                            per_request_us(r->own_cpu_s, r), load_op_name(LOAD_VERIFY), op_json(r, LOAD_VERIFY),
                                            load_op_name(LOAD_CREATE), op_json(r, LOAD_CREATE));

    json_object_set_new(j, "server_cpu_us_per_request", server < 0 ? json_null() : json_real(server));
    if (r->first_bad_status != 0)
        json_object_set_new(j, "first_bad_status", json_integer(r->first_bad_status));
    if (r->first_error.status != FL_OK)
        json_object_set_new(j, "first_error", json_string(r->first_error.text));
    return j;
}

void report_json(const struct report *r, FILE *out)
{
    json_t *rows = json_array();
    json_t *all = json_pack("{s:s, s:i, s:i, s:i, s:f, s:f, s:o}", "url", r->url, "connections", (int)r->connections,
                            "threads", (int)r->threads, "tokens", (int)r->tokens, "warmup_seconds", r->warmup_s,
                            "duration_seconds", r->duration_s, "runs", rows);

    for (size_t i = 0; i < r->count; i++)
        json_array_append_new(rows, row_json(&r->rows[i]));
    json_dumpf(all, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fputc('\n', out);
    json_decref(all);
}

bool report_has_errors(const struct report *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (total_bad(&r->rows[i].result) > 0 || total_good(&r->rows[i].result) == 0)
            return true;
    return false;
}

void report_done(struct report *r)
{
    for (size_t i = 0; i < r->count; i++)
        load_result_done(&r->rows[i].result);
    free(r->rows);
    *r = (struct report){ 0 };
}
