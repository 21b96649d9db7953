#include "tls_rig.h"

#include "fake_malloc.c"

static struct tls_files files;

static bool make_all(void)
{
    struct tls_config   server = tls_server_config(&files), client = tls_client_config(&files);
    struct tls_holder  *h = NULL;
    struct tls_context *c = NULL, *current = NULL;
    struct tls_engine  *e[2] = { NULL, NULL };
    struct fl_error     err;
    bool                fine;

    server.alpn = client.alpn = "http/1.1";
    fine = tls_holder_new(&h, &server, &err) == FL_OK && tls_holder_reload(h, &err) == FL_OK &&
           (current = tls_holder_ref(h)) != NULL && tls_context_engine(current, &e[0], NULL, &err) == FL_OK &&
           tls_context_new(&c, &client, &err) == FL_OK && tls_context_engine(c, &e[1], "localhost", &err) == FL_OK &&
           e[1]->provider->step(e[1], &err) == FL_WANT_READ; /* the ClientHello finds room */
    if (!fine)
        assert_int_equal(err.status, FL_NO_MEMORY);
    for (int i = 0; i < 2; i++)
        if (e[i] != NULL)
            e[i]->provider->free(e[i]);
    tls_context_free(current);
    tls_context_free(c);
    tls_holder_free(h);
    return fine;
}

static void contexts_holders_and_engines_leave_nothing_behind(void **state)
{
    (void)state;
    fail_each_allocation_once(make_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_holders_and_engines_leave_nothing_behind),
    };
    int failed;

    tls_files_make(&files);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    tls_files_remove(&files);
    return failed;
}
