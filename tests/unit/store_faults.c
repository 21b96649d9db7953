#include "store_rig.h"

#include <fcntl.h>
#include <lmdb.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ---- the records, behind the store's back
 * -------------------------------------------------------------------------------------- */

/* Swaps the raw values of two records of one table, or of two tables. */
static void swap_raw(struct rig *r, const char *table_a, const char *key_a, const char *table_b, const char *key_b)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi  a, b;
    MDB_val  ka = { strlen(key_a), (void *)(uintptr_t)key_a }, kb = { strlen(key_b), (void *)(uintptr_t)key_b };
    MDB_val  va, vb;
    uint8_t  copy_a[256], copy_b[256];

    assert_int_equal(mdb_env_create(&env), 0);
    mdb_env_set_maxdbs(env, 8);
    assert_int_equal(mdb_env_open(env, r->data, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, table_a, 0, &a), 0);
    assert_int_equal(mdb_dbi_open(txn, table_b, 0, &b), 0);
    assert_int_equal(mdb_get(txn, a, &ka, &va), 0);
    assert_int_equal(mdb_get(txn, b, &kb, &vb), 0);
    assert_true(va.mv_size <= sizeof copy_a && vb.mv_size <= sizeof copy_b);
    memcpy(copy_a, va.mv_data, va.mv_size);
    memcpy(copy_b, vb.mv_data, vb.mv_size);
    va.mv_data = copy_a;
    vb.mv_data = copy_b;
    assert_int_equal(mdb_put(txn, a, &ka, &vb, 0), 0);
    assert_int_equal(mdb_put(txn, b, &kb, &va, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

/* Turns one bit of a raw value, or cuts it: bit < 0 leaves so many bytes. */
static void damage_raw(struct rig *r, const char *table, const char *key, int bit, size_t keep)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi  dbi;
    MDB_val  k = { strlen(key), (void *)(uintptr_t)key }, v;
    uint8_t  copy[256];

    assert_int_equal(mdb_env_create(&env), 0);
    mdb_env_set_maxdbs(env, 8);
    assert_int_equal(mdb_env_open(env, r->data, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, table, 0, &dbi), 0);
    assert_int_equal(mdb_get(txn, dbi, &k, &v), 0);
    assert_true(v.mv_size <= sizeof copy && keep <= v.mv_size);
    memcpy(copy, v.mv_data, v.mv_size);
    if (bit >= 0)
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
    v = (MDB_val){ bit >= 0 ? v.mv_size : keep, copy };
    assert_int_equal(mdb_put(txn, dbi, &k, &v, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void assert_damaged(struct rig *r, enum store_table table, const char *key, const char *text)
{
    struct rig_job j = rig_job_of(RIG_GET, table, fl_slice_str(key), FL_LIT(""));

    assert_int_equal(rig_run(r, &j), FL_MALFORMED);
    if (strstr(j.job.err.text, text) == NULL)
        fail_msg("'%s' lacks '%s'", j.job.err.text, text);
}

static void swapped_records_are_named(void **state)
{
    struct rig *r = *state;

    rig_open(r);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("one"), FL_LIT("value of one")), FL_OK);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("two"), FL_LIT("value of two")), FL_OK);
    assert_int_equal(rig_put(r, STORE_TOKENS, FL_LIT("one"), FL_LIT("a token")), FL_OK);
    rig_close(r);
    swap_raw(r, "keys", "one", "keys", "two");
    rig_open(r);
    assert_damaged(r, STORE_KEYS, "one", "record 'one' of table keys");
    assert_damaged(r, STORE_KEYS, "two", "record 'two' of table keys");
    rig_expect(r, STORE_TOKENS, FL_LIT("one"), FL_LIT("a token")); /* the others are served on */
    rig_close(r);
    swap_raw(r, "keys", "one", "keys", "two");
    swap_raw(r, "keys", "one", "tokens", "one"); /* the same key, another table */
    rig_open(r);
    assert_damaged(r, STORE_KEYS, "one", "record 'one' of table keys");
    assert_damaged(r, STORE_TOKENS, "one", "record 'one' of table tokens");
    rig_expect(r, STORE_KEYS, FL_LIT("two"), FL_LIT("value of two"));
}

