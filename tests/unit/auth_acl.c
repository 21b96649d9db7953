#include "auth/acl_inside.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ONE(name, value) "<property><name>" name "</name><value>" value "</value></property>"
#define FILE_OF(properties) "<configuration>" properties "</configuration>"

static struct acl_set *parsed(const char *xml)
{
    struct acl_set *s = NULL;
    struct fl_error err = { FL_OK, 0, "" };

    if (acl_set_parse(fl_slice_str(xml), &s, &err) != FL_OK)
        fail_msg("%s", err.text);
    return s;
}

static const char *refused(const char *xml)
{
    static struct fl_error err;
    struct acl_set        *s = NULL;

    assert_int_equal(acl_set_parse(fl_slice_str(xml), &s, &err), FL_MALFORMED);
    assert_null(s);
    return err.text;
}

static struct auth_group_list groups_of(const char *const *names, size_t count)
{
    return (struct auth_group_list){ names, count };
}

static enum acl_answer creates(const struct acl_set *s, const char *user, const struct auth_group_list *groups)
{
    return acl_allows(s, ACL_CREATE, fl_slice_str(user), groups);
}

static enum acl_answer creates_behind(const struct acl_set *s, const char *user, const char *behind)
{
    static const struct auth_group_list none = { NULL, 0 };
    struct acl_who                      who = { fl_slice_str(user), fl_slice_str(behind), &none };

    return acl_allows_who(s, ACL_CREATE, &who);
}

static enum acl_answer reads(const struct acl_set *s, const char *key, const char *user)
{
    static const struct auth_group_list none = { NULL, 0 };

    return acl_key_allows(s, fl_slice_str(key), ACL_KEY_READ, fl_slice_str(user), &none, NULL);
}

