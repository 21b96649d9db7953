/* kms/config.h - the settings of the KMS as one plain struct.
 *
 * Owns:    the strings that the flags set; kms_config_done frees them. Thread: start. Blocks: reading the flag file. */
#ifndef KMS_CONFIG_H
#define KMS_CONFIG_H

#include "base/flags.h"

enum kms_store_kind { KMS_STORE_LMDB, KMS_STORE_MEMORY };

struct kms_config {
    /* listening */
    char    *http_bind, *https_bind;
    int64_t  reactors, workers, max_connections;
    uint64_t idle_ns, head_ns, body_ns, drain_ns, handshake_ns;
    uint64_t head_bytes, body_bytes;
    /* TLS */
    char *certificate_file, *private_key_file, *ca_certificate_file, *tls_ciphers, *tls_ciphersuites;
    int   tls_min_protocol;
    /* stores */
    char    *data_dir, *keystore_password_file;
    int      key_store, token_store;
    char    *default_key_cipher;
    int64_t  default_key_bits;
    uint64_t map_bytes;
    /* who may do what */
    int               authentication;
    char             *kms_acls;
    bool              key_authorization;
    struct fl_strings proxyusers;
    /* cookies */
    uint64_t cookie_validity_ns, cookie_inactive_ns;
    char    *cookie_path, *cookie_domain, *signature_secret_file;
    bool     cookie_persistent;
    /* tokens */
    int      token_algorithm;
    int64_t  token_key_bits;
    uint64_t token_update_ns, token_lifetime_ns, token_renew_ns, token_scan_ns, token_grace_ns;
    /* audit and log */
    char    *audit_file;
    int      audit_full;
    uint64_t audit_window_ns;
    int      log_level, log_format;
    /* process */
    char *user;
};

/* Fills *c from argv, environment and flag file, and checks what one flag alone can't know. FL_CLOSED: --help was
 * asked for. FL_USAGE with a sentence. In any case kms_config_done is due. */
FL_CHECKED enum fl_status kms_config_read(struct kms_config *c, int argc, char **argv, struct fl_error *err);
void                      kms_config_done(struct kms_config *c);

#endif