/* Each opening costs a run of scrypt, so not every bit: the ends of format, nonce, text and tag. */
static void a_turned_bit_is_seen(void **state)
{
    enum { NONCE = 1, TEXT = NONCE + 12, TAG = TEXT + 5, END = TAG + 16 };
    static const int bytes[] = { 0, NONCE, TEXT - 1, TEXT, TAG - 1, TAG, END - 1 };
    struct rig      *r = *state;

    for (size_t i = 0; i < FL_COUNT(bytes); i++) {
        rig_open(r);
        assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k"), FL_LIT("value")), FL_OK);
        rig_close(r);
        damage_raw(r, "keys", "k", bytes[i] * 8 + (int)i, 0);
        rig_open(r);
        assert_damaged(r, STORE_KEYS, "k", bytes[i] == 0 ? "format" : "damaged");
        rig_close(r);
    }
}

static void cut_records_are_seen(void **state)
{
    static const size_t keeps[] = { 0, 1, 28, 29 };
    struct rig         *r = *state;

    for (size_t i = 0; i < FL_COUNT(keeps); i++) {
        rig_open(r);
        assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k"), FL_LIT("value")), FL_OK);
        rig_close(r);
        damage_raw(r, "keys", "k", -1, keeps[i]);
        rig_open(r);
        assert_damaged(r, STORE_KEYS, "k", "damaged");
        rig_close(r);
    }
}

static void a_damaged_header_is_refused(void **state)
{
    struct rig *r = *state;

    rig_open(r);
    rig_close(r);
    damage_raw(r, "meta", "header", 8 * 40, 0); /* the salt: another key comes out */
    rig_refused(r, FL_DENIED, "doesn't fit");
    damage_raw(r, "meta", "header", 8 * 40, 0);
    damage_raw(r, "meta", "header", 8 * 4 + 7, 0); /* N */
    rig_refused(r, FL_MALFORMED, "scrypt");
    damage_raw(r, "meta", "header", 8 * 4 + 7, 0);
    damage_raw(r, "meta", "header", 8 * 3 + 1, 0); /* the format, 1, becomes 3 */
    rig_refused(r, FL_MALFORMED, "format 3");
    damage_raw(r, "meta", "header", 8 * 3 + 1, 0);
    rig_open(r);
    rig_close(r);
    damage_raw(r, "meta", "header", -1, 60);
    rig_refused(r, FL_MALFORMED, "60 bytes");
}

static void no_store_at_all_is_refused(void **state)
{
    struct rig *r = *state;
    char        path[128];
    int         fd;

    rig_open(r);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k"), FL_LIT("v")), FL_OK);
    rig_close(r);
    snprintf(path, sizeof path, "%s/data.mdb", r->data);
    assert_true((fd = open(path, O_WRONLY)) >= 0);
    assert_int_equal(pwrite(fd, "no database at all", 18, 0), 18);
    assert_int_equal(pwrite(fd, "no database at all", 18, 16), 18);
    close(fd);
    rig_refused(r, FL_MALFORMED, "is damaged");
}

/* Cut behind LMDB's two first pages: what was there is gone, and reading beyond the end would end the process. */
static void a_cut_file_is_refused(void **state)
{
    struct rig *r = *state;
    char        path[128];
    struct stat st;

    rig_open(r);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k"), FL_LIT("v")), FL_OK);
    rig_close(r);
    snprintf(path, sizeof path, "%s/data.mdb", r->data);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 8192);
    assert_int_equal(truncate(path, 8192), 0);
    rig_refused(r, FL_MALFORMED, "is damaged");
}

/* ---- other processes
 * ------------------------------------------------------------------------------------------------------------- */

