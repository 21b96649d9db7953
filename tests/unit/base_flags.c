#include "base/flags.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct some_flags {
    bool              check, quiet;
    int64_t           reactors, offset;
    uint64_t          room, idle, wait;
    char             *folder, *host;
    int               level;
    struct fl_strings peers;
};

static bool is_absolute(const char *value, struct fl_error *err)
{
    if (value[0] != '/')
        fl_fail(err, FL_USAGE, 0, "a path from the root is expected");
    return value[0] == '/';
}

#define FIELD(name) .offset = offsetof(struct some_flags, name)
static const struct fl_flag flags[] = {
    { .name = "check", .type = FL_FLAG_BOOL, FIELD(check), .default_text = "true", .help = "Checks the input." },
    { .name = "quiet", .type = FL_FLAG_BOOL, FIELD(quiet), .help = "Says less." },
    { .name = "reactors",
      .type = FL_FLAG_INT,
      FIELD(reactors),
      .default_text = "2",
      .min = 1,
      .max = 256,
      .unit = "threads",
      .group = "Threads",
      .help = "How many reactors run." },
    { .name = "offset", .type = FL_FLAG_INT, FIELD(offset), .help = "Any number." },
    { .name = "room",
      .type = FL_FLAG_BYTES,
      FIELD(room),
      .default_text = "64KiB",
      .min = 4096,
      .max = 1 << 30,
      .help = "How much memory there is." },
    { .name = "idle_time",
      .type = FL_FLAG_DURATION,
      FIELD(idle),
      .unit = "ms",
      .min = 1000000000,
      .max = INT64_C(604800000000000),
      .default_text = "60s",
      .group = "Threads",
      .help = "When to close." },
    { .name = "wait",
      .type = FL_FLAG_DURATION,
      FIELD(wait),
      .min = 1000,
      .max = INT64_MAX,
      .default_text = "1s",
      .help = "How long to wait." },
    { .name = "folder", .type = FL_FLAG_STRING, FIELD(folder), .valid = is_absolute, .help = "Where keys | lie." },
    { .name = "host", .type = FL_FLAG_STRING, FIELD(host), .default_text = "localhost", .help = "Where to listen." },
    { .name = "log_level",
      .type = FL_FLAG_ENUM,
      FIELD(level),
      .choices = "debug|info|warn",
      .default_text = "info",
      .help = "What is logged." },
    { .name = "peer", .type = FL_FLAG_STRINGS, FIELD(peers), .help = "Another server." },
};
static const struct fl_flag_table table = { .flags = flags,
                                            .count = FL_COUNT(flags),
                                            .program = "featherlock test",
                                            .summary = "Tests the flags.",
                                            .arguments = "KEY..." };

/* The words behind the program's name, up to a NULL. */
static enum fl_status parse(struct some_flags *into, struct fl_strings *args, struct fl_error *err, ...)
{
    char   *argv[16] = { (char *)(uintptr_t) "test" };
    int     argc = 1;
    va_list words;

    va_start(words, err);
    while (argc < 15 && (argv[argc] = va_arg(words, char *)) != NULL)
        argc++;
    va_end(words);
    memset(into, 0, sizeof *into);
    err->text[0] = '\0';
    return fl_flags_parse(&table, into, argc, argv, args, err);
}

#define REFUSED(sentence, ...)                                                       \
    do {                                                                             \
        struct some_flags into_;                                                     \
        struct fl_strings args_;                                                     \
        struct fl_error   err_;                                                      \
        assert_int_equal(parse(&into_, &args_, &err_, __VA_ARGS__, NULL), FL_USAGE); \
        assert_string_equal(err_.text, (sentence));                                  \
        assert_null(into_.host);                                                     \
    } while (0)

