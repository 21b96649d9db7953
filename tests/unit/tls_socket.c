/* TLS on a reactor: real sockets, OpenSSL's own client as the peer. */
#include "tls_rig.h"

#include <netinet/tcp.h>

static struct tls_files      files;
static struct rig_count      opens, closes;
static enum io_close         why_closed;
static char                  why_text[240];
static const struct tls_dial only_1_2 = { .version = TLS1_2_VERSION }, only_1_3 = { .version = TLS1_3_VERSION };

static void note_open(struct io_conn *c)
{
    if (!io_conn_secure(c))
        abort();
    rig_add(&opens, 1);
}

static void note_close(struct io_conn *c, enum io_close why, const struct fl_error *err)
{
    (void)c;
    why_closed = why;
    snprintf(why_text, sizeof why_text, "%s", err != NULL ? err->text : "");
    rig_add(&closes, 1);
}

static const struct io_protocol echo = {
    .name = "echo", .on_open = note_open, .on_bytes = rig_echo_bytes, .on_close = note_close
};

struct secure_rig {
    struct rig         rig;
    struct tls_holder *holder;
};

static void start_with(struct secure_rig *s, const struct tls_config *config, const struct io_protocol *protocol)
{
    struct fl_error err = { .text = "" };

    opens = closes = (struct rig_count)RIG_COUNT_INIT;
    if (tls_holder_new(&s->holder, config, &err) != FL_OK)
        fail_msg("%s", err.text);
    s->rig.listen.attach = tls_attach_server;
    s->rig.listen.attach_arg = s->holder;
    rig_start(&s->rig, protocol);
}

static void start(struct secure_rig *s)
{
    struct tls_config config = tls_server_config(&files);

    start_with(s, &config, &echo);
}

static void end(struct secure_rig *s)
{
    rig_end(&s->rig, FL_NS_PER_S);
    tls_holder_free(s->holder);
}

static SSL *dial(struct secure_rig *s, const struct tls_dial *how)
{
    SSL *ssl = tls_call(&s->rig, how);

    if (SSL_connect(ssl) != 1)
        fail_msg("%s", ERR_reason_error_string(ERR_peek_error()));
    return ssl;
}

/* The handshake fails; what our side says about it. */
static void dial_in_vain(struct secure_rig *s, const struct tls_dial *how, const char *sentence)
{
    SSL     *ssl = tls_call(&s->rig, how);
    uint64_t before = rig_get(&closes);
    char     byte;

    if (SSL_connect(ssl) == 1) /* TLS 1.3: the server may refuse after the client has finished */
        assert_true(SSL_read(ssl, &byte, 1) <= 0);
    assert_true(rig_wait(&closes, before + 1));
    assert_int_equal(why_closed, IO_CLOSE_ERROR);
    if (strstr(why_text, sentence) == NULL)
        fail_msg("'%s' has no '%s'", why_text, sentence);
    ERR_clear_error();
    close(SSL_get_fd(ssl));
    SSL_free(ssl);
}

/* ---- talking ---- */

static void both_versions_echo(void **state)
{
    const struct tls_dial *const hows[] = { &only_1_2, &only_1_3 };
    struct secure_rig            s = { 0 };

    (void)state;
    start(&s);
    for (size_t i = 0; i < FL_COUNT(hows); i++) {
        SSL *ssl = dial(&s, hows[i]);

        assert_string_equal(SSL_get_version(ssl), i == 0 ? "TLSv1.2" : "TLSv1.3");
        assert_string_equal(SSL_get_cipher_name(ssl),
                            i == 0 ? "ECDHE-ECDSA-AES128-GCM-SHA256" : "TLS_AES_128_GCM_SHA256");
        tls_say(ssl, "hello", 5);
        tls_expect(ssl, "hello");
        tls_say(ssl, "again", 5);
        tls_expect(ssl, "again");
        tls_hang_up(ssl);
        assert_true(rig_wait(&closes, i + 1));
        assert_int_equal(why_closed, IO_CLOSE_PEER);
    }
    end(&s);
}

