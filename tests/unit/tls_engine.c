/* The suite that each TLS provider has to pass: two engines joined by buffers, no socket anywhere. */
#include "tls_rig.h"

static struct tls_files files;

struct pair {
    struct tls_context *contexts[2];
    struct tls_engine  *client, *server;
};

static void pair_make(struct pair *p, const struct tls_config *client, const struct tls_config *server)
{
    struct fl_error err = { .text = "" };

    if (tls_context_new(&p->contexts[0], client, &err) != FL_OK ||
        tls_context_new(&p->contexts[1], server, &err) != FL_OK ||
        tls_context_engine(p->contexts[0], &p->client, "localhost", &err) != FL_OK ||
        tls_context_engine(p->contexts[1], &p->server, NULL, &err) != FL_OK)
        fail_msg("%s", err.text);
}

static void pair_end(struct pair *p)
{
    p->client->provider->free(p->client);
    p->server->provider->free(p->server);
    tls_context_free(p->contexts[0]);
    tls_context_free(p->contexts[1]);
}

/* Carries at most step bytes from one to the other; false when there are none. */
static bool carry(struct tls_engine *from, struct tls_engine *to, size_t step)
{
    struct fl_slice s = fl_buf_slice(&from->out);

    if (s.len == 0)
        return false;
    s.len = FL_MIN(s.len, step);
    assert_true(fl_buf_put_slice(&to->in, s));
    fl_buf_consume(&from->out, s.len);
    return true;
}

static enum fl_status step(struct tls_engine *e, struct fl_error *err)
{
    return e->provider->step(e, err);
}

/* Runs both handshakes to their end, good or bad. */
static void shake(struct pair *p, size_t bytes, enum fl_status *client, enum fl_status *server, struct fl_error *err)
{
    bool moved = true;

    *client = step(p->client, err);
    *server = FL_WANT_READ;
    while (moved) {
        moved = false;
        if (carry(p->client, p->server, bytes)) {
            moved = true;
            if (*server == FL_WANT_READ)
                *server = step(p->server, err);
        }
        if (*client == FL_WANT_READ || fl_buf_len(&p->server->out) > 0) {
            if (carry(p->server, p->client, bytes)) {
                moved = true;
                if (*client == FL_WANT_READ)
                    *client = step(p->client, err);
            }
        }
    }
}

static void shake_well(struct pair *p, size_t bytes)
{
    enum fl_status  client, server;
    struct fl_error err = { .text = "" };

    shake(p, bytes, &client, &server, &err);
    if (client != FL_OK || server != FL_OK)
        fail_msg("client %s, server %s: %s", fl_status_name(client), fl_status_name(server), err.text);
}

static void make_default(struct pair *p, enum tls_version version)
{
    struct tls_config client = tls_client_config(&files), server = tls_server_config(&files);

    server.min_protocol = client.min_protocol = version;
    pair_make(p, &client, &server);
}

static void write_text(struct tls_engine *e, const char *text)
{
    struct iovec v = { .iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text) };
    size_t       taken;

    assert_int_equal(e->provider->write(e, &v, 1, SIZE_MAX, &taken, NULL), FL_OK);
    assert_int_equal(taken, v.iov_len);
}

static void room_for(struct fl_buf *b, size_t n)
{
    fl_buf_init(b, n);
    assert_int_equal(fl_buf_reserve(b, n, NULL), FL_OK);
}

static void expect_text(struct tls_engine *e, const char *text)
{
    struct fl_buf plain;

    room_for(&plain, 4096);
    while (fl_buf_len(&plain) < strlen(text))
        assert_int_equal(e->provider->read(e, &plain, NULL), FL_OK);
    assert_true(fl_slice_equal(fl_buf_slice(&plain), fl_slice_str(text)));
    fl_buf_done(&plain);
}

static void both_ways(struct pair *p)
{
    write_text(p->client, "from client");
    while (carry(p->client, p->server, SIZE_MAX))
        ;
    expect_text(p->server, "from client");
    write_text(p->server, "from server");
    while (carry(p->server, p->client, SIZE_MAX))
        ;
    expect_text(p->client, "from server");
}

static void two_engines_talk_through_memory(void **state)
{
    struct pair p = { 0 };

    (void)state;
    make_default(&p, TLS_VERSION_DEFAULT);
    shake_well(&p, SIZE_MAX);
    both_ways(&p);
    pair_end(&p);
}

