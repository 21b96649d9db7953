#include "bench/bench.h"

#include "bench/kms.h"
#include "bench/report.h"

#include <assert.h>
#include <signal.h>
#include <unistd.h>

enum { EXIT_MEASURED = 0, EXIT_ERRORS = 1, EXIT_USAGE = 2, EXIT_CHECKS = 3, MIXES_MAX = 32, REPEATS_MAX = 1000 };

struct bench_flags {
    char    *url, *user, *key, *renewer, *mix, *ca_file;
    int64_t  concurrency, threads, repeat, tokens, server_pid;
    uint64_t warmup, duration, timeout;
    bool     json, insecure;
};

#define FIELD(name) offsetof(struct bench_flags, name)
static const struct fl_flag flags[] = {
    { .name = "url",
      .type = FL_FLAG_STRING,
      .offset = FIELD(url),
      .required = true,
      .help = "the KMS, e.g. http://127.0.0.1:9600/kms" },
    { .name = "mix",
      .type = FL_FLAG_STRING,
      .offset = FIELD(mix),
      .default_text = "100:0,99:1,95:5,90:10",
      .help = "verifications to creations in percent, several by comma; each is measured in each repeat" },
    { .name = "concurrency",
      .type = FL_FLAG_INT,
      .offset = FIELD(concurrency),
      .default_text = "32",
      .min = 1,
      .max = 100000,
      .help = "connections, each with one request under way" },
    { .name = "threads",
      .type = FL_FLAG_INT,
      .offset = FIELD(threads),
      .default_text = "1",
      .min = 1,
      .max = 256,
      .help = "threads of the load; more when one can't saturate the server" },
    { .name = "warmup",
      .type = FL_FLAG_DURATION,
      .offset = FIELD(warmup),
      .default_text = "5s",
      .unit = "s",
      .help = "load before the clock starts" },
    { .name = "duration",
      .type = FL_FLAG_DURATION,
      .offset = FIELD(duration),
      .default_text = "15s",
      .unit = "s",
      .min = 100000000,
      .max = INT64_C(86400000000000),
      .help = "the measured interval" },
    { .name = "repeat",
      .type = FL_FLAG_INT,
      .offset = FIELD(repeat),
      .default_text = "3",
      .min = 1,
      .max = REPEATS_MAX,
      .help = "rounds through all mixes" },
    { .name = "tokens",
      .type = FL_FLAG_INT,
      .offset = FIELD(tokens),
      .default_text = "100",
      .min = 1,
      .max = 100000,
      .help = "tokens that take turns in verification" },
    { .name = "user",
      .type = FL_FLAG_STRING,
      .offset = FIELD(user),
      .default_text = "bench",
      .help = "who asks for tokens (simple authentication)" },
    { .name = "key",
      .type = FL_FLAG_STRING,
      .offset = FIELD(key),
      .default_text = "bench",
      .help = "the key whose metadata is read; made when missing" },
    { .name = "renewer",
      .type = FL_FLAG_STRING,
      .offset = FIELD(renewer),
      .default_text = "yarn",
      .help = "renewer of the tokens" },
    { .name = "timeout",
      .type = FL_FLAG_DURATION,
      .offset = FIELD(timeout),
      .default_text = "10s",
      .unit = "s",
      .help = "of connecting and of each answer" },
    { .name = "server_pid",
      .type = FL_FLAG_INT,
      .offset = FIELD(server_pid),
      .default_text = "0",
      .min = 0,
      .max = 4194304,
      .help = "measure this process's CPU; 0: don't" },
    { .name = "ca_file", .type = FL_FLAG_STRING, .offset = FIELD(ca_file), .help = "PEM of whom https is to trust" },
    { .name = "insecure", .type = FL_FLAG_BOOL, .offset = FIELD(insecure), .help = "https: take any certificate" },
    { .name = "json", .type = FL_FLAG_BOOL, .offset = FIELD(json), .help = "JSON instead of a table" },
};
#undef FIELD

static const struct fl_flag_table table = {
    .flags = flags,
    .count = FL_COUNT(flags),
    .program = "featherlock bench kms",
    .summary = "Measures a KMS in a closed loop: verification by metadata GETs with existing tokens, creation by "
               "GETDELEGATIONTOKEN. Sends no cookies, follows no redirects, repeats nothing.",
    .arguments = "",
};

struct mix {
    unsigned verify, create;
};

/* "100:0,99:1": pairs that make 100. */
static enum fl_status parse_mixes(const char *text, struct mix *mixes, size_t *count, struct fl_error *err)
{
    const char *at = text;

    for (*count = 0; *count < MIXES_MAX; at++) {
        struct mix *m = &mixes[*count];
        int         read = 0;

        if (sscanf(at, "%3u:%3u%n", &m->verify, &m->create, &read) != 2 || m->verify + m->create != 100 ||
            (at[read] != ',' && at[read] != '\0'))
            return fl_fail(err, FL_USAGE, 0, "--mix=%s: pairs like 99:1 that make 100, parted by commas, are expected",
                           text);
        (*count)++;
        at += read;
        if (*at == '\0')
            return FL_OK;
    }
    return fl_fail(err, FL_USAGE, 0, "--mix has more than %d pairs", MIXES_MAX);
}