static char *whole_file(const char *path)
{
    FILE  *f = fopen(path, "r");
    char  *text = calloc(1, 65536);
    size_t len;

    assert_non_null(f);
    assert_non_null(text);
    len = fread(text, 1, 65535, f);
    assert_true(len > 0);
    fclose(f);
    return text;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* Each row was asked of Hadoop 3.4.3's AccessControlList for alice, in the groups "g", "a b" and "*". */
static void lists_are_read_as_java_reads_them(void **state)
{
    static const char *const in[] = { "g", "a b", "*" };
    static const struct {
        const char *value;
        bool        allowed;
    } rows[] = {
        { "*", true },           { " *", true },         { "* ", true },      { " * ", true },
        { "alice *", true },     { "bob,* ", false },    { "bob", false },    { " g", true },
        { "  g", true },         { "bob  g , h", true }, { " a b", true },    { "x a\nb,g", true },
        { "bob\n,alice", true }, { "\n alice", false },  { "\talice", true }, { "alice\tg", false },
        { " a b,c", true },      { "bob *,g", true },    { " ", false },      { "bob,,alice", true },
    };
    struct auth_group_list groups = groups_of(in, FL_COUNT(in));

    (void)state;
    for (size_t i = 0; i < FL_COUNT(rows); i++) {
        char            xml[300];
        struct acl_set *s;

        snprintf(xml, sizeof xml, FILE_OF(ONE("hadoop.kms.acl.CREATE", "%s")), rows[i].value);
        s = parsed(xml);
        if (creates(s, "alice", &groups) != (rows[i].allowed ? ACL_YES : ACL_NO))
            fail_msg("'%s' for alice", rows[i].value);
        acl_set_free(s);
    }
}

static void names_are_tested_before_groups(void **state)
{
    static const char *const in[] = { "ops", "dev" };
    struct auth_group_list   groups = groups_of(in, 2), none = groups_of(NULL, 0);
    struct acl_set          *s = parsed(FILE_OF(ONE("hadoop.kms.acl.CREATE", "alice dev")));

    (void)state;
    assert_int_equal(creates(s, "alice", NULL), ACL_YES);
    assert_int_equal(creates(s, "bob", NULL), ACL_NEEDS_GROUPS);
    assert_int_equal(creates(s, "bob", &groups), ACL_YES);
    assert_int_equal(creates(s, "bob", &none), ACL_NO);
    assert_int_equal(creates(s, "dev", &none), ACL_NO); /* a group's name is no user's */
    acl_set_free(s);
}

static void a_blacklist_beats_the_allow_list(void **state)
{
    static const char *const in[] = { "bad" };
    struct auth_group_list   groups = groups_of(in, 1), none = groups_of(NULL, 0);
    struct acl_set          *s =
        parsed(FILE_OF(ONE("hadoop.kms.acl.CREATE", "*") ONE("hadoop.kms.blacklist.CREATE", "eve bad")));

    (void)state;
    assert_int_equal(creates(s, "eve", NULL), ACL_NO);
    assert_int_equal(creates(s, "bob", NULL), ACL_NEEDS_GROUPS);
    assert_int_equal(creates(s, "bob", &groups), ACL_NO);
    assert_int_equal(creates(s, "bob", &none), ACL_YES);
    acl_set_free(s);
    s = parsed(FILE_OF(ONE("hadoop.kms.acl.CREATE", " g") ONE("hadoop.kms.blacklist.CREATE", "eve")));
    assert_int_equal(creates(s, "eve", NULL), ACL_NO); /* whatever her groups */
    assert_int_equal(creates(s, "bob", NULL), ACL_NEEDS_GROUPS);
    acl_set_free(s);
}

/* AccessControlList.isUserInList of 3.4.3 answers true for everybody when the list is "*"; beside other names the star
 * is a name like another. */
static void a_blacklist_of_a_lone_star_blocks_everybody(void **state)
{
    struct acl_set *s = parsed(FILE_OF(ONE("hadoop.kms.blacklist.CREATE", "*")));

    (void)state;
    assert_int_equal(creates(s, "alice", NULL), ACL_NO);
    acl_set_free(s);
    s = parsed(FILE_OF(ONE("hadoop.kms.blacklist.CREATE", "nomat,*")));
    assert_int_equal(creates(s, "alice", NULL), ACL_YES);
    assert_int_equal(creates(s, "nomat", NULL), ACL_NO);
    acl_set_free(s);
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static void without_a_file_everybody_may_operate_and_no_key_is_open(void **state)
{
    struct acls    *a = NULL;
    unsigned        trail = 99;
    struct fl_slice alice = FL_LIT("alice");

    (void)state;
    assert_int_equal(acls_new(&a, NULL, NULL), FL_OK);
    for (int op = 0; op < ACL_OPS; op++)
        assert_int_equal(acl_allows(acls_current(a), op, alice, NULL), ACL_YES);
    for (int op = 0; op < ACL_KEY_OPS; op++) {
        assert_int_equal(acl_key_allows(acls_current(a), FL_LIT("k"), op, alice, NULL, &trail), ACL_NO);
        assert_int_equal(trail, 0); /* no ACL is present, so Java writes no line of this level */
    }
    acls_free(a);
}

static void a_key_with_a_map_of_its_own_has_no_defaults(void **state)
{
    struct acl_set *s = parsed(FILE_OF(ONE("key.acl.k.MANAGEMENT", "alice") ONE("default.key.acl.READ", "bob")));

    (void)state;
    assert_int_equal(reads(s, "k", "bob"), ACL_NO);
    assert_int_equal(reads(s, "other", "bob"), ACL_YES);
    assert_true(acl_key_present(s, FL_LIT("k"), ACL_KEY_READ));
    assert_true(acl_key_present(s, FL_LIT("other"), ACL_KEY_READ));
    assert_false(acl_key_present(s, FL_LIT("other"), ACL_KEY_MANAGEMENT));
    acl_set_free(s);
}

static void the_whitelist_opens_every_key(void **state)
{
    struct acl_set *s = parsed(FILE_OF(ONE("key.acl.k.ALL", "alice") ONE("whitelist.key.acl.READ", "wl")
                                           ONE("whitelist.key.acl.ALL", "wlall") ONE("default.key.acl.ALL", "*")));

    (void)state;
    assert_int_equal(reads(s, "k", "wl"), ACL_YES);
    assert_int_equal(reads(s, "other", "wl"), ACL_YES);
    assert_int_equal(reads(s, "k", "wlall"), ACL_NO);
    assert_int_equal(reads(s, "other", "wlall"), ACL_NO);
    assert_int_equal(reads(s, "k", "alice"), ACL_YES);
    assert_int_equal(acl_set_warnings(s)->count, 2); /* ALL under default and whitelist */
    acl_set_free(s);
}

static void the_name_of_a_key_may_hold_dots(void **state)
{
    struct acl_set *s = parsed(FILE_OF(ONE("key.acl.a.b.READ.READ", "alice") ONE("key.acl.k.FOO", "bob")
                                           ONE("key.acl.READ", "bob") ONE("key.acl..READ", "bob")));

    (void)state;
    assert_int_equal(reads(s, "a.b.READ", "alice"), ACL_YES);
    assert_int_equal(reads(s, "a.b", "alice"), ACL_NO);
    assert_false(acl_key_present(s, FL_LIT("k"), ACL_KEY_READ));
    assert_false(acl_key_present(s, FL_LIT(""), ACL_KEY_READ));
    assert_int_equal(acl_set_warnings(s)->count, 3);
    assert_non_null(strstr(acl_set_warnings(s)->at[0], "key.acl.k.FOO"));
    acl_set_free(s);
}

/* With a trail wanted the groups decide about op before ALL may allow: its audit line depends on them. */
static void a_trail_waits_for_the_groups(void **state)
{
    static const char *const in[] = { "g" };
    struct auth_group_list   groups = groups_of(in, 1), none = groups_of(NULL, 0);
    struct acl_set          *s = parsed(FILE_OF(ONE("key.acl.k.READ", " g") ONE("key.acl.k.ALL", "alice")));
    struct fl_slice          k = FL_LIT("k"), alice = FL_LIT("alice");
    unsigned                 trail = 99;

    (void)state;
    assert_int_equal(acl_key_allows(s, k, ACL_KEY_READ, alice, NULL, &trail), ACL_NEEDS_GROUPS);
    assert_int_equal(trail, 0);
    assert_int_equal(acl_key_allows(s, k, ACL_KEY_READ, alice, NULL, NULL), ACL_YES);
    assert_int_equal(acl_key_allows(s, k, ACL_KEY_READ, alice, &groups, &trail), ACL_YES);
    assert_int_equal(trail, 0);
    assert_int_equal(acl_key_allows(s, k, ACL_KEY_READ, alice, &none, &trail), ACL_YES);
    assert_int_equal(trail, 1u << ACL_KEY_READ);
    assert_int_equal(acl_key_allows(s, k, ACL_KEY_READ, FL_LIT("bob"), &none, &trail), ACL_NO);
    assert_int_equal(trail, 1u << ACL_KEY_READ | 1u << ACL_KEY_ALL);
    acl_set_free(s);
}

/* ---- what Java did ----------------------------------------------------------------------------------------------- */

static int op_by_name(const char *name, const char *(*name_of)(int), int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, name_of(i)) == 0)
            return i;
    fail_msg("no operation %s", name);
    return -1;
}

