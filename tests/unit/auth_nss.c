/* What the system's name service says, played by this file: users and groups that are there, are not, or can't be
 * looked up now. The functions below take the place of the C library's. */
#include "auth/groups_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <grp.h>
#include <pwd.h>

enum { PRIMARY = 100, OTHER = 200 };
static int  user_code, group_code; /* what the look-ups return */
static bool user_there, group_there;

int getpwnam_r(const char *restrict name, struct passwd *restrict pw, char *restrict at, size_t len,
               struct passwd **restrict found)
{
    (void)name;
    (void)at;
    (void)len;
    *pw = (struct passwd){ .pw_gid = PRIMARY };
    *found = user_there ? pw : NULL;
    return user_code;
}

int getgrouplist(const char *name, gid_t primary, gid_t *gids, int *count)
{
    (void)name;
    assert_true(*count >= 2);
    gids[0] = primary;
    gids[1] = OTHER;
    *count = 2;
    return 2;
}

int getgrgid_r(gid_t gid, struct group *restrict gr, char *restrict at, size_t len, struct group **restrict found)
{
    static char staff[] = "staff", admins[] = "admins";

    (void)at;
    (void)len;
    *gr = (struct group){ .gr_name = gid == PRIMARY ? staff : admins };
    *found = group_there || gid == PRIMARY ? gr : NULL;
    return gid == OTHER ? group_code : 0;
}

/* The names, each followed by a blank. */
static const char *look_up(bool *present, bool *failed)
{
    static char         text[64];
    struct groups_found found = { 0 };

    fl_buf_init(&found.names, 0);
    groups_from_nss("somebody", &found);
    for (size_t i = 0; i < fl_buf_len(&found.names); i++)
        text[i] = (char)(found.names.data[i] == '\0' ? ' ' : found.names.data[i]);
    text[fl_buf_len(&found.names)] = '\0';
    *present = found.present;
    *failed = found.failed;
    fl_buf_done(&found.names);
    return text;
}

static void groups_have_names_or_numbers(void **state)
{
    bool present, failed;

    (void)state;
    user_code = group_code = 0;
    user_there = group_there = true;
    assert_string_equal(look_up(&present, &failed), "staff admins ");
    assert_true(present && !failed);
    group_there = false;
    for (size_t i = 0; i < 3; i++) {
        group_code = (const int[]){ 0, ENOENT, ESRCH }[i];
        assert_string_equal(look_up(&present, &failed), "staff 200 ");
        assert_true(present && !failed);
    }
}

/* A blacklist may name the group: it must not be passed over because its name can't be told. */
static void a_group_that_cannot_be_looked_up_is_a_failure(void **state)
{
    bool present, failed;

    (void)state;
    user_code = 0;
    user_there = true;
    group_there = false;
    group_code = EIO;
    look_up(&present, &failed);
    assert_true(failed);
}

static void an_absent_user_is_told_from_one_that_cannot_be_looked_up(void **state)
{
    bool present, failed;

    (void)state;
    user_there = false;
    for (size_t i = 0; i < 3; i++) {
        user_code = (const int[]){ 0, ENOENT, EPERM }[i];
        look_up(&present, &failed);
        assert_true(!present && !failed);
    }
    user_code = EIO;
    look_up(&present, &failed);
    assert_true(!present && failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_have_names_or_numbers),
        cmocka_unit_test(a_group_that_cannot_be_looked_up_is_a_failure),
        cmocka_unit_test(an_absent_user_is_told_from_one_that_cannot_be_looked_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
