/* auth/cookie_inside.h - what the two halves of the cookie share: secrets (cookie.c) and text (cookie_text.c).
 *
 * Owns:    see auth/auth.h. Thread: stated there.                                                                     */
#ifndef AUTH_COOKIE_INSIDE_H
#define AUTH_COOKIE_INSIDE_H

#include "auth/auth.h"
#include "auth/mac.h"
#include "base/encode.h"
#include "base/rcu.h"

#include <stdatomic.h>

struct cookie_secrets { /* immutable; replaced as a whole */
    struct rcu_head   rcu;
    struct fl_secret *current, *previous; /* previous may be NULL */
    uint64_t          current_id, previous_id;
};

struct auth_cookies {
    struct cookie_secrets *secrets;      /* published */
    atomic_flag            rolling;      /* who holds it is the one writer */
    bool                   rolls;        /* a secret from a file stays */
    atomic_int_fast64_t    next_roll_ms; /* 0: the first tick sets it */
    int64_t                validity_ms;
    bool                   persistent, secure;
    struct fl_slice        type; /* a literal */
    char                  *path, *domain;
};

/* The signature of text as it stands in a cookie: 44 characters of base64. */
enum { COOKIE_SIGNATURE_LEN = FL_BASE64_LEN(AUTH_MAC_LEN) };
bool cookie_sign(uint64_t id, const struct fl_secret *secret, struct fl_slice text, char out[COOKIE_SIGNATURE_LEN]);

#endif