/* Runs what in a child; true if it returned true. Nothing of the child's memory is the parent's. */
static bool in_child(bool (*what)(struct rig *r), struct rig *r)
{
    pid_t pid = fork();
    int   status;

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(what(r) ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool is_in_use_by_my_parent(struct rig *r)
{
    struct fl_error err = { .text = "" };
    struct store   *s = NULL;
    char            pid[32];

    snprintf(pid, sizeof pid, "process %d:", (int)getppid());
    return store_open(&s, &r->config, &err) == FL_BUSY && strstr(err.text, pid) != NULL &&
           strstr(err.text, r->data) != NULL && strstr(err.text, "stop") != NULL;
}

static void a_second_process_is_refused_with_the_firsts_pid(void **state)
{
    struct rig *r = *state;

    rig_open(r);
    assert_true(in_child(is_in_use_by_my_parent, r));
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k"), FL_LIT("v")), FL_OK); /* undisturbed */
    rig_reopen(r);                                                             /* given free by closing */
}

/* As nobody, where the tests run as root: root may write everywhere. */
static bool is_not_writable(struct rig *r)
{
    struct fl_error err = { .text = "" };
    struct store   *s = NULL;

    if (geteuid() == 0 &&
        (chown(r->data, 65534, 65534) != 0 || chmod(r->folder, 0755) != 0 || setgid(65534) != 0 || setuid(65534) != 0))
        return false;
    return store_open(&s, &r->config, &err) == FL_SYSTEM && strstr(err.text, "must be writable") != NULL;
}

static void a_read_only_folder_is_refused(void **state)
{
    struct rig *r = *state;

    assert_int_equal(mkdir(r->data, 0500), 0);
    assert_true(in_child(is_not_writable, r));
}

static void a_folder_that_others_may_write_is_refused(void **state)
{
    struct rig *r = *state;

    assert_int_equal(mkdir(r->data, 0700), 0);
    assert_int_equal(chmod(r->data, 0770), 0);
    rig_refused(r, FL_USAGE, "chmod 700");
    assert_int_equal(rmdir(r->data), 0);
    assert_int_equal(close(open(r->data, O_CREAT | O_WRONLY, 0600)), 0);
    rig_refused(r, FL_USAGE, "is no folder");
}

static void a_folder_that_cannot_be_made_is_refused(void **state)
{
    struct rig *r = *state;

    snprintf(r->data, sizeof r->data, "%s/no/such", r->folder);
    rig_refused(r, FL_SYSTEM, "cannot make the data folder");
}

/* ---- a full disk
 * ---------------------------------------------------------------------------------------------------------------------
 */

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A limit on file size gives write(2) the same partial successes and failures as a disk that is full. */
static void a_full_disk_fails_the_jobs_and_no_more(void **state)
{
    enum { BIG = 200000, MOST = 40 };
    struct rig    *r = *state;
    uint8_t       *big = calloc(1, BIG);
    struct rig_job j[MOST];
    char           keys[MOST][8];
    int            failed = -1;

    assert_non_null(big);
    rig_open(r);
    assert_int_equal(rig_put(r, STORE_TOKENS, FL_LIT("before"), FL_LIT("1")), FL_OK);
    limit_file_size(1 << 20);
    for (int i = 0; i < MOST && failed < 0; i++) {
        snprintf(keys[i], sizeof keys[i], "%d", i);
        j[i] = rig_job_of(RIG_PUT, STORE_TOKENS, fl_slice_str(keys[i]), fl_slice_of(big, BIG));
        if (rig_run(r, &j[i]) != FL_OK)
            failed = i;
    }
    assert_true(failed >= 1);
    assert_int_equal(j[failed].job.status, FL_SYSTEM);
    assert_non_null(strstr(j[failed].job.err.text, "disk full"));
    assert_int_equal(j[failed].committed_at, 0);
    rig_expect_none(r, STORE_TOKENS, fl_slice_str(keys[failed]));
    rig_expect(r, STORE_TOKENS, fl_slice_str(keys[failed - 1]), fl_slice_of(big, BIG)); /* the server lives on */
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(rig_put(r, STORE_TOKENS, fl_slice_str(keys[failed]), fl_slice_of(big, BIG)), FL_OK);
    rig_reopen(r);
    rig_expect(r, STORE_TOKENS, FL_LIT("before"), FL_LIT("1"));
    for (int i = 0; i <= failed; i++)
        rig_expect(r, STORE_TOKENS, fl_slice_str(keys[i]), fl_slice_of(big, BIG));
    free(big);
}

/* In one group: the one that is too large fails alone. */
static void a_full_disk_fails_only_those_that_do_not_fit(void **state)
{
    enum { BIG = 3 << 20 };
    struct rig    *r = *state;
    uint8_t       *big = calloc(1, BIG);
    struct rig_job first = rig_job_of(RIG_PUT, STORE_TOKENS, FL_LIT("first"), FL_LIT("x")), j[3] = {
        rig_job_of(RIG_PUT, STORE_KEYS, FL_LIT("a"), FL_LIT("1")),
        rig_job_of(RIG_PUT, STORE_KEYS, FL_LIT("b"), fl_slice_of(big, BIG)),
        rig_job_of(RIG_PUT, STORE_KEYS, FL_LIT("c"), FL_LIT("3")),
    };

    assert_non_null(big);
    r->config.test_hold = true;
    rig_open(r);
    rig_submit(r, &first);
    rig_wait_until_taken(r);
    for (int i = 0; i < 3; i++)
        rig_submit(r, &j[i]);
    limit_file_size(1 << 20);
    store_test_release(r->store, 100);
    assert_int_equal(rig_wait(&j[0]), FL_OK);
    assert_int_equal(rig_wait(&j[1]), FL_SYSTEM);
    assert_non_null(strstr(j[1].job.err.text, "disk full"));
    assert_int_equal(rig_wait(&j[2]), FL_OK);
    limit_file_size(RLIM_INFINITY);
    r->config.test_hold = false;
    rig_reopen(r);
    rig_expect(r, STORE_KEYS, FL_LIT("a"), FL_LIT("1"));
    rig_expect_none(r, STORE_KEYS, FL_LIT("b"));
    rig_expect(r, STORE_KEYS, FL_LIT("c"), FL_LIT("3"));
    free(big);
}

/* ---- the map
 * --------------------------------------------------------------------------------------------------------------------------
 */

static void a_full_map_grows(void **state)
{
    enum { BIG = 100000, COUNT = 30 };
    struct rig        *r = *state;
    uint8_t           *big = malloc(BIG);
    struct store_stats stats;
    char               key[8];

    assert_non_null(big);
    memset(big, 7, BIG);
    r->config.map_bytes = 4096; /* less than the empty tables need */
    rig_open(r);
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "%d", i);
        assert_int_equal(rig_put(r, STORE_TOKENS, fl_slice_str(key), fl_slice_of(big, BIG)), FL_OK);
    }
    store_stats(r->store, &stats);
    assert_true(stats.map_bytes >= BIG * COUNT);
    assert_true(stats.used_bytes >= BIG * COUNT && stats.used_bytes <= stats.map_bytes);
    rig_reopen(r); /* with the small map again: the file's own size counts */
    for (int i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "%d", i);
        rig_expect(r, STORE_TOKENS, fl_slice_str(key), fl_slice_of(big, BIG));
    }
    free(big);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHADOW_MEMORY 1
