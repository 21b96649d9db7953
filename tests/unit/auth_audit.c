#include "auth/audit_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"

#define WINDOW_MS 10000
#define START_MS INT64_C(1796089167839) /* 2026-12-01 01:39:27,839 UTC */

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static const char *line_of(struct audit_event e)
{
    static char        text[40000];
    struct audit_stamp stamp = { 0 };
    struct fl_buf      b;

    fl_buf_init(&b, sizeof text);
    assert_true(audit_line_put(&b, &stamp, START_MS, &e, NULL));
    snprintf(text, sizeof text, "%.*s", FL_SLICE_ARGS(fl_buf_slice(&b)));
    fl_buf_done(&b);
    return text;
}

static void lines_have_hadoops_form(void **state)
{
    (void)state;
    assert_string_equal(
        line_of((struct audit_event){ .status = AUDIT_OK, .op = AUDIT_GET_KEYS, .user = FL_LIT("alice") }),
        "2026-12-01 01:39:27,839 OK[op=GET_KEYS, user=alice] \n");
    assert_string_equal(line_of((struct audit_event){ .status = AUDIT_OK,
                                                      .op = AUDIT_CREATE_KEY,
                                                      .key = FL_LIT("k1"),
                                                      .user = FL_LIT("alice"),
                                                      .text = FL_LIT("UserProvidedMaterial:false Description:null") }),
                        "2026-12-01 01:39:27,839 OK[op=CREATE_KEY, key=k1, user=alice] UserProvidedMaterial:false "
                        "Description:null\n");
    assert_string_equal(line_of((struct audit_event){ .status = AUDIT_UNAUTHORIZED,
                                                      .op = AUDIT_LEVEL2,
                                                      .level2 = FL_LIT("READ"),
                                                      .key = FL_LIT("k1"),
                                                      .user = FL_LIT("bob") }),
                        "2026-12-01 01:39:27,839 UNAUTHORIZED[op=READ, key=k1, user=bob] \n");
    assert_string_equal(line_of((struct audit_event){ .status = AUDIT_ERROR,
                                                      .user = FL_LIT("bob"),
                                                      .text = FL_LIT("Method:'POST' Exception:'x'") }),
                        "2026-12-01 01:39:27,839 ERROR[user=bob] Method:'POST' Exception:'x'\n");
    assert_string_equal(
        line_of((struct audit_event){ .status = AUDIT_ERROR, .text = FL_LIT("Method:'GET' Exception:'x'") }),
        "2026-12-01 01:39:27,839 ERROR Method:'GET' Exception:'x'\n");
    assert_string_equal(line_of((struct audit_event){ .status = AUDIT_UNAUTHENTICATED,
                                                      .user = FL_LIT("x"),
                                                      .text = FL_LIT("RemoteHost:h Method:GET URL:u ErrorMsg:'m'") }),
                        "2026-12-01 01:39:27,839 UNAUTHENTICATED RemoteHost:h Method:GET URL:u ErrorMsg:'m'\n");
}

static void no_field_can_write_a_line_of_its_own(void **state)
{
    struct audit_event e = { .status = AUDIT_OK,
                             .op = AUDIT_GET_METADATA,
                             .key = FL_LIT("a\nOK[op=x]\r\t\x1b[2J\x7f"),
                             .user = FL_LIT("\xc2\x85\xe2\x80\xa8\xc5\xbeofia\xc2\xa0\xe2\x82\xac\xc2") };

    (void)state;
    assert_string_equal(line_of(e),
                        "2026-12-01 01:39:27,839 OK[op=GET_METADATA, key=a\\nOK[op=x]\\r\\t\\u001b[2J\\u007f, "
                        "user=\\u0085\\u2028\xc5\xbeofia\xc2\xa0\xe2\x82\xac\xc2] \n");
}