static void an_rsa_certificate_works_too(void **state)
{
    struct tls_config config = tls_server_config(&files);
    struct secure_rig s = { 0 };
    SSL              *ssl;

    (void)state;
    config.certificate_file = files.rsa_server.cert_file;
    config.private_key_file = files.rsa_server.key_file;
    start_with(&s, &config, &echo);
    ssl = dial(&s, &only_1_2);
    assert_string_equal(SSL_get_cipher_name(ssl), "ECDHE-RSA-AES128-GCM-SHA256");
    tls_say(ssl, "x", 1);
    tls_expect(ssl, "x");
    tls_hang_up(ssl);
    end(&s);
}

/* One SSL object isn't for two threads, so the client alternates: a bounded lead, then as much as is there. */
static void many_megabytes_come_back_in_order(void **state)
{
    enum { LEN = 8 << 20, CHUNK = 48 * 1024 };
    static uint8_t    chunk[CHUNK], got[CHUNK];
    struct secure_rig s = { 0 };
    size_t            sent = 0, heard = 0, n;
    SSL              *ssl;

    (void)state;
    start(&s);
    ssl = dial(&s, NULL);
    while (heard < LEN) {
        if (sent < LEN && sent - heard < 4 * CHUNK) {
            n = FL_MIN((size_t)CHUNK, LEN - sent);
            for (size_t i = 0; i < n; i++)
                chunk[i] = rig_pattern(sent + i);
            tls_say(ssl, chunk, n);
            sent += n;
            continue;
        }
        assert_int_equal(SSL_read_ex(ssl, got, sizeof got, &n), 1);
        for (size_t i = 0; i < n; i++)
            if (got[i] != rig_pattern(heard + i))
                fail_msg("byte %zu is another", heard + i);
        heard += n;
    }
    tls_hang_up(ssl);
    end(&s);
}

static void send_much(struct io_conn *c, struct fl_buf *in)
{
    static uint8_t much[3 << 20];

    fl_buf_consume(in, fl_buf_len(in));
    for (size_t i = 0; i < sizeof much; i++)
        much[i] = rig_pattern(i);
    fl_buf_put(io_conn_out(c), much, sizeof much);
    io_conn_close_after_flush(c);
}
static const struct io_protocol generous = { .name = "generous", .on_bytes = send_much, .on_close = note_close };

static void a_large_answer_to_a_slow_reader_ends_with_close_notify(void **state)
{
    struct tls_config config = tls_server_config(&files);
    struct secure_rig s = { 0 };
    uint8_t           got[3000];
    size_t            at = 0, n;
    SSL              *ssl;

    (void)state;
    start_with(&s, &config, &generous);
    ssl = dial(&s, NULL);
    tls_say(ssl, "go", 2);
    while (SSL_read_ex(ssl, got, sizeof got, &n) == 1)
        for (size_t i = 0; i < n; i++, at++)
            if (got[i] != rig_pattern(at))
                fail_msg("byte %zu is another", at);
    assert_int_equal(at, 3 << 20);
    assert_int_equal(SSL_get_error(ssl, 0), SSL_ERROR_ZERO_RETURN); /* not cut off */
    tls_hang_up(ssl);
    assert_true(rig_wait(&closes, 1));
    assert_int_equal(why_closed, IO_CLOSE_LOCAL);
    end(&s);
}

/* ---- records and wake-ups ---- */

/* A client whose ciphertext goes through our hands: memory BIOs, and a plain socket. */
struct by_hand {
    SSL *ssl;
    BIO *in, *out;
    int  fd;
};

static void hand_make(struct by_hand *h, struct secure_rig *s, int version)
{
    struct tls_dial how = { .version = version };
    SSL_CTX        *ctx = tls_dial_ctx(&how);

    h->ssl = SSL_new(ctx);
    SSL_CTX_free(ctx);
    h->in = BIO_new(BIO_s_mem());
    h->out = BIO_new(BIO_s_mem());
    SSL_set_bio(h->ssl, h->in, h->out);
    h->fd = rig_connect(&s->rig);
}