static void one_byte_at_a_time_gives_the_same(void **state)
{
    struct pair   p = { 0 };
    struct fl_buf plain;

    (void)state;
    make_default(&p, TLS_VERSION_DEFAULT);
    shake_well(&p, 1);
    room_for(&plain, 100);
    write_text(p.client, "slowly");
    while (carry(p.client, p.server, 1)) {
        enum fl_status s = p.server->provider->read(p.server, &plain, NULL);

        assert_int_equal(s, fl_buf_len(&p.client->out) > 0 ? FL_WANT_READ : FL_OK);
    }
    assert_true(fl_slice_equal(fl_buf_slice(&plain), FL_LIT("slowly")));
    fl_buf_done(&plain);
    pair_end(&p);
}

static void gathered_pieces_arrive_in_order_up_to_the_limit(void **state)
{
    char         text[] = "abcdefgh";
    struct iovec v[3] = { { .iov_base = text, .iov_len = 3 },
                          { .iov_base = text, .iov_len = 0 },
                          { .iov_base = text + 3, .iov_len = 5 } };
    struct pair  p = { 0 };
    size_t       taken;

    (void)state;
    make_default(&p, TLS_VERSION_DEFAULT);
    shake_well(&p, SIZE_MAX);
    assert_int_equal(p.client->provider->write(p.client, v, 3, 6, &taken, NULL), FL_OK);
    assert_int_equal(taken, 6);
    carry(p.client, p.server, SIZE_MAX);
    expect_text(p.server, "abcdef");
    pair_end(&p);
}

static void close_notify_is_an_end_in_good_order(void **state)
{
    struct pair   p = { 0 };
    struct fl_buf plain;

    (void)state;
    make_default(&p, TLS_VERSION_DEFAULT);
    shake_well(&p, SIZE_MAX);
    write_text(p.client, "bye");
    p.client->provider->shutdown(p.client);
    carry(p.client, p.server, SIZE_MAX);
    expect_text(p.server, "bye");
    room_for(&plain, 100);
    assert_int_equal(p.server->provider->read(p.server, &plain, NULL), FL_CLOSED);
    write_text(p.server, "last"); /* the other direction is still open */
    while (carry(p.server, p.client, SIZE_MAX))
        ;
    fl_buf_done(&plain);
    pair_end(&p);
}

static void a_changed_byte_is_refused_for_ever_with_an_alert(void **state)
{
    struct pair     p = { 0 };
    struct fl_buf   plain;
    struct fl_error err, again;

    (void)state;
    make_default(&p, TLS_VERSION_DEFAULT);
    shake_well(&p, SIZE_MAX);
    write_text(p.client, "secret");
    p.client->out.data[p.client->out.read + 8] ^= 1;
    carry(p.client, p.server, SIZE_MAX);
    room_for(&plain, 100);
    while (fl_buf_len(&p.server->out) > 0)
        carry(p.server, p.client, SIZE_MAX);
    assert_int_equal(p.server->provider->read(p.server, &plain, &err), FL_MALFORMED);
    assert_string_equal(err.text, "TLS read: decryption failed or bad record mac");
    assert_true(fl_buf_len(&p.server->out) > 0); /* the alert */
    assert_int_equal(p.server->provider->read(p.server, &plain, &again), FL_MALFORMED);
    assert_string_equal(again.text, err.text);
    assert_int_equal(fl_buf_len(&plain), 0);
    fl_buf_done(&plain);
    pair_end(&p);
}

/* ---- leaving TLS ---- */

static void after_detach_leftover_bytes_are_handed_back(void **state)
{
    struct tls_config client = tls_client_config(&files), server = tls_server_config(&files);
    struct pair       p = { 0 };
    struct fl_buf     left;
    struct fl_error   err;

    (void)state;
    server.tickets = TLS_NO_TICKETS;
    pair_make(&p, &client, &server);
    fl_buf_init(&left, 0);
    assert_int_equal(p.server->provider->detach(p.server, &left, &err), FL_MALFORMED); /* no handshake yet */
    shake_well(&p, SIZE_MAX);
    FL_BUF_LIT(&p.server->in, "plaintext that followed the handshake at once");
    assert_int_equal(p.server->provider->detach(p.server, &left, &err), FL_OK);
    assert_true(fl_slice_equal(fl_buf_slice(&left), FL_LIT("plaintext that followed the handshake at once")));
    assert_int_equal(fl_buf_len(&p.server->in), 0);
    assert_int_equal(fl_buf_len(&p.server->out), 0); /* no close_notify */
    assert_int_equal(p.client->provider->detach(p.client, &left, &err), FL_OK);
    assert_int_equal(step(p.server, &err), FL_CLOSED);
    assert_string_equal(err.text, "TLS was left for plaintext");
    fl_buf_done(&left);
    pair_end(&p);
}

