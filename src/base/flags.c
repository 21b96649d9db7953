#include "base/flags.h"

#include "base/flag_value.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { FLAG_FILE_BYTES = 1024 * 1024, READ_STEP = 4096, NAME_BYTES = 64, SHOWN_BYTES = 60 };

/* Where a value came from; a later one replaces an earlier one, and within one, lists grow. */
enum source { FROM_NOTHING, FROM_DEFAULT, FROM_ENVIRONMENT, FROM_FILE, FROM_LINE };

struct parse {
    const struct fl_flag_table *t;
    void                       *into;
    unsigned char              *source; /* one a flag; NULL: not followed */
    struct fl_error            *err;    /* never NULL */
};

/* Names. */

static char plain(char c)
{
    return c == '-' ? '_' : c;
}

static bool is_name(const char *name, struct fl_slice text)
{
    for (size_t i = 0; i < text.len; i++, name++)
        if (*name == '\0' || plain((char)text.at[i]) != plain(*name))
            return false;
    return *name == '\0';
}

static const struct fl_flag *find_exact(const struct fl_flag_table *t, struct fl_slice name)
{
    for (size_t i = 0; i < t->count; i++)
        if (is_name(t->flags[i].name, name))
            return &t->flags[i];
    return NULL;
}

/* Also finds a boolean by "noname", and then sets *negated. */
static const struct fl_flag *find_flag(const struct fl_flag_table *t, struct fl_slice name, bool *negated)
{
    const struct fl_flag *f = find_exact(t, name);

    *negated = false;
    if (f != NULL || !fl_slice_starts(name, FL_LIT("no")))
        return f;
    f = find_exact(t, fl_slice_from(name, 2));
    if (f == NULL && name.len > 3 && plain((char)name.at[2]) == '_')
        f = find_exact(t, fl_slice_from(name, 3));
    *negated = f != NULL && f->type == FL_FLAG_BOOL;
    return *negated ? f : NULL;
}

/* Changes of one letter that lead from one name to the other (Levenshtein). Both are shorter than NAME_BYTES. */
static size_t distance(struct fl_slice a, struct fl_slice b)
{
    size_t row[NAME_BYTES], above_left, above;

    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        above_left = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            above = row[j];
            row[j] = FL_MIN(above_left + (plain((char)a.at[i - 1]) != plain((char)b.at[j - 1])),
                            FL_MIN(above, row[j - 1]) + 1);
            above_left = above;
        }
    }
    return row[b.len];
}

/* The known name most like an unknown one, or NULL when none is near enough to have been meant. */
static const char *nearest(const struct fl_flag_table *t, struct fl_slice name)
{
    const char *best = NULL;
    size_t      least = FL_MIN(name.len / 3 + 1, (size_t)4);

    for (size_t i = 0; i < t->count && name.len < NAME_BYTES; i++) {
        struct fl_slice known = fl_slice_str(t->flags[i].name);
        size_t          d;

        if (known.len >= NAME_BYTES)
            continue;
        d = name.len >= 3 && fl_slice_starts(known, name) ? 1 : distance(name, known); /* cut off is near, too */
        if (d < least || (d == least && best == NULL)) {
            least = d;
            best = t->flags[i].name;
        }
    }
    return best;
}

static enum fl_status unknown(const struct parse *p, struct fl_slice name)
{
    const char *near = nearest(p->t, name);
    int         len = (int)FL_MIN(name.len, (size_t)SHOWN_BYTES);

    if (near == NULL)
        return fl_fail(p->err, FL_USAGE, 0, "--%.*s: no such flag; --help lists them", len, (const char *)name.at);
    return fl_fail(p->err, FL_USAGE, 0, "--%.*s: no such flag; did you mean --%s?", len, (const char *)name.at, near);
}

/* Setting. */

static const char *cut_mark(const char *value)
{
    return strlen(value) > SHOWN_BYTES ? "..." : "";
}

