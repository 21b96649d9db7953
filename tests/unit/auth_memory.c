/* Each allocation fails once: what was asked for is refused as 'no memory' or done all the same, and nothing leaks. */
#include "auth/audit_inside.h"
#include "auth/cookie_inside.h"
#include "auth/groups_inside.h"
#include "auth/proxy_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fake_malloc.c"

typedef enum fl_status (*scene)(struct fl_error *err);

static scene now;

static bool play_now(void)
{
    struct fl_error err = { FL_OK, 0, "" };
    enum fl_status  s = now(&err);

    assert_true(s == FL_OK || (s == FL_NO_MEMORY && err.text[0] != '\0'));
    return s == FL_OK;
}

/* Each failure is told. First once whole: libraries keep what they make at first use. */
static void play_strictly(scene s)
{
    fake_failing = 0;
    assert_int_equal(s(NULL), FL_OK);
    now = s;
    fail_each_allocation_once(play_now);
}

/* Here a warning that finds no memory is given up, and an event
 * that finds none to be counted is written at once: so a scene may also end well, after checking that it really did. */
static void play(scene s)
{
    unsigned count, refused = 0;

    fake_failing = 0;
    fake_allocations = 0;
    assert_int_equal(s(NULL), FL_OK);
    count = fake_allocations;
    for (unsigned n = 1; n <= count; n++) {
        struct fl_error err = { FL_OK, 0, "" };
        enum fl_status  status;

        fake_allocations = 0;
        fake_failing = n;
        status = s(&err);
        fake_failing = 0;
        if (status != FL_OK && (status != FL_NO_MEMORY || err.text[0] == '\0'))
            fail_msg("allocation %u of %u failing: %s, '%s'", n, count, fl_status_name(status), err.text);
        refused += status != FL_OK;
    }
    assert_true(refused > 1);
}

static enum fl_status read_acls(struct fl_error *err)
{
    static const char xml[] =
        "<configuration><property><name>users</name><value>alice,bob</value></property><property><name>"
        "key.acl.k.READ</name><value>${users} g1,g2</value></property><property><name>key.acl.k.FOO"
        "</name><value>x</value></property><property name='whitelist.key.acl.READ' value='~w'/>"
        "<property><name>hadoop.kms.blacklist.GET</name><value></value></property></configuration>";
    struct acl_set *s = NULL;
    enum fl_status  status = acl_set_parse(fl_slice_str(xml), &s, err);
    unsigned        trail;

    if (status == FL_OK && acl_key_allows(s, FL_LIT("k"), ACL_KEY_READ, FL_LIT("bob"), NULL, &trail) != ACL_YES)
        status = FL_MALFORMED; /* a set that is not whole must not come out */
    acl_set_free(s);
    return status;
}

static enum fl_status read_acl_file(struct fl_error *err)
{
    struct acls   *a = NULL;
    enum fl_status s = acls_new(&a, FL_TEST_DATA "/auth/kms-acls.xml", err);

    acls_free(a);
    return s;
}

static enum fl_status resolve(const char *host, struct proxy_net *into, struct fl_error *err)
{
    static const uint8_t address[4] = { 10, 0, 0, 1 };

    (void)host;
    return proxy_net_add(into, address, 4, 32) ? FL_OK : fl_fail(err, FL_NO_MEMORY, 0, "no memory");
}

static enum fl_status read_rules(struct fl_error *err)
{
    char                *at[] = { (char *)(uintptr_t) "oozie:users=alice,bob;groups=g;hosts=10.0.0.0/8,host,::1",
                                  (char *)(uintptr_t) "hive:users=*;hosts=*" };
    struct fl_strings    rules = { at, 2 };
    struct auth_proxies *p = NULL;
    enum fl_status       s = proxies_new_with(&p, &rules, resolve, err);

    if (s == FL_OK && !auth_proxy_host_allowed(p, FL_LIT("oozie"), "::1"))
        s = FL_MALFORMED;
    auth_proxies_free(p);
    return s;
}

static enum fl_status make_cookies(struct fl_error *err)
{
    struct auth_cookies_config config = { .validity_ns = FL_NS_PER_S, .path = "/", .domain = "x", .type = "simple-dt" };
    struct auth_cookies       *c = NULL;
    enum fl_status             s = auth_cookies_new(&c, &config, err);

    auth_cookies_free(c);
    return s;
}