#endif
#endif
#else
#define SHADOW_MEMORY 1
#endif

#ifndef SHADOW_MEMORY /* the sanitizers' own maps are terabytes: no limit on address space beside them */
static bool opens_and_meets_the_limit(struct rig *r)
{
    enum { BIG = 32 << 20 };
    struct rlimit      limit = { (rlim_t)512 << 20, (rlim_t)512 << 20 };
    struct store_stats stats;
    struct rig_job     j = rig_job_of(RIG_PUT, STORE_TOKENS, FL_LIT("k"), FL_LIT("v"));
    uint8_t           *big = calloc(1, BIG);
    char               key[8];
    enum fl_status     s = FL_OK;

    if (big == NULL || setrlimit(RLIMIT_AS, &limit) != 0)
        return false;
    rig_open(r);
    store_stats(r->store, &stats);
    if (stats.map_bytes > limit.rlim_cur || rig_run(r, &j) != FL_OK)
        return false;
    for (int i = 0; i < 20 && s == FL_OK; i++) {
        snprintf(key, sizeof key, "%d", i);
        j = rig_job_of(RIG_PUT, STORE_TOKENS, fl_slice_str(key), fl_slice_of(big, BIG));
        s = rig_run(r, &j);
    }
    if (s != FL_SYSTEM || strstr(j.job.err.text, "refuses a larger one") == NULL)
        return false;
    rig_expect(r, STORE_TOKENS, FL_LIT("k"), FL_LIT("v")); /* lives on with the map it has */
    rig_close(r);
    return true;
}

