/* The token manager on real reactors: two threads issue, verify, renew and cancel, while keys roll and scans run as fast
 * as timers allow. Over memory and over the data folder. */
#include "base/clock.h"
#include "base/rcu.h"
#include "token/token.h"

#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { REACTORS = 2, CHAINS = 8, ROUNDS = 60 };

/* One token after the other through its whole life. Asserts of cmocka are the main thread's, so faults are counted. */
struct chain {
    struct io_mail          mail;
    struct rig             *rig;
    struct io_reactor      *home;
    struct token_op         op;
    struct fl_arena         arena;
    struct token            token;
    struct token_identifier id;
    unsigned                rounds;
};

struct rig {
    struct io_reactors *reactors;
    struct store       *store;
    struct tokens      *tokens;
    pthread_mutex_t     lock;
    pthread_cond_t      over;
    unsigned            running;
    _Atomic unsigned    faults;
    struct chain        chains[REACTORS * CHAINS];
};

static void begin_round(struct chain *c);

static void expect(struct chain *c, bool good)
{
    if (!good)
        atomic_fetch_add(&c->rig->faults, 1);
}

static bool accepted(const struct chain *c)
{
    return tokens_verify(c->rig->tokens, &c->token, &c->id, fl_wall_ms(), NULL) == FL_OK;
}

static void submit(struct chain *c, struct token_op op, void (*done)(struct token_op *op))
{
    c->op = op;
    c->op.home = c->home;
    c->op.done = done;
    expect(c, tokens_submit(c->rig->tokens, &c->op, NULL) == FL_OK);
}

static void on_cancelled(struct token_op *op)
{
    struct chain *c = FL_CONTAINER(op, struct chain, op);

    expect(c, op->status == FL_OK && !accepted(c));
    token_op_done(op);
    fl_arena_reset(&c->arena);
    if (--c->rounds > 0) {
        begin_round(c);
        return;
    }
    pthread_mutex_lock(&c->rig->lock);
    if (--c->rig->running == 0)
        pthread_cond_signal(&c->rig->over);
    pthread_mutex_unlock(&c->rig->lock);
}

static void on_renewed(struct token_op *op)
{
    struct chain *c = FL_CONTAINER(op, struct chain, op);

    expect(c, op->status == FL_OK && op->expiry_ms > c->id.issue_ms && accepted(c));
    token_op_done(op);
    submit(c, (struct token_op){ .kind = TOKEN_CANCEL, .caller = c->id.owner, .presented = &c->token }, on_cancelled);
}

static void on_created(struct token_op *op)
{
    struct chain *c = FL_CONTAINER(op, struct chain, op);

    expect(c, op->status == FL_OK);
    expect(c, token_from_url(fl_buf_slice(&op->out_url), &c->arena, &c->token, NULL) == FL_OK &&
                  token_identifier_get(c->token.identifier, &c->id, NULL) == FL_OK);
    expect(c, accepted(c));
    token_op_done(op);
    submit(c, (struct token_op){ .kind = TOKEN_RENEW, .caller = c->id.renewer, .presented = &c->token }, on_renewed);
}

static void begin_round(struct chain *c)
{
    submit(c, (struct token_op){ .kind = TOKEN_CREATE, .owner = FL_LIT("alice"), .renewer = FL_LIT("yarn") },
           on_created);
}

static void on_start(struct io_mail *m)
{
    begin_round(FL_CONTAINER(m, struct chain, mail));
}

static void rig_open(struct rig *r, struct store *store)
{
    struct io_config     io = { .reactors = REACTORS, .workers = 1, .max_connections = 16 };
    struct tokens_config config = { .key_bits = 64,
                                    .key_update_ns = FL_NS_PER_MS,
                                    .max_lifetime_ns = 3600 * FL_NS_PER_S,
                                    .renew_interval_ns = 600 * FL_NS_PER_S,
                                    .removal_scan_ns = FL_NS_PER_MS,
                                    .store = store };

    *r = (struct rig){ .lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER };
    assert_int_equal(io_reactors_new(&r->reactors, &io, NULL), FL_OK);
    config.reactors = r->reactors;
    assert_int_equal(tokens_open(&r->tokens, &config, NULL), FL_OK);
    assert_int_equal(io_reactors_start(r->reactors, NULL), FL_OK);
}

static void rig_run(struct rig *r)
{
    r->running = REACTORS * CHAINS;
    for (unsigned i = 0; i < REACTORS * CHAINS; i++) {
        struct chain *c = &r->chains[i];

        c->rig = r;
        c->rounds = ROUNDS;
        c->home = io_reactors_at(r->reactors, i % REACTORS);
        c->mail.deliver = on_start;
        fl_arena_init(&c->arena, 1024, 65536);
        io_post(c->home, &c->mail);
    }
    fl_rcu_offline();
    pthread_mutex_lock(&r->lock);
    while (r->running > 0)
        pthread_cond_wait(&r->over, &r->lock);
    pthread_mutex_unlock(&r->lock);
    io_reactors_drain(r->reactors, 0);
    io_reactors_join(r->reactors);
    fl_rcu_online();
}

static void rig_close(struct rig *r)
{
    struct tokens_stats s;

    tokens_stats(r->tokens, &s);
    assert_int_equal(atomic_load(&r->faults), 0);
    assert_int_equal(s.created, REACTORS * CHAINS * ROUNDS);
    assert_int_equal(s.renewed, s.created);
    assert_int_equal(s.cancelled, s.created);
    assert_int_equal(s.live, 0);
    assert_int_equal(s.failures, 0);
    assert_true(s.current_key_id > 1);
    tokens_close(r->tokens);
    io_reactors_free(r->reactors);
    for (unsigned i = 0; i < REACTORS * CHAINS; i++)
        fl_arena_done(&r->chains[i].arena);
}

static void whole_lives_on_two_reactors_over_memory(void **state)
{
    static struct rig r;

    (void)state;
    rig_open(&r, NULL);
    rig_run(&r);
    rig_close(&r);
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *place)
{
    (void)s;
    (void)type;
    (void)place;
    return remove(path);
}

static void whole_lives_on_two_reactors_over_the_data_folder(void **state)
{
    static struct rig   r;
    char                folder[] = "/tmp/token_reactors.XXXXXX", data[64], password[64];
    struct store_config config = {
        .data_dir = data, .password_file = password, .make_password = true, .map_bytes = 64 << 20
    };
    struct store *store;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_true(snprintf(data, sizeof data, "%s/data", folder) < (int)sizeof data);
    assert_true(snprintf(password, sizeof password, "%s/password", folder) < (int)sizeof password);
    assert_int_equal(store_open(&store, &config, NULL), FL_OK);
    rig_open(&r, store);
    rig_run(&r);
    rig_close(&r);
    fl_rcu_offline();
    store_close(store);
    fl_rcu_online();
    assert_int_equal(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static int rcu_on(void **state)
{
    (void)state;
    fl_rcu_register();
    return 0;
}

static int rcu_off(void **state)
{
    (void)state;
    fl_rcu_unregister();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_lives_on_two_reactors_over_memory),
        cmocka_unit_test(whole_lives_on_two_reactors_over_the_data_folder),
    };

    return cmocka_run_group_tests(tests, rcu_on, rcu_off);
}