/* ---- facts ---- */

static void fact(struct tls_engine *e, enum tls_fact what, char text[250], size_t room)
{
    struct fl_buf   out;
    struct fl_error err;

    fl_buf_init(&out, 0);
    if (e->provider->export(e, what, &out, &err) == FL_OK)
        snprintf(text, room, "%.*s", FL_SLICE_ARGS(fl_buf_slice(&out)));
    else
        snprintf(text, room, "(%s)", err.text);
    fl_buf_done(&out);
}

static void both_sides_know_the_same_facts(void **state)
{
    struct tls_config client = tls_client_config(&files), server = tls_server_config(&files);
    struct pair       p = { 0 };
    char              text[250];

    (void)state;
    server.alpn = "http/1.1";
    client.alpn = "h2,http/1.1";
    server.ca_file = files.ca.cert_file;
    client.certificate_file = files.client.cert_file;
    client.private_key_file = files.client.key_file;
    pair_make(&p, &client, &server);
    fact(p.server, TLS_FACT_VERSION, text, sizeof text);
    assert_string_equal(text, "(no finished handshake)");
    shake_well(&p, SIZE_MAX);
    fact(p.server, TLS_FACT_VERSION, text, sizeof text);
    assert_string_equal(text, "TLSv1.3");
    fact(p.client, TLS_FACT_CIPHER, text, sizeof text);
    assert_string_equal(text, "TLS_AES_128_GCM_SHA256");
    fact(p.client, TLS_FACT_ALPN, text, sizeof text);
    assert_string_equal(text, "http/1.1");
    fact(p.server, TLS_FACT_PEER_SUBJECT, text, sizeof text);
    assert_string_equal(text, "CN=client");
    fact(p.client, TLS_FACT_PEER_SUBJECT, text, sizeof text);
    assert_string_equal(text, "CN=server");
    fact(p.client, TLS_FACT_RESUMED, text, sizeof text);
    assert_string_equal(text, "no");
    pair_end(&p);
}

static void bindings_are_equal_on_both_sides_and_differ_between_sessions(void **state)
{
    static const enum tls_fact bindings[] = { TLS_FACT_EXPORTER, TLS_FACT_SERVER_END_POINT };
    struct pair                p[2] = { { .client = NULL }, { .client = NULL } };
    struct fl_buf              b[4];

    (void)state;
    for (int i = 0; i < 2; i++) {
        make_default(&p[i], i == 0 ? TLS_VERSION_DEFAULT : TLS_VERSION_1_3);
        shake_well(&p[i], SIZE_MAX);
    }
    for (size_t k = 0; k < FL_COUNT(bindings); k++) {
        for (int i = 0; i < 4; i++) {
            struct tls_engine *e = i % 2 == 0 ? p[i / 2].client : p[i / 2].server;

            fl_buf_init(&b[i], 0);
            assert_int_equal(e->provider->export(e, bindings[k], &b[i], NULL), FL_OK);
            assert_int_equal(fl_buf_len(&b[i]), 32);
        }
        assert_true(fl_slice_equal(fl_buf_slice(&b[0]), fl_buf_slice(&b[1])));
        assert_int_equal(fl_slice_equal(fl_buf_slice(&b[0]), fl_buf_slice(&b[2])),
                         bindings[k] == TLS_FACT_SERVER_END_POINT); /* that one is the certificate's */
        for (int i = 0; i < 4; i++)
            fl_buf_done(&b[i]);
    }
    for (int i = 0; i < 2; i++)
        pair_end(&p[i]);
}

/* ---- refusals ---- */

static void expect_refusal(const struct tls_config *client, const struct tls_config *server, const char *sentence)
{
    struct pair     p = { 0 };
    enum fl_status  c, s;
    struct fl_error err = { .text = "" };

    pair_make(&p, client, server);
    shake(&p, SIZE_MAX, &c, &s, &err);
    if (strstr(err.text, sentence) == NULL)
        fail_msg("'%s' has no '%s'", err.text, sentence);
    assert_true(s != FL_OK || c != FL_OK);
    pair_end(&p);
}

