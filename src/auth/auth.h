/* auth/auth.h - the face of who may do what: cookies, proxy users, ACLs, groups, audit.
 *
 * Owns:    ACL sets, cookie secrets, group cache, audit rings: published under RCU or one a reactor.
 * Thread:  stated. "reader": registered with RCU. Blocks: never on a reactor; opening and reloading read files.
 * Source:  docs/protocol/hadoop-kms.md, "Authentication", "ACLs", "Audit".                                            */
#ifndef AUTH_AUTH_H
#define AUTH_AUTH_H

#include "base/arena.h"
#include "base/flags.h"
#include "base/secret.h"
#include "io/io.h"

/* ---- the hadoop.auth cookie (3.4) -------------------------------------------------------------------------------- */

struct auth_cookies; /* the secrets: current and previous, rolled every validity period */
struct auth_cookie {
    struct fl_slice user, principal, type;  /* u, p, t; point into the text or the arena */
    int64_t         inactive_ms, expiry_ms; /* i (0: none), e */
};
struct auth_cookies_config {
    uint64_t    validity_ns;     /* 36,000 s */
    uint64_t    max_inactive_ns; /* 0: off */
    const char *secret_file;     /* NULL: random; the whole content, trailing newline included */
    const char *path, *domain;   /* NULL: no such attribute */
    bool        persistent, secure;
    const char *type; /* "simple-dt" or "kerberos-dt"; another is refused */
};
FL_CHECKED enum fl_status auth_cookies_new(struct auth_cookies **out, const struct auth_cookies_config *c,
                                           struct fl_error *err);
void                      auth_cookies_free(struct auth_cookies *c);
/* Reader. Value of the cookie as it came (quotes are stripped). Failures carry the internal texts of 3.4. FL_DENIED. */
FL_CHECKED enum fl_status auth_cookie_verify(struct auth_cookies *c, struct fl_slice value, int64_t now_ms,
                                             struct auth_cookie *out, struct fl_error *err);
/* Reader. Appends a whole "Set-Cookie: hadoop.auth=…; HttpOnly\r\n" line. inactive/expiry: as in *cookie; expiry_ms 0:
 * now + validity. */
bool auth_cookie_put(struct auth_cookies *c, const struct auth_cookie *cookie, int64_t now_ms, struct fl_buf *out);
bool auth_cookie_put_clear(struct auth_cookies *c, struct fl_buf *out); /* the clearing line */
/* Either of the two (cookie NULL: the clearing line) for a door with plain and TLS listeners: secure adds the attribute. */
bool auth_cookie_put_over(struct auth_cookies *c, const struct auth_cookie *cookie, int64_t now_ms, bool secure,
                          struct fl_buf *out);
/* The value of cookie `name` in a Cookie header, quotes kept; the first counts; false when absent. */
bool auth_cookie_find(struct fl_slice header, const char *name, struct fl_slice *value);
/* Timer duty, any thread: rolls the random secret when its period is over. */
void auth_cookies_tick(struct auth_cookies *c, int64_t now_ms);

/* ---- users and groups -------------------------------------------------------------------------------------------- */

/* auth_to_local for simple authentication: the part before the first '@' or '/' of primary[/host][@REALM], any other
 * name as it is. Rules come with Kerberos. */
struct fl_slice auth_short_name(struct fl_slice name);
/* Java throws at such a name: it has an '@' but not that form. */
bool auth_name_malformed(struct fl_slice name);

struct auth_groups; /* NSS look-ups by workers, kept per process: present ones 300 s, absent ones 30 s */
struct auth_group_list {
    const char *const *names;
    size_t             count;
};
FL_CHECKED enum fl_status auth_groups_new(struct auth_groups **out, struct io_reactors *rs, struct fl_error *err);
void auth_groups_free(struct auth_groups *g); /* after io_reactors_join: look-ups under way are forgotten */
/* Reader. What is cached, valid until the thread goes offline; FL_PENDING when a look-up is needed first; FL_SYSTEM for a
 * second after one that failed: then nobody knows whether the user is in a group that a list names. */