/* A file's path with this text, good until the next call. */
static const char *flag_file(const char *text)
{
    static char path[64];
    static int  fd = -1;

    if (fd >= 0)
        close(fd);
    fd = memfd_create("flags", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    snprintf(path, sizeof path, "--flagfile=/proc/self/fd/%d", fd);
    return path;
}

static void defaults_are_in_force_without_words(void **state)
{
    struct some_flags f;
    struct fl_strings args;
    struct fl_error   err;

    (void)state;
    assert_int_equal(parse(&f, &args, &err, NULL), FL_OK);
    assert_true(f.check);
    assert_false(f.quiet);
    assert_int_equal(f.reactors, 2);
    assert_int_equal(f.room, 65536);
    assert_true(f.idle == UINT64_C(60000000000));
    assert_null(f.folder);
    assert_string_equal(f.host, "localhost");
    assert_int_equal(f.level, 1);
    assert_int_equal(f.peers.count, 0);
    assert_int_equal(args.count, 0);
    fl_flags_done(&table, &f);
}

static void each_type_is_read_from_words(void **state)
{
    struct some_flags f;
    struct fl_strings args;
    struct fl_error   err;

    (void)state;
    assert_int_equal(parse(&f, &args, &err, "--nocheck", "--quiet", "--reactors", "8", "--offset=-9223372036854775808",
                           "--room=16M", "--idle-time=1500", "--folder=/srv", "--log-level=WARN", NULL),
                     FL_OK);
    assert_false(f.check);
    assert_true(f.quiet);
    assert_int_equal(f.reactors, 8);
    assert_true(f.offset == INT64_MIN);
    assert_int_equal(f.room, 16 << 20);
    assert_int_equal(f.idle, 1500000000);
    assert_string_equal(f.folder, "/srv");
    assert_int_equal(f.level, 2);
    fl_flags_done(&table, &f);
    assert_null(f.folder);
}

static void booleans_have_several_spellings(void **state)
{
    struct some_flags f;
    struct fl_strings args;
    struct fl_error   err;

    (void)state;
    assert_int_equal(parse(&f, &args, &err, "--check=no", "--quiet=On", NULL), FL_OK);
    assert_false(f.check);
    assert_true(f.quiet);
    fl_flags_done(&table, &f);
    assert_int_equal(parse(&f, &args, &err, "--no-check", "--quiet", "--quiet=0", NULL), FL_OK);
    assert_false(f.check);
    assert_false(f.quiet);
    fl_flags_done(&table, &f);
    REFUSED("--check=maybe: true or false is expected", "--check=maybe");
    REFUSED("--nocheck takes no value; --check=true or false does", "--nocheck=true");
}

static void what_is_no_flag_is_an_argument(void **state)
{
    struct some_flags f;
    struct fl_strings args;
    struct fl_error   err;

    (void)state;
    assert_int_equal(parse(&f, &args, &err, "one", "--quiet", "-", "--", "--reactors=9", "-x", NULL), FL_OK);
    assert_int_equal(args.count, 4);
    assert_string_equal(args.at[0], "one");
    assert_string_equal(args.at[1], "-");
    assert_string_equal(args.at[2], "--reactors=9");
    assert_string_equal(args.at[3], "-x");
    assert_null(args.at[4]);
    assert_int_equal(f.reactors, 2);
    fl_strings_done(&args);
    fl_flags_done(&table, &f);
}

static void a_table_without_arguments_refuses_them(void **state)
{
    struct fl_flag_table none = table;
    struct some_flags    f = { .check = false };
    struct fl_strings    args;
    struct fl_error      err;
    char                 word[] = "reactors=4", *argv[] = { word, word, NULL };

    (void)state;
    none.arguments = "";
    assert_int_equal(fl_flags_parse(&none, &f, 2, argv, &args, &err), FL_USAGE);
    assert_string_equal(err.text, "'reactors=4': featherlock test takes no arguments beside its flags");
}

static void wrong_values_are_refused_with_what_is_allowed(void **state)
{
    (void)state;
    REFUSED("--reactors=zero: a whole number from 1 to 256 is expected", "--reactors=zero");
    REFUSED("--reactors=0: a whole number from 1 to 256 is expected", "--reactors=0");
    REFUSED("--reactors=257: a whole number from 1 to 256 is expected", "--reactors", "257");
    REFUSED("--reactors=: a whole number from 1 to 256 is expected", "--reactors=");
    REFUSED("--reactors=4x: a whole number from 1 to 256 is expected", "--reactors=4x");
    REFUSED("--reactors= 4: a whole number from 1 to 256 is expected", "--reactors= 4");
    REFUSED("--offset=9223372036854775808: a whole number is expected", "--offset=9223372036854775808");
    REFUSED("--offset=99999999999999999999: a whole number is expected", "--offset=99999999999999999999");
    REFUSED("--room=1KiB: a size from 4KiB to 1GiB is expected", "--room=1KiB");
    REFUSED("--room=16777216TiB: a size from 4KiB to 1GiB is expected", "--room=16777216TiB");
    REFUSED("--idle_time=8d: a duration from 1s to 7d is expected", "--idle_time=8d");
    REFUSED("--wait=5: a duration of at least 1us is expected", "--wait=5");
    REFUSED("--log_level=loud: one of debug, info, warn is expected", "--log_level=loud");
    REFUSED("--log_level=inf: one of debug, info, warn is expected", "--log_level=inf");
    REFUSED("--folder=srv: a path from the root is expected", "--folder=srv");
}

static void a_missing_value_is_told(void **state)
{
    (void)state;
    REFUSED("--reactors without a value: a whole number from 1 to 256 is expected", "--reactors");
    REFUSED("--folder without a value: a value is expected", "--folder", "--quiet");
    REFUSED("--flagfile without a value: a path is expected", "--flagfile");
}

static void an_unknown_flag_is_told_with_the_nearest(void **state)
{
    (void)state;
    REFUSED("--reactor: no such flag; did you mean --reactors?", "--reactor=4");
    REFUSED("--log-levle: no such flag; did you mean --log_level?", "--log-levle=info");
    REFUSED("--idle: no such flag; did you mean --idle_time?", "--idle=5s");
    REFUSED("--something_else: no such flag; --help lists them", "--something_else");
    REFUSED("--noreactors: no such flag; did you mean --reactors?", "--noreactors");
    REFUSED("-r: no such flag; flags begin with two dashes", "-r");
    REFUSED("--: no such flag; --help lists them", "--=4");
}

static void a_long_value_is_cut_in_the_sentence(void **state)
{
    char              word[400] = "--reactors=";
    struct fl_error   err;
    struct some_flags f;
    struct fl_strings args;

    (void)state;
    memset(word + strlen(word), '7', sizeof word - 1 - strlen(word));
    assert_int_equal(parse(&f, &args, &err, word, NULL), FL_USAGE);
    assert_non_null(strstr(err.text, "777...: a whole number from 1 to 256 is expected"));
}

static void lists_grow_and_later_sources_begin_anew(void **state)
{
    struct some_flags f;
    struct fl_strings args;
    struct fl_error   err;

    (void)state;
    assert_int_equal(parse(&f, &args, &err, flag_file("peer=a\npeer=b\n"), NULL), FL_OK);
    assert_int_equal(f.peers.count, 2);
    assert_string_equal(f.peers.at[1], "b");
    fl_flags_done(&table, &f);
    assert_int_equal(parse(&f, &args, &err, flag_file("peer=a\npeer=b\n"), "--peer=c", NULL), FL_OK);
    assert_int_equal(f.peers.count, 1);
    assert_string_equal(f.peers.at[0], "c");
    fl_flags_done(&table, &f);
    assert_int_equal(parse(&f, &args, &err, "--peer=1", "--peer=2", "--peer=3", "--peer=4", "--peer=5", "--peer=6",
                           "--peer=7", "--peer=8", "--peer=9", NULL),
                     FL_OK);
    assert_int_equal(f.peers.count, 9);
    assert_string_equal(f.peers.at[8], "9");
    fl_flags_done(&table, &f);
    assert_null(f.peers.at);
}

static void later_sources_win(void **state)
{
    struct some_flags f;
    struct fl_strings args;
    struct fl_error   err;

    (void)state;
    assert_int_equal(setenv("FEATHERLOCK_REACTORS", "3", 1), 0);
    assert_int_equal(setenv("FEATHERLOCK_LOG_LEVEL", "debug", 1), 0);
    assert_int_equal(parse(&f, &args, &err, NULL), FL_OK);
    assert_int_equal(f.reactors, 3);
    fl_flags_done(&table, &f);
    assert_int_equal(parse(&f, &args, &err, "--reactors=5", flag_file("reactors=4\nroom=8K"), NULL), FL_OK);
    assert_int_equal(f.reactors, 5); /* although it stands before the file */
    assert_int_equal(f.room, 8192);
    assert_int_equal(f.level, 0);
    fl_flags_done(&table, &f);
    assert_int_equal(setenv("FEATHERLOCK_REACTORS", "many", 1), 0);
    REFUSED("FEATHERLOCK_REACTORS=many: a whole number from 1 to 256 is expected", "--reactors=5");
    unsetenv("FEATHERLOCK_REACTORS");
    unsetenv("FEATHERLOCK_LOG_LEVEL");
}

static void a_flag_file_may_be_written_in_several_ways(void **state)
{
    struct some_flags f;
    struct fl_strings args;
    struct fl_error   err;

    (void)state;
    assert_int_equal(parse(&f, &args, &err,
                           flag_file("# a comment\n\n  --reactors = 7 \r\nnocheck\n--quiet\nhost=a = b # c\nfolder=/x"),
                           NULL),
                     FL_OK);
    assert_int_equal(f.reactors, 7);
    assert_false(f.check);
    assert_true(f.quiet);
    assert_string_equal(f.host, "a = b # c"); /* only a whole line is a comment */
    assert_string_equal(f.folder, "/x");
    fl_flags_done(&table, &f);
}

static void assert_file_refused(const char *text, const char *end)
{
    struct some_flags f;
    struct fl_strings args;
    struct fl_error   err;
    const char       *word = flag_file(text);
    char              sentence[240];

    assert_int_equal(parse(&f, &args, &err, word, NULL), FL_USAGE);
    snprintf(sentence, sizeof sentence, "%s%s", word + strlen("--flagfile="), end);
    assert_string_equal(err.text, sentence);
}

static void a_wrong_line_of_a_file_is_told_by_its_number(void **state)
{
    (void)state;
    assert_file_refused("# one\nreactors=zero\n", ":2: --reactors=zero: a whole number from 1 to 256 is expected");
    assert_file_refused("reactor=2", ":1: --reactor: no such flag; did you mean --reactors?");
    assert_file_refused("\n\nhost\n", ":3: --host without a value: a value is expected");
    assert_file_refused("flagfile=/etc/other\n", ":1: --flagfile: only the command line names flag files");
    REFUSED("--flagfile=/nowhere/x: No such file or directory", "--flagfile", "/nowhere/x");
    REFUSED("--flagfile=/proc: Is a directory", "--flagfile=/proc");
}

static void a_huge_flag_file_is_refused(void **state)
{
    (void)state;
    REFUSED("--flagfile=/dev/zero: more than the 1044480 bytes that are allowed", "--flagfile=/dev/zero");
}

static void help_is_reported_as_closed(void **state)
{
    struct some_flags f;
    struct fl_strings args;
    struct fl_error   err;

    (void)state;
    assert_int_equal(parse(&f, &args, &err, "--reactors=zero", "--help", NULL), FL_CLOSED);
    assert_int_equal(parse(&f, &args, &err, "-h", NULL), FL_CLOSED);
    assert_int_equal(parse(&f, &args, &err, "--", "--help", NULL), FL_OK);
    fl_strings_done(&args);
    fl_flags_done(&table, &f);
}

static void a_required_flag_must_be_given(void **state)
{
    const struct fl_flag       one = { .name = "folder", .type = FL_FLAG_STRING, .required = true, .help = "Folder." };
    const struct fl_flag_table t = { .flags = &one, .count = 1, .program = "test", .summary = "Tests." };
    char                       program[] = "test", word[] = "--folder=x", *argv[] = { program, word, NULL };
    char                      *folder = NULL;
    struct fl_error            err;

    (void)state;
    assert_int_equal(fl_flags_parse(&t, &folder, 1, argv, NULL, &err), FL_USAGE);
    assert_string_equal(err.text, "--folder is required, and was not given: a value is expected");
    assert_int_equal(fl_flags_parse(&t, &folder, 1, argv, NULL, NULL), FL_USAGE);
    assert_int_equal(fl_flags_parse(&t, &folder, 2, argv, NULL, &err), FL_OK);
    assert_string_equal(folder, "x");
    fl_flags_done(&t, &folder);
}

static void one_setting_is_set_by_name(void **state)
{
    struct some_flags f = { .reactors = 3 };
    struct fl_error   err;

    (void)state;
    assert_int_equal(fl_flags_set(&table, &f, "reactors", "9", &err), FL_OK);
    assert_int_equal(f.reactors, 9);
    assert_int_equal(fl_flags_set(&table, &f, "reactors", "0", &err), FL_USAGE);
    assert_string_equal(err.text, "--reactors=0: a whole number from 1 to 256 is expected");
    assert_int_equal(f.reactors, 9);
    assert_int_equal(fl_flags_set(&table, &f, "nosuch", "0", NULL), FL_USAGE);
    assert_int_equal(fl_flags_set(&table, &f, "host", "a", &err), FL_OK);
    assert_int_equal(fl_flags_set(&table, &f, "host", "b", &err), FL_OK);
    assert_string_equal(f.host, "b");
    assert_int_equal(fl_flags_set(&table, &f, "peer", "a", &err), FL_OK);
    assert_int_equal(fl_flags_set(&table, &f, "peer", "b", &err), FL_OK);
    assert_int_equal(f.peers.count, 2);
    fl_flags_done(&table, &f);
}

static void durations_and_sizes_know_their_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t    ns;
    } good[] = { { "250ms", 250000000 },
                 { "5s", UINT64_C(5000000000) },
                 { "10m", UINT64_C(600000000000) },
                 { "1h", UINT64_C(3600000000000) },
                 { "7d", UINT64_C(604800000000000) },
                 { "3us", 3000 },
                 { "9ns", 9 },
                 { "0", 0 } };
    uint64_t        n = 99;
    struct fl_error err;

    (void)state;
    for (size_t i = 0; i < FL_COUNT(good); i++) {
        assert_int_equal(fl_parse_duration(good[i].text, NULL, &n, &err), FL_OK);
        assert_true(n == good[i].ns);
    }
    assert_int_equal(fl_parse_duration("5", "ms", &n, &err), FL_OK);
    assert_true(n == 5000000);
    assert_int_equal(fl_parse_duration("5", NULL, &n, &err), FL_USAGE);
    assert_string_equal(err.text, "'5': a duration such as 250ms, 5s, 10m, 1h or 7d is expected");
    assert_int_equal(fl_parse_duration("5M", "ms", &n, &err), FL_USAGE);
    assert_int_equal(fl_parse_duration("5 s", "ms", &n, &err), FL_USAGE);
    assert_int_equal(fl_parse_duration("-5s", "ms", &n, &err), FL_USAGE);
    assert_int_equal(fl_parse_duration("99999999d", "ms", &n, &err), FL_USAGE);
    assert_int_equal(fl_parse_bytes("64KiB", &n, &err), FL_OK);
    assert_int_equal(n, 65536);
    assert_int_equal(fl_parse_bytes("2g", &n, &err), FL_OK);
    assert_true(n == UINT64_C(2) << 30);
    assert_int_equal(fl_parse_bytes("512B", &n, &err), FL_OK);
    assert_int_equal(n, 512);
    assert_int_equal(fl_parse_bytes("16KB", &n, &err), FL_USAGE); /* 16000 or 16384? */
    assert_string_equal(err.text, "'16KB': a size such as 65536, 64KiB or 16M is expected");
    assert_int_equal(fl_parse_bytes("", &n, &err), FL_USAGE);
    assert_int_equal(fl_parse_bytes("16777216TiB", &n, &err), FL_USAGE);
}

