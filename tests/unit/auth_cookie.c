#include "auth/cookie_inside.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

#define NOW_MS INT64_C(1700000000000)
#define ALICE "u=alice&p=alice&t=simple-dt&e=1700036000000&s=FtjQoJNZxcGivR6pfNwIr/PuRF6o20QxfT8mOw+Rm9k="
#define ALICE_SLIDING \
    "u=alice&p=alice&t=simple-dt&i=1700001800000&e=1700036000000&s=JlD0YBdwRTToXHZALMkDdAluzpoghBYHOgO6pvs71y4="
#define HDFS                                                                                  \
    "u=hdfs&p=hdfs/nn1.example.com@EXAMPLE.COM&t=kerberos-dt&e=1700036000000&s=3QO421zGBbbp6" \
    "NqkCS5oyfhKoUr03hFe5EpsUVs2118="

/* A file that is gone when the test is over. */
struct secret_file {
    char path[64];
};

static void make_file(struct secret_file *f, const void *bytes, size_t len)
{
    int fd;

    snprintf(f->path, sizeof f->path, "/tmp/fl-auth-cookie-XXXXXX");
    fd = mkstemp(f->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

static struct auth_cookies *cookies_of(struct auth_cookies_config config, struct fl_slice secret)
{
    struct auth_cookies *c = NULL;
    struct secret_file   file;
    struct fl_error      err;

    config.validity_ns = config.validity_ns == 0 ? 36000 * FL_NS_PER_S : config.validity_ns;
    config.type = config.type == NULL ? "simple-dt" : config.type;
    if (secret.len > 0) {
        make_file(&file, secret.at, secret.len);
        config.secret_file = file.path;
    }
    assert_int_equal(auth_cookies_new(&c, &config, &err), FL_OK);
    if (secret.len > 0)
        unlink(file.path);
    return c;
}

/* The secret of the worked vectors: bytes 00 to 1f. */
static struct auth_cookies *known(struct auth_cookies_config config)
{
    static uint8_t bytes[32];

    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    return cookies_of(config, fl_slice_of(bytes, sizeof bytes));
}

static const char *refused(struct auth_cookies *c, const char *value, int64_t now_ms)
{
    static struct fl_error err;
    struct auth_cookie     k;

    assert_int_equal(auth_cookie_verify(c, fl_slice_str(value), now_ms, &k, &err), FL_DENIED);
    return err.text;
}

static char *put(struct auth_cookies *c, const struct auth_cookie *k, int64_t now_ms)
{
    static char   text[1024];
    struct fl_buf b;

    fl_buf_init(&b, sizeof text);
    assert_true(k == NULL ? auth_cookie_put_clear(c, &b) : auth_cookie_put(c, k, now_ms, &b));
    snprintf(text, sizeof text, "%.*s", FL_SLICE_ARGS(fl_buf_slice(&b)));
    fl_buf_done(&b);
    return text;
}

/* Signs text as a server with the secret of c would. */
static const char *sign(struct auth_cookies *c, const char *text)
{
    static char value[512];
    char        s[COOKIE_SIGNATURE_LEN];

    assert_true(cookie_sign(c->secrets->current_id, c->secrets->current, fl_slice_str(text), s));
    snprintf(value, sizeof value, "%s&s=%.*s", text, COOKIE_SIGNATURE_LEN, s);
    return value;
}

static void a_cookie_of_the_worked_vectors_verifies_quoted_or_not(void **state)
{
    struct auth_cookies *c = known((struct auth_cookies_config){ 0 });
    struct auth_cookie   k;

    (void)state;
    assert_int_equal(auth_cookie_verify(c, FL_LIT(ALICE), NOW_MS, &k, NULL), FL_OK);
    assert_int_equal(auth_cookie_verify(c, FL_LIT("\"" ALICE "\""), NOW_MS, &k, NULL), FL_OK);
    assert_true(fl_slice_equal(k.user, FL_LIT("alice")));
    assert_true(fl_slice_equal(k.principal, FL_LIT("alice")));
    assert_int_equal(k.expiry_ms, INT64_C(1700036000000));
    assert_int_equal(k.inactive_ms, 0);
    assert_int_equal(auth_cookie_verify(c, FL_LIT(ALICE_SLIDING), NOW_MS, &k, NULL), FL_OK);
    assert_int_equal(k.inactive_ms, INT64_C(1700001800000));
    auth_cookies_free(c);
}

static void a_kerberos_cookie_is_for_a_kerberos_door(void **state)
{
    struct auth_cookies *kerberos = known((struct auth_cookies_config){ .type = "kerberos-dt" });
    struct auth_cookies *simple = known((struct auth_cookies_config){ 0 });
    struct auth_cookie   k;

    (void)state;
    assert_int_equal(auth_cookie_verify(kerberos, FL_LIT(HDFS), NOW_MS, &k, NULL), FL_OK);
    assert_true(fl_slice_equal(k.principal, FL_LIT("hdfs/nn1.example.com@EXAMPLE.COM")));
    assert_string_equal(refused(simple, HDFS, NOW_MS), "Invalid AuthenticationToken type");
    auth_cookies_free(kerberos);
    auth_cookies_free(simple);
}

static void what_is_wrong_with_a_cookie_is_told_in_hadoops_words(void **state)
{
    static const char    exception[] = "org.apache.hadoop.security.authentication.util.SignerException: ";
    struct auth_cookies *c = known((struct auth_cookies_config){ 0 });
    char                 text[200];

    (void)state;
    assert_string_equal(refused(c, "", NOW_MS), "Unauthorized access");
    assert_string_equal(refused(c, "\"\"", NOW_MS), "Unauthorized access");
    snprintf(text, sizeof text, "%sInvalid signed text: x", exception);
    assert_string_equal(refused(c, "x", NOW_MS), text);
    snprintf(text, sizeof text, "%sInvalid signature", exception);
    assert_string_equal(refused(c, "u=alice&p=alice&t=simple-dt&e=1700036000000&s=", NOW_MS), text);
    assert_string_equal(refused(c,
                                "u=bob&p=alice&t=simple-dt&e=1700036000000&s=FtjQoJNZxcGivR6pfNwIr/PuRF6o20QxfT8mOw+"
                                "Rm9k=",
                                NOW_MS),
                        text);
    assert_string_equal(refused(c, sign(c, "u=a&p=a&t=simple-dt"), NOW_MS), "Invalid token string, missing attributes");
    assert_string_equal(refused(c, sign(c, "u=a&p=a&t=simple-dt&e=12x"), NOW_MS),
                        "Invalid token string, missing attributes");
    assert_string_equal(refused(c, sign(c, "u=a&p=a&t=simple-dt&e=9223372036854775808"), NOW_MS),
                        "Invalid token string, missing attributes");
    assert_string_equal(refused(c, sign(c, "u"), NOW_MS), "Invalid authentication token");
    auth_cookies_free(c);
}

static void it_expires_after_its_last_millisecond(void **state)
{
    struct auth_cookies *c = known((struct auth_cookies_config){ 0 });
    struct auth_cookie   k;

    (void)state;
    assert_int_equal(auth_cookie_verify(c, FL_LIT(ALICE), INT64_C(1700036000000), &k, NULL), FL_OK);
    assert_string_equal(refused(c, ALICE, INT64_C(1700036000001)), "AuthenticationToken expired");
    assert_int_equal(auth_cookie_verify(c, FL_LIT(ALICE_SLIDING), INT64_C(1700001800000), &k, NULL), FL_OK);
    assert_string_equal(refused(c, ALICE_SLIDING, INT64_C(1700001800001)), "AuthenticationToken expired");
    auth_cookies_free(c);
}

static void the_signature_is_split_off_at_the_last_mark(void **state)
{
    struct auth_cookies *c = known((struct auth_cookies_config){ 0 });
    struct auth_cookie   k;

    (void)state;
    assert_int_equal(
        auth_cookie_verify(c, fl_slice_str(sign(c, "e=1700036000000&t=simple-dt&s=x&p=b&z=1&u=a")), NOW_MS, &k, NULL),
        FL_OK);
    assert_true(fl_slice_equal(k.user, FL_LIT("a")));
    assert_true(fl_slice_equal(k.principal, FL_LIT("b")));
    auth_cookies_free(c);
}

/* tests/data/auth/cookies.txt: secret in hex | value | yes or no. */
static void cookies_captured_from_java_verify(void **state)
{
    FILE *f = fopen(FL_TEST_DATA "/auth/cookies.txt", "r");
    char  line[1024];
    int   seen = 0;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        char   *value = strchr(line, '|'), *verdict;
        uint8_t secret[32];

        if (line[0] == '#' || value == NULL)
            continue;
        verdict = strrchr(line, '|');
        assert_int_equal(fl_hex_decode(fl_slice_of(line, 64), secret, NULL), FL_OK);
        struct auth_cookies *c = known((struct auth_cookies_config){ 0 });
        struct auth_cookie   k;
        fl_secret_free(c->secrets->current);
        c->secrets->current = fl_secret_copy(fl_slice_of(secret, sizeof secret));
        c->secrets->current_id = auth_mac_id();
        assert_int_equal(auth_cookie_verify(c, fl_slice_of(value + 1, (size_t)(verdict - value - 1)),
                                            INT64_C(1796126846000), &k, NULL),
                         strncmp(verdict, "|yes", 4) == 0 ? FL_OK : FL_DENIED);
        auth_cookies_free(c);
        seen++;
    }
    fclose(f);
    assert_int_equal(seen, 3);
}

static void the_line_is_written_as_java_writes_it(void **state)
{
    struct auth_cookies *c = known((struct auth_cookies_config){ 0 });
    struct auth_cookie   alice = { .user = FL_LIT("alice") };

    (void)state;
    assert_string_equal(put(c, &alice, NOW_MS), "Set-Cookie: hadoop.auth=\"" ALICE "\"; HttpOnly\r\n");
    alice.inactive_ms = INT64_C(1700001800000);
    alice.expiry_ms = INT64_C(1700036000000);
    assert_string_equal(put(c, &alice, NOW_MS + 77), "Set-Cookie: hadoop.auth=\"" ALICE_SLIDING "\"; HttpOnly\r\n");
    assert_string_equal(put(c, NULL, NOW_MS), "Set-Cookie: hadoop.auth=; HttpOnly\r\n");
    auth_cookies_free(c);
}

static void attributes_come_in_javas_order(void **state)
{
    struct auth_cookies_config config = { .path = "/kms", .domain = "example.com", .persistent = true, .secure = true };
    struct auth_cookies       *c = known(config);
    struct auth_cookie         alice = { .user = FL_LIT("alice") };

    (void)state;
    assert_string_equal(put(c, &alice, NOW_MS), "Set-Cookie: hadoop.auth=\"" ALICE "\"; Path=/kms; Domain=example.com; "
                                                "Expires=Wed, 15-Nov-2023 08:13:20 GMT; Secure; HttpOnly\r\n");
    assert_string_equal(put(c, NULL, NOW_MS), "Set-Cookie: hadoop.auth=; Path=/kms; Domain=example.com; "
                                              "Expires=Thu, 01-Jan-1970 00:00:00 GMT; Secure; HttpOnly\r\n");
    auth_cookies_free(c);
}

static void a_tls_connection_gets_secure_and_a_plain_one_does_not(void **state)
{
    struct auth_cookies *c = known((struct auth_cookies_config){ 0 });
    struct fl_buf        b;

    (void)state;
    fl_buf_init(&b, 1024);
    assert_true(auth_cookie_put_over(c, NULL, NOW_MS, true, &b));
    assert_true(auth_cookie_put_over(c, NULL, NOW_MS, false, &b));
    assert_true(fl_slice_equal(fl_buf_slice(&b), FL_LIT("Set-Cookie: hadoop.auth=; Secure; HttpOnly\r\n"
                                                        "Set-Cookie: hadoop.auth=; HttpOnly\r\n")));
    fl_buf_done(&b);
    auth_cookies_free(c);
}

static void names_that_cannot_stand_in_a_cookie_are_refused_or_blanked(void **state)
{
    struct auth_cookies *c = known((struct auth_cookies_config){ 0 });
    struct auth_cookie   bad = { .user = FL_LIT("a&p=root") };
    struct fl_buf        b;
    const char          *line;

    (void)state;
    fl_buf_init(&b, 1024);
    assert_false(auth_cookie_put(c, &bad, NOW_MS, &b));
    bad.user = FL_LIT("");
    assert_false(auth_cookie_put(c, &bad, NOW_MS, &b));
    assert_int_equal(fl_buf_len(&b), 0);
    fl_buf_done(&b);
    line = put(c, &(struct auth_cookie){ .user = FL_LIT("\xc5\xbeofia\r\nX: \xc3\xa9") }, NOW_MS);
    assert_non_null(strstr(line, "=\"u= ofia  X: \xe9&p= ofia  X: \xe9&t="));
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    auth_cookies_free(c);
}

static void the_first_cookie_of_a_name_is_found(void **state)
{
    struct fl_slice v;

    (void)state;
    assert_true(auth_cookie_find(FL_LIT("a=1; hadoop.auth=\"x;y\" ;hadoop.auth=2"), "hadoop.auth", &v));
    assert_true(fl_slice_equal(v, FL_LIT("\"x;y\"")));
    assert_true(auth_cookie_find(FL_LIT("$Version=1; hadoop.auth=u=1&p=2 ; $Path=/"), "hadoop.auth", &v));
    assert_true(fl_slice_equal(v, FL_LIT("u=1&p=2")));
    assert_true(auth_cookie_find(FL_LIT("flag; q=\"a; hadoop.auth=no\"; hadoop.auth="), "hadoop.auth", &v));
    assert_int_equal(v.len, 0);
    assert_true(auth_cookie_find(FL_LIT("hadoop.auth=\"open"), "hadoop.auth", &v));
    assert_true(fl_slice_equal(v, FL_LIT("\"open")));
    assert_false(auth_cookie_find(FL_LIT("Hadoop.auth=1; xhadoop.auth=2; hadoop.auth"), "hadoop.auth", &v));
    assert_false(auth_cookie_find(FL_LIT(""), "hadoop.auth", &v));
}

/* The value of a line that put() made, in place. */
static struct fl_slice value_of(char *line)
{
    char *from = strchr(line, '"');

    return fl_slice_of(from, (size_t)(strrchr(line, '"') + 1 - from));
}

static void a_random_secret_is_rolled_and_the_previous_one_still_verifies(void **state)
{
    struct auth_cookies *c = cookies_of((struct auth_cookies_config){ .validity_ns = FL_NS_PER_S }, FL_LIT(""));
    struct auth_cookie   alice = { .user = FL_LIT("alice"), .expiry_ms = NOW_MS * 2 }, k;
    struct fl_slice      value = value_of(put(c, &alice, NOW_MS));

    (void)state;
    auth_cookies_tick(c, NOW_MS);
    auth_cookies_tick(c, NOW_MS + 999);
    assert_null(c->secrets->previous);
    auth_cookies_tick(c, NOW_MS + 1000);
    assert_non_null(c->secrets->previous);
    assert_int_equal(auth_cookie_verify(c, value, NOW_MS, &k, NULL), FL_OK);
    auth_cookies_tick(c, NOW_MS + 2000);
    assert_int_equal(auth_cookie_verify(c, value, NOW_MS, &k, NULL), FL_DENIED);
    fl_rcu_barrier();
    auth_cookies_free(c);
}

static void after_a_long_pause_nothing_old_is_accepted(void **state)
{
    struct auth_cookies *c = cookies_of((struct auth_cookies_config){ .validity_ns = FL_NS_PER_S }, FL_LIT(""));
    struct auth_cookie   alice = { .user = FL_LIT("alice"), .expiry_ms = NOW_MS * 2 }, k;
    struct fl_slice      value = value_of(put(c, &alice, NOW_MS));

    (void)state;
    auth_cookies_tick(c, NOW_MS);
    auth_cookies_tick(c, NOW_MS + 100000);
    assert_int_equal(auth_cookie_verify(c, value, NOW_MS, &k, NULL), FL_DENIED);
    fl_rcu_barrier();
    auth_cookies_free(c);
}

static void a_secret_from_a_file_is_never_rolled(void **state)
{
    struct auth_cookies *c = known((struct auth_cookies_config){ .validity_ns = FL_NS_PER_S });

    (void)state;
    auth_cookies_tick(c, NOW_MS);
    auth_cookies_tick(c, NOW_MS + 5000);
    assert_null(c->secrets->previous);
    auth_cookies_free(c);
}

static void the_files_last_newline_belongs_to_the_secret(void **state)
{
    struct auth_cookies *with = cookies_of((struct auth_cookies_config){ 0 }, FL_LIT("secret\n"));
    struct auth_cookies *without = cookies_of((struct auth_cookies_config){ 0 }, FL_LIT("secret"));
    struct auth_cookie   alice = { .user = FL_LIT("alice") }, k;
    struct fl_slice      value = value_of(put(with, &alice, NOW_MS));

    (void)state;
    assert_int_equal(auth_cookie_verify(with, value, NOW_MS, &k, NULL), FL_OK);
    assert_int_equal(auth_cookie_verify(without, value, NOW_MS, &k, NULL), FL_DENIED);
    auth_cookies_free(with);
    auth_cookies_free(without);
}

static void settings_that_cannot_be_are_refused_by_name(void **state)
{
    struct auth_cookies_config config = { .validity_ns = FL_NS_PER_S, .type = "simple" };
    struct auth_cookies       *c = NULL;
    struct secret_file         file;
    struct fl_error            err;

    (void)state;
    assert_int_equal(auth_cookies_new(&c, &config, &err), FL_USAGE);
    assert_non_null(strstr(err.text, "'simple'"));
    config.type = "simple-dt";
    config.path = "/;x";
    assert_int_equal(auth_cookies_new(&c, &config, &err), FL_USAGE);
    assert_non_null(strstr(err.text, "'/;x'"));
    config.path = NULL;
    config.secret_file = "/nonexistent/secret";
    assert_int_equal(auth_cookies_new(&c, &config, &err), FL_SYSTEM);
    assert_non_null(strstr(err.text, "/nonexistent/secret"));
    make_file(&file, "\xff\xfe", 2);
    config.secret_file = file.path;
    assert_int_equal(auth_cookies_new(&c, &config, &err), FL_USAGE);
    assert_non_null(strstr(err.text, "UTF-8"));
    unlink(file.path);
    make_file(&file, "", 0);
    assert_int_equal(auth_cookies_new(&c, &config, &err), FL_USAGE);
    unlink(file.path);
    config.secret_file = NULL;
    config.validity_ns = 0;
    assert_int_equal(auth_cookies_new(&c, &config, &err), FL_USAGE);
    assert_null(c);
}

struct racer {
    struct auth_cookies *c;
    int64_t              upto_ms;
    unsigned             accepted;
};

static void *sign_and_verify(void *at)
{
    struct racer *r = at;

    fl_rcu_register();
    for (int64_t ms = 1; ms <= r->upto_ms; ms++) {
        struct auth_cookie alice = { .user = FL_LIT("alice"), .expiry_ms = 1 << 30 }, k;
        char               line[512] = { 0 };
        struct fl_buf      b;

        fl_buf_init(&b, sizeof line);
        auth_cookies_tick(r->c, ms);
        if (auth_cookie_put(r->c, &alice, ms, &b)) {
            memcpy(line, b.data, FL_MIN(fl_buf_len(&b), sizeof line - 1));
            r->accepted += auth_cookie_verify(r->c, value_of(line), ms, &k, NULL) == FL_OK;
        }
        fl_buf_done(&b);
        fl_rcu_offline();
        fl_rcu_online();
    }
    fl_rcu_unregister();
    return NULL;
}

/* Each thread's own cookie verifies at once, unless the other rolled twice in between. */
static void threads_sign_and_verify_while_the_secret_rolls(void **state)
{
    struct auth_cookies *c = cookies_of((struct auth_cookies_config){ .validity_ns = 50 * FL_NS_PER_MS }, FL_LIT(""));
    struct racer         racers[2] = { { c, 2000, 0 }, { c, 2000, 0 } };
    pthread_t            threads[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sign_and_verify, &racers[i]), 0);
    fl_rcu_offline();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    fl_rcu_online();
    assert_true(racers[0].accepted > 1000 && racers[1].accepted > 1000);
    assert_non_null(c->secrets->previous);
    fl_rcu_barrier();
    auth_cookies_free(c);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cookie_of_the_worked_vectors_verifies_quoted_or_not),
        cmocka_unit_test(a_kerberos_cookie_is_for_a_kerberos_door),
        cmocka_unit_test(what_is_wrong_with_a_cookie_is_told_in_hadoops_words),
        cmocka_unit_test(it_expires_after_its_last_millisecond),
        cmocka_unit_test(the_signature_is_split_off_at_the_last_mark),
        cmocka_unit_test(cookies_captured_from_java_verify),
        cmocka_unit_test(the_line_is_written_as_java_writes_it),
        cmocka_unit_test(attributes_come_in_javas_order),
        cmocka_unit_test(a_tls_connection_gets_secure_and_a_plain_one_does_not),
        cmocka_unit_test(names_that_cannot_stand_in_a_cookie_are_refused_or_blanked),
        cmocka_unit_test(the_first_cookie_of_a_name_is_found),
        cmocka_unit_test(a_random_secret_is_rolled_and_the_previous_one_still_verifies),
        cmocka_unit_test(after_a_long_pause_nothing_old_is_accepted),
        cmocka_unit_test(a_secret_from_a_file_is_never_rolled),
        cmocka_unit_test(the_files_last_newline_belongs_to_the_secret),
        cmocka_unit_test(settings_that_cannot_be_are_refused_by_name),
        cmocka_unit_test(threads_sign_and_verify_while_the_secret_rolls),
    };

    fl_rcu_register();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_rcu_unregister();
    return failed;
}
