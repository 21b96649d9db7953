/* A running KMS whose system can't always tell the groups of a user: the functions below take the place of the C
 * library's. "lost…" can't be looked up; others are in the group "users", and "banned…" in "banned" too. */
#include "kms_rig.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>

enum { USERS = 100, BANNED = 200 };

int getpwnam_r(const char *restrict name, struct passwd *restrict pw, char *restrict at, size_t len,
               struct passwd **restrict found)
{
    (void)at;
    (void)len;
    *pw = (struct passwd){ .pw_gid = USERS };
    *found = strncmp(name, "lost", 4) == 0 ? NULL : pw;
    return *found == NULL ? EIO : 0;
}

int getgrouplist(const char *name, gid_t primary, gid_t *gids, int *count)
{
    *count = strncmp(name, "banned", 6) == 0 ? 2 : 1;
    gids[0] = primary;
    gids[*count - 1] = *count == 2 ? BANNED : primary;
    return *count;
}

int getgrgid_r(gid_t gid, struct group *restrict gr, char *restrict at, size_t len, struct group **restrict found)
{
    static char users[] = "users", banned[] = "banned";

    (void)at;
    (void)len;
    *gr = (struct group){ .gr_name = gid == USERS ? users : banned };
    *found = gr;
    return 0;
}

static int list_keys(struct rig *g, const char *user)
{
    char request[200];
    int  len =
        snprintf(request, sizeof request, "GET /kms/v1/keys/names?user.name=%s HTTP/1.1\r\nHost: h\r\n\r\n", user);

    return rig_ask(g, request, (size_t)len);
}

/* Java takes such a user for one without groups, whom the blacklist then lets pass. */
static void a_blacklist_of_groups_is_not_passed_over_when_they_cannot_be_told(void **state)
{
    static const char acls[] = "<property><name>hadoop.kms.blacklist.GET_KEYS</name><value> banned</value></property>";
    struct rig        g = { .fd = -1 };

    (void)state;
    rig_start(&g, acls);
    rig_connect(&g);
    assert_int_equal(list_keys(&g, "alice"), 200);
    assert_int_equal(list_keys(&g, "banned1"), 403);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(list_keys(&g, "lost1"), 503);
        assert_non_null(strstr(g.answer, "503 The groups of user lost1 can't be looked up now\r\n"));
        assert_non_null(strstr(g.answer, "\"exception\" : \"IOException\""));
    }
    assert_int_equal(list_keys(&g, "alice"), 200);
    rig_end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blacklist_of_groups_is_not_passed_over_when_they_cannot_be_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
