/* featherlock/slice.h - bytes that somebody else owns.
 *
 * A slice is never NUL-terminated and may hold NULs. Who hands one out says until when it is valid.
 * Owns:    nothing. Thread: any. Blocks: never.                                                                       */
#ifndef FEATHERLOCK_SLICE_H
#define FEATHERLOCK_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct fl_slice {
    const uint8_t *at; /* may be NULL when len is 0 */
    size_t         len;
};

/* For printf: printf("%.*s", FL_SLICE_ARGS(s)). */
#define FL_SLICE_ARGS(s) (int)(s).len, (const char *)(s).at
/* A slice of a string literal, without its NUL. */
#define FL_LIT(literal) ((struct fl_slice){ (const uint8_t *)("" literal), sizeof(literal) - 1 })

static inline struct fl_slice fl_slice_of(const void *at, size_t len)
{
    return (struct fl_slice){ (const uint8_t *)at, len };
}

static inline struct fl_slice fl_slice_str(const char *text) /* NULL gives the empty slice */
{
    return (struct fl_slice){ (const uint8_t *)text, text == NULL ? 0 : strlen(text) };
}

/* Not for secrets: ends at the first difference. fl_equal_ct (base/secret.h) is. */
static inline bool fl_slice_equal(struct fl_slice a, struct fl_slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* ASCII letters alike in both cases; for header names and hosts. */
bool fl_slice_equal_nocase(struct fl_slice a, struct fl_slice b);

static inline bool fl_slice_starts(struct fl_slice s, struct fl_slice prefix)
{
    return s.len >= prefix.len && fl_slice_equal(fl_slice_of(s.at, prefix.len), prefix);
}

static inline bool fl_slice_ends(struct fl_slice s, struct fl_slice suffix)
{
    return suffix.len == 0 ||
           (s.len >= suffix.len && fl_slice_equal(fl_slice_of(s.at + (s.len - suffix.len), suffix.len), suffix));
}

/* From byte `from` on; past the end gives the empty slice at the end. */
static inline struct fl_slice fl_slice_from(struct fl_slice s, size_t from)
{
    if (s.len == 0) /* at may be NULL, to which C allows no addition */
        return s;
    return from >= s.len ? fl_slice_of(s.at + s.len, 0) : fl_slice_of(s.at + from, s.len - from);
}

/* Index of the first (last) such byte, or SIZE_MAX. */
size_t fl_slice_find(struct fl_slice s, uint8_t byte);
size_t fl_slice_find_last(struct fl_slice s, uint8_t byte);
/* Without ASCII blanks, tabs, CR and LF at both ends. */
struct fl_slice fl_slice_trim(struct fl_slice s);
/* A malloc'ed NUL-terminated copy, or NULL without memory; NULs inside stay. The caller frees. */
char *fl_slice_dup(struct fl_slice s);

#endif