static void a_field_full_of_controls_fits(void **state)
{
    char               zeros[AUDIT_FIELD_MAX] = { 0 };
    struct fl_slice    all = fl_slice_of(zeros, sizeof zeros);
    struct audit_event e = {
        .status = AUDIT_OK, .op = AUDIT_CREATE_KEY, .cut = 7, .key = all, .user = all, .text = all
    };

    (void)state;
    assert_true(strlen(line_of(e)) > 6 * 3 * sizeof zeros);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* A log whose clock the test moves. */
struct hand {
    struct audit_windows *w;
    struct fl_buf         out;
    int64_t               ms;
};

static struct hand hand_with(size_t most)
{
    struct hand h = { .w = audit_windows_new(WINDOW_MS * FL_NS_PER_MS, most), .ms = START_MS };

    assert_non_null(h.w);
    fl_buf_init(&h.out, 1 << 20);
    return h;
}

static void hand_done(struct hand *h)
{
    audit_windows_free(h->w);
    fl_buf_done(&h->out);
}

static unsigned happens(struct hand *h, enum audit_status status, enum audit_op op, const char *key, const char *user)
{
    struct audit_event e = {
        .status = status, .op = op, .wall_ms = h->ms, .key = fl_slice_str(key), .user = fl_slice_str(user)
    };

    return audit_windows_event(h->w, &e, (uint64_t)h->ms * FL_NS_PER_MS, h->ms, &h->out);
}

static unsigned passes(struct hand *h, int64_t ms)
{
    bool more;

    h->ms += ms;
    return audit_windows_expire(h->w, (uint64_t)h->ms * FL_NS_PER_MS, h->ms, 1 << 19, &h->out, &more);
}

/* What was written since the last time, without the times of day. */
static const char *written(struct hand *h)
{
    static char     text[8192];
    struct fl_slice rest = fl_buf_slice(&h->out);
    size_t          len = 0;

    while (rest.len > 0) {
        size_t end = fl_slice_find(rest, '\n');

        assert_true(end != SIZE_MAX && end > 24);
        len += (size_t)snprintf(text + len, sizeof text - len, "%.*s\n", (int)(end - 24), (const char *)rest.at + 24);
        rest = fl_slice_from(rest, end + 1);
    }
    text[len] = '\0';
    fl_buf_clear(&h->out);
    return text;
}

static void the_first_is_told_at_once_and_the_rest_at_the_end_of_the_window(void **state)
{
    struct hand h = hand_with(100);

    (void)state;
    assert_int_equal(happens(&h, AUDIT_OK, AUDIT_DECRYPT_EEK, "k1", "alice"), 1);
    assert_string_equal(written(&h), "OK[op=DECRYPT_EEK, key=k1, user=alice, accessCount=1, interval=0ms] \n");
    for (int i = 0; i < 41; i++)
        assert_int_equal(happens(&h, AUDIT_OK, AUDIT_DECRYPT_EEK, "k1", "alice"), 0);
    assert_int_equal(passes(&h, 9999), 0);
    assert_int_equal(passes(&h, 6), 1);
    assert_string_equal(written(&h), "OK[op=DECRYPT_EEK, key=k1, user=alice, accessCount=42, interval=10005ms] \n");
    hand_done(&h);
}

static void a_single_event_is_told_again_at_the_end(void **state)
{
    struct hand h = hand_with(100);

    (void)state;
    happens(&h, AUDIT_OK, AUDIT_GET_CURRENT_KEY, "k1", "rd");
    passes(&h, 10281);
    assert_string_equal(written(&h), "OK[op=GET_CURRENT_KEY, key=k1, user=rd, accessCount=1, interval=0ms] \n"
                                     "OK[op=GET_CURRENT_KEY, key=k1, user=rd, accessCount=1, interval=10281ms] \n");
    hand_done(&h);
}

/* KMSAudit puts the event back with a count of 0, which is not 'new'. */
static void a_steady_load_tells_one_line_a_window_since_the_first_event(void **state)
{
    struct hand h = hand_with(100);

    (void)state;
    happens(&h, AUDIT_OK, AUDIT_GENERATE_EEK, "k1", "gen");
    passes(&h, 10000);
    written(&h);
    assert_int_equal(happens(&h, AUDIT_OK, AUDIT_GENERATE_EEK, "k1", "gen"), 0);
    assert_int_equal(happens(&h, AUDIT_OK, AUDIT_GENERATE_EEK, "k1", "gen"), 0);
    assert_int_equal(passes(&h, 10000), 1);
    assert_string_equal(written(&h), "OK[op=GENERATE_EEK, key=k1, user=gen, accessCount=2, interval=20000ms] \n");
    assert_int_equal(passes(&h, 10000), 0); /* an idle window ends it */
    assert_int_equal(audit_windows_open(h.w), 0);
    assert_int_equal(happens(&h, AUDIT_OK, AUDIT_GENERATE_EEK, "k1", "gen"), 1);
    assert_string_equal(written(&h), "OK[op=GENERATE_EEK, key=k1, user=gen, accessCount=1, interval=0ms] \n");
    hand_done(&h);
}

static void unauthorized_tells_the_open_window_first(void **state)
{
    struct hand h = hand_with(100);

    (void)state;
    happens(&h, AUDIT_OK, AUDIT_DECRYPT_EEK, "k1", "alice");
    happens(&h, AUDIT_OK, AUDIT_DECRYPT_EEK, "k1", "alice");
    passes(&h, 500);
    written(&h);
    assert_int_equal(happens(&h, AUDIT_UNAUTHORIZED, AUDIT_DECRYPT_EEK, "k1", "bob"), 1);
    assert_int_equal(happens(&h, AUDIT_UNAUTHORIZED, AUDIT_DECRYPT_EEK, "k1", "alice"), 2);
    assert_string_equal(written(&h), "UNAUTHORIZED[op=DECRYPT_EEK, key=k1, user=bob] \n"
                                     "OK[op=DECRYPT_EEK, key=k1, user=alice, accessCount=2, interval=500ms] \n"
                                     "UNAUTHORIZED[op=DECRYPT_EEK, key=k1, user=alice] \n");
    assert_int_equal(happens(&h, AUDIT_UNAUTHORIZED, AUDIT_DECRYPT_EEK, "k1", "alice"), 1);
    assert_int_equal(audit_windows_open(h.w), 0);
    hand_done(&h);
}

static void only_five_operations_with_key_and_user_are_counted(void **state)
{
    struct hand h = hand_with(100);

    (void)state;
    for (int op = 0; op < AUDIT_LEVEL2; op++) {
        bool five = op == AUDIT_GET_KEY_VERSION || op == AUDIT_GET_CURRENT_KEY || op == AUDIT_DECRYPT_EEK ||
                    op == AUDIT_GENERATE_EEK || op == AUDIT_REENCRYPT_EEK;

        assert_int_equal(happens(&h, AUDIT_OK, op, "k", "u"), 1);
        assert_int_equal(happens(&h, AUDIT_OK, op, "k", "u"), five ? 0 : 1);
        assert_int_equal(happens(&h, AUDIT_OK, op, "", "u") + happens(&h, AUDIT_OK, op, "k", ""), 2);
        assert_int_equal(happens(&h, AUDIT_ERROR, op, "k", "u"), 1);
    }
    assert_int_equal(audit_windows_open(h.w), 5);
    hand_done(&h);
}

static void triples_are_told_apart(void **state)
{
    struct hand h = hand_with(2000);
    char        name[16];

    (void)state;
    for (int i = 0; i < 1000; i++) { /* the table grows on the way */
        snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(happens(&h, AUDIT_OK, AUDIT_DECRYPT_EEK, name, "u"), 1);
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(happens(&h, AUDIT_OK, AUDIT_DECRYPT_EEK, name, "u"), 0);
    }
    assert_int_equal(happens(&h, AUDIT_OK, AUDIT_DECRYPT_EEK, "k", "1u"), 1);
    assert_int_equal(happens(&h, AUDIT_OK, AUDIT_GENERATE_EEK, "k1", "u"), 1);
    fl_buf_clear(&h.out);
    assert_int_equal(passes(&h, WINDOW_MS), 1002);
    hand_done(&h);
}

static void when_the_table_is_full_the_oldest_window_is_told_early(void **state)
{
    struct hand h = hand_with(2);

    (void)state;
    happens(&h, AUDIT_OK, AUDIT_DECRYPT_EEK, "k1", "u");
    passes(&h, 100);
    happens(&h, AUDIT_OK, AUDIT_DECRYPT_EEK, "k2", "u");
    written(&h);
    assert_int_equal(happens(&h, AUDIT_OK, AUDIT_DECRYPT_EEK, "k3", "u"), 2);
    assert_string_equal(written(&h), "OK[op=DECRYPT_EEK, key=k1, user=u, accessCount=1, interval=100ms] \n"
                                     "OK[op=DECRYPT_EEK, key=k3, user=u, accessCount=1, interval=0ms] \n");
    assert_int_equal(audit_windows_open(h.w), 2);
    hand_done(&h);
}

static void many_summaries_are_told_in_portions(void **state)
{
    struct hand h = hand_with(100);
    bool        more;
    char        name[16];

    (void)state;
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "k%d", i);
        happens(&h, AUDIT_OK, AUDIT_DECRYPT_EEK, name, "u");
    }
    fl_buf_clear(&h.out);
    assert_int_equal(audit_windows_expire(h.w, UINT64_MAX / 2, h.ms, 1, &h.out, &more), 1);
    assert_true(more);
    assert_int_equal(audit_windows_expire(h.w, UINT64_MAX / 2, h.ms, 1 << 19, &h.out, &more), 49);
    assert_false(more);
    hand_done(&h);
}