static enum fl_status make_audit(struct fl_error *err)
{
    struct audit_config config = { .file = "/dev/null", .reactors = 3, .ring_bytes = 16384 };
    struct audit       *a = NULL;
    enum fl_status      s = audit_new(&a, &config, err);

    if (s == FL_OK && !audit_record(a, 2, AUDIT_OK, AUDIT_GET_KEYS, NULL, FL_LIT(""), FL_LIT("u"), FL_LIT(""), 0))
        s = FL_MALFORMED;
    audit_free(a);
    return s;
}

/* Without memory for a window each event is told: no event is lost. */
static enum fl_status count_events(struct fl_error *err)
{
    struct audit_windows *w = audit_windows_new(FL_NS_PER_S, 10);
    struct audit_event    e = { .status = AUDIT_OK, .op = AUDIT_DECRYPT_EEK, .key = FL_LIT("k"), .user = FL_LIT("u") };
    struct fl_buf         out;
    enum fl_status        s = FL_OK;
    unsigned              lines;

    fl_buf_init(&out, 1 << 16);
    if (w == NULL)
        s = fl_fail(err, FL_NO_MEMORY, 0, "no memory for windows");
    else
        s = fl_buf_reserve(&out, 1 << 14, err);
    if (s == FL_OK) {
        lines = audit_windows_event(w, &e, 0, 0, &out);
        lines += audit_windows_event(w, &e, 0, 0, &out);
        s = lines >= 1 && lines + audit_windows_open(w) >= 2 ? FL_OK : FL_MALFORMED;
    }
    audit_windows_free(w);
    fl_buf_done(&out);
    return s;
}

/* One reactor and its worker, by hand. */
struct io_reactor {
    struct io_work *job;
};
static struct io_reactor here;

unsigned io_reactors_count(const struct io_reactors *rs)
{
    (void)rs;
    return 1;
}

unsigned io_reactor_index(const struct io_reactor *r)
{
    (void)r;
    return 0;
}

struct io_reactor *io_reactor_here(void)
{
    return &here;
}

uint64_t io_now_ns(const struct io_reactor *r)
{
    (void)r;
    return FL_NS_PER_S;
}

enum fl_status io_work_submit(struct io_reactor *home, struct io_work *w, struct fl_error *err)
{
    (void)err;
    w->home = home;
    home->job = w;
    return FL_OK;
}

static void two_groups(const char *user, struct groups_found *found)
{
    found->present = true;
    found->failed = !groups_found_add(found, user) || !groups_found_add(found, "staff");
}

static bool came;

static void groups_came(struct auth_group_wait *w)
{
    (void)w;
    came = true;
}

/* A waiter whose fetch was taken is always called, and there is an answer then: both groups, or that they can't be told
 * for a while; never a part of them. */
static enum fl_status look_groups_up(struct fl_error *err)
{
    struct auth_groups    *g = NULL;
    struct auth_group_wait w = { .done = groups_came };
    struct auth_group_list list = { NULL, 0 };
    enum fl_status         told, s = groups_new_with(&g, NULL, two_groups, 10, err);

    came = false;
    if (s == FL_OK)
        s = auth_groups_fetch(g, &here, FL_LIT("alice"), &w, err);
    if (s == FL_OK) {
        here.job->run(here.job);
        here.job->done(here.job);
        told = auth_groups_cached(g, FL_LIT("alice"), FL_NS_PER_S / 2, &list);
        if (!came || !(told == FL_OK ? list.count == 2 : told == FL_SYSTEM))
            s = FL_MALFORMED;
    }
    auth_groups_free(g);
    return s;
}

static void group_look_ups_survive(void **state)
{
    (void)state;
    play(look_groups_up);
}

static void acls_survive(void **state)
{
    (void)state;
    play(read_acls);
    play(read_acl_file);
}

static void proxy_rules_survive(void **state)
{
    (void)state;
    play_strictly(read_rules);
}

static void cookies_survive(void **state)
{
    (void)state;
    play_strictly(make_cookies);
}

static void the_audit_log_survives(void **state)
{
    (void)state;
    play_strictly(make_audit);
    play(count_events);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(acls_survive),           cmocka_unit_test(proxy_rules_survive),
        cmocka_unit_test(cookies_survive),        cmocka_unit_test(group_look_ups_survive),
        cmocka_unit_test(the_audit_log_survives),
    };

    fl_rcu_register();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_rcu_unregister();
    return failed;
}