static enum fl_status run_all(const struct bench_flags *f, const struct kms_bench *b, const struct mix *mixes,
                              size_t mix_count, struct report *report, struct fl_error *err)
{
    struct load_plan plan = { .target = &b->target,
                              .verify = b->verify,
                              .verify_count = b->verify_count,
                              .create = b->create,
                              .connections = (unsigned)f->concurrency,
                              .threads = (unsigned)FL_MIN(f->threads, f->concurrency),
                              .warmup_ns = f->warmup,
                              .duration_ns = f->duration,
                              .timeout_ns = f->timeout,
                              .server_pid = (int)f->server_pid,
                              .progress = isatty(STDERR_FILENO) != 0 };
    enum fl_status   status = FL_OK;

    assert(mix_count > 0 && f->repeat > 0);
    report->rows = calloc(mix_count * (size_t)f->repeat, sizeof *report->rows);
    if (report->rows == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for %zu runs", mix_count * (size_t)f->repeat);
    for (unsigned repeat = 1; status == FL_OK && repeat <= (unsigned)f->repeat; repeat++)
        for (size_t i = 0; status == FL_OK && i < mix_count; i++) {
            struct report_row *row = &report->rows[report->count];

            /* Odd rounds forwards, even ones backwards: a drift of the machine meets all mixes alike. */
            const struct mix *m = &mixes[repeat % 2 == 1 ? i : mix_count - 1 - i];
            plan.create_percent = m->create;
            *row = (struct report_row){ .verify_percent = m->verify, .create_percent = m->create, .repeat = repeat };
            status = load_run(&plan, &row->result, err);
            report->count += status == FL_OK;
        }
    return status;
}

static int measure(const struct bench_flags *f, const struct mix *mixes, size_t mix_count)
{
    struct tls_config       tls = { .client = true, .ca_file = f->ca_file, .insecure_noverify = f->insecure };
    struct kms_bench_config config = { .url = f->url,
                                       .user = f->user,
                                       .key = f->key,
                                       .renewer = f->renewer,
                                       .tokens = (unsigned)f->tokens,
                                       .tls = &tls,
                                       .timeout_ns = f->timeout };
    struct report           report = { .url = f->url,
                                       .connections = (unsigned)f->concurrency,
                                       .threads = (unsigned)f->threads,
                                       .tokens = (unsigned)f->tokens,
                                       .warmup_s = (double)f->warmup / 1e9,
                                       .duration_s = (double)f->duration / 1e9 };
    struct kms_bench        bench;
    struct fl_error         err;
    int                     code;
    enum fl_status          status = kms_bench_prepare(&bench, &config, &err);

    if (status != FL_OK) {
        fprintf(stderr, "featherlock bench: %s: %s\n", f->url, err.text);
        return status == FL_USAGE ? EXIT_USAGE : EXIT_CHECKS;
    }
    status = run_all(f, &bench, mixes, mix_count, &report, &err);
    if (status != FL_OK)
        fprintf(stderr, "featherlock bench: %s\n", err.text);
    else if (f->json)
        report_json(&report, stdout);
    else
        report_table(&report, stdout);
    code = status != FL_OK || report_has_errors(&report) ? EXIT_ERRORS : EXIT_MEASURED;
    report_done(&report);
    kms_bench_done(&bench);
    return code;
}

static int bench_kms(int argc, char **argv)
{
    struct bench_flags f = { 0 };
    struct fl_strings  args = { 0 };
    struct fl_error    err;
    struct mix         mixes[MIXES_MAX];
    size_t             mix_count;
    enum fl_status     status = fl_flags_parse(&table, &f, argc, argv, &args, &err);
    int                code = EXIT_USAGE;

    if (status == FL_CLOSED) {
        struct fl_buf help;

        fl_buf_init(&help, 0);
        fl_flags_help(&table, &help);
        fwrite(help.data, 1, fl_buf_len(&help), stdout);
        fl_buf_done(&help);
        code = EXIT_MEASURED;
    } else if (status == FL_OK && args.count > 0) {
        fprintf(stderr, "featherlock bench kms: '%s' is no flag, and arguments are not expected\n", args.at[0]);
    } else if (status != FL_OK || parse_mixes(f.mix, mixes, &mix_count, &err) != FL_OK) {
        fprintf(stderr, "featherlock bench kms: %s\n", err.text);
    } else {
        signal(SIGPIPE, SIG_IGN);
        code = measure(&f, mixes, mix_count);
    }
    fl_flags_done(&table, &f);
    fl_strings_done(&args);
    return code;
}

const struct fl_flag_table *bench_flag_table(void)
{
    return &table;
}

int bench_main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "kms") == 0)
        return bench_kms(argc - 1, argv + 1);
    fprintf(stderr, "usage: featherlock bench kms --url=http://host:port/kms [flags]; --help lists them\n");
    return argc >= 2 && strcmp(argv[1], "--help") == 0 ? EXIT_MEASURED : EXIT_USAGE;
}
