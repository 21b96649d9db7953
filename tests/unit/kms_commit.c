/* A running KMS on LMDB whose disk stands still: LMDB calls fdatasync here, which waits while the test says so. */
#include "kms_rig.h"

#include "base/clock.h"

#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  changed = PTHREAD_COND_INITIALIZER;
static bool            held;
static unsigned        waiting;

int fdatasync(int fd)
{
    pthread_mutex_lock(&lock);
    waiting++;
    pthread_cond_broadcast(&changed);
    while (held)
        pthread_cond_wait(&changed, &lock);
    waiting--;
    pthread_mutex_unlock(&lock);
    return (int)syscall(SYS_fdatasync, fd);
}

static void hold(bool on)
{
    pthread_mutex_lock(&lock);
    held = on;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void wait_until_it_stands_still(void)
{
    pthread_mutex_lock(&lock);
    while (waiting == 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static bool answered(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, 0) != 0;
}

static void verification_waits_for_no_commit(void **state)
{
    enum { LONG_S = 2, MANY = 200 };
    struct rig g = { .fd = -1 };
    char       request[1024];
    uint64_t   until;
    int        len, other, verified = 0;

    (void)state;
    rig_start_on(&g, "lmdb", RIG_FREE_FOR_ALL);
    rig_connect(&g);
    rig_make_key(&g);
    len = rig_verification(&g, request);
    other = rig_connection(&g);
    hold(true);
    assert_int_equal(send(other, RIG_GET_TOKEN, sizeof RIG_GET_TOKEN - 1, 0), sizeof RIG_GET_TOKEN - 1);
    wait_until_it_stands_still();
    for (until = fl_now_ns() + LONG_S * FL_NS_PER_S; fl_now_ns() < until || verified < MANY; verified++)
        assert_int_equal(rig_ask(&g, request, (size_t)len), 200);
    assert_false(answered(other)); /* what isn't durable isn't handed out */
    hold(false);
    assert_int_equal(rig_receive(&g, other), 200);
    assert_non_null(strstr(g.answer, "urlString"));
    close(other);
    rig_end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(verification_waits_for_no_commit) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
