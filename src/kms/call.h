/* kms/call.h - inside of the KMS: the running server and one request on its way through it.
 *
 * A request lives in its arena from the handler to its answer. It goes filter (who) → dispatch (what) → an endpoint,
 * and ends in exactly one of kms_send, kms_send_page, kms_refuse, or parking. What can't go on without a user's groups
 * is parked and begun anew when they have come: nothing has happened before that point, so beginning anew is harmless.
 * What changes the store is parked in a job of its own (malloc'ed, with copies) until the change is durable.
 *
 * Owns:    struct kms: everything. struct kms_call: nothing, it lies in the request's arena.
 * Thread:  a call belongs to its reactor. Blocks: never. */
#ifndef KMS_CALL_H
#define KMS_CALL_H

#include "auth/auth.h"
#include "base/metrics.h"
#include "http/http.h"
#include "key/key.h"
#include "kms/config.h"
#include "kms/query.h"
#include "kms/route.h"
#include "store/store.h"
#include "tls/tls.h"
#include "token/token.h"

struct kms_authenticator;

/* Hadoop's meters, then ours; rows of the metric table in meters.c. */
enum kms_meter {
    KMS_M_ADMIN,
    KMS_M_KEY,
    KMS_M_INVALID,
    KMS_M_UNAUTHORIZED,
    KMS_M_UNAUTHENTICATED,
    KMS_M_GENERATE,
    KMS_M_DECRYPT,
    KMS_M_REENCRYPT,
    KMS_M_REENCRYPT_BATCH,
    KMS_M_HADOOP, /* how many are Hadoop's */
    KMS_M_TOKEN_CREATE = KMS_M_HADOOP,
    KMS_M_TOKEN_RENEW,
    KMS_M_TOKEN_CANCEL,
    KMS_M_TOKEN_VERIFIED,
    KMS_M_TOKEN_REFUSED,
    KMS_M_GROUP_LOOKUPS,
    KMS_METERS
};

/* What one reactor keeps for itself. */
struct kms_reactor {
    _Alignas(64) unsigned index;
    struct fl_metric_set *metrics;
    struct fl_buf         body, head, text; /* scratch of the answer being written */
    struct fl_slice       date;             /* of `block`; http's, compared by content */
    char                  block[320];       /* the header block of an ordinary JSON answer */
    size_t                block_len;
    char                  block_date[32];
};

struct kms_rates; /* meters.c: the moving averages of /jmx */

struct kms {
    struct kms_config               config;
    const struct kms_authenticator *authenticator;
    struct io_reactors             *reactors;
    struct http_service            *http;
    struct store                   *store; /* NULL: keys and tokens in memory */
    struct keys                    *keys;
    struct tokens                  *tokens;
    struct acls                    *acls;
    struct auth_groups             *groups;
    struct auth_proxies            *proxies;
    struct auth_cookies            *cookies;
    struct audit                   *audit;
    bool                            audit_failing;                  /* as last looked at by the main thread */
    struct tls_holder              *tls;                            /* NULL: no HTTPS */
    struct io_listener             *http_listener, *https_listener; /* NULL: none */
    struct kms_control             *control;                        /* NULL: no store, or no socket */
    struct fl_metrics              *metrics;
    struct kms_rates               *rates;
    struct kms_reactor             *here;         /* one a reactor */
    char                           *provider_uri; /* "lmdb://file@/var/lib/featherlock", "memory://" */
    uint64_t                        started_ns;
};

struct kms_note { /* one audit record that is due when the answer leaves */
    enum audit_status status;
    enum audit_op     op;
    const char       *level2_op;
    struct fl_slice   key, user, text;
};
enum { KMS_NOTES_INLINE = 6 };

struct kms_call {
    struct kms                *kms;
    struct http_exchange      *x;
    const struct http_request *r;
    struct fl_arena           *arena;
    struct kms_reactor        *here;
    int64_t                    now_ms;
    bool                       again;   /* begun anew after groups were fetched */
    unsigned                   metered; /* a bit for each meter that has counted this call */