static void a_limited_address_space_gets_a_smaller_map(void **state)
{
    assert_true(in_child(opens_and_meets_the_limit, *state));
}
#endif

/* ---- sudden death
 * ------------------------------------------------------------------------------------------------------------------------
 */

/* Writes records 0, 1, 2… and tells each number through the pipe once it is acknowledged. */
static void write_until_killed(struct rig *r, int out, unsigned from)
{
    char key[16];

    rig_open(r);
    for (unsigned i = from;; i++) {
        snprintf(key, sizeof key, "%u", i);
        if (rig_put(r, STORE_TOKENS, fl_slice_str(key), fl_slice_str(key)) != FL_OK ||
            write(out, &i, sizeof i) != sizeof i)
            _exit(1);
    }
}

/* Returns the number behind the last acknowledged record. */
static unsigned let_write_and_kill(struct rig *r, unsigned from, unsigned at_least)
{
    int      ends[2], status;
    unsigned n, next = from;
    pid_t    pid;

    assert_int_equal(pipe(ends), 0);
    assert_true((pid = fork()) >= 0);
    if (pid == 0) {
        close(ends[0]);
        write_until_killed(r, ends[1], from);
    }
    close(ends[1]);
    while (next < from + at_least && read(ends[0], &n, sizeof n) == sizeof n)
        next = n + 1;
    assert_int_equal(kill(pid, SIGKILL), 0); /* wherever it stands: it writes without a pause */
    while (read(ends[0], &n, sizeof n) == sizeof n)
        next = n + 1;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    return next;
}

static void what_was_acknowledged_survives_kill_9(void **state)
{
    struct rig *r = *state;
    unsigned    next = 0, seed = 12345;
    char        key[16];

    for (int round = 0; round < 20; round++) {
        seed = seed * 1103515245 + 12345;
        next = let_write_and_kill(r, next, 1 + seed / 65536 % 40);
        rig_open(r);
        for (unsigned i = 0; i < next; i++) {
            snprintf(key, sizeof key, "%u", i);
            rig_expect(r, STORE_TOKENS, fl_slice_str(key), fl_slice_str(key));
        }
        rig_close(r);
    }
    assert_true(next >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(swapped_records_are_named),
        WITH_STORE(a_turned_bit_is_seen),
        WITH_STORE(cut_records_are_seen),
        WITH_STORE(a_damaged_header_is_refused),
        WITH_STORE(no_store_at_all_is_refused),
        WITH_STORE(a_cut_file_is_refused),
        WITH_STORE(a_second_process_is_refused_with_the_firsts_pid),
        WITH_STORE(a_read_only_folder_is_refused),
        WITH_STORE(a_folder_that_others_may_write_is_refused),
        WITH_STORE(a_folder_that_cannot_be_made_is_refused),
        WITH_STORE(a_full_disk_fails_the_jobs_and_no_more),
        WITH_STORE(a_full_disk_fails_only_those_that_do_not_fit),
        WITH_STORE(a_full_map_grows),
#ifndef SHADOW_MEMORY
        WITH_STORE(a_limited_address_space_gets_a_smaller_map),
#endif
        WITH_STORE(what_was_acknowledged_survives_kill_9),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
