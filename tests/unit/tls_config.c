/* What is wrong with a TLS setting is said in words: the file or the name, and what is allowed. */
#include "tls_rig.h"

static struct tls_files files;

static void expect(const struct tls_config *config, enum fl_status status, const char *sentence)
{
    struct tls_context *t = NULL;
    struct fl_error     err = { .text = "" };

    assert_int_equal(tls_context_new(&t, config, &err), status);
    assert_null(t);
    assert_string_equal(err.text, sentence);
    assert_int_equal(ERR_peek_error(), 0);
}

static const char *sentence(const char *format, ...) FL_PRINTF(1, 2);
static const char *sentence(const char *format, ...)
{
    static char text[240];
    va_list     args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return text;
}

static void a_good_config_says_whose_certificate_it_is(void **state)
{
    struct tls_config   config = tls_server_config(&files);
    struct tls_context *t = NULL;

    (void)state;
    assert_int_equal(tls_context_new(&t, &config, NULL), FL_OK);
    assert_true(strncmp(tls_context_summary(t), "certificate of /CN=server, valid until 20", 41) == 0);
    tls_context_free(t);
    config = tls_client_config(&files);
    assert_int_equal(tls_context_new(&t, &config, NULL), FL_OK);
    assert_string_equal(tls_context_summary(t), "no certificate");
    tls_context_free(t);
    tls_context_free(NULL);
}

static void private_keys_lie_in_locked_memory(void **state)
{
    const struct tls_identity *identities[] = { &files.server, &files.rsa_server };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(identities); i++) {
        struct tls_config   config = { .certificate_file = identities[i]->cert_file,
                                       .private_key_file = identities[i]->key_file };
        struct tls_context *first = NULL, *t = NULL;
        size_t              before;

        assert_int_equal(tls_context_new(&first, &config, NULL), FL_OK); /* makes the heap */
        assert_int_equal(CRYPTO_secure_malloc_initialized(), 1);
        before = CRYPTO_secure_used();
        assert_int_equal(tls_context_new(&t, &config, NULL), FL_OK);
        assert_true(CRYPTO_secure_used() > before);
        tls_context_free(t);
        assert_int_equal(CRYPTO_secure_used(), before); /* wiped and given back */
        tls_context_free(first);
    }
}

static void key_and_certificate_may_share_a_file(void **state)
{
    struct tls_config   config = { 0 };
    struct tls_context *t = NULL;
    char                path[160];
    FILE               *f;

    (void)state;
    snprintf(path, sizeof path, "%s/both.pem", files.dir);
    assert_non_null(f = fopen(path, "w"));
    PEM_write_PrivateKey(f, files.server.key, NULL, NULL, 0, NULL, NULL);
    PEM_write_X509(f, files.server.certificate);
    fclose(f);
    config.certificate_file = path;
    assert_int_equal(tls_context_new(&t, &config, NULL), FL_OK);
    tls_context_free(t);
    unlink(path);
}

static void a_missing_file_is_named_with_its_cause(void **state)
{
    struct tls_config config = tls_server_config(&files);

    (void)state;
    config.certificate_file = "/nonexistent/c.pem";
    expect(&config, FL_SYSTEM, "cannot read the certificate file '/nonexistent/c.pem': No such file or directory");
    config = tls_server_config(&files);
    config.private_key_file = "/nonexistent/k.pem";
    expect(&config, FL_SYSTEM, "cannot read the private key file '/nonexistent/k.pem': No such file or directory");
    config = tls_server_config(&files);
    config.ca_file = "/nonexistent/ca.pem";
    expect(&config, FL_SYSTEM, "cannot read the CA file '/nonexistent/ca.pem': No such file or directory");
    config = (struct tls_config){ .private_key_file = files.server.key_file };
    expect(&config, FL_USAGE, "a TLS server needs a certificate file");
    config.client = true;
    expect(&config, FL_USAGE, sentence("private key file '%s' without a certificate file", files.server.key_file));
}

static void a_file_without_the_right_contents_is_named(void **state)
{
    struct tls_config config = tls_server_config(&files);

    (void)state;
    config.certificate_file = files.server.key_file;
    expect(&config, FL_MALFORMED,
           sentence("no usable certificate chain (PEM, leaf first) in '%s': no start line", files.server.key_file));
    config = tls_server_config(&files);
    config.private_key_file = files.server.cert_file;
    expect(&config, FL_MALFORMED, sentence("no usable private key (PEM) in '%s': unsupported", files.server.cert_file));
    config = tls_server_config(&files);
    config.ca_file = files.server.key_file;
    expect(&config, FL_MALFORMED,
           sentence("no usable CA certificates (PEM) in '%s': no certificate or crl found", files.server.key_file));
}