    struct kms_query query;
    struct kms_route route;

    struct fl_slice user, user_short, real_user; /* full, after auth_to_local, who acts for them (empty: nobody) */
    struct fl_slice behind;                      /* "~svc": the real user's short name as ACLs spell it */
    bool            groups_known;
    struct auth_group_list groups;

    bool               set_cookie;
    struct auth_cookie cookie;

    struct kms_note  inline_notes[KMS_NOTES_INLINE];
    struct kms_note *notes;
    size_t           note_count, note_room;
    bool             notes_lost; /* no memory for one: the request is refused */
};

/* ---- serve.c: a request's way ------------------------------------------------------------------------------------ */

void kms_handle(struct http_exchange *x, void *kms); /* the http_handler */
void kms_handle_again(struct kms *k, struct http_exchange *x, unsigned metered);
void kms_dispatch(struct kms_call *c); /* after the filter */

/* ---- outside.c: what is not below /kms --------------------------------------------------------------------------- */

/* The folder of static files, which lies outside of the filter. True when answered. */
bool kms_outside_open(struct kms_call *c);
void kms_outside(struct kms_call *c); /* the rest, behind the filter */

/* ---- filter.c, tokens.c, admin.c --------------------------------------------------------------------------------- */

/* Finds out who asks. True: c->user is set. False: answered or parked. */
FL_CHECKED bool kms_filter(struct kms_call *c);
/* Serves an `op` of delegation tokens. cookie NULL: none that is valid. */
enum kms_token_op { KMS_T_GET, KMS_T_RENEW, KMS_T_CANCEL, KMS_T_NONE };
enum kms_token_op kms_token_op_of(const struct kms_call *c);
void              kms_token_operation(struct kms_call *c, enum kms_token_op op, const struct auth_cookie *cookie);
/* Notes that real acts for the user. False: refused for want of memory. */
FL_CHECKED bool kms_stand_behind(struct kms_call *c, struct fl_slice real);
/* Puts doAs in force (3.9). shown: how a refusal names who asks. False: answered or parked. */
FL_CHECKED bool kms_act_for(struct kms_call *c, struct fl_slice shown);
/* The short form of a user's name. False: thrown at, for Java finds it malformed. */
FL_CHECKED bool kms_take_name(struct kms_call *c, struct fl_slice name, struct fl_slice *short_name);
/* A runtime exception in Java: the container answers 500, and closes. */
void kms_throw(struct kms_call *c, struct fl_slice what);
/* Our own pages that need no authentication: true when one was answered. */
bool kms_admin_open(struct kms_call *c);
/* /jmx behind the filter. */
bool kms_admin_closed(struct kms_call *c);

/* An authentication handler: how somebody without cookie and token proves who they are. */
struct kms_authenticator {
    const char *name;                   /* as in --authentication */
    const char *cookie_type;            /* t of the cookie */
    const char *challenge;              /* WWW-Authenticate */
    int         token_operation_status; /* of a token operation without authentication */
    /* True: *cookie holds user and principal. False with answered: an answer was sent; else a challenge is due. */
    bool (*authenticate)(struct kms_call *c, struct auth_cookie *cookie, bool *answered);
};
const struct kms_authenticator *kms_authenticator_at(int index);

/* ---- access.c: ACLs, groups, audit ------------------------------------------------------------------------------- */

enum kms_access { KMS_NO, KMS_YES, KMS_GONE }; /* GONE: parked for groups, or answered that it can't be told */