/* ---- what Java wrote --------------------------------------------------------------------------------------------- */

static int64_t wall_of(const char *line)
{
    struct tm   tm = { 0 };
    const char *ms = strptime(line, "%Y-%m-%d %H:%M:%S,", &tm);

    assert_non_null(ms);
    return (int64_t)timegm(&tm) * 1000 + atoi(ms);
}

static struct fl_slice between(const char *text, const char *before, const char *after)
{
    const char *from = strstr(text, before), *to;

    if (from == NULL)
        return fl_slice_of(NULL, 0);
    from += strlen(before);
    to = strpbrk(from, after);
    return fl_slice_of(from, to == NULL ? strlen(from) : (size_t)(to - from));
}

static struct audit_event event_of(const char *line)
{
    static const char *const statuses[] = { "OK[", "UNAUTHORIZED[", "ERROR[", "UNAUTHENTICATED " };
    struct audit_event       e = { .wall_ms = wall_of(line), .op = AUDIT_OPS };
    const char              *message = line + 24, *end = strstr(message, "] ");

    for (unsigned i = 0; i < FL_COUNT(statuses); i++)
        if (strncmp(message, statuses[i], strlen(statuses[i])) == 0)
            e.status = i;
    if (e.status == AUDIT_UNAUTHENTICATED) {
        e.op = AUDIT_GET_KEYS;
        e.text = fl_slice_str(message + strlen("UNAUTHENTICATED "));
        return e;
    }
    e.level2 = between(message, "[op=", ",]");
    e.key = between(message, ", key=", ",");
    e.user = between(message, e.status == AUDIT_ERROR ? "[user=" : ", user=", ",]");
    e.text = fl_slice_str(end + 2);
    for (int op = 0; op < AUDIT_LEVEL2; op++)
        if (fl_slice_equal(e.level2, fl_slice_str(audit_op_name(op))))
            e.op = op;
    if (e.op == AUDIT_OPS)
        e.op = AUDIT_LEVEL2;
    return e;
}