static void hand_end(struct by_hand *h)
{
    SSL_free(h->ssl);
    close(h->fd);
}

static size_t hand_take(struct by_hand *h, uint8_t *into, size_t room)
{
    int n = BIO_read(h->out, into, (int)room);

    return n > 0 ? (size_t)n : 0;
}

/* Sends what the client has to say, step bytes a send(); with step 1 the server wakes up for each of them. */
static void hand_send(struct by_hand *h, size_t step)
{
    uint8_t bytes[4096];
    size_t  n, one = 1;

    setsockopt(h->fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    while ((n = hand_take(h, bytes, sizeof bytes)) > 0)
        for (size_t i = 0; i < n; i += one) {
            one = FL_MIN(step, n - i);
            rig_send(h->fd, bytes + i, one);
        }
}

static void hand_recv(struct by_hand *h)
{
    uint8_t bytes[4096];
    ssize_t n = recv(h->fd, bytes, sizeof bytes, 0);

    assert_true(n > 0);
    assert_int_equal(BIO_write(h->in, bytes, (int)n), n);
}

static void hand_shake(struct by_hand *h, size_t step)
{
    while (SSL_connect(h->ssl) != 1) {
        assert_int_equal(SSL_get_error(h->ssl, -1), SSL_ERROR_WANT_READ);
        hand_send(h, step);
        hand_recv(h);
    }
    hand_send(h, step);
}

static void hand_expect(struct by_hand *h, const char *text)
{
    char   got[200] = "";
    size_t len = 0, n;

    while (len < strlen(text)) {
        if (SSL_read_ex(h->ssl, got + len, sizeof got - 1 - len, &n) == 1)
            len += n;
        else
            hand_recv(h);
    }
    assert_string_equal(got, text);
}

static void one_byte_at_a_time_works(void **state)
{
    static const int  versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
    struct secure_rig s = { 0 };

    (void)state;
    start(&s);
    for (size_t i = 0; i < FL_COUNT(versions); i++) {
        struct by_hand h;

        hand_make(&h, &s, versions[i]);
        hand_shake(&h, 1);
        tls_say(h.ssl, "drop by drop", 12);
        hand_send(&h, 1);
        hand_expect(&h, "drop by drop");
        hand_end(&h);
    }
    end(&s);
}

/* epoll says nothing about records that came with the one before. */
static void records_that_came_together_are_all_answered(void **state)
{
    struct secure_rig s = { 0 };
    struct by_hand    h;

    (void)state;
    start(&s);
    hand_make(&h, &s, TLS1_3_VERSION);
    hand_shake(&h, SIZE_MAX);
    tls_say(h.ssl, "one ", 4);
    tls_say(h.ssl, "two ", 4);
    tls_say(h.ssl, "three", 5);
    hand_send(&h, SIZE_MAX);
    hand_expect(&h, "one two three");
    hand_end(&h);
    end(&s);
}

static void a_request_in_the_last_flight_of_the_handshake_is_answered(void **state)
{
    struct secure_rig s = { 0 };
    struct by_hand    h;

    (void)state;
    start(&s);
    hand_make(&h, &s, TLS1_3_VERSION);
    while (SSL_connect(h.ssl) != 1) {
        hand_send(&h, SIZE_MAX);
        hand_recv(&h);
    }
    tls_say(h.ssl, "eager", 5); /* in the same send() as the client's Finished */
    hand_send(&h, SIZE_MAX);
    hand_expect(&h, "eager");
    hand_end(&h);
    end(&s);
}

/* ---- bad peers ---- */

static void an_end_without_close_notify_is_reported_as_cut_off(void **state)
{
    struct secure_rig s = { 0 };
    struct by_hand    h;
    uint8_t           bytes[200];
    size_t            n;

    (void)state;
    start(&s);
    for (int half = 0; half < 2; half++) {
        hand_make(&h, &s, TLS1_3_VERSION);
        hand_shake(&h, SIZE_MAX);
        tls_say(h.ssl, "whole", 5);
        hand_send(&h, SIZE_MAX);
        hand_expect(&h, "whole");
        tls_say(h.ssl, "cut", 3);
        n = hand_take(&h, bytes, sizeof bytes);
        if (half == 1)
            rig_send(h.fd, bytes, n / 2); /* in the middle of a record */
        shutdown(h.fd, SHUT_WR);
        assert_true(rig_wait(&closes, (uint64_t)half + 1));
        assert_int_equal(why_closed, IO_CLOSE_ERROR);
        assert_string_equal(why_text, "127.0.0.1: the stream was cut off: it ended without close_notify");
        hand_end(&h);
    }
    end(&s);
}

static void expect_garbage_refused(struct secure_rig *s, const char *bytes, size_t len, const char *sentence,
                                   bool alert)
{
    int      fd = rig_connect(&s->rig);
    uint64_t before = rig_get(&closes);
    uint8_t  got[7];

    rig_send(fd, bytes, len);
    if (alert) {
        rig_recv(fd, got, sizeof got);
        assert_int_equal(got[0], 21); /* RFC 8446 B.1: alert */
    }
    assert_true(rig_wait(&closes, before + 1));
    assert_int_equal(why_closed, IO_CLOSE_ERROR);
    if (strstr(why_text, sentence) == NULL)
        fail_msg("'%s' has no '%s'", why_text, sentence);
    close(fd);
}

static void garbage_is_refused_in_words(void **state)
{
    static const char huge[] = "\x16\x03\x01\xff\xff\x01\x00\x00";
    static const char broken_hello[] = "\x16\x03\x01\x00\x04\x01\x00\x00\x00";
    static const char nothing[64];
    struct secure_rig s = { 0 };

    (void)state;
    start(&s);
    expect_garbage_refused(&s, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27, "127.0.0.1: TLS handshake: http request",
                           false);
    expect_garbage_refused(&s, huge, sizeof huge - 1, "TLS handshake: packet length too long", true);
    expect_garbage_refused(&s, broken_hello, sizeof broken_hello - 1, "TLS handshake: length", true);
    expect_garbage_refused(&s, nothing, sizeof nothing, "TLS handshake: wrong version number", false);
    assert_int_equal(rig_get(&opens), 0);
    end(&s);
}

static void who_comes_and_goes_is_no_error(void **state)
{
    struct secure_rig s = { 0 };

    (void)state;
    start(&s);
    close(rig_connect(&s.rig));
    assert_true(rig_wait(&closes, 1));
    assert_int_equal(why_closed, IO_CLOSE_PEER);
    assert_int_equal(rig_get(&opens), 0);
    end(&s);
}

static void a_silent_client_meets_the_handshake_limit(void **state)
{
    struct secure_rig s = { .rig = { .config = { .handshake_ns = 100 * FL_NS_PER_MS } } };
    int               fd;

    (void)state;
    start(&s);
    fd = rig_connect(&s.rig);
    rig_recv_end(fd);
    assert_true(rig_wait(&closes, 1));
    assert_int_equal(why_closed, IO_CLOSE_TIMEOUT);
    close(fd);
    end(&s);
}

static void old_versions_are_refused(void **state)
{
    static const struct tls_dial v1_1 = { .version = TLS1_1_VERSION };
    struct tls_config            config = tls_server_config(&files);
    struct secure_rig            s = { 0 }, strict = { 0 };

    (void)state;
    start(&s);
    dial_in_vain(&s, &v1_1, "TLS handshake: unsupported protocol");
    end(&s);
    config.min_protocol = TLS_VERSION_1_3;
    start_with(&strict, &config, &echo);
    dial_in_vain(&strict, &only_1_2, "TLS handshake: unsupported protocol");
    tls_hang_up(dial(&strict, &only_1_3));
    end(&strict);
}

static void weak_ciphers_are_refused(void **state)
{
    static const struct tls_dial cbc = { .version = TLS1_2_VERSION, .ciphers = "ECDHE+AES+SHA256:!AESGCM" };
    struct secure_rig            s = { 0 };

    (void)state;
    start(&s);
    dial_in_vain(&s, &cbc, "TLS handshake: no shared cipher");
    end(&s);
}

static void client_certificates_are_demanded_and_known(void **state)
{
    static const int  versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
    struct tls_config config = tls_server_config(&files);
    struct secure_rig s = { 0 };

    (void)state;
    config.ca_file = files.ca.cert_file;
    start_with(&s, &config, &echo);
    for (size_t i = 0; i < FL_COUNT(versions); i++) {
        struct tls_dial none = { .version = versions[i] };
        struct tls_dial wrong = { .version = versions[i], .identity = &files.stranger };
        struct tls_dial right = { .version = versions[i], .identity = &files.client };
        SSL            *ssl;

        dial_in_vain(&s, &none, "gave no certificate");
        dial_in_vain(&s, &wrong, "certificate is refused");
        ssl = dial(&s, &right);
        tls_say(ssl, "it is me", 8);
        tls_expect(ssl, "it is me");
        tls_hang_up(ssl);
    }
    end(&s);
}

/* ---- half-closing ---- */

static void say_bye(struct io_conn *c)
{
    FL_BUF_LIT(io_conn_out(c), "bye");
    io_conn_close_after_flush(c);
}
static const struct io_protocol polite = {
    .name = "polite", .on_bytes = rig_echo_bytes, .on_eof = say_bye, .on_close = note_close
};

static void after_close_notify_the_other_direction_still_works(void **state)
{
    struct tls_config config = tls_server_config(&files);
    struct secure_rig s = { 0 };
    SSL              *ssl;
    char              byte;

    (void)state;
    start_with(&s, &config, &polite);
    ssl = dial(&s, &only_1_3);
    tls_say(ssl, "last words", 10);
    assert_int_equal(SSL_shutdown(ssl), 0); /* ours is sent, theirs is not here */
    tls_expect(ssl, "last wordsbye");
    assert_int_equal(SSL_read(ssl, &byte, 1), 0);
    assert_int_equal(SSL_get_error(ssl, 0), SSL_ERROR_ZERO_RETURN);
    tls_hang_up(ssl);
    assert_true(rig_wait(&closes, 1));
    end(&s);
}

/* ---- sessions and reload ---- */

static SSL_SESSION *kept;

static int keep_session(SSL *ssl, SSL_SESSION *session)
{
    (void)ssl;
    SSL_SESSION_free(kept);
    kept = session;
    return 1;
}

static void sessions_are_resumed(void **state)
{
    static const int  versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
    struct tls_config config = tls_server_config(&files);
    struct secure_rig s = { 0 };

    (void)state;
    config.ca_file = files.ca.cert_file; /* the certificate is part of the session */
    start_with(&s, &config, &echo);
    for (size_t i = 0; i < FL_COUNT(versions); i++) {
        struct tls_dial how = { .version = versions[i], .identity = &files.client };

        how.ctx = tls_dial_ctx(&how);
        SSL_CTX_sess_set_new_cb(how.ctx, keep_session);
        for (int round = 0; round < 3; round++) {
            SSL *ssl = dial(&s, &how);

            tls_say(ssl, "x", 1);
            tls_expect(ssl, "x"); /* brings the ticket too */
            assert_int_equal(SSL_session_reused(ssl), round > 0);
            assert_non_null(kept);
            tls_hang_up(ssl);
            how.session = kept;
        }
        SSL_CTX_free(how.ctx);
        SSL_SESSION_free(kept);
        kept = NULL;
    }
    end(&s);
}

static void expect_subject(SSL *ssl, const char *name)
{
    char text[100];

    X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get0_peer_certificate(ssl)), NID_commonName, text, sizeof text);
    assert_string_equal(text, name);
}