/* Level 1 without a word; level 1 with UNAUTHORIZED line and 403: true when allowed. key.at NULL: none. */
FL_CHECKED enum kms_access kms_could(struct kms_call *c, enum acl_op op);
FL_CHECKED bool            kms_may(struct kms_call *c, enum acl_op op, enum audit_op as, struct fl_slice key);
/* Level 2 for one ACL name, with its audit trail; key authorisation off: YES. */
FL_CHECKED enum kms_access kms_could_key(struct kms_call *c, struct fl_slice acl_name, enum acl_key_op op);
/* The same for a key (NULL: YES) that was asked for as `name`, with 403. */
FL_CHECKED bool kms_may_key(struct kms_call *c, const struct key *key, struct fl_slice name, enum acl_key_op op);
struct fl_slice kms_acl_name(const struct key *key, struct fl_slice name);
/* The user's groups. False: parked or answered. */
FL_CHECKED bool kms_need_groups(struct kms_call *c, struct fl_slice user_short);

/* Records are written when the answer is, or before by kms_write_notes; false: answered, for the log takes no more. */
void            kms_note(struct kms_call *c, const struct kms_note *note);
FL_CHECKED bool kms_write_notes(struct kms_call *c);
void            kms_note_ok(struct kms_call *c, enum audit_op op, struct fl_slice key, struct fl_slice text);
void            kms_meter(struct kms_call *c, enum kms_meter m); /* once a call, however often it is asked */

/* ---- answer.c, page.c, errors.c ---------------------------------------------------------------------------------- */

struct kms_answer {
    int             status;
    struct fl_slice reason;       /* empty: the standard phrase */
    const char     *content_type; /* NULL: application/json */
    const char     *challenge;    /* WWW-Authenticate */
    struct fl_slice more;         /* whole lines: Location, Allow */
    struct fl_slice body;
};
/* An ordinary answer: Hadoop's header block, cookie if due; writes the audit records first. */
void kms_send(struct kms_call *c, const struct kms_answer *a);
void kms_send_json(struct kms_call *c, struct fl_buf *body); /* 200 */
void kms_send_empty(struct kms_call *c);                     /* 200, text/plain */
/* The scratch buffer for a body, empty. Secrets in it are wiped by kms_send. */
struct fl_buf *kms_body(struct kms_call *c);

struct kms_page {
    int             status;
    struct fl_slice message; /* also the reason, unless reason is given */
    struct fl_slice reason;
    const char     *challenge;
    bool            clear_cookie;
    bool            thrown;  /* an exception of the container: the connection closes */
    bool            outside; /* of the filter: fewer headers */
    const char     *allow;   /* instead of a page: the methods; NULL: none */
};
/* The container's own answers: few headers, a small page. */
void kms_send_page(struct kms_call *c, const struct kms_page *p);
void kms_send_bad_message(struct kms_call *c, struct fl_slice reason); /* 400 of a bad path; closes */
/* The page's form by Accept; NULL: none is acceptable. page.c */
const char *kms_page_put(const struct kms_call *c, const struct kms_page *p, struct fl_buf *out);
/* Whether Accept takes one of these types (in lower case, NULL at the end); without the header it takes anything. */
bool kms_accepts(const struct kms_call *c, const char *const *types);

enum kms_fault {
    KMS_F_ARGUMENT,      /* java.lang.IllegalArgumentException */
    KMS_F_IO,            /* java.io.IOException */
    KMS_F_NULL,          /* java.lang.NullPointerException */
    KMS_F_CAST,          /* java.lang.ClassCastException */
    KMS_F_AUTHORIZATION, /* not audited as ERROR */
    KMS_F_AUTHENTICATION,
    KMS_F_WEB_APPLICATION,
    KMS_F_NOT_FOUND,
    KMS_F_QUERY_PARAM,
    KMS_F_UNCHECKED,
    KMS_F_UNDECLARED,
    KMS_F_KEY_SIZE,
    KMS_F_NEGATIVE_SIZE,
    KMS_F_JSON_SHAPE,
    KMS_F_JSON_TEXT,
    KMS_F_JSON_END,
    KMS_F_JSON_ELEMENT,
    KMS_F_CHARSET,
    KMS_F_BUSY, /* 503, java.io.IOException: the client goes to another host */
    KMS_FAULTS
};
/* Answers with a RemoteException. format NULL: the message is null. */
void kms_refuse(struct kms_call *c, enum kms_fault fault, const char *format, ...) FL_PRINTF(3, 4);
/* The same with the message as bytes. */
void kms_refuse_text(struct kms_call *c, enum kms_fault fault, struct fl_slice message);
void kms_refuse_no_memory(struct kms_call *c);
/* The request's URL, whole, into the arena; empty without memory. of_resource: as Java's resources see it, to whom the
 * bare "/kms" ends in a slash; else as its filters see it. */