static void a_key_of_another_certificate_is_refused(void **state)
{
    const struct tls_identity *others[] = { &files.client, &files.rsa_server };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(others); i++) {
        struct tls_config config = tls_server_config(&files);

        config.private_key_file = others[i]->key_file;
        expect(&config, FL_MALFORMED,
               sentence("the private key in '%s' doesn't belong to the certificate in '%s': %s", others[i]->key_file,
                        files.server.cert_file, i == 0 ? "key values mismatch" : "different key types"));
    }
}

static void an_encrypted_key_is_refused_without_asking(void **state)
{
    struct tls_config config = tls_server_config(&files);
    char              path[160];
    FILE             *f;

    (void)state;
    snprintf(path, sizeof path, "%s/encrypted.key", files.dir);
    assert_non_null(f = fopen(path, "w"));
    PEM_write_PrivateKey(f, files.server.key, EVP_aes_128_cbc(), (const unsigned char *)"secret", 6, NULL, NULL);
    fclose(f);
    config.private_key_file = path;
    expect(&config, FL_DENIED, sentence("the private key in '%s' is encrypted: give one without a passphrase", path));
    unlink(path);
}

static void unknown_names_are_refused(void **state)
{
    struct tls_config config = tls_server_config(&files);

    (void)state;
    config.ciphers = "ECDHE+AESGCM:ECDHE-ECDSA-AES128-GCM-SHA265";
    expect(&config, FL_USAGE,
           "unknown TLS 1.2 cipher 'ECDHE-ECDSA-AES128-GCM-SHA265' in 'ECDHE+AESGCM:ECDHE-ECDSA-AES128-GCM-SHA265' "
           "(wanted are OpenSSL's names)");
    config = tls_server_config(&files);
    config.ciphersuites = "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA265";
    expect(&config, FL_USAGE,
           "unknown TLS 1.3 cipher suite 'TLS_AES_128_GCM_SHA265' in 'TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA265' "
           "(wanted are OpenSSL's names)");
    config = tls_server_config(&files);
    config.provider = "roll-your-own";
    expect(&config, FL_USAGE, "unknown TLS provider 'roll-your-own', where 'openssl' is allowed");
    config = tls_server_config(&files);
    config.alpn = "http/1.1,,h2";
    expect(&config, FL_USAGE, "ALPN 'http/1.1,,h2': a name of 0 bytes, where 1 to 255 are allowed");
}

static void good_names_are_taken(void **state)
{
    struct tls_config   config = tls_server_config(&files);
    struct tls_context *t = NULL;
    struct fl_error     err = { .text = "" };

    (void)state;
    config.provider = "openssl";
    config.ciphers = "ECDHE+AESGCM:!aNULL:@STRENGTH";
    config.ciphersuites = "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384";
    config.alpn = "h2,http/1.1";
    if (tls_context_new(&t, &config, &err) != FL_OK)
        fail_msg("%s", err.text);
    tls_context_free(t);
}

static void a_holder_keeps_its_own_copy_of_the_config(void **state)
{
    struct tls_config  config = tls_server_config(&files);
    struct tls_holder *h = NULL;
    char               cert[160], key[160], alpn[] = "http/1.1";

    (void)state;
    memcpy(cert, files.server.cert_file, sizeof cert);
    memcpy(key, files.server.key_file, sizeof key);
    config.certificate_file = cert;
    config.private_key_file = key;
    config.alpn = alpn;
    assert_int_equal(tls_holder_new(&h, &config, NULL), FL_OK);
    cert[0] = key[0] = alpn[0] = '\0';
    assert_int_equal(tls_holder_reload(h, NULL), FL_OK);
    tls_holder_free(h);
    tls_holder_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_config_says_whose_certificate_it_is),
        cmocka_unit_test(private_keys_lie_in_locked_memory),
        cmocka_unit_test(key_and_certificate_may_share_a_file),
        cmocka_unit_test(a_missing_file_is_named_with_its_cause),
        cmocka_unit_test(a_file_without_the_right_contents_is_named),
        cmocka_unit_test(a_key_of_another_certificate_is_refused),
        cmocka_unit_test(an_encrypted_key_is_refused_without_asking),
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(good_names_are_taken),
        cmocka_unit_test(a_holder_keeps_its_own_copy_of_the_config),
    };
    int failed;

    tls_files_make(&files);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    tls_files_remove(&files);
    return failed;
}