static void copy_file(const char *from, const char *to)
{
    char   bytes[8192];
    FILE  *in = fopen(from, "r"), *out = fopen(to, "w");
    size_t n;

    assert_true(in != NULL && out != NULL);
    n = fread(bytes, 1, sizeof bytes, in);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(in);
    fclose(out);
}

static void reload_is_for_new_connections_and_a_bad_file_changes_nothing(void **state)
{
    struct tls_config config = { 0 };
    struct secure_rig s = { 0 };
    struct fl_error   err;
    char              cert[200], key[200];
    SSL              *old, *fresh;
    FILE             *f;

    (void)state;
    snprintf(cert, sizeof cert, "%s/live.pem", files.dir);
    snprintf(key, sizeof key, "%s/live.key", files.dir);
    copy_file(files.server.cert_file, cert);
    copy_file(files.server.key_file, key);
    config.certificate_file = cert;
    config.private_key_file = key;
    start_with(&s, &config, &echo);
    assert_false(tls_holder_changed(s.holder));
    old = dial(&s, NULL);
    expect_subject(old, "server");

    copy_file(files.rsa_server.cert_file, cert); /* the certificate alone: it doesn't fit the key */
    assert_true(tls_holder_changed(s.holder));
    assert_int_equal(tls_holder_reload(s.holder, &err), FL_MALFORMED);
    assert_non_null(strstr(err.text, "doesn't belong to the certificate"));
    assert_non_null(strstr(err.text, cert));
    assert_true(tls_holder_changed(s.holder)); /* still to be loaded */
    fresh = dial(&s, NULL);
    expect_subject(fresh, "server");
    tls_hang_up(fresh);

    copy_file(files.rsa_server.key_file, key);
    assert_int_equal(tls_holder_reload(s.holder, &err), FL_OK);
    assert_false(tls_holder_changed(s.holder));
    fresh = dial(&s, NULL);
    expect_subject(fresh, "rsa-server");
    tls_hang_up(fresh);
    tls_say(old, "still here", 10); /* with the context that it began with */
    tls_expect(old, "still here");

    assert_non_null(f = fopen(cert, "w"));
    fputs("nothing of the kind", f);
    fclose(f);
    assert_int_equal(tls_holder_reload(s.holder, &err), FL_MALFORMED);
    unlink(cert);
    assert_int_equal(tls_holder_reload(s.holder, &err), FL_SYSTEM);
    fresh = dial(&s, NULL);
    expect_subject(fresh, "rsa-server");
    tls_hang_up(fresh);
    tls_hang_up(old);
    unlink(key);
    end(&s);
}

