#include "auth/proxy_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* "two" has two addresses, "gone" none. */
static enum fl_status resolve(const char *host, struct proxy_net *into, struct fl_error *err)
{
    static const uint8_t v4[] = { 10, 9, 8, 7 }, v6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 7 };

    if (strcmp(host, "two") != 0)
        return fl_fail(err, FL_USAGE, 0, "cannot resolve host '%s'", host);
    return proxy_net_add(into, v4, 4, 32) && proxy_net_add(into, v6, 16, 128) ? FL_OK : FL_NO_MEMORY;
}

static struct auth_proxies *rules_of(const char *rule, const char *second)
{
    char                *at[] = { (char *)(uintptr_t)rule, (char *)(uintptr_t)second };
    struct fl_strings    rules = { at, second == NULL ? 1 : 2 };
    struct auth_proxies *p = NULL;
    struct fl_error      err = { FL_OK, 0, "" };

    if (proxies_new_with(&p, &rules, resolve, &err) != FL_OK)
        fail_msg("%s", err.text);
    return p;
}

static const char *refused(const char *rule, const char *second)
{
    static struct fl_error err;
    char                  *at[] = { (char *)(uintptr_t)rule, (char *)(uintptr_t)second };
    struct fl_strings      rules = { at, second == NULL ? 1 : 2 };
    struct auth_proxies   *p = NULL;

    assert_int_equal(proxies_new_with(&p, &rules, resolve, &err), FL_USAGE);
    assert_null(p);
    assert_non_null(strstr(err.text, second == NULL ? rule : second));
    return err.text;
}

static enum acl_answer asks(const struct auth_proxies *p, const char *real, const char *do_as)
{
    return auth_proxy_user_allowed(p, fl_slice_str(real), fl_slice_str(do_as), NULL);
}

static bool from(const struct auth_proxies *p, const char *real, const char *ip)
{
    return auth_proxy_host_allowed(p, fl_slice_str(real), ip);
}

static void only_the_named_users_may_be_impersonated(void **state)
{
    struct auth_proxies *p = rules_of("oozie:users=alice, bob;hosts=*", "hive:users=*;hosts=*");

    (void)state;
    assert_int_equal(asks(p, "oozie", "alice"), ACL_YES);
    assert_int_equal(asks(p, "oozie", "bob@EXAMPLE.COM"), ACL_YES);
    assert_int_equal(asks(p, "oozie", "carol"), ACL_NO);
    assert_int_equal(asks(p, "oozie", "oozie"), ACL_NO); /* oneself is not special */
    assert_int_equal(asks(p, "hive", "carol"), ACL_YES);
    assert_int_equal(asks(p, "nobody", "alice"), ACL_NO);
    auth_proxies_free(p);
}

static void groups_are_asked_for_only_where_a_rule_names_some(void **state)
{
    static const char *const     in[] = { "ops", "root" };
    const struct auth_group_list groups = { in, 2 }, none = { NULL, 0 };
    struct auth_proxies         *p = rules_of("grp:groups=root;hosts=*", "both:users=alice;groups=*");

    (void)state;
    assert_int_equal(asks(p, "grp", "alice"), ACL_NEEDS_GROUPS);
    assert_int_equal(auth_proxy_user_allowed(p, FL_LIT("grp"), FL_LIT("alice"), &groups), ACL_YES);
    assert_int_equal(auth_proxy_user_allowed(p, FL_LIT("grp"), FL_LIT("alice"), &none), ACL_NO);
    assert_int_equal(asks(p, "grp", "root"), ACL_NEEDS_GROUPS); /* a group's name is no user's */
    assert_int_equal(asks(p, "both", "carol"), ACL_YES);
    auth_proxies_free(p);
}

static void what_a_rule_leaves_out_is_denied(void **state)
{
    struct auth_proxies *p = rules_of("nohosts:users=*", "nousers:hosts=*");
    struct auth_proxies *no_rules = NULL;

    (void)state;
    assert_int_equal(asks(p, "nohosts", "alice"), ACL_YES);
    assert_false(from(p, "nohosts", "127.0.0.1"));
    assert_int_equal(asks(p, "nousers", "alice"), ACL_NO);
    assert_true(from(p, "nousers", "127.0.0.1"));
    auth_proxies_free(p);
    assert_int_equal(auth_proxies_new(&no_rules, NULL, NULL), FL_OK);
    assert_int_equal(asks(no_rules, "oozie", "alice"), ACL_NO);
    assert_false(from(no_rules, "oozie", "127.0.0.1"));
    auth_proxies_free(no_rules);
}