/* A later source replaces the whole list of an earlier one. */
static void forget_earlier(const struct parse *p, const struct fl_flag *f, enum source source)
{
    size_t row = (size_t)(f - p->t->flags);

    if (p->source == NULL)
        return;
    if (f->type == FL_FLAG_STRINGS && p->source[row] != source)
        base_flag_clear(f, p->into);
    p->source[row] = (unsigned char)source;
}

static FL_CHECKED enum fl_status store(const struct parse *p, const struct fl_flag *f, const char *value,
                                       enum source source)
{
    enum fl_status s;

    forget_earlier(p, f, source);
    s = base_flag_store(f, p->into, value, p->err);
    if (s == FL_OK || source == FROM_ENVIRONMENT) /* there the variable is named, not the flag */
        return s;
    return fl_fail_in(p->err, "--%s=%.*s%s", f->name, SHOWN_BYTES, value, cut_mark(value));
}

/* name of a flag and its value, which is NULL when there was no '='. next: the word behind, which may be the value, or
 * NULL; *took_next tells if it was. */
static FL_CHECKED enum fl_status set_named(const struct parse *p, struct fl_slice name, const char *value,
                                           const char *next, bool *took_next, enum source source)
{
    bool                  negated;
    const struct fl_flag *f = find_flag(p->t, name, &negated);

    *took_next = false;
    if (f == NULL)
        return unknown(p, name);
    if (negated && value != NULL)
        return fl_fail(p->err, FL_USAGE, 0, "--no%s takes no value; --%s=true or false does", f->name, f->name);
    if (value == NULL && f->type == FL_FLAG_BOOL)
        value = negated ? "false" : "true";
    if (value == NULL && next != NULL && strncmp(next, "--", 2) != 0) {
        value = next;
        *took_next = true;
    }
    if (value == NULL) {
        base_flag_expected(f, p->err);
        return fl_fail_in(p->err, "--%s without a value", f->name);
    }
    return store(p, f, value, source);
}

enum fl_status fl_flags_set(const struct fl_flag_table *t, void *into, const char *name, const char *value,
                            struct fl_error *err)
{
    struct fl_error       unwanted = { .text = "" };
    struct parse          p = { .t = t, .into = into, .err = err == NULL ? &unwanted : err };
    const struct fl_flag *f = find_exact(t, fl_slice_str(name));

    return f == NULL ? unknown(&p, fl_slice_str(name)) : store(&p, f, value, FROM_FILE);
}

/* Sources, in their order. */

static FL_CHECKED enum fl_status take_defaults(const struct parse *p)
{
    for (size_t i = 0; i < p->t->count; i++) {
        const struct fl_flag *f = &p->t->flags[i];
        enum fl_status        s = f->default_text == NULL ? FL_OK : store(p, f, f->default_text, FROM_DEFAULT);

        if (s != FL_OK)
            return s;
    }
    return FL_OK;
}

static FL_CHECKED enum fl_status take_environment(const struct parse *p)
{
    for (size_t i = 0; i < p->t->count; i++) {
        const struct fl_flag *f = &p->t->flags[i];
        char                  name[NAME_BYTES + sizeof "FEATHERLOCK_"];
        const char           *value;

        snprintf(name, sizeof name, "FEATHERLOCK_%s", f->name);
        for (char *c = name; *c != '\0'; c++)
            if (*c >= 'a' && *c <= 'z')
                *c = (char)(*c - 'a' + 'A');
        value = getenv(name);
        if (value != NULL && store(p, f, value, FROM_ENVIRONMENT) != FL_OK)
            return fl_fail_in(p->err, "%s=%.*s%s", name, SHOWN_BYTES, value, cut_mark(value));
    }
    return FL_OK;
}