static atomic_bool reloading;

static void *reload_all_the_time(void *holder)
{
    while (atomic_load(&reloading))
        if (tls_holder_reload(holder, NULL) != FL_OK)
            abort();
    return NULL;
}

static void clients_come_while_the_context_is_swapped(void **state)
{
    struct secure_rig s = { .rig = { .config = { .reactors = 2 } } };
    pthread_t         thread;

    (void)state;
    start(&s);
    atomic_store(&reloading, true);
    assert_int_equal(pthread_create(&thread, NULL, reload_all_the_time, s.holder), 0);
    for (int i = 0; i < 40; i++) {
        SSL *ssl = dial(&s, NULL);

        tls_say(ssl, "x", 1);
        tls_expect(ssl, "x");
        tls_hang_up(ssl);
    }
    atomic_store(&reloading, false);
    pthread_join(thread, NULL);
    end(&s);
}

/* ---- both ends ours ---- */

static struct tls_client  to_server;
static struct sockaddr_in target;
static struct rig_count   answered = RIG_COUNT_INIT;

static void ask(struct io_conn *c)
{
    FL_BUF_LIT(io_conn_out(c), "question");
}

static void take_answer(struct io_conn *c, struct fl_buf *in)
{
    struct fl_buf alpn;

    if (fl_buf_len(in) < 8)
        return;
    fl_buf_init(&alpn, 0);
    if (!fl_slice_equal(fl_buf_slice(in), FL_LIT("question")) ||
        tls_conn_export(c, TLS_FACT_ALPN, &alpn, NULL) != FL_OK ||
        !fl_slice_equal(fl_buf_slice(&alpn), FL_LIT("http/1.1")))
        abort();
    fl_buf_done(&alpn);
    fl_buf_consume(in, 8);
    io_conn_close_after_flush(c);
    rig_add(&answered, 1);
}
static const struct io_protocol asker = {
    .name = "asker", .on_open = ask, .on_bytes = take_answer, .on_close = note_close
};