static bool is_summary(const char *line)
{
    return strstr(line, "accessCount=") != NULL && strstr(line, "interval=0ms") == NULL;
}

/* A summary that Java wrote at this time must be among those that end by then here. */
static void expect_summary(struct hand *h, const char *line)
{
    char wanted[300];

    passes(h, wall_of(line) - h->ms);
    snprintf(wanted, sizeof wanted, "%.*s", (int)(strstr(line, "interval=") - line - 24), line + 24);
    fl_buf_put_byte(&h->out, '\0');
    if (strstr((const char *)fl_buf_slice(&h->out).at, wanted) == NULL)
        fail_msg("no summary for %s", line);
    h->out.write--;
}

/* Events after the first of a window left no line of their own; how many there were is told by the summary, further on
 * in rest. */
static void play_silent_ones(struct hand *h, const struct audit_event *e, const char *line, const char *rest)
{
    char        triple[300];
    const char *summary, *accesses = strstr(line, "accessCount=");

    if (accesses == NULL)
        return;
    snprintf(triple, sizeof triple, "%.*s", (int)(accesses + strlen("accessCount=") - line - 24), line + 24);
    summary = strstr(rest, triple);
    for (int n = summary == NULL ? 1 : atoi(summary + strlen(triple)); n > 1; n--)
        assert_int_equal(audit_windows_event(h->w, e, (uint64_t)h->ms * FL_NS_PER_MS, h->ms, &h->out), 0);
}

