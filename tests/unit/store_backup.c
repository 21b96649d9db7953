#include "store_rig.h"

#include <fcntl.h>
#include <sys/resource.h>

struct paths {
    char backup[96], other[96];
};

static struct paths paths_of(const struct rig *r)
{
    struct paths p;

    snprintf(p.backup, sizeof p.backup, "%s/backup", r->folder);
    snprintf(p.other, sizeof p.other, "%s/other", r->folder);
    return p;
}

static void open_other(struct rig *r, const char *folder)
{
    rig_close(r);
    r->config.data_dir = folder;
    rig_open(r);
}

static void a_running_store_is_copied_and_restored(void **state)
{
    struct rig  *r = *state;
    struct paths p = paths_of(r);
    struct stat  st;
    char         draft[128];

    rig_open(r);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k"), FL_LIT("before")), FL_OK);
    assert_int_equal(store_backup(r->store, p.backup, NULL), FL_OK);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k"), FL_LIT("after")), FL_OK);
    assert_int_equal(stat(p.backup, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    snprintf(draft, sizeof draft, "%s.tmp", p.backup);
    assert_int_not_equal(access(draft, F_OK), 0);
    assert_int_equal(store_restore(p.backup, p.other, NULL), FL_OK);
    rig_expect(r, STORE_KEYS, FL_LIT("k"), FL_LIT("after"));
    open_other(r, p.other);
    rig_expect(r, STORE_KEYS, FL_LIT("k"), FL_LIT("before"));
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k2"), FL_LIT("goes on")), FL_OK);
}

static void a_later_backup_takes_the_place_of_the_former(void **state)
{
    struct rig  *r = *state;
    struct paths p = paths_of(r);

    rig_open(r);
    assert_int_equal(store_backup(r->store, p.backup, NULL), FL_OK);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k"), FL_LIT("v")), FL_OK);
    assert_int_equal(store_backup(r->store, p.backup, NULL), FL_OK);
    assert_int_equal(store_restore(p.backup, p.other, NULL), FL_OK);
    open_other(r, p.other);
    rig_expect(r, STORE_KEYS, FL_LIT("k"), FL_LIT("v"));
}

static void a_restored_store_needs_its_passphrase(void **state)
{
    struct rig  *r = *state;
    struct paths p = paths_of(r);
    int          fd;

    rig_open(r);
    assert_int_equal(store_backup(r->store, p.backup, NULL), FL_OK);
    rig_close(r);
    assert_int_equal(store_restore(p.backup, p.other, NULL), FL_OK);
    assert_true((fd = open(r->password, O_WRONLY | O_TRUNC)) >= 0);
    assert_int_equal(write(fd, "another", 7), 7);
    close(fd);
    r->config.data_dir = p.other;
    rig_refused(r, FL_DENIED, "doesn't fit");
}

static void a_folder_with_a_store_is_not_overwritten(void **state)
{
    struct rig     *r = *state;
    struct paths    p = paths_of(r);
    struct fl_error err;

    rig_open(r);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k"), FL_LIT("v")), FL_OK);
    assert_int_equal(store_backup(r->store, p.backup, NULL), FL_OK);
    assert_int_equal(store_restore(p.backup, r->data, &err), FL_BUSY); /* it runs */
    rig_close(r);
    assert_int_equal(store_restore(p.backup, r->data, &err), FL_EXISTS);
    assert_non_null(strstr(err.text, "holds a store already"));
    rig_open(r);
    rig_expect(r, STORE_KEYS, FL_LIT("k"), FL_LIT("v"));
}

/* Restoring must fail with FL_MALFORMED, such a sentence, and nothing left behind. */
static void assert_no_backup(const struct paths *p, const char *text)
{
    struct fl_error err;
    char            left[128];

    assert_int_equal(store_restore(p->backup, p->other, &err), FL_MALFORMED);
    if (strstr(err.text, text) == NULL)
        fail_msg("'%s' lacks '%s'", err.text, text);
    snprintf(left, sizeof left, "%s/data.mdb", p->other);
    assert_int_not_equal(access(left, F_OK), 0);
    snprintf(left, sizeof left, "%s/data.mdb.tmp", p->other);
    assert_int_not_equal(access(left, F_OK), 0);
}

static void other_files_are_no_backups(void **state)
{
    struct rig     *r = *state;
    struct paths    p = paths_of(r);
    struct fl_error err;
    struct stat     st;
    int             fd;

    assert_int_equal(store_restore(p.backup, p.other, &err), FL_SYSTEM);
    assert_non_null(strstr(err.text, p.backup));
    assert_true((fd = open(p.backup, O_CREAT | O_WRONLY, 0600)) >= 0);
    assert_no_backup(&p, "no backup"); /* empty */
    for (int i = 0; i < 3000; i++)
        assert_int_equal(write(fd, "some text", 9), 9);
    close(fd);
    assert_no_backup(&p, "no backup");
    rig_open(r);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k"), FL_LIT("v")), FL_OK);
    assert_int_equal(store_backup(r->store, p.backup, NULL), FL_OK);
    assert_int_equal(stat(p.backup, &st), 0);
    assert_int_equal(truncate(p.backup, st.st_size - 4096), 0);
    assert_no_backup(&p, "cut off");
}

static void a_backup_that_does_not_fit_leaves_the_former(void **state)
{
    enum { BIG = 2 << 20 };
    struct rig     *r = *state;
    struct paths    p = paths_of(r);
    uint8_t        *big = calloc(1, BIG);
    struct rlimit   limit;
    struct fl_error err;
    char            draft[128];

    assert_non_null(big);
    rig_open(r);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k"), FL_LIT("v")), FL_OK);
    assert_int_equal(store_backup(r->store, p.backup, NULL), FL_OK);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k2"), fl_slice_of(big, BIG)), FL_OK);
    free(big);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 1 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(store_backup(r->store, p.backup, &err), FL_SYSTEM);
    assert_non_null(strstr(err.text, p.backup));
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    snprintf(draft, sizeof draft, "%s.tmp", p.backup);
    assert_int_not_equal(access(draft, F_OK), 0);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k3"), FL_LIT("goes on")), FL_OK);
    assert_int_equal(store_restore(p.backup, p.other, NULL), FL_OK);
    open_other(r, p.other);
    rig_expect(r, STORE_KEYS, FL_LIT("k"), FL_LIT("v"));
}

static void a_draft_of_another_backup_is_not_touched(void **state)
{
    struct rig     *r = *state;
    struct paths    p = paths_of(r);
    char            draft[128];
    struct fl_error err;

    rig_open(r);
    snprintf(draft, sizeof draft, "%s.tmp", p.backup);
    assert_int_equal(close(open(draft, O_CREAT | O_WRONLY, 0600)), 0);
    assert_int_equal(store_backup(r->store, p.backup, &err), FL_EXISTS);
    assert_non_null(strstr(err.text, draft));
    assert_int_equal(access(draft, F_OK), 0);
    assert_int_not_equal(access(p.backup, F_OK), 0);
}

static void a_place_that_does_not_exist_is_refused(void **state)
{
    struct rig     *r = *state;
    char            file[128];
    struct fl_error err;

    rig_open(r);
    snprintf(file, sizeof file, "%s/no/such", r->folder);
    assert_int_equal(store_backup(r->store, file, &err), FL_SYSTEM);
    assert_non_null(strstr(err.text, file));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(a_running_store_is_copied_and_restored),
        WITH_STORE(a_later_backup_takes_the_place_of_the_former),
        WITH_STORE(a_restored_store_needs_its_passphrase),
        WITH_STORE(a_folder_with_a_store_is_not_overwritten),
        WITH_STORE(other_files_are_no_backups),
        WITH_STORE(a_backup_that_does_not_fit_leaves_the_former),
        WITH_STORE(a_draft_of_another_backup_is_not_touched),
        WITH_STORE(a_place_that_does_not_exist_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