static void addresses_networks_and_names_are_compared_by_their_bytes(void **state)
{
    struct auth_proxies *p =
        rules_of("a:users=*;hosts=192.168.1.77/26, two,fd00::/9,127.0.0.1", "z:users=*;hosts=0.0.0.0/0");

    (void)state;
    assert_true(from(p, "a", "192.168.1.64"));
    assert_true(from(p, "a", "192.168.1.127"));
    assert_false(from(p, "a", "192.168.1.128"));
    assert_true(from(p, "a", "10.9.8.7"));
    assert_true(from(p, "a", "2001:db8:0::7"));
    assert_false(from(p, "a", "2001:db8::8"));
    assert_true(from(p, "a", "fd7f::1%eth0"));
    assert_false(from(p, "a", "fd80::1"));
    assert_true(from(p, "a", "::ffff:127.0.0.1"));
    assert_false(from(p, "a", "unix"));
    assert_true(from(p, "z", "203.0.113.9"));
    assert_false(from(p, "z", "fd00::1")); /* all of IPv4 is not all of IPv6 */
    auth_proxies_free(p);
}

static void everywhere_includes_unix_sockets(void **state)
{
    struct auth_proxies *p = rules_of("a:users=*;hosts=10.0.0.0/8,*", NULL);

    (void)state;
    assert_true(from(p, "a", "unix"));
    assert_true(from(p, "a", "::1"));
    auth_proxies_free(p);
}

static void a_bad_rule_is_named_with_its_field(void **state)
{
    (void)state;
    assert_non_null(strstr(refused("oozie", NULL), "user"));
    assert_non_null(strstr(refused(":users=*", NULL), "user: ''"));
    assert_non_null(strstr(refused("a@B:users=*", NULL), "short name"));
    assert_non_null(strstr(refused("a:users=*;host=*", NULL), "'host'"));
    assert_non_null(strstr(refused("a:users", NULL), "'users'"));
    assert_non_null(strstr(refused("a:users=x;users=y", NULL), "once"));
    assert_non_null(strstr(refused("a:users=x", "a:users=y"), "one rule"));
    assert_non_null(strstr(refused("a:hosts=10.0.0.0/33", NULL), "'10.0.0.0/33'"));
    assert_non_null(strstr(refused("a:hosts=10.0.0/8", NULL), "'10.0.0/8'"));
    assert_non_null(strstr(refused("a:hosts=::/", NULL), "hosts"));
    assert_non_null(strstr(refused("a:hosts=x y", NULL), "'x y'"));
    assert_non_null(strstr(refused("a:hosts=gone", NULL), "hosts: cannot resolve host 'gone'"));
}

/* By the system: an address needs no resolver, and a name that can't be one never reaches it. */
static void the_systems_resolver_is_used_by_default(void **state)
{
    char                *at[] = { (char *)(uintptr_t) "a:users=*;hosts=localhost" };
    struct fl_strings    rules = { at, 1 };
    struct auth_proxies *p = NULL;

    (void)state;
    assert_int_equal(auth_proxies_new(&p, &rules, NULL), FL_OK);
    assert_true(from(p, "a", "127.0.0.1") || from(p, "a", "::1"));
    assert_false(from(p, "a", "203.0.113.9"));
    auth_proxies_free(p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_named_users_may_be_impersonated),
        cmocka_unit_test(groups_are_asked_for_only_where_a_rule_names_some),
        cmocka_unit_test(what_a_rule_leaves_out_is_denied),
        cmocka_unit_test(addresses_networks_and_names_are_compared_by_their_bytes),
        cmocka_unit_test(everywhere_includes_unix_sockets),
        cmocka_unit_test(a_bad_rule_is_named_with_its_field),
        cmocka_unit_test(the_systems_resolver_is_used_by_default),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