static void expect_line(struct hand *h, const char *line, const char *rest)
{
    struct audit_event e = event_of(line);

    h->ms = e.wall_ms;
    fl_buf_clear(&h->out);
    assert_int_equal(audit_windows_event(h->w, &e, (uint64_t)h->ms * FL_NS_PER_MS, h->ms, &h->out), 1);
    assert_int_equal(fl_buf_len(&h->out), strlen(line) + 1);
    assert_memory_equal(fl_buf_slice(&h->out).at, line, strlen(line));
    fl_buf_clear(&h->out);
    play_silent_ones(h, &e, line, rest);
}

static char *whole_file(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 20);

    assert_non_null(f);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

static void the_log_of_java_is_written_again_byte_for_byte(void **state)
{
    char       *text = whole_file(FL_TEST_DATA "/auth/audit.txt"), *rest = text, *line;
    struct hand h = hand_with(1000);
    int         seen = 0, summaries = 0;

    (void)state;
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        if (strncmp(line, "# run", 5) == 0) {
            hand_done(&h);
            h = hand_with(1000);
        } else if (is_summary(line)) {
            expect_summary(&h, line);
            summaries++;
        } else if (*line != '#') {
            expect_line(&h, line, rest);
            seen++;
        }
    }
    hand_done(&h);
    free(text);
    assert_int_equal(seen, 293);
    assert_int_equal(summaries, 12);
}

/* ---- ring -------------------------------------------------------------------------------------------------------- */

static void records_come_out_as_they_went_in(void **state)
{
    struct audit_ring  r = { 0 };
    struct audit_event in = { .status = AUDIT_UNAUTHORIZED,
                              .op = AUDIT_LEVEL2,
                              .wall_ms = START_MS,
                              .level2 = FL_LIT("READ"),
                              .key = FL_LIT("k1"),
                              .user = FL_LIT("bob"),
                              .text = FL_LIT("") },
                       out;

    (void)state;
    assert_int_equal(audit_ring_init(&r, 1, NULL), FL_OK);
    assert_false(audit_ring_peek(&r, &out));
    for (int i = 0; i < 10000; i++) { /* several times round, at every alignment */
        in.text = fl_slice_of("0123456789abcdef0123456789abcdef", (size_t)i % 32);
        assert_true(audit_ring_put(&r, &in));
        assert_true(audit_ring_peek(&r, &out));
        assert_int_equal(out.status, AUDIT_UNAUTHORIZED);
        assert_int_equal(out.op, AUDIT_LEVEL2);
        assert_int_equal(out.wall_ms, START_MS);
        assert_int_equal(out.cut, 0);
        assert_true(fl_slice_equal(out.level2, in.level2) && fl_slice_equal(out.key, in.key));
        assert_true(fl_slice_equal(out.user, in.user) && fl_slice_equal(out.text, in.text));
        audit_ring_pop(&r);
        assert_false(audit_ring_peek(&r, &out));
    }
    audit_ring_done(&r);
}

static void a_full_ring_refuses_and_goes_on_after_a_pop(void **state)
{
    struct audit_ring  r = { 0 };
    struct audit_event e = { .status = AUDIT_OK, .op = AUDIT_GET_METADATA, .key = FL_LIT("k"), .user = FL_LIT("u") },
                       out;
    int put = 0, got = 0;

    (void)state;
    assert_int_equal(audit_ring_init(&r, 16 * 1024, NULL), FL_OK);
    while (audit_ring_put(&r, &e))
        put++;
    assert_int_equal(put, 16 * 1024 / 32);
    assert_true(audit_ring_peek(&r, &out));
    audit_ring_pop(&r);
    assert_true(audit_ring_put(&r, &e));
    assert_false(audit_ring_put(&r, &e));
    while (audit_ring_peek(&r, &out)) {
        audit_ring_pop(&r);
        got++;
    }
    assert_int_equal(got, put);
    audit_ring_done(&r);
}