struct fl_slice kms_url(const struct kms_call *c, bool of_resource);

/* ---- names.c ----------------------------------------------------------------------------------------------------- */

/* Looks up as a Java key store does: without regard to case. False: answered, because a version's name stands where a
 * key's belongs. *key NULL: no such key. */
FL_CHECKED bool kms_find_key(struct kms_call *c, struct fl_slice name, const struct key **key);
/* The same inside generate, where Java wraps what is thrown. */
FL_CHECKED bool kms_find_key_inside(struct kms_call *c, struct fl_slice name, const struct key **key);
/* *key NULL: none. False: answered, because a key's name stands where a version's belongs. `name` gets the part
 * before the '@' as asked. */
FL_CHECKED bool kms_find_version(struct kms_call *c, struct fl_slice version_name, const struct key **key,
                                 uint32_t *version, struct fl_slice *name);
/* Lower case, in the arena where it differs; .at NULL without memory. */
struct fl_slice kms_lower(struct fl_arena *a, struct fl_slice name);
/* True if it is some version's name. */
bool kms_is_version_name(struct kms_call *c, struct fl_slice name);

/* ---- endpoints: keys.c, read.c, eek.c ---------------------------------------------------------------------------- */

void kms_create(struct kms_call *c);
void kms_roll(struct kms_call *c);
void kms_delete(struct kms_call *c);
void kms_invalidate(struct kms_call *c);
void kms_get_names(struct kms_call *c);
void kms_get_metadata(struct kms_call *c);
void kms_get_metadatas(struct kms_call *c);
void kms_get_current(struct kms_call *c);
void kms_get_versions(struct kms_call *c);
void kms_get_version(struct kms_call *c);
void kms_generate(struct kms_call *c);
void kms_version_eek(struct kms_call *c);
void kms_reencrypt_batch(struct kms_call *c);

/* ---- payload.c: reading a request's JSON ------------------------------------------------------------------------- */

struct json_value;
/* False: refused, for Content-Type can't be read. Asked of every resource, whether it takes a body or not. */
FL_CHECKED bool kms_check_media_type(struct kms_call *c);
/* The body as an object (null: NULL) or array. False: refused. */
FL_CHECKED bool kms_payload(struct kms_call *c, bool array, const struct json_value **out);
/* A member that must be a string or null: *out.at NULL when absent or null. False: refused by its class. */
FL_CHECKED bool kms_payload_text(struct kms_call *c, const struct json_value *object, const char *name,
                                 struct fl_slice *out);
/* Base64 of either alphabet, into the arena. False: refused for want of memory. */
FL_CHECKED bool kms_payload_bytes(struct kms_call *c, struct fl_slice text, struct fl_slice *out);
void            kms_refuse_cast(struct kms_call *c, const struct json_value *v, const char *wanted);

/* ---- meters.c ---------------------------------------------------------------------------------------------------- */

FL_CHECKED enum fl_status kms_meters_new(struct kms *k, struct fl_error *err);
void                      kms_meters_free(struct kms *k);
void                      kms_meters_tick(struct kms *k); /* every five seconds: moves the averages; thread: main */
const char               *kms_meter_name(enum kms_meter m);
struct kms_rate {
    double mean, one, five, fifteen;
};
void kms_meter_rates(const struct kms *k, enum kms_meter m, struct kms_rate *out); /* any */

#endif