static FL_CHECKED enum fl_status read_file(const char *path, struct fl_buf *into, struct fl_error *err)
{
    FL_AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return fl_fail(err, FL_USAGE, errno, "--flagfile=%.150s", path);
    for (;;) {
        ssize_t        n;
        enum fl_status s = fl_buf_reserve(into, READ_STEP, err);

        if (s == FL_NO_MEMORY)
            return fl_fail_in(err, "--flagfile=%.100s", path);
        if (s != FL_OK)
            return fl_fail(err, FL_USAGE, 0, "--flagfile=%.100s: more than the %d bytes that are allowed", path,
                           FLAG_FILE_BYTES - READ_STEP);
        n = read(fd, fl_buf_tail(into), READ_STEP);
        if (n < 0 && errno != EINTR)
            return fl_fail(err, FL_USAGE, errno, "--flagfile=%.150s", path);
        if (n == 0)
            return FL_OK;
        fl_buf_added(into, n < 0 ? 0 : (size_t)n);
    }
}

/* One line without its end: empty, a comment, or [--]name[=value]. */
static FL_CHECKED enum fl_status take_file_line(const struct parse *p, struct fl_slice line)
{
    size_t            equals;
    bool              took_next;
    struct fl_slice   name;
    FL_AUTO_MEM char *value = NULL;

    line = fl_slice_trim(line);
    if (line.len == 0 || line.at[0] == '#')
        return FL_OK;
    if (fl_slice_find(line, '\0') != SIZE_MAX)
        return fl_fail(p->err, FL_USAGE, 0, "a NUL in a line, where text is expected");
    if (fl_slice_starts(line, FL_LIT("--")))
        line = fl_slice_from(line, 2);
    equals = fl_slice_find(line, '=');
    name = fl_slice_trim(fl_slice_of(line.at, FL_MIN(equals, line.len)));
    if (is_name("flagfile", name))
        return fl_fail(p->err, FL_USAGE, 0, "--flagfile: only the command line names flag files");
    if (equals == SIZE_MAX)
        return set_named(p, name, NULL, NULL, &took_next, FROM_FILE);
    value = fl_slice_dup(fl_slice_trim(fl_slice_from(line, equals + 1)));
    if (value == NULL)
        return fl_fail(p->err, FL_NO_MEMORY, 0, "no memory for a value of %zu bytes", line.len - equals);
    return set_named(p, name, value, NULL, &took_next, FROM_FILE);
}

static FL_CHECKED enum fl_status take_lines(const struct parse *p, const char *path, struct fl_slice text)
{
    for (unsigned number = 1; text.len > 0; number++) {
        size_t end = FL_MIN(fl_slice_find(text, '\n'), text.len);

        if (take_file_line(p, fl_slice_of(text.at, end)) != FL_OK)
            return fl_fail_in(p->err, "%.80s:%u", path, number);
        text = fl_slice_from(text, end + 1);
    }
    return FL_OK;
}

static FL_CHECKED enum fl_status take_file(const struct parse *p, const char *path)
{
    struct fl_buf  text;
    enum fl_status s;

    fl_buf_init(&text, FLAG_FILE_BYTES);
    s = read_file(path, &text, p->err);
    if (s == FL_OK)
        s = take_lines(p, path, fl_buf_slice(&text));
    fl_buf_done(&text);
    return s;
}

/* "--flagfile=X" or "--flagfile X" at argv[*i]: X, and *i is at its last word. NULL if it is another flag; "" if the
 * file is missing. */
static const char *flag_file(int argc, char **argv, int *i)
{
    const char *word = argv[*i] + 2;
    size_t      len = strcspn(word, "=");

    if (!is_name("flagfile", fl_slice_of(word, len)))
        return NULL;
    if (word[len] == '=')
        return word + len + 1;
    return *i + 1 < argc ? argv[++*i] : "";
}

/* Before the rest of the command line is looked at: --help, and the flag files, which it overrules. */
static FL_CHECKED enum fl_status take_files(const struct parse *p, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char    *path;
        enum fl_status s;

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return fl_fail(p->err, FL_CLOSED, 0, "help was asked for");
        path = strncmp(argv[i], "--", 2) == 0 ? flag_file(argc, argv, &i) : NULL;
        if (path == NULL)
            continue;
        if (*path == '\0')
            return fl_fail(p->err, FL_USAGE, 0, "--flagfile without a value: a path is expected");
        s = take_file(p, path);
        if (s != FL_OK)
            return s;
    }
    return FL_OK;
}