FL_CHECKED enum fl_status auth_groups_cached(struct auth_groups *g, struct fl_slice user, uint64_t now_ns,
                                             struct auth_group_list *out);
/* Reactor. Looks the user up by a worker; FL_OK: done comes later on r (coalesced per user), and auth_groups_cached has
 * an answer then; w must stay until it. FL_BUSY, FL_NO_MEMORY: done will not come. */
struct auth_group_wait {
    void (*done)(struct auth_group_wait *w);
    struct auth_group_wait *next;
};
FL_CHECKED enum fl_status auth_groups_fetch(struct auth_groups *g, struct io_reactor *r, struct fl_slice user,
                                            struct auth_group_wait *w, struct fl_error *err);

/* ---- ACLs (chapter 7) -------------------------------------------------------------------------------------------- */

enum acl_op {
    ACL_CREATE,
    ACL_DELETE,
    ACL_ROLLOVER,
    ACL_GET,
    ACL_GET_KEYS,
    ACL_GET_METADATA,
    ACL_SET_KEY_MATERIAL,
    ACL_GENERATE_EEK,
    ACL_DECRYPT_EEK,
    ACL_OPS
};
enum acl_key_op {
    ACL_KEY_ALL,
    ACL_KEY_READ,
    ACL_KEY_MANAGEMENT,
    ACL_KEY_GENERATE_EEK,
    ACL_KEY_DECRYPT_EEK,
    ACL_KEY_OPS
};
const char *acl_op_name(enum acl_op op);
const char *acl_key_op_name(enum acl_key_op op);

struct acl_set; /* immutable, published */
struct acls;    /* the holder: file name and current set */
/* Start. file NULL: the code's defaults (every level-1 ACL '*', no key ACL: so every key operation is denied). */
FL_CHECKED enum fl_status acls_new(struct acls **out, const char *file, struct fl_error *err);
void                      acls_free(struct acls *a);
/* Blocking thread: reads the file again if it changed (or force); a bad file keeps the old set and is reported once,
 * until it changes again. *changed tells. */
FL_CHECKED enum fl_status acls_reload(struct acls *a, bool force, bool *changed, struct fl_error *err);
const struct acl_set     *acls_current(struct acls *a); /* reader */
FL_CHECKED enum fl_status acl_set_parse(struct fl_slice xml, struct acl_set **out,
                                        struct fl_error *err); /* for tests, fuzz */
void                      acl_set_free(struct acl_set *s);
/* What was passed over: unknown names and operations, empty values. Sentences for the log; valid as long as s. */
const struct fl_strings *acl_set_warnings(const struct acl_set *s);

/* Names are tested before groups. ACL_NEEDS_GROUPS: the answer depends on groups; ask again with them (groups NULL:
 * not known yet). */
enum acl_answer { ACL_NO, ACL_YES, ACL_NEEDS_GROUPS };
enum acl_answer acl_allows(const struct acl_set *s, enum acl_op op, struct fl_slice user,
                           const struct auth_group_list *groups);
/* Level 2 for one ACL name. trail (may be NULL) tells which entries found no grant, for the audit log (7.6):
 * bit ACL_KEY_x set = an UNAUTHORIZED line for that op is due, in the order op, ALL. */
enum acl_answer acl_key_allows(const struct acl_set *s, struct fl_slice acl_name, enum acl_key_op op,
                               struct fl_slice user, const struct auth_group_list *groups, unsigned *trail);
/* The same for a call on behalf of somebody: an entry "~svc" in the user part of a list is everybody for whom svc
 * acts. `behind` is the real user's short name with that '~' in front; empty: nobody acts for the user. */
struct acl_who {
    struct fl_slice               user, behind;
    const struct auth_group_list *groups;
};
enum acl_answer acl_allows_who(const struct acl_set *s, enum acl_op op, const struct acl_who *who);
enum acl_answer acl_key_allows_who(const struct acl_set *s, struct fl_slice acl_name, enum acl_key_op op,
                                   const struct acl_who *who, unsigned *trail);
/* Is an ACL for (name, op) present at all (7.4 step 1)? Used at creation for key.acl.name. */
bool acl_key_present(const struct acl_set *s, struct fl_slice acl_name, enum acl_key_op op);

