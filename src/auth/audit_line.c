/* The text of one audit line (7.6), as log4j's "%d{ISO8601} %m%n" writes it. */
#include "auth/audit_inside.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

#define CUT_MARK "...(cut)"

static const char *const op_names[AUDIT_OPS] = {
    "CREATE_KEY",        "DELETE_KEY",       "ROLL_NEW_VERSION", "INVALIDATE_CACHE",    "GET_KEYS",
    "GET_KEYS_METADATA", "GET_KEY_VERSIONS", "GET_METADATA",     "GET_KEY_VERSION",     "GET_CURRENT_KEY",
    "GENERATE_EEK",      "DECRYPT_EEK",      "REENCRYPT_EEK",    "REENCRYPT_EEK_BATCH", "LEVEL2"
};
static const char *const status_names[] = { "OK", "UNAUTHORIZED", "ERROR", "UNAUTHENTICATED" };

const char *audit_op_name(enum audit_op op)
{
    return op_names[op];
}

/* ---- appending at a pointer: room for the whole line is reserved before ------------------------------------------ */

static char *put(char *p, const void *bytes, size_t len)
{
    if (len > 0)
        memcpy(p, bytes, len);
    return p + len;
}

static char *put_str(char *p, const char *text)
{
    return put(p, text, strlen(text));
}

static char *put_number(char *p, uint64_t n)
{
    char   digits[20];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    return put(p, digits + at, sizeof digits - at);
}

/* Bytes that start something which a reader could take for the end of a line, or which a terminal obeys: C0 and C1
 * controls, DEL, U+2028 and U+2029. A user name or a URL must not be able to write lines of its own. */
static bool suspicious(uint8_t byte)
{
    return byte < ' ' || byte == 0x7f || byte == 0xc2 || byte == 0xe2;
}

/* At a suspicious byte: how many bytes the character has if it is to be escaped, and its number; 0: harmless. */
static size_t to_escape(struct fl_slice s, unsigned *number)
{
    *number = s.at[0];
    if (s.at[0] < ' ' || s.at[0] == 0x7f)
        return 1;
    if (s.at[0] == 0xc2 && s.len > 1 && s.at[1] >= 0x80 && s.at[1] < 0xa0) {
        *number = s.at[1];
        return 2;
    }
    if (s.at[0] == 0xe2 && s.len > 2 && s.at[1] == 0x80 && (s.at[2] == 0xa8 || s.at[2] == 0xa9)) {
        *number = 0x2000u + (s.at[2] & 0x3fu);
        return 3;
    }
    return 0;
}

static char *put_escape(char *p, unsigned number)
{
    static const char hex[] = "0123456789abcdef";

    *p++ = '\\';
    if (number == '\n' || number == '\r' || number == '\t') {
        *p++ = number == '\n' ? 'n' : number == '\r' ? 'r' : 't';
        return p;
    }
    *p++ = 'u';
    for (int shift = 12; shift >= 0; shift -= 4)
        *p++ = hex[number >> shift & 0xf];
    return p;
}

static char *put_field(char *p, struct fl_slice s, bool was_cut)
{
    size_t from = 0;

    if (s.len == 0) /* then it may point nowhere */
        return p;
    for (size_t i = 0; i < s.len; i++) {
        unsigned number;
        size_t   len = suspicious(s.at[i]) ? to_escape(fl_slice_from(s, i), &number) : 0;

        if (len == 0)
            continue;
        p = put_escape(put(p, s.at + from, i - from), number);
        from = i + len;
        i = from - 1;
    }
    p = put(p, s.at + from, s.len - from);
    return was_cut ? put_str(p, CUT_MARK) : p;
}

/* ---- the line ---------------------------------------------------------------------------------------------------- */

/* "2026-12-01 01:39:27,839": local time, as log4j has it. */
static char *put_time(char *p, struct audit_stamp *stamp, int64_t wall_ms)
{
    int64_t second = wall_ms / 1000, ms = wall_ms % 1000;

    if (ms < 0) {
        ms += 1000;
        second--;
    }
    if (!stamp->valid || stamp->second != second) {
        time_t    t = (time_t)second;
        struct tm tm;

        if (localtime_r(&t, &tm) == NULL || strftime(stamp->text, sizeof stamp->text, "%Y-%m-%d %H:%M:%S", &tm) == 0)
            memcpy(stamp->text, "0000-00-00 00:00:00", sizeof stamp->text);
        stamp->second = second;
        stamp->valid = true;
    }
    p = put_str(p, stamp->text);
    *p++ = ',';
    *p++ = (char)('0' + ms / 100);
    *p++ = (char)('0' + ms / 10 % 10);
    *p++ = (char)('0' + ms % 10);
    return p;
}

/* Only OK and UNAUTHORIZED name an operation; UNAUTHENTICATED has no bracket at all. */
static char *put_bracket(char *p, const struct audit_event *e, const struct audit_count *counted)
{
    bool        with_op = e->status == AUDIT_OK || e->status == AUDIT_UNAUTHORIZED;
    const char *before = "[";

    if (e->status == AUDIT_UNAUTHENTICATED)
        return p;
    if (with_op) {
        p = put_str(p, "[op=");
        p = e->op == AUDIT_LEVEL2 ? put_field(p, e->level2, false) : put_str(p, op_names[e->op]);
        before = ", ";
    }
    if (with_op && e->key.len > 0) {
        p = put_str(put_str(p, before), "key=");
        p = put_field(p, e->key, (e->cut & AUDIT_CUT_KEY) != 0);
    }
    if (e->user.len > 0) {
        p = put_str(put_str(p, before), "user=");
        p = put_field(p, e->user, (e->cut & AUDIT_CUT_USER) != 0);
    }
    if (counted != NULL) {
        p = put_number(put_str(p, ", accessCount="), counted->accesses);
        p = put_str(put_number(put_str(p, ", interval="), (uint64_t)FL_MAX(counted->interval_ms, 0)), "ms");
    }
    return with_op || e->user.len > 0 ? put_str(p, "]") : p;
}

/* The blank after the bracket stands also where nothing follows. */
bool audit_line_put(struct fl_buf *out, struct audit_stamp *stamp, int64_t wall_ms, const struct audit_event *e,
                    const struct audit_count *counted)
{
    size_t most = 256 + 6 * (e->level2.len + e->key.len + e->user.len + e->text.len); /* all of it escaped */
    char  *p;

    if (fl_buf_room(out) < most && fl_buf_reserve(out, most, NULL) != FL_OK)
        return false;
    assert(out->data != NULL);
    p = (char *)fl_buf_tail(out);
    p = put_time(p, stamp, wall_ms);
    *p++ = ' ';
    p = put_str(p, status_names[e->status]);
    p = put_bracket(p, e, counted);
    *p++ = ' ';
    p = put_field(p, e->text, (e->cut & AUDIT_CUT_TEXT) != 0);
    *p++ = '\n';
    fl_buf_added(out, (size_t)(p - (char *)fl_buf_tail(out)));
    return true;
}