/* Wherever in the ring the end lies, and however full it is when the change is done. */
static void room_that_is_held_is_there_when_it_is_let_go(void **state)
{
    char               key[1000];
    struct audit_event small = { AUDIT_OK, AUDIT_GET_KEYS, .user = FL_LIT("u") };
    struct audit_event big = { AUDIT_OK, AUDIT_CREATE_KEY, .key = fl_slice_of(key, sizeof key) };

    (void)state;
    memset(key, 'k', sizeof key);
    for (int skipped = 0; skipped < 600; skipped++) {
        struct audit_ring  r = { 0 };
        struct audit_event out;

        assert_int_equal(audit_ring_init(&r, 16 * 1024, NULL), FL_OK);
        for (int i = 0; i < skipped; i++) {
            assert_true(audit_ring_put(&r, &small) && audit_ring_peek(&r, &out));
            audit_ring_pop(&r);
        }
        assert_true(audit_ring_hold(&r, sizeof key) && audit_ring_hold(&r, sizeof key));
        while (audit_ring_put(&r, &small))
            ;
        assert_false(audit_ring_hold(&r, sizeof key));
        for (int held = 0; held < 2; held++) {
            audit_ring_let_go(&r, sizeof key);
            assert_true(audit_ring_put(&r, &big));
        }
        audit_ring_done(&r);
    }
}

static void long_fields_are_cut_at_a_character_and_marked(void **state)
{
    static char        field[AUDIT_FIELD_MAX + 100];
    struct audit_ring  r = { 0 };
    struct audit_event e = { .status = AUDIT_OK, .op = AUDIT_CREATE_KEY, .user = FL_LIT("u") }, out;

    (void)state;
    memset(field, 'x', sizeof field);
    memcpy(field + AUDIT_FIELD_MAX - 1, "\xc5\xbe", 2);
    e.key = fl_slice_of(field, sizeof field);
    e.text = fl_slice_of(field, AUDIT_FIELD_MAX - 1);
    assert_int_equal(audit_ring_init(&r, 0, NULL), FL_OK);
    assert_true(audit_ring_put(&r, &e));
    assert_true(audit_ring_peek(&r, &out));
    assert_int_equal(out.cut, AUDIT_CUT_KEY);
    assert_int_equal(out.key.len, AUDIT_FIELD_MAX - 1);
    assert_int_equal(out.text.len, AUDIT_FIELD_MAX - 1);
    assert_non_null(strstr(line_of(out), "xx...(cut), user=u] xx"));
    audit_ring_done(&r);
}

static void a_ring_that_cannot_be_is_refused(void **state)
{
    struct audit_ring r = { 0 };
    struct fl_error   err;

    (void)state;
    assert_int_equal(audit_ring_init(&r, SIZE_MAX, &err), FL_USAGE);
    assert_non_null(strstr(err.text, "1 GiB"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_hadoops_form),
        cmocka_unit_test(no_field_can_write_a_line_of_its_own),
        cmocka_unit_test(a_field_full_of_controls_fits),
        cmocka_unit_test(the_first_is_told_at_once_and_the_rest_at_the_end_of_the_window),
        cmocka_unit_test(a_single_event_is_told_again_at_the_end),
        cmocka_unit_test(a_steady_load_tells_one_line_a_window_since_the_first_event),
        cmocka_unit_test(unauthorized_tells_the_open_window_first),
        cmocka_unit_test(only_five_operations_with_key_and_user_are_counted),
        cmocka_unit_test(triples_are_told_apart),
        cmocka_unit_test(when_the_table_is_full_the_oldest_window_is_told_early),
        cmocka_unit_test(many_summaries_are_told_in_portions),
        cmocka_unit_test(the_log_of_java_is_written_again_byte_for_byte),
        cmocka_unit_test(records_come_out_as_they_went_in),
        cmocka_unit_test(a_full_ring_refuses_and_goes_on_after_a_pop),
        cmocka_unit_test(room_that_is_held_is_there_when_it_is_let_go),
        cmocka_unit_test(long_fields_are_cut_at_a_character_and_marked),
        cmocka_unit_test(a_ring_that_cannot_be_is_refused),
    };

    setenv("TZ", "UTC", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