/* ---- proxy users (3.9) ------------------------------------------------------------------------------------------- */

struct auth_proxies; /* immutable after start */
/* One rule a string: "oozie:users=alice,bob;groups=g;hosts=10.0.0.0/8,host,*". FL_USAGE names rule and field. */
FL_CHECKED enum fl_status auth_proxies_new(struct auth_proxies **out, const struct fl_strings *rules,
                                           struct fl_error *err);
void                      auth_proxies_free(struct auth_proxies *p);
enum acl_answer auth_proxy_user_allowed(const struct auth_proxies *p, struct fl_slice real_short, struct fl_slice do_as,
                                        const struct auth_group_list *groups_of_do_as);
bool            auth_proxy_host_allowed(const struct auth_proxies *p, struct fl_slice real_short, const char *peer_ip);

/* ---- audit (7.6, decisions on its path) -------------------------------------------------------------------------- */

enum audit_status { AUDIT_OK, AUDIT_UNAUTHORIZED, AUDIT_ERROR, AUDIT_UNAUTHENTICATED };
enum audit_op {
    AUDIT_CREATE_KEY,
    AUDIT_DELETE_KEY,
    AUDIT_ROLL_NEW_VERSION,
    AUDIT_INVALIDATE_CACHE,
    AUDIT_GET_KEYS,
    AUDIT_GET_KEYS_METADATA,
    AUDIT_GET_KEY_VERSIONS,
    AUDIT_GET_METADATA,
    AUDIT_GET_KEY_VERSION,
    AUDIT_GET_CURRENT_KEY,
    AUDIT_GENERATE_EEK,
    AUDIT_DECRYPT_EEK,
    AUDIT_REENCRYPT_EEK,
    AUDIT_REENCRYPT_EEK_BATCH,
    AUDIT_LEVEL2,
    AUDIT_OPS
};
const char *audit_op_name(enum audit_op op);
struct audit;
struct audit_config {
    const char *file;       /* NULL: no audit; "-": standard error */
    uint64_t    window_ns;  /* aggregation, 10 s */
    size_t      ring_bytes; /* a reactor; 0: 1 MiB */
    bool        drop;       /* full: drop and count; false: refuse (the door answers 503) */
    unsigned    reactors;
};
FL_CHECKED enum fl_status audit_new(struct audit **out, const struct audit_config *c, struct fl_error *err);
void                      audit_free(struct audit *a);   /* writes what is in the rings, closes open windows */
void                      audit_reopen(struct audit *a); /* any; SIGHUP */
/* Reactor `r` (its own ring): appends one small record; no lock, no system call. False: ring full and not drop. The
 * caller writes the record before the answer leaves. level2_op: for AUDIT_LEVEL2 the word READ, ALL, …; text: what
 * follows the bracket ("UserProvidedMaterial:false Description:null"), or the whole tail for ERROR/UNAUTHENTICATED
 * ("Method:'POST' Exception:'…'", "RemoteHost:… Method:… URL:… ErrorMsg:'…'"). Empty slices are left out. */
bool audit_record(struct audit *a, unsigned reactor, enum audit_status status, enum audit_op op, const char *level2_op,
                  struct fl_slice key, struct fl_slice user, struct fl_slice text, int64_t wall_ms);
/* For a change whose record is written after it was made: keeps room for a record whose fields have at most `bytes`
 * together, so that the change needn't be answered as if it had failed. False: as audit_record, nothing is kept. Each
 * hold is let go once, on the same reactor; the record that follows then finds its room. */
FL_CHECKED bool audit_hold(struct audit *a, unsigned reactor, size_t bytes);
void            audit_let_go(struct audit *a, unsigned reactor, size_t bytes);
struct audit_stats {
    uint64_t records, dropped, refused, written_lines, write_errors;
};
void audit_stats(struct audit *a, struct audit_stats *out);
/* Any. FL_OK, or how the last write or reopening failed; it is tried again at each wake-up. For the log and health. */
FL_CHECKED enum fl_status audit_health(struct audit *a, struct fl_error *err);

#endif
