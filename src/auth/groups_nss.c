/* Groups from the system's name services: passwd for the user, then initgroups and group names. */
#include "auth/groups_inside.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>

enum { MOST_SCRATCH = 4 * 1024 * 1024, MOST_GROUPS = 65536 };

bool groups_found_add(struct groups_found *f, const char *group)
{
    if (!fl_buf_put(&f->names, group, strlen(group) + 1))
        return false;
    f->count++;
    return true;
}

/* The *_r calls want scratch memory whose size nobody knows; ERANGE asks for more. */
struct scratch {
    char  *at;
    size_t len;
};

static bool enlarge(struct scratch *s)
{
    size_t len = s->len == 0 ? 4096 : s->len * 4;
    char  *at = len > MOST_SCRATCH ? NULL : realloc(s->at, len);

    if (at == NULL)
        return false;
    s->at = at;
    s->len = len;
    return true;
}

/* What getpwnam(3) lists as ways to say 'no such user'. */
static bool says_absent(int code)
{
    return code == 0 || code == ENOENT || code == ESRCH || code == EBADF || code == EPERM;
}

static bool primary_group(const char *user, struct scratch *s, gid_t *gid, bool *failed)
{
    struct passwd pw, *found = NULL;
    int           code;

    while ((code = getpwnam_r(user, &pw, s->at, s->len, &found)) == EINTR || (code == ERANGE && enlarge(s)))
        ;
    *failed = !says_absent(code);
    if (code != 0 || found == NULL)
        return false;
    *gid = found->pw_gid;
    return true;
}

static gid_t *all_groups(const char *user, gid_t primary, int *count)
{
    gid_t *gids = NULL;

    for (int room = 64; room <= MOST_GROUPS; room *= 4) {
        gid_t *more = realloc(gids, (size_t)room * sizeof *gids);

        if (more == NULL)
            break;
        gids = more;
        *count = room;
        if (getgrouplist(user, primary, gids, count) >= 0)
            return gids;
    }
    free(gids);
    return NULL;
}

/* A group without a name counts by its number, as id(1) shows it. */
static bool add_group(gid_t gid, struct scratch *s, struct groups_found *found)
{
    struct group gr, *entry = NULL;
    char         number[16];
    int          code;

    while ((code = getgrgid_r(gid, &gr, s->at, s->len, &entry)) == EINTR || (code == ERANGE && enlarge(s)))
        ;
    if (!says_absent(code)) /* a name that can't be told now may stand on a blacklist */
        return false;
    snprintf(number, sizeof number, "%u", (unsigned)gid);
    return groups_found_add(found, code == 0 && entry != NULL ? entry->gr_name : number);
}

void groups_from_nss(const char *user, struct groups_found *found)
{
    struct scratch s = { NULL, 0 };
    gid_t          primary = 0;
    gid_t         *gids = NULL;
    int            count = 0;

    found->failed = true;
    if (enlarge(&s) && primary_group(user, &s, &primary, &found->failed)) {
        found->present = true;
        gids = all_groups(user, primary, &count);
        found->failed = gids == NULL;
    }
    for (int i = 0; gids != NULL && i < count && !found->failed; i++)
        found->failed = !add_group(gids[i], &s, found);
    free(gids);
    free(s.at);
}