/* Texts. */

static char *text_of(struct fl_buf *b)
{
    assert_true(fl_buf_put_byte(b, '\0'));
    return (char *)b->data;
}

static void help_shows_each_flag_in_80_columns(void **state)
{
    struct fl_buf b;
    char         *text, *line;

    (void)state;
    fl_buf_init(&b, 0);
    assert_true(fl_flags_help(&table, &b));
    text = text_of(&b);
    assert_non_null(strstr(text, "usage: featherlock test [--flag=value ...] KEY...\n"));
    assert_non_null(strstr(text, "\nThreads:\n  --reactors=NUMBER           How many reactors run. (from 1 to 256 "
                                 "threads;\n                              default 2)\n  --idle_time=TIME"));
    assert_non_null(strstr(text, "  --[no]check                 Checks the input. (default true)\n"));
    assert_non_null(strstr(text, "  --log_level=debug|info|warn\n                              What is logged. "));
    assert_non_null(strstr(text, "  --flagfile=PATH"));
    while ((line = strsep(&text, "\n")) != NULL)
        assert_true(strlen(line) <= 80);
    fl_buf_done(&b);
}

static void the_reference_is_a_markdown_table(void **state)
{
    struct fl_buf b;
    const char   *text;

    (void)state;
    fl_buf_init(&b, 0);
    assert_true(fl_flags_reference(&table, &b));
    text = text_of(&b);
    assert_non_null(strstr(text,
                           "\n### Threads\n\n| Flag | Value | Default | Meaning |\n|---|---|---|---|\n"
                           "| `--reactors` | whole number from 1 to 256 (threads) | `2` | How many reactors run. |\n"));
    assert_non_null(strstr(text, "| `--folder` | text |  | Where keys \\| lie. |\n"));
    assert_non_null(strstr(text, "| one of debug\\|info\\|warn | `info` |"));
    fl_buf_done(&b);
}

