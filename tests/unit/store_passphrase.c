#include "store_rig.h"

#include <fcntl.h>

static void write_password(struct rig *r, const void *bytes, size_t len, mode_t mode)
{
    int fd;

    unlink(r->password);
    fd = open(r->password, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void the_made_file_is_private_and_random(void **state)
{
    struct rig *r = *state;
    struct stat st;
    char        text[2][80] = { "", "" };
    FILE       *f;

    rig_open(r);
    assert_int_equal(stat(r->password, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, 65); /* 256 bits in hex and a newline */
    assert_int_equal(stat(r->data, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    for (int i = 0; i < 2; i++) {
        assert_non_null(f = fopen(r->password, "r"));
        assert_non_null(fgets(text[i], sizeof text[i], f));
        fclose(f);
        assert_int_equal(strspn(text[i], "0123456789abcdef"), 64);
        rig_close(r);
        if (i == 0) { /* another store gets another */
            unlink(r->password);
            snprintf(r->data, sizeof r->data, "%s/other", r->folder);
            rig_open(r);
        }
    }
    assert_string_not_equal(text[0], text[1]);
}

static void it_is_not_made_unasked(void **state)
{
    struct rig *r = *state;

    r->config.make_password = false;
    rig_refused(r, FL_SYSTEM, r->password);
    assert_int_not_equal(access(r->password, F_OK), 0);
}

static void a_lost_one_is_not_replaced(void **state)
{
    struct rig *r = *state;

    rig_open(r);
    rig_close(r);
    assert_int_equal(unlink(r->password), 0);
    rig_refused(r, FL_USAGE, "is missing");
    assert_int_not_equal(access(r->password, F_OK), 0);
}

static void another_one_is_refused(void **state)
{
    struct rig *r = *state;

    write_password(r, "right\n", 6, 0600);
    rig_open(r);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k"), FL_LIT("v")), FL_OK);
    rig_close(r);
    write_password(r, "wrong\n", 6, 0600);
    rig_refused(r, FL_DENIED, "doesn't fit");
    write_password(r, "right", 5, 0400); /* the newline doesn't count */
    rig_open(r);
    rig_expect(r, STORE_KEYS, FL_LIT("k"), FL_LIT("v"));
    rig_close(r);
    write_password(r, "right\r\n", 7, 0600);
    rig_open(r);
    rig_close(r);
    write_password(r, "right\n\n", 7, 0600); /* one newline only */
    rig_refused(r, FL_DENIED, "doesn't fit");
}

static void others_must_have_no_access(void **state)
{
    static const mode_t bad[] = { 0640, 0604, 0620, 0602, 0610, 0601, 0644 };
    struct rig         *r = *state;

    for (size_t i = 0; i < FL_COUNT(bad); i++) {
        write_password(r, "x\n", 2, bad[i]);
        rig_refused(r, FL_USAGE, "chmod 600");
    }
}

static void sizes_have_limits(void **state)
{
    struct rig *r = *state;
    char       *large = calloc(1, 65537);

    assert_non_null(large);
    write_password(r, "", 0, 0600);
    rig_refused(r, FL_USAGE, "0 bytes, where 1 to 65536");
    write_password(r, "\n", 1, 0600);
    rig_refused(r, FL_USAGE, "nothing but a newline");
    write_password(r, "\r\n", 2, 0600);
    rig_refused(r, FL_USAGE, "nothing but a newline");
    write_password(r, large, 65537, 0600);
    rig_refused(r, FL_USAGE, "65537 bytes");
    write_password(r, large, 65536, 0600); /* NULs are bytes like others */
    rig_open(r);
    rig_close(r);
    large[65535] = 1;
    write_password(r, large, 65536, 0600);
    rig_refused(r, FL_DENIED, "doesn't fit");
    free(large);
}

static void it_must_be_a_file(void **state)
{
    struct rig *r = *state;

    assert_int_equal(mkdir(r->password, 0700), 0);
    rig_refused(r, FL_USAGE, "no regular file");
    r->config.password_file = NULL;
    rig_refused(r, FL_USAGE, "passphrase file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(the_made_file_is_private_and_random),
        WITH_STORE(it_is_not_made_unasked),
        WITH_STORE(a_lost_one_is_not_replaced),
        WITH_STORE(another_one_is_refused),
        WITH_STORE(others_must_have_no_access),
        WITH_STORE(sizes_have_limits),
        WITH_STORE(it_must_be_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
