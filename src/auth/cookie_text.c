/* The text of the hadoop.auth cookie: finding, checking and writing it (3.4). */
#include "auth/cookie_inside.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

#define SIGNER_EXCEPTION "org.apache.hadoop.security.authentication.util.SignerException: "

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static struct fl_slice skip_blanks(struct fl_slice s)
{
    while (s.len > 0 && (s.at[0] == ' ' || s.at[0] == '\t'))
        s = fl_slice_from(s, 1);
    return s;
}

/* A quoted value ends at its closing quote and may hold ';'; another ends at ';'. Quotes are kept. */
static struct fl_slice value_at(struct fl_slice s)
{
    size_t end = fl_slice_find(s, ';');

    if (s.len > 0 && s.at[0] == '"') {
        size_t close = fl_slice_find(fl_slice_from(s, 1), '"');

        if (close != SIZE_MAX)
            return fl_slice_of(s.at, close + 2);
    }
    return fl_slice_trim(fl_slice_of(s.at, end == SIZE_MAX ? s.len : end));
}

bool auth_cookie_find(struct fl_slice header, const char *name, struct fl_slice *value)
{
    struct fl_slice wanted = fl_slice_str(name), rest = skip_blanks(header);

    while (rest.len > 0) {
        size_t          equals = fl_slice_find(rest, '='), end = fl_slice_find(rest, ';');
        struct fl_slice found;

        if (equals == SIZE_MAX)
            return false;
        if (end < equals) { /* a name without a value */
            rest = skip_blanks(fl_slice_from(rest, end + 1));
            continue;
        }
        found = value_at(skip_blanks(fl_slice_from(rest, equals + 1)));
        if (fl_slice_equal(fl_slice_trim(fl_slice_of(rest.at, equals)), wanted)) {
            *value = found;
            return true;
        }
        rest = fl_slice_from(rest, (size_t)(found.at + found.len - rest.at));
        end = fl_slice_find(rest, ';');
        rest = end == SIZE_MAX ? fl_slice_from(rest, rest.len) : skip_blanks(fl_slice_from(rest, end + 1));
    }
    return false;
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

static struct fl_slice unquoted(struct fl_slice s)
{
    if (s.len >= 2 && s.at[0] == '"' && s.at[s.len - 1] == '"')
        return fl_slice_of(s.at + 1, s.len - 2);
    return s;
}

/* Where the last "&s=" begins, or SIZE_MAX. */
static size_t signature_mark(struct fl_slice text)
{
    for (size_t i = text.len; i >= 3; i--)
        if (fl_slice_equal(fl_slice_of(text.at + i - 3, 3), FL_LIT("&s=")))
            return i - 3;
    return SIZE_MAX;
}

static bool signed_by(uint64_t id, const struct fl_secret *secret, struct fl_slice text, struct fl_slice signature)
{
    char expected[COOKIE_SIGNATURE_LEN];

    return secret != NULL && cookie_sign(id, secret, text, expected) &&
           fl_equal_ct(fl_slice_of(expected, sizeof expected), signature);
}

/* Long.parseLong: an optional sign and decimal digits within 64 bits. */
static bool parse_long(struct fl_slice s, int64_t *out)
{
    bool     negative = s.len > 0 && s.at[0] == '-';
    uint64_t n = 0, limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);

    if (s.len > 0 && (negative || s.at[0] == '+'))
        s = fl_slice_from(s, 1);
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned digit = s.at[i] - (unsigned)'0';

        if (digit > 9 || n > (limit - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = negative ? -(int64_t)(n - 1) - 1 : (int64_t)n;
    if (negative && n == 0)
        *out = 0;
    return true;
}

struct attributes {
    struct fl_slice user, principal, type, inactive, expiry;
};

/* False: a part without '='. A later attribute replaces an earlier one, an unknown one is passed over. */
static bool split_attributes(struct fl_slice text, struct attributes *a)
{
    while (text.len > 0) {
        size_t          end = fl_slice_find(text, '&'), equals;
        struct fl_slice part = fl_slice_of(text.at, end == SIZE_MAX ? text.len : end), value;

        text = end == SIZE_MAX ? fl_slice_from(text, text.len) : fl_slice_from(text, end + 1);
        if (part.len == 0)
            continue;
        equals = fl_slice_find(part, '=');
        if (equals == SIZE_MAX)
            return false;
        value = fl_slice_from(part, equals + 1);
        if (equals != 1)
            continue;
        switch (part.at[0]) {
        case 'u': a->user = value; break;
        case 'p': a->principal = value; break;
        case 't': a->type = value; break;
        case 'i': a->inactive = value; break;
        case 'e': a->expiry = value; break;
        default: break;
        }
    }
    return true;
}

static enum fl_status parse_signed(struct fl_slice text, struct auth_cookie *out, struct fl_error *err)
{
    struct attributes a = { 0 };

    if (!split_attributes(text, &a))
        return fl_fail(err, FL_DENIED, 0, "Invalid authentication token");
    if (a.user.at == NULL || a.principal.at == NULL || a.type.at == NULL || !parse_long(a.expiry, &out->expiry_ms))
        return fl_fail(err, FL_DENIED, 0, "Invalid token string, missing attributes");
    out->inactive_ms = 0;
    if (a.inactive.at != NULL && !parse_long(a.inactive, &out->inactive_ms))
        return fl_fail(err, FL_DENIED, 0, "Invalid token string, missing attributes");
    out->user = a.user;
    out->principal = a.principal;
    out->type = a.type;
    return FL_OK;
}

/* -1 means never on both, as Java's token has it; a cookie without i has none. */
static bool expired(const struct auth_cookie *k, int64_t now_ms)
{
    return (k->inactive_ms != 0 && k->inactive_ms != -1 && now_ms > k->inactive_ms) ||
           (k->expiry_ms != -1 && now_ms > k->expiry_ms);
}

enum fl_status auth_cookie_verify(struct auth_cookies *c, struct fl_slice value, int64_t now_ms,
                                  struct auth_cookie *out, struct fl_error *err)
{
    const struct cookie_secrets *secrets = fl_rcu_read(&c->secrets);
    struct fl_slice              text = unquoted(value), signature;
    struct auth_cookie           k = { 0 };
    size_t                       mark = signature_mark(text);
    enum fl_status               s;

    if (text.len == 0)
        return fl_fail(err, FL_DENIED, 0, "Unauthorized access");
    if (mark == SIZE_MAX)
        return fl_fail(err, FL_DENIED, 0, SIGNER_EXCEPTION "Invalid signed text: %.*s", FL_SLICE_ARGS(text));
    signature = fl_slice_from(text, mark + 3);
    text = fl_slice_of(text.at, mark);
    if (!signed_by(secrets->current_id, secrets->current, text, signature) &&
        !signed_by(secrets->previous_id, secrets->previous, text, signature))
        return fl_fail(err, FL_DENIED, 0, SIGNER_EXCEPTION "Invalid signature");
    s = parse_signed(text, &k, err);
    if (s != FL_OK)
        return s;
    if (!fl_slice_equal(k.type, c->type))
        return fl_fail(err, FL_DENIED, 0, "Invalid AuthenticationToken type");
    if (expired(&k, now_ms))
        return fl_fail(err, FL_DENIED, 0, "AuthenticationToken expired");
    *out = k;
    return FL_OK;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool usable(struct fl_slice value)
{
    return value.len > 0 && fl_slice_find(value, '&') == SIZE_MAX;
}

/* The length of the UTF-8 character at s, and its number; 1 and a number outside Latin-1 for what is no UTF-8. */
static size_t character_at(struct fl_slice s, unsigned *number)
{
    size_t len = s.at[0] < 0x80 ? 1 : s.at[0] < 0xe0 ? 2 : s.at[0] < 0xf0 ? 3 : 4;

    *number = s.at[0];
    if (len == 1)
        return 1;
    *number = 0x100;
    if (s.at[0] < 0xc2 || len > s.len)
        return 1;
    for (size_t i = 1; i < len; i++)
        if ((s.at[i] & 0xc0) != 0x80)
            return 1;
    if (len == 2)
        *number = (unsigned)(s.at[0] & 0x1f) << 6 | (s.at[1] & 0x3fu);
    return len;
}

/* A header goes out in ISO-8859-1, with a blank for everything else. Also for control characters: CR and LF would let
 * a user name write headers. In place, since it never grows. */
static void to_header_bytes(struct fl_buf *b, size_t from)
{
    struct fl_slice rest = fl_slice_of(b->data + from, b->write - from);
    uint8_t        *to = b->data + from;

    assert(b->data != NULL);
    while (rest.len > 0) {
        unsigned number;
        size_t   len = character_at(rest, &number);

        *to++ = number < ' ' || number == 0x7f || number > 0xff ? ' ' : (uint8_t)number;
        rest = fl_slice_from(rest, len);
    }
    b->write = (size_t)(to - b->data);
}

static void put_signed(const struct cookie_secrets *secrets, const struct auth_cookie *k, int64_t expiry_ms,
                       struct fl_buf *out)
{
    size_t from;
    char   signature[COOKIE_SIGNATURE_LEN];

    FL_BUF_LIT(out, "\"");
    from = out->write - out->read;
    FL_BUF_LIT(out, "u=");
    fl_buf_put_slice(out, k->user);
    FL_BUF_LIT(out, "&p=");
    fl_buf_put_slice(out, k->principal);
    FL_BUF_LIT(out, "&t=");
    fl_buf_put_slice(out, k->type);
    if (k->inactive_ms != 0) {
        FL_BUF_LIT(out, "&i=");
        fl_buf_put_i64(out, k->inactive_ms);
    }
    FL_BUF_LIT(out, "&e=");
    fl_buf_put_i64(out, expiry_ms);
    if (out->failed)
        return;
    /* The signature is over UTF-8, so a cookie for a name outside ASCII never verifies, as with Java. */
    if (!cookie_sign(secrets->current_id, secrets->current, fl_slice_from(fl_buf_slice(out), from), signature)) {
        out->failed = true;
        return;
    }
    to_header_bytes(out, out->read + from);
    FL_BUF_LIT(out, "&s=");
    fl_buf_put(out, signature, sizeof signature);
    FL_BUF_LIT(out, "\"");
}

static void put_expires(int64_t expiry_ms, struct fl_buf *out)
{
    static const char days[7][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char months[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    time_t            seconds = (time_t)(expiry_ms / 1000);
    struct tm         t;

    if (gmtime_r(&seconds, &t) != NULL) /* a year beyond an int: no attribute */
        fl_buf_printf(out, "; Expires=%s, %02d-%s-%04d %02d:%02d:%02d GMT", days[t.tm_wday], t.tm_mday,
                      months[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

/* Path, Domain, Expires, Secure, HttpOnly in this order; never Max-Age or Version (9.4). */
static void put_attributes(const struct auth_cookies *c, int64_t expiry_ms, bool secure, struct fl_buf *out)
{
    if (c->path != NULL) {
        FL_BUF_LIT(out, "; Path=");
        fl_buf_put_str(out, c->path);
    }
    if (c->domain != NULL) {
        FL_BUF_LIT(out, "; Domain=");
        fl_buf_put_str(out, c->domain);
    }
    if (c->persistent && expiry_ms >= 0)
        put_expires(expiry_ms, out);
    if (secure)
        FL_BUF_LIT(out, "; Secure");
    FL_BUF_LIT(out, "; HttpOnly\r\n");
}

bool auth_cookie_put_over(struct auth_cookies *c, const struct auth_cookie *cookie, int64_t now_ms, bool secure,
                          struct fl_buf *out)
{
    const struct cookie_secrets *secrets = fl_rcu_read(&c->secrets);
    struct auth_cookie           k = { .expiry_ms = 0 };
    int64_t                      expiry_ms = 0;

    if (out->failed)
        return false;
    if (cookie != NULL) {
        k = *cookie;
        if (k.principal.len == 0)
            k.principal = k.user;
        if (k.type.len == 0)
            k.type = c->type;
        if (!usable(k.user) || !usable(k.principal) || !usable(k.type))
            return false;
        expiry_ms = k.expiry_ms != 0 ? k.expiry_ms : now_ms + c->validity_ms;
    }
    FL_BUF_LIT(out, "Set-Cookie: hadoop.auth=");
    if (cookie != NULL)
        put_signed(secrets, &k, expiry_ms, out);
    put_attributes(c, expiry_ms, secure || c->secure, out);
    return !out->failed;
}

bool auth_cookie_put(struct auth_cookies *c, const struct auth_cookie *cookie, int64_t now_ms, struct fl_buf *out)
{
    return auth_cookie_put_over(c, cookie, now_ms, false, out);
}

bool auth_cookie_put_clear(struct auth_cookies *c, struct fl_buf *out)
{
    return auth_cookie_put_over(c, NULL, 0, false, out);
}