static void completion_offers_words(void **state)
{
    struct fl_buf b;
    const char   *text;

    (void)state;
    fl_buf_init(&b, 0);
    assert_true(fl_flags_completion(&table, &b));
    text = text_of(&b);
    assert_non_null(strstr(text, "--check\n--nocheck\n"));
    assert_non_null(strstr(text, "--reactors=\n"));
    assert_non_null(strstr(text, "--log_level=debug\n--log_level=info\n--log_level=warn\n"));
    assert_non_null(strstr(text, "--flagfile=\n--help\n"));
    fl_buf_done(&b);
}

static void what_is_shown_can_be_read_again(void **state)
{
    static const char want[] = "check=false\nquiet=false\nreactors=2\noffset=-5\nroom=1GiB\nidle_time=90s\nwait=1ms\n"
                               "host=localhost\nlog_level=warn\npeer=a\npeer=b\n";
    struct some_flags f;
    struct fl_strings args;
    struct fl_error   err;
    struct fl_buf     b;

    (void)state;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(round == 0 ? parse(&f, &args, &err, "--nocheck", "--offset=-5", "--room=1048576K",
                                            "--idle_time=90000ms", "--wait=1000us", "--log_level=warn", "--peer=a",
                                            "--peer=b", NULL)
                                    : parse(&f, &args, &err, flag_file(want), NULL),
                         FL_OK);
        fl_buf_init(&b, 0);
        assert_true(fl_flags_show(&table, &f, &b));
        assert_string_equal(text_of(&b), want);
        fl_buf_done(&b);
        fl_flags_done(&table, &f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_in_force_without_words),
        cmocka_unit_test(each_type_is_read_from_words),
        cmocka_unit_test(booleans_have_several_spellings),
        cmocka_unit_test(what_is_no_flag_is_an_argument),
        cmocka_unit_test(a_table_without_arguments_refuses_them),
        cmocka_unit_test(wrong_values_are_refused_with_what_is_allowed),
        cmocka_unit_test(a_missing_value_is_told),
        cmocka_unit_test(an_unknown_flag_is_told_with_the_nearest),
        cmocka_unit_test(a_long_value_is_cut_in_the_sentence),
        cmocka_unit_test(lists_grow_and_later_sources_begin_anew),
        cmocka_unit_test(later_sources_win),
        cmocka_unit_test(a_flag_file_may_be_written_in_several_ways),
        cmocka_unit_test(a_wrong_line_of_a_file_is_told_by_its_number),
        cmocka_unit_test(a_huge_flag_file_is_refused),
        cmocka_unit_test(help_is_reported_as_closed),
        cmocka_unit_test(a_required_flag_must_be_given),
        cmocka_unit_test(one_setting_is_set_by_name),
        cmocka_unit_test(durations_and_sizes_know_their_units),
        cmocka_unit_test(help_shows_each_flag_in_80_columns),
        cmocka_unit_test(the_reference_is_a_markdown_table),
        cmocka_unit_test(completion_offers_words),
        cmocka_unit_test(what_is_shown_can_be_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
