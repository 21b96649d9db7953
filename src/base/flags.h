/* base/flags.h - settings: one table makes parsing, --help, the flag file, the environment, the reference page and
 * the completion.
 *
 * A flag fills a field of a plain struct, given by offset. Sources, the later winning: default, environment
 * (FEATHERLOCK_NAME), --flagfile (one --name=value or name=value a line, '#' comments), command line. '_' and '-' in
 * names are alike; --name and --noname for booleans; everything after "--" is an argument. An unknown name, a value
 * that doesn't fit its type or range, or a required flag that is missing is FL_USAGE with a sentence that names the
 * flag, the value and what is allowed (and the nearest known name).
 * Owns:    strings that it set; flags_done frees them. Thread: start. Blocks: reading the flag file.                  */
#ifndef BASE_FLAGS_H
#define BASE_FLAGS_H

#include "base/buf.h"
#include "base/own.h"

enum fl_flag_type {
    FL_FLAG_BOOL,     /* bool */
    FL_FLAG_INT,      /* int64_t, min..max */
    FL_FLAG_BYTES,    /* uint64_t, "64KiB", "16M", plain number; min..max */
    FL_FLAG_DURATION, /* uint64_t nanoseconds, "250ms", "5s", "10m", "1h", "7d"; a bare number is in the flag's unit */
    FL_FLAG_STRING,   /* char *, malloc'ed; NULL when unset without a default */
    FL_FLAG_ENUM,     /* int, index into choices "a|b|c" */
    FL_FLAG_STRINGS,  /* struct fl_strings, repeatable: each occurrence appends */
};

struct fl_strings {
    char **at;
    size_t count;
};

struct fl_flag {
    const char       *name; /* with underscores */
    enum fl_flag_type type;
    size_t            offset;       /* offsetof(struct …_flags, field) */
    const char       *default_text; /* as a user would write it; NULL: zero / unset */
    const char       *unit;         /* for numbers, in --help: "ms"; for a bare DURATION: "ns" "ms" "s" */
    const char       *choices;      /* FL_FLAG_ENUM */
    int64_t           min, max;     /* numbers; both 0: no range. DURATION in ns */
    const char       *group;        /* heading in --help */
    const char       *help;         /* one sentence */
    bool              required;
    bool (*valid)(const char *value, struct fl_error *err); /* extra check, may be NULL */
};

struct fl_flag_table {
    const struct fl_flag *flags;
    size_t                count;
    const char           *program, *summary, *arguments; /* "featherlock kms", one sentence, "" or "KEY…" */
};

/* Fills into (zeroed by the caller) from defaults, environment and argv[1..]; *args gets what is no flag (pointers
 * into argv), for fl_strings_done. Arguments are FL_USAGE where args is NULL or t->arguments is empty. --help is
 * reported as FL_CLOSED: print fl_flags_help and exit 0. On failure *into holds no memory and *args is empty. */
FL_CHECKED enum fl_status fl_flags_parse(const struct fl_flag_table *t, void *into, int argc, char **argv,
                                         struct fl_strings *args, struct fl_error *err);
/* One setting by name, as a file of the originals would set it; same checks. FL_FLAG_STRINGS: appends. */
FL_CHECKED enum fl_status fl_flags_set(const struct fl_flag_table *t, void *into, const char *name, const char *value,
                                       struct fl_error *err);
void                      fl_flags_done(const struct fl_flag_table *t, void *into);
/* Frees the array, and the strings if they were malloc'ed by flags. Only for lists that flags made: a mark
 * hidden in front of the array says whose the strings are. A NULL ends the array. */
void fl_strings_done(struct fl_strings *s);

bool fl_flags_help(const struct fl_flag_table *t, struct fl_buf *out);       /* for people, 80 columns */
bool fl_flags_reference(const struct fl_flag_table *t, struct fl_buf *out);  /* Markdown table for docs/ */
bool fl_flags_completion(const struct fl_flag_table *t, struct fl_buf *out); /* bash words */
/* name=value lines of what is in force; secrets are never flags, so nothing needs hiding. */
bool fl_flags_show(const struct fl_flag_table *t, const void *from, struct fl_buf *out);

/* Durations and sizes for other readers. */
FL_CHECKED enum fl_status fl_parse_duration(const char *text, const char *bare_unit, uint64_t *ns,
                                            struct fl_error *err);
FL_CHECKED enum fl_status fl_parse_bytes(const char *text, uint64_t *bytes, struct fl_error *err);

#endif