static const char *level1_name(int op)
{
    return acl_op_name(op);
}

static const char *level2_name(int op)
{
    return acl_key_op_name(op);
}

static void check_decision(const struct acl_set *s, char *const field[5])
{
    static const struct auth_group_list none = { NULL, 0 };
    bool                                yes = strncmp(field[4], "yes", 3) == 0;
    unsigned                            trail = 0, expected = 0;
    enum acl_answer                     a;

    if (*field[0] == '1') {
        a = acl_allows(s, op_by_name(field[2], level1_name, ACL_OPS), fl_slice_str(field[3]), &none);
    } else {
        int op = op_by_name(field[2], level2_name, ACL_KEY_OPS);

        expected = (strstr(field[4], " op") != NULL ? 1u << op : 0) |
                   (strstr(field[4], " ALL") != NULL ? 1u << ACL_KEY_ALL : 0);
        a = acl_key_allows(s, fl_slice_str(field[1]), op, fl_slice_str(field[3]), &none, &trail);
    }
    if (a != (yes ? ACL_YES : ACL_NO) || trail != expected)
        fail_msg("level %s key '%s' %s %s: answer %d, trail %u", field[0], field[1], field[2], field[3], a, trail);
}

static void java_decided_the_same_way(void **state)
{
    char           *xml = whole_file(FL_TEST_DATA "/auth/kms-acls.xml");
    char           *rows = whole_file(FL_TEST_DATA "/auth/decisions.txt"), *rest = rows, *line;
    struct acl_set *s = parsed(xml);
    int             seen = 0;

    (void)state;
    while ((line = strsep(&rest, "\n")) != NULL) {
        char *field[5];

        if (*line == '#' || *line == '\0')
            continue;
        for (int i = 0; i < 5; i++)
            assert_non_null(field[i] = strsep(&line, "|"));
        check_decision(s, field);
        seen++;
    }
    assert_int_equal(seen, 60);
    acl_set_free(s);
    free(rows);
    free(xml);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void properties_follow_hadoops_rules(void **state)
{
    struct acl_set *s =
        parsed(FILE_OF("<property><name> hadoop.kms.acl.CREATE\n</name><value>old</value></property>" ONE(
            "hadoop.kms.acl.CREATE",
            "alice") "<property><name>hadoop.kms.acl.DELETE</name><value>alice</value><final>true</final></"
                     "property>" ONE("hadoop.kms.acl.DELETE",
                                     "bob") "<property name='hadoop.kms.acl.GET' value='alice'/>"
                                            "<property><name>hadoop.kms.acl.ROLLOVER</name><value>a<!-- c "
                                            "-->li<i>ce</i><![CDATA[,<x>]]></value></property>"
                                            "<property><name>hadoop.kms.acl.GET_KEYS</name></property>"));
    struct fl_slice alice = FL_LIT("alice"), bob = FL_LIT("bob");

    (void)state;
    assert_int_equal(acl_allows(s, ACL_CREATE, alice, NULL), ACL_YES);
    assert_int_equal(acl_allows(s, ACL_CREATE, FL_LIT("old"), NULL), ACL_NO);
    assert_int_equal(acl_allows(s, ACL_DELETE, alice, NULL), ACL_YES);
    assert_int_equal(acl_allows(s, ACL_DELETE, bob, NULL), ACL_NO);
    assert_int_equal(acl_allows(s, ACL_GET, bob, NULL), ACL_NO);
    assert_int_equal(acl_allows(s, ACL_ROLLOVER, alice, NULL), ACL_YES);
    assert_int_equal(acl_allows(s, ACL_ROLLOVER, FL_LIT("<x>"), NULL), ACL_YES);
    assert_int_equal(acl_allows(s, ACL_GET_KEYS, bob, NULL), ACL_YES);
    assert_int_equal(acl_set_warnings(s)->count, 0);
    acl_set_free(s);
}

static void an_empty_value_is_no_value_and_a_blank_is_nobody(void **state)
{
    struct acl_set *s = parsed(FILE_OF(ONE("hadoop.kms.acl.CREATE", "") ONE("hadoop.kms.acl.DELETE", " ")));

    (void)state;
    assert_int_equal(acl_allows(s, ACL_CREATE, FL_LIT("alice"), NULL), ACL_YES);
    assert_int_equal(acl_allows(s, ACL_DELETE, FL_LIT("alice"), NULL), ACL_NO);
    assert_int_equal(acl_set_warnings(s)->count, 1);
    assert_non_null(strstr(acl_set_warnings(s)->at[0], "hadoop.kms.acl.CREATE"));
    acl_set_free(s);
}

static void variables_are_replaced(void **state)
{
    struct acl_set *s;

    (void)state;
    assert_int_equal(setenv("FL_TEST_ACL_USER", "carol", 1), 0);
    s = parsed(FILE_OF(ONE("admins", "alice,${more}") ONE("more", "bob") ONE("hadoop.kms.acl.CREATE", "${admins}")
                           ONE("hadoop.kms.acl.DELETE", "${env.FL_TEST_ACL_USER},${env.FL_NONE:-dave},x${nope}")));
    assert_int_equal(creates(s, "alice", NULL), ACL_YES);
    assert_int_equal(creates(s, "bob", NULL), ACL_YES);
    assert_int_equal(creates(s, "carol", NULL), ACL_NO);
    assert_int_equal(acl_allows(s, ACL_DELETE, FL_LIT("carol"), NULL), ACL_YES);
    assert_int_equal(acl_allows(s, ACL_DELETE, FL_LIT("dave"), NULL), ACL_YES);
    assert_int_equal(acl_allows(s, ACL_DELETE, FL_LIT("x${nope}"), NULL), ACL_YES);
    assert_int_equal(acl_set_warnings(s)->count, 3); /* ${nope}; admins and more are no ACLs */
    acl_set_free(s);
    assert_non_null(strstr(refused(FILE_OF(ONE("hadoop.kms.acl.GET", "${b}") ONE("b", "${hadoop.kms.acl.GET}"))),
                           "hadoop.kms.acl.GET"));
}

static void bad_xml_is_refused_with_its_line(void **state)
{
    (void)state;
    assert_non_null(strstr(refused("<configuration>\n<property>\n</configuration>"), "line 3: "));
    assert_non_null(strstr(refused(""), "line 1: "));
    assert_non_null(strstr(refused("<configuration/>junk"), "line 1: "));
    assert_non_null(strstr(refused("<html/>"), "<configuration>"));
    assert_non_null(strstr(refused(FILE_OF("<xi:include href='x'/>")), "<include>"));
    assert_non_null(strstr(refused("<!DOCTYPE configuration [<!ENTITY a 'x'>]>" FILE_OF(ONE("a", "&a;"))), "entity"));
    assert_non_null(strstr(refused("<!DOCTYPE configuration SYSTEM 'a.dtd'>" FILE_OF(ONE("a", "&a;"))), "entity"));
}

static void limits_are_kept(void **state)
{
    char  *xml = calloc(1, PROPERTIES_MAX_BYTES + 2);
    size_t len;

    (void)state;
    assert_non_null(xml);
    len = (size_t)snprintf(xml, 100, "<configuration>");
    for (int i = 0; i < PROPERTIES_MAX_DEPTH; i++)
        len += (size_t)snprintf(xml + len, 10, "<a>");
    assert_non_null(strstr(refused(xml), "32 deep"));
    len = (size_t)snprintf(xml, 100, "<configuration>");
    for (int i = 0; i <= PROPERTIES_MAX_COUNT; i++)
        len += (size_t)snprintf(xml + len, 64, "<property name='n%d' value='v'/>", i);
    snprintf(xml + len, 64, "</configuration>");
    assert_non_null(strstr(refused(xml), "100000 properties"));
    memset(xml, ' ', PROPERTIES_MAX_BYTES + 1);
    assert_non_null(strstr(refused(xml), "16777216"));
    free(xml);
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void a_changed_file_is_read_again_and_a_bad_one_keeps_the_old_acls(void **state)
{
    char            dir[] = "/tmp/fl-auth-acl-XXXXXX", path[64];
    struct acls    *a = NULL;
    struct fl_error err;
    bool            changed;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/kms-acls.xml", dir);
    assert_int_equal(acls_new(&a, path, &err), FL_SYSTEM);
    assert_non_null(strstr(err.text, path));
    write_file(path, FILE_OF(ONE("hadoop.kms.acl.CREATE", "alice")));
    assert_int_equal(acls_new(&a, path, &err), FL_OK);
    assert_int_equal(acls_reload(a, false, &changed, &err), FL_OK);
    assert_false(changed);
    assert_int_equal(acls_reload(a, true, &changed, &err), FL_OK);
    assert_true(changed);
    write_file(path, FILE_OF(ONE("hadoop.kms.acl.CREATE", "bob,carol")));
    assert_int_equal(acls_reload(a, false, &changed, &err), FL_OK);
    assert_true(changed);
    assert_int_equal(creates(acls_current(a), "carol", NULL), ACL_YES);

    write_file(path, "<configuration><property>");
    assert_int_equal(acls_reload(a, false, &changed, &err), FL_MALFORMED);
    assert_non_null(strstr(err.text, path));
    assert_false(changed);
    assert_int_equal(creates(acls_current(a), "carol", NULL), ACL_YES);
    assert_int_equal(acls_reload(a, false, &changed, &err), FL_OK); /* told once */
    assert_false(changed);
    unlink(path);
    assert_int_equal(acls_reload(a, false, &changed, &err), FL_SYSTEM);
    assert_int_equal(acls_reload(a, false, &changed, &err), FL_OK);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(acls_reload(a, false, &changed, &err), FL_USAGE);
    assert_int_equal(creates(acls_current(a), "carol", NULL), ACL_YES);
    rmdir(path);
    rmdir(dir);
    fl_rcu_barrier();
    acls_free(a);
}

struct reader {
    struct acls *acls;
    atomic_bool *stop;
    unsigned     wrong, asked;
};

/* Each of the two versions of the file lets exactly one of the two users in. */
static void *read_all_the_time(void *at)
{
    struct reader *r = at;

    fl_rcu_register();
    while (!atomic_load(r->stop)) {
        const struct acl_set *s = acls_current(r->acls);

        r->wrong += creates(s, "alice", NULL) == creates(s, "bob", NULL);
        r->asked++;
        fl_rcu_offline();
        fl_rcu_online();
    }
    fl_rcu_unregister();
    return NULL;
}

struct reloader {
    struct acls *acls;
    const char  *path;
    unsigned     changes;
};

/* A worker: not registered with RCU. */
static void *reload_all_the_time(void *at)
{
    struct reloader *r = at;
    bool             changed;

    for (int i = 0; i < 200; i++) {
        write_file(r->path, i % 2 == 0 ? FILE_OF(ONE("hadoop.kms.acl.CREATE", "bob"))
                                       : FILE_OF(ONE("hadoop.kms.acl.CREATE", "alice")));
        r->changes += acls_reload(r->acls, true, &changed, NULL) == FL_OK && changed;
    }
    return NULL;
}

static void a_worker_reloads_while_reactors_ask(void **state)
{
    char            path[] = "/tmp/fl-auth-acl-XXXXXX";
    struct acls    *a = NULL;
    atomic_bool     stop = false;
    struct reader   readers[2];
    struct reloader reloader = { .path = path };
    pthread_t       threads[3];

    (void)state;
    assert_int_equal(close(mkstemp(path)), 0);
    write_file(path, FILE_OF(ONE("hadoop.kms.acl.CREATE", "alice")));
    assert_int_equal(acls_new(&a, path, NULL), FL_OK);
    reloader.acls = a;
    for (int i = 0; i < 2; i++) {
        readers[i] = (struct reader){ a, &stop, 0, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, read_all_the_time, &readers[i]), 0);
    }
    assert_int_equal(pthread_create(&threads[2], NULL, reload_all_the_time, &reloader), 0);
    fl_rcu_offline();
    pthread_join(threads[2], NULL);
    atomic_store(&stop, true);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    fl_rcu_online();
    assert_int_equal(readers[0].wrong + readers[1].wrong, 0);
    assert_true(readers[0].asked > 0 && readers[1].asked > 0);
    assert_int_equal(reloader.changes, 200);
    unlink(path);
    fl_rcu_barrier();
    acls_free(a);
}

static void an_entry_with_a_tilde_is_whoever_that_user_acts_for(void **state)
{
    struct acl_set *s = parsed(FILE_OF(ONE("hadoop.kms.acl.CREATE", "alice,~svc,~hive")
                                           ONE("hadoop.kms.blacklist.CREATE", "~hive") ONE("key.acl.k.READ", "~svc")));
    struct acl_who  who = { FL_LIT("bob"), FL_LIT("~svc"), NULL };

    (void)state;
    assert_int_equal(acl_set_warnings(s)->count, 0);
    assert_int_equal(creates_behind(s, "bob", "~svc"), ACL_YES);
    assert_int_equal(creates_behind(s, "bob", ""), ACL_NO);
    assert_int_equal(creates_behind(s, "svc", ""), ACL_NO); /* not svc itself */
    assert_int_equal(creates_behind(s, "alice", "~other"), ACL_YES);
    assert_int_equal(creates_behind(s, "alice", "~hive"), ACL_NO);
    assert_int_equal(acl_key_allows_who(s, FL_LIT("k"), ACL_KEY_READ, &who, NULL), ACL_YES);
    who.behind = FL_LIT("~hive");
    assert_int_equal(acl_key_allows_who(s, FL_LIT("k"), ACL_KEY_READ, &who, NULL), ACL_NO);
    acl_set_free(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read_as_java_reads_them),
        cmocka_unit_test(names_are_tested_before_groups),
        cmocka_unit_test(a_blacklist_beats_the_allow_list),
        cmocka_unit_test(a_blacklist_of_a_lone_star_blocks_everybody),
        cmocka_unit_test(without_a_file_everybody_may_operate_and_no_key_is_open),
        cmocka_unit_test(a_key_with_a_map_of_its_own_has_no_defaults),
        cmocka_unit_test(the_whitelist_opens_every_key),
        cmocka_unit_test(the_name_of_a_key_may_hold_dots),
        cmocka_unit_test(a_trail_waits_for_the_groups),
        cmocka_unit_test(java_decided_the_same_way),
        cmocka_unit_test(properties_follow_hadoops_rules),
        cmocka_unit_test(an_empty_value_is_no_value_and_a_blank_is_nobody),
        cmocka_unit_test(variables_are_replaced),
        cmocka_unit_test(bad_xml_is_refused_with_its_line),
        cmocka_unit_test(an_entry_with_a_tilde_is_whoever_that_user_acts_for),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(a_changed_file_is_read_again_and_a_bad_one_keeps_the_old_acls),
        cmocka_unit_test(a_worker_reloads_while_reactors_ask),
    };

    fl_rcu_register();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_rcu_unregister();
    return failed;
}