static FL_CHECKED enum fl_status take_argument(const struct parse *p, char *word, struct fl_strings *args)
{
    if (args == NULL || p->t->arguments == NULL || *p->t->arguments == '\0')
        return fl_fail(p->err, FL_USAGE, 0, "'%.*s': %s takes no arguments beside its flags", SHOWN_BYTES, word,
                       p->t->program);
    return base_strings_add(args, word, false, p->err);
}

/* One word of the command line that begins with "--", and *i moves on to the last that belongs to it. */
static FL_CHECKED enum fl_status take_flag(const struct parse *p, int argc, char **argv, int *i)
{
    const char    *word = argv[*i] + 2;
    size_t         len = strcspn(word, "=");
    bool           took_next = false;
    enum fl_status s;

    if (flag_file(argc, argv, i) != NULL) /* done by take_files */
        return FL_OK;
    s = set_named(p, fl_slice_of(word, len), word[len] == '=' ? word + len + 1 : NULL,
                  *i + 1 < argc ? argv[*i + 1] : NULL, &took_next, FROM_LINE);
    *i += took_next;
    return s;
}

static FL_CHECKED enum fl_status take_line(const struct parse *p, int argc, char **argv, struct fl_strings *args)
{
    enum fl_status s = FL_OK;
    bool           only_arguments = false;

    for (int i = 1; i < argc && s == FL_OK; i++) {
        if (!only_arguments && strcmp(argv[i], "--") == 0)
            only_arguments = true;
        else if (!only_arguments && strncmp(argv[i], "--", 2) == 0)
            s = take_flag(p, argc, argv, &i);
        else if (!only_arguments && argv[i][0] == '-' && argv[i][1] != '\0')
            s = fl_fail(p->err, FL_USAGE, 0, "%.*s: no such flag; flags begin with two dashes", SHOWN_BYTES, argv[i]);
        else
            s = take_argument(p, argv[i], args);
    }
    return s;
}

static FL_CHECKED enum fl_status check_required(const struct parse *p)
{
    for (size_t i = 0; i < p->t->count; i++) {
        const struct fl_flag *f = &p->t->flags[i];

        if (f->required && p->source[i] == FROM_NOTHING) {
            base_flag_expected(f, p->err);
            return fl_fail_in(p->err, "--%s is required, and was not given", f->name);
        }
    }
    return FL_OK;
}

static FL_CHECKED enum fl_status take_all(const struct parse *p, int argc, char **argv, struct fl_strings *args)
{
    enum fl_status s = take_defaults(p);

    if (s == FL_OK)
        s = take_environment(p);
    if (s == FL_OK)
        s = take_files(p, argc, argv);
    if (s == FL_OK)
        s = take_line(p, argc, argv, args);
    return s == FL_OK ? check_required(p) : s;
}

enum fl_status fl_flags_parse(const struct fl_flag_table *t, void *into, int argc, char **argv, struct fl_strings *args,
                              struct fl_error *err)
{
    struct fl_error            unwanted = { .text = "" };
    FL_AUTO_MEM unsigned char *source = calloc(t->count + 1, 1);
    struct parse               p = { t, into, source, err == NULL ? &unwanted : err };
    enum fl_status             s;

    if (args != NULL)
        *args = (struct fl_strings){ NULL, 0 };
    if (source == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for %zu flags", t->count);
    s = take_all(&p, argc, argv, args);
    if (s != FL_OK) {
        fl_flags_done(t, into);
        if (args != NULL)
            fl_strings_done(args);
    }
    return s;
}

void fl_flags_done(const struct fl_flag_table *t, void *into)
{
    for (size_t i = 0; i < t->count; i++)
        base_flag_clear(&t->flags[i], into);
}