static void a_server_of_another_authority_is_refused(void **state)
{
    struct tls_config client = tls_client_config(&files), server = tls_server_config(&files);
    struct pair       p = { 0 };
    struct fl_error   err;

    (void)state;
    client.ca_file = files.other_ca.cert_file;
    pair_make(&p, &client, &server);
    assert_int_equal(step(p.client, &err), FL_WANT_READ);
    carry(p.client, p.server, SIZE_MAX);
    assert_int_equal(step(p.server, &err), FL_WANT_READ);
    carry(p.server, p.client, SIZE_MAX);
    assert_int_equal(step(p.client, &err), FL_DENIED);
    assert_string_equal(err.text,
                        "TLS handshake: the peer's certificate is refused: unable to get local issuer certificate");
    carry(p.client, p.server, SIZE_MAX); /* the alert says why */
    assert_int_equal(step(p.server, &err), FL_MALFORMED);
    assert_non_null(strstr(err.text, "unknown ca"));
    pair_end(&p);
    client.insecure_noverify = true;
    pair_make(&p, &client, &server);
    shake_well(&p, SIZE_MAX);
    pair_end(&p);
}

static void a_server_with_another_name_is_refused(void **state)
{
    struct tls_config config = tls_client_config(&files), server = tls_server_config(&files);
    static const struct {
        const char *name;
        bool        fine;
    } names[] = { { "localhost", true }, { "127.0.0.1", true }, { "example.org", false }, { "127.0.0.2", false } };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(names); i++) {
        struct pair     p = { 0 };
        enum fl_status  c, s;
        struct fl_error err = { .text = "" };

        pair_make(&p, &config, &server);
        p.client->provider->free(p.client);
        assert_int_equal(tls_context_engine(p.contexts[0], &p.client, names[i].name, NULL), FL_OK);
        shake(&p, SIZE_MAX, &c, &s, &err);
        assert_int_equal(c, names[i].fine ? FL_OK : FL_DENIED);
        pair_end(&p);
    }
}

static void a_verifying_client_needs_a_name(void **state)
{
    struct tls_config   config = tls_client_config(&files);
    struct tls_context *t = NULL;
    struct tls_engine  *e = NULL;
    struct fl_error     err;

    (void)state;
    assert_int_equal(tls_context_new(&t, &config, NULL), FL_OK);
    assert_int_equal(tls_context_engine(t, &e, NULL, &err), FL_USAGE);
    assert_null(e);
    tls_context_free(t);
}

static void a_client_certificate_is_demanded_where_there_is_an_authority(void **state)
{
    struct tls_config client = tls_client_config(&files), server = tls_server_config(&files);

    (void)state;
    server.ca_file = files.ca.cert_file;
    expect_refusal(&client, &server, "gave no certificate");
    client.certificate_file = files.stranger.cert_file;
    client.private_key_file = files.stranger.key_file;
    expect_refusal(&client, &server, "certificate is refused: unable to get local issuer certificate");
}

static void without_a_common_protocol_name_the_handshake_fails(void **state)
{
    struct tls_config client = tls_client_config(&files), server = tls_server_config(&files);

    (void)state;
    server.alpn = "http/1.1";
    client.alpn = "h2";
    expect_refusal(&client, &server, "no application protocol");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_engines_talk_through_memory),
        cmocka_unit_test(one_byte_at_a_time_gives_the_same),
        cmocka_unit_test(gathered_pieces_arrive_in_order_up_to_the_limit),
        cmocka_unit_test(close_notify_is_an_end_in_good_order),
        cmocka_unit_test(a_changed_byte_is_refused_for_ever_with_an_alert),
        cmocka_unit_test(after_detach_leftover_bytes_are_handed_back),
        cmocka_unit_test(both_sides_know_the_same_facts),
        cmocka_unit_test(bindings_are_equal_on_both_sides_and_differ_between_sessions),
        cmocka_unit_test(a_server_of_another_authority_is_refused),
        cmocka_unit_test(a_server_with_another_name_is_refused),
        cmocka_unit_test(a_verifying_client_needs_a_name),
        cmocka_unit_test(a_client_certificate_is_demanded_where_there_is_an_authority),
        cmocka_unit_test(without_a_common_protocol_name_the_handshake_fails),
    };
    int failed;

    tls_files_make(&files);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    tls_files_remove(&files);
    return failed;
}