static void connect_out(struct io_reactor *r, void *arg)
{
    struct io_connect_config config = { .to = (struct sockaddr *)&target,
                                        .to_len = sizeof target,
                                        .protocol = &asker,
                                        .attach = tls_attach_client,
                                        .attach_arg = arg,
                                        .timeout_ns = 20 * FL_NS_PER_S };
    struct io_conn          *c;

    if (io_connect(r, &config, &c, NULL) != FL_OK)
        abort();
}

static void our_client_talks_to_our_server(void **state)
{
    struct tls_config config = tls_server_config(&files), client = tls_client_config(&files);
    struct secure_rig s = { 0 };

    (void)state;
    config.alpn = client.alpn = "http/1.1";
    start_with(&s, &config, &echo);
    assert_int_equal(tls_context_new(&to_server.context, &client, NULL), FL_OK);
    target = (struct sockaddr_in){ .sin_family = AF_INET,
                                   .sin_port = htons(io_listener_port(s.rig.listener)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    to_server.name = "127.0.0.1";
    rig_on_reactor(&s.rig, connect_out, &to_server);
    assert_true(rig_wait(&answered, 1));
    assert_true(rig_wait(&closes, 2));
    assert_int_equal(why_closed == IO_CLOSE_LOCAL || why_closed == IO_CLOSE_PEER, 1);
    to_server.name = "example.org";
    rig_on_reactor(&s.rig, connect_out, &to_server);
    assert_true(rig_wait(&closes, 4));
    assert_int_equal(rig_get(&answered), 1);
    tls_context_free(to_server.context);
    end(&s);
}

/* ---- idle connections ---- */

static void count_lent(struct io_reactor *r, void *arg)
{
    struct io_conn *c;

    LIST_FOREACH(c, &r->all, all_link)
    *(int *)arg += (c->in.data != NULL) + (c->out.data != NULL);
}

static void idle_connections_hold_no_buffers(void **state)
{
    struct secure_rig s = { 0 };
    SSL              *ssl[20];
    int               lent = 0;

    (void)state;
    start(&s);
    for (size_t i = 0; i < FL_COUNT(ssl); i++) {
        ssl[i] = dial(&s, NULL);
        tls_say(ssl[i], "x", 1);
        tls_expect(ssl[i], "x");
    }
    rig_on_reactor(&s.rig, count_lent, &lent);
    assert_int_equal(lent, 0);
    for (size_t i = 0; i < FL_COUNT(ssl); i++)
        tls_hang_up(ssl[i]);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_versions_echo),
        cmocka_unit_test(an_rsa_certificate_works_too),
        cmocka_unit_test(many_megabytes_come_back_in_order),
        cmocka_unit_test(a_large_answer_to_a_slow_reader_ends_with_close_notify),
        cmocka_unit_test(one_byte_at_a_time_works),
        cmocka_unit_test(records_that_came_together_are_all_answered),
        cmocka_unit_test(a_request_in_the_last_flight_of_the_handshake_is_answered),
        cmocka_unit_test(an_end_without_close_notify_is_reported_as_cut_off),
        cmocka_unit_test(garbage_is_refused_in_words),
        cmocka_unit_test(who_comes_and_goes_is_no_error),
        cmocka_unit_test(a_silent_client_meets_the_handshake_limit),
        cmocka_unit_test(old_versions_are_refused),
        cmocka_unit_test(weak_ciphers_are_refused),
        cmocka_unit_test(client_certificates_are_demanded_and_known),
        cmocka_unit_test(after_close_notify_the_other_direction_still_works),
        cmocka_unit_test(sessions_are_resumed),
        cmocka_unit_test(reload_is_for_new_connections_and_a_bad_file_changes_nothing),
        cmocka_unit_test(clients_come_while_the_context_is_swapped),
        cmocka_unit_test(our_client_talks_to_our_server),
        cmocka_unit_test(idle_connections_hold_no_buffers),
    };
    int failed;

    tls_files_make(&files);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    tls_files_remove(&files);
    return failed;
}
