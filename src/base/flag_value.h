/* base/flag_value.h - one value of a flag: from text, checked, into its field, and back. Inside of base/flags.
 *
 * Owns: what base_flag_store put into the field, until base_flag_clear. Thread: start. Blocks: never.                 */
#ifndef BASE_FLAG_VALUE_H
#define BASE_FLAG_VALUE_H

#include "base/flags.h"

/* Reads text as f's type, checks it, and puts it into the field; FL_FLAG_STRINGS appends. FL_USAGE with what is
 * expected (the caller puts the name in front), FL_NO_MEMORY; the field is untouched then. */
FL_CHECKED enum fl_status base_flag_store(const struct fl_flag *f, void *into, const char *text, struct fl_error *err);
/* Zeroes the field, freeing strings. */
void base_flag_clear(const struct fl_flag *f, void *into);
/* FL_USAGE: "a whole number from 1 to 256 is expected". */
enum fl_status base_flag_expected(const struct fl_flag *f, struct fl_error *err);
bool           base_flag_has_range(const struct fl_flag *f);
/* "from 1 to 256", "of at least 4KiB". f has a range. */
void base_flag_put_range(const struct fl_flag *f, struct fl_buf *out);
/* As a user would write it. Not for FL_FLAG_STRINGS, nor a NULL string. */
void base_flag_put_value(const struct fl_flag *f, const void *from, struct fl_buf *out);

/* FL_NO_MEMORY leaves *s and text alone. owned: text is malloc'ed and now fl_strings_done's; the same for all of *s. */
FL_CHECKED enum fl_status base_strings_add(struct fl_strings *s, char *text, bool owned, struct fl_error *err);

static inline void *base_flag_field(const struct fl_flag *f, void *into)
{
    return (char *)into + f->offset;
}

#endif
