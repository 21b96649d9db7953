/* token/token.h - the face of delegation tokens: encoding, and the manager that issues, verifies, renews and cancels.
 *
 * Verification takes no lock, touches no disk and waits for nothing. Creation is allocate, prepare, persist, publish.
 *
 * Owns:    master keys (locked memory), token entries (slabs kept out of dumps, wiped on free).
 * Thread:  stated. "reader": registered with RCU. Blocks: tokens_open and tokens_close only.
 * Source:  docs/protocol/hadoop-kms.md, "Tokens".                                                                     */
#ifndef TOKEN_TOKEN_H
#define TOKEN_TOKEN_H

#include "base/arena.h"
#include "base/secret.h"
#include "store/store.h"

struct token_store;

#define TOKEN_KIND "kms-dt"
enum {
    TOKEN_TEXT_MAX = 1 << 20, /* Hadoop's limit on a Text inside an identifier */
    TOKEN_PASSWORD_MAX = 64,
    TOKEN_IDENTIFIER_MAX = 32 * 1024 /* what we issue; presented ones are bounded by the request's head */
};

/* ---- encoding ---------------------------------------------------------------------------------------------------- */

/* The eight fields; slices point into the decoded bytes. Dates in wall-clock ms. */
struct token_identifier {
    struct fl_slice owner, renewer, real_user;
    int64_t         issue_ms, max_ms;
    int32_t         sequence, master_key_id;
};
/* A token as it travels: bytes of somebody else. */
struct token {
    struct fl_slice identifier, password, kind, service;
};

bool token_put_vlong(struct fl_buf *b, int64_t v); /* Hadoop's variable-length integer, minimal */
bool token_put_text(struct fl_buf *b, struct fl_slice text);
bool token_identifier_put(struct fl_buf *b, const struct token_identifier *id);
bool token_put(struct fl_buf *b, const struct token *t);
/* The failures' sentences are the Java class and message of the same fault ("java.io.EOFException",
 * "java.lang.NegativeArraySizeException: -1", "java.io.IOException: Unknown version of delegation token 5"). */
FL_CHECKED enum fl_status token_identifier_get(struct fl_slice bytes, struct token_identifier *id,
                                               struct fl_error *err);
FL_CHECKED enum fl_status token_get(struct fl_slice bytes, struct token *t, struct fl_error *err);
/* A URL string (lenient base64, as Java) decoded into the arena, then token_get. */
FL_CHECKED enum fl_status token_from_url(struct fl_slice text, struct fl_arena *a, struct token *t,
                                         struct fl_error *err);
bool                      token_put_url(struct fl_buf *b, const struct token *t);
/* "kms-dt owner=…, renewer=…, …" as in Hadoop's messages. */
bool token_identifier_describe(struct fl_buf *b, const struct token_identifier *id);

/* ---- the manager ------------------------------------------------------------------------------------------------- */

struct tokens;

enum token_algorithm { TOKEN_HMAC_SHA1, TOKEN_HMAC_SHA256, TOKEN_HMAC_SHA384, TOKEN_HMAC_SHA512 };
struct tokens_config {
    enum token_algorithm algorithm;
    unsigned             key_bits; /* 64 as Hadoop's default; multiple of 8 */
    uint64_t             key_update_ns, max_lifetime_ns, renew_interval_ns, removal_scan_ns; /* whole ms are used */
    uint64_t             removal_grace_ns; /* only tokens expired for longer are removed */
    /* The store: NULL, NULL: memory. Tests and later stores give a table of their own. */
    struct store             *store;
    const struct token_store *backend; /* token/store.h; NULL: LMDB where store is set, else memory */
    void                     *backend_arg;
    struct io_reactors       *reactors; /* key roll and scan run on a timer of reactor 0 */
    int64_t (*wall_ms)(void *arg);      /* NULL: fl_wall_ms; tests turn the clock by hand */
    void *wall_arg;
};
/* Start, on a thread registered with RCU: loads, rolls the first master key, reserves the first numbers; serving may
 * begin after it. With reactors given it must come before they run. FL_USAGE for a setting out of range. */
FL_CHECKED enum fl_status tokens_open(struct tokens **out, const struct tokens_config *config, struct fl_error *err);
/* After the reactors have ended (operations whose done was not delivered are dropped), before the store closes. On a
 * registered thread. NULL is fine. */
void tokens_close(struct tokens *t);

/* Verification (5.5). Reader; no lock, no allocation, no system call. Order: known, not expired, password. What was
 * found may be used until the thread goes offline. Sentences as Hadoop's (without class). FL_OK, FL_DENIED. */
FL_CHECKED enum fl_status tokens_verify(struct tokens *t, const struct token *presented,
                                        const struct token_identifier *id, int64_t now_ms, struct fl_error *err);
/* The same, a refusal's whole sentence appended to *sentence: err->text cuts it where names are long. May allocate. */
FL_CHECKED enum fl_status tokens_verify_tell(struct tokens *t, const struct token *presented,
                                             const struct token_identifier *id, int64_t now_ms,
                                             struct fl_buf *sentence);

enum token_op_kind { TOKEN_CREATE, TOKEN_RENEW, TOKEN_CANCEL };
/* The failure's Java class, so that a door can name it: */
enum token_fault { TOKEN_NO_FAULT, TOKEN_INVALID_TOKEN, TOKEN_ACCESS_CONTROL, TOKEN_IO, TOKEN_RUNTIME };
/* One operation; the caller's until done; inputs are copied by tokens_submit (presented token: its bytes). */
struct token_op {
    enum token_op_kind  kind;
    struct fl_slice     caller;                    /* short name: renew, cancel */
    struct fl_slice     owner, renewer, real_user; /* create */
    struct fl_slice     service;                   /* create: written into the token */
    const struct token *presented;                 /* renew, cancel */
    struct io_reactor  *home;
    void (*done)(struct token_op *op); /* home, never inside submit */
    enum fl_status   status;
    enum token_fault fault;
    struct fl_error  err;
    struct fl_buf    out_url;   /* create: the URL string */
    struct fl_buf    out_text;  /* refused: the whole sentence, which err.text cuts at its end where names are long */
    int64_t          expiry_ms; /* create, renew: the renewDate */
    void            *private_;
};
/* FL_OK: done will come. Otherwise nothing happened: FL_BUSY, too many under way; FL_USAGE, a creation without owner,
 * with names that aren't UTF-8, or too long. Any registered thread. */
FL_CHECKED enum fl_status tokens_submit(struct tokens *t, struct token_op *op, struct fl_error *err);
void token_op_done(struct token_op *op); /* frees and wipes the outputs; after done, or when submit refused */

struct tokens_stats {
    uint64_t live, created, renewed, cancelled, expired, failures;
    uint64_t created_ns, renewed_ns, cancelled_ns; /* how long the store took for all of these together */
    int32_t  current_key_id;
};
void tokens_stats(struct tokens *t, struct tokens_stats *out);

#endif
