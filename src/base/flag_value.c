#include "base/flag_value.h"

#include <inttypes.h>
#include <strings.h>

struct unit {
    const char *name;
    uint64_t    factor;
};

/* Largest first. */
static const struct unit byte_units[] = {
    { "TiB", UINT64_C(1) << 40 }, { "GiB", UINT64_C(1) << 30 }, { "MiB", UINT64_C(1) << 20 },
    { "KiB", UINT64_C(1) << 10 }, { "T", UINT64_C(1) << 40 },   { "G", UINT64_C(1) << 30 },
    { "M", UINT64_C(1) << 20 },   { "K", UINT64_C(1) << 10 },   { "B", 1 },
};
static const struct unit time_units[] = {
    { "d", UINT64_C(86400000000000) },
    { "h", UINT64_C(3600000000000) },
    { "m", UINT64_C(60000000000) },
    { "s", UINT64_C(1000000000) },
    { "ms", UINT64_C(1000000) },
    { "us", UINT64_C(1000) },
    { "ns", 1 },
};

/* Decimal digits at the front of text, advancing it; false without any, or beyond 64 bits. */
static bool read_digits(const char **text, uint64_t *n)
{
    const char *first = *text;

    for (*n = 0; **text >= '0' && **text <= '9'; (*text)++) {
        if (__builtin_mul_overflow(*n, 10, n) || __builtin_add_overflow(*n, (uint64_t)(**text - '0'), n))
            return false;
    }
    return *text > first;
}

static bool read_scaled(const char *text, const struct unit *units, size_t count, uint64_t bare,
                        int (*compare)(const char *a, const char *b), uint64_t *n)
{
    uint64_t factor = 0, digits;

    if (!read_digits(&text, &digits))
        return false;
    if (*text == '\0')
        factor = digits == 0 ? 1 : bare;
    for (size_t i = 0; *text != '\0' && i < count; i++)
        if (compare(text, units[i].name) == 0)
            factor = units[i].factor;
    return factor != 0 && !__builtin_mul_overflow(digits, factor, n);
}

enum fl_status fl_parse_duration(const char *text, const char *bare_unit, uint64_t *ns, struct fl_error *err)
{
    uint64_t bare = 0;

    for (size_t i = 0; bare_unit != NULL && i < FL_COUNT(time_units); i++)
        if (strcmp(bare_unit, time_units[i].name) == 0)
            bare = time_units[i].factor;
    if (!read_scaled(text, time_units, FL_COUNT(time_units), bare, strcmp, ns))
        return fl_fail(err, FL_USAGE, 0, "'%.60s': a duration such as 250ms, 5s, 10m, 1h or 7d is expected", text);
    return FL_OK;
}

enum fl_status fl_parse_bytes(const char *text, uint64_t *bytes, struct fl_error *err)
{
    if (!read_scaled(text, byte_units, FL_COUNT(byte_units), 1, strcasecmp, bytes))
        return fl_fail(err, FL_USAGE, 0, "'%.60s': a size such as 65536, 64KiB or 16M is expected", text);
    return FL_OK;
}

/* Ranges. */

bool base_flag_has_range(const struct fl_flag *f)
{
    bool number = f->type == FL_FLAG_INT || f->type == FL_FLAG_BYTES || f->type == FL_FLAG_DURATION;

    return number && (f->min != 0 || f->max != 0);
}

static bool has_upper(const struct fl_flag *f)
{
    return f->max >= f->min && f->max != INT64_MAX;
}

static bool int_fits(const struct fl_flag *f, int64_t n)
{
    return !base_flag_has_range(f) || (n >= f->min && (!has_upper(f) || n <= f->max));
}

static bool unsigned_fits(const struct fl_flag *f, uint64_t n)
{
    uint64_t min = (uint64_t)FL_MAX(f->min, 0), max = (uint64_t)FL_MAX(f->max, 0);

    return !base_flag_has_range(f) || (n >= min && (!has_upper(f) || n <= max));
}

/* With the largest unit that leaves no remainder. */
static void put_scaled(struct fl_buf *out, uint64_t n, const struct unit *units)
{
    while (n != 0 && n % units->factor != 0)
        units++;
    fl_buf_put_u64(out, n == 0 ? 0 : n / units->factor);
    if (n != 0 && strcmp(units->name, "B") != 0)
        fl_buf_put_str(out, units->name);
}

static void put_number(const struct fl_flag *f, int64_t n, struct fl_buf *out)
{
    if (f->type == FL_FLAG_INT)
        fl_buf_put_i64(out, n);
    else
        put_scaled(out, (uint64_t)FL_MAX(n, 0), f->type == FL_FLAG_BYTES ? byte_units : time_units);
}

void base_flag_put_range(const struct fl_flag *f, struct fl_buf *out)
{
    fl_buf_put_str(out, has_upper(f) ? "from " : "of at least ");
    put_number(f, f->min, out);
    if (has_upper(f)) {
        FL_BUF_LIT(out, " to ");
        put_number(f, f->max, out);
    }
}

static void put_choices(const char *choices, struct fl_buf *out)
{
    FL_BUF_LIT(out, "one of ");
    for (; *choices != '\0'; choices++) {
        if (*choices == '|')
            FL_BUF_LIT(out, ", ");
        else
            fl_buf_put_byte(out, (uint8_t)*choices);
    }
}

enum fl_status base_flag_expected(const struct fl_flag *f, struct fl_error *err)
{
    static const char *const what[] = {
        [FL_FLAG_BOOL] = "true or false",  [FL_FLAG_INT] = "a whole number", [FL_FLAG_BYTES] = "a size",
        [FL_FLAG_DURATION] = "a duration", [FL_FLAG_STRING] = "a value",     [FL_FLAG_ENUM] = "",
        [FL_FLAG_STRINGS] = "a value",
    };
    uint8_t       bytes[200];
    struct fl_buf text = { .data = bytes, .cap = sizeof bytes, .limit = sizeof bytes }; /* full, it is cut */

    fl_buf_put_str(&text, what[f->type]);
    if (f->type == FL_FLAG_ENUM)
        put_choices(f->choices, &text);
    if (base_flag_has_range(f)) {
        fl_buf_put_byte(&text, ' ');
        base_flag_put_range(f, &text);
    } else if (f->type == FL_FLAG_BYTES) {
        FL_BUF_LIT(&text, " such as 65536, 64KiB or 16M");
    } else if (f->type == FL_FLAG_DURATION) {
        FL_BUF_LIT(&text, " such as 250ms, 5s, 10m, 1h or 7d");
    }
    return fl_fail(err, FL_USAGE, 0, "%.*s is expected", FL_SLICE_ARGS(fl_buf_slice(&text)));
}

/* Types. Each reads text into the field, or says what is expected. */

static bool read_bool(const char *text, bool *value)
{
    static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };

    for (unsigned i = 0; i < FL_COUNT(words); i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *value = i % 2 == 1;
            return true;
        }
    }
    return false;
}

static bool read_int(const struct fl_flag *f, const char *text, int64_t *value)
{
    bool     negative = *text == '-';
    uint64_t n, most = (uint64_t)INT64_MAX + negative;
    int64_t  number;

    text += negative;
    if (!read_digits(&text, &n) || *text != '\0' || n > most)
        return false;
    number = negative ? (int64_t)-n : (int64_t)n;
    if (!int_fits(f, number))
        return false;
    *value = number;
    return true;
}

static bool read_unsigned(const struct fl_flag *f, const char *text, uint64_t *value)
{
    uint64_t       n = 0;
    enum fl_status s =
        f->type == FL_FLAG_BYTES ? fl_parse_bytes(text, &n, NULL) : fl_parse_duration(text, f->unit, &n, NULL);

    if (s != FL_OK || !unsigned_fits(f, n))
        return false;
    *value = n;
    return true;
}

static bool read_enum(const char *choices, const char *text, int *value)
{
    size_t len = strlen(text);

    for (int i = 0;; i++) {
        size_t choice_len = strcspn(choices, "|");

        if (choice_len == len && strncasecmp(choices, text, len) == 0) {
            *value = i;
            return true;
        }
        choices += choice_len;
        if (*choices++ == '\0')
            return false;
    }
}

static FL_CHECKED enum fl_status store_string(const struct fl_flag *f, void *field, const char *text,
                                              struct fl_error *err)
{
    FL_AUTO_MEM char *copy = strdup(text);

    if (copy == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a value of %zu bytes", strlen(text));
    if (f->type == FL_FLAG_STRINGS) {
        if (base_strings_add(field, copy, true, err) != FL_OK)
            return FL_NO_MEMORY;
        copy = NULL;
        return FL_OK;
    }
    free(*(char **)field);
    *(char **)field = FL_TAKE(copy);
    return FL_OK;
}

static FL_CHECKED enum fl_status run_extra_check(const struct fl_flag *f, const char *text, struct fl_error *err)
{
    struct fl_error own = { .status = FL_USAGE };

    if (f->valid == NULL || f->valid(text, &own))
        return FL_OK;
    return fl_fail(err, FL_USAGE, 0, "%s", own.text[0] == '\0' ? "not allowed" : own.text);
}

static bool read_plain(const struct fl_flag *f, void *field, const char *text)
{
    switch (f->type) {
    case FL_FLAG_BOOL: return read_bool(text, field);
    case FL_FLAG_INT: return read_int(f, text, field);
    case FL_FLAG_BYTES:
    case FL_FLAG_DURATION: return read_unsigned(f, text, field);
    case FL_FLAG_ENUM: return read_enum(f->choices, text, field);
    case FL_FLAG_STRING:
    case FL_FLAG_STRINGS: break;
    }
    return false;
}

enum fl_status base_flag_store(const struct fl_flag *f, void *into, const char *text, struct fl_error *err)
{
    void *field = base_flag_field(f, into);
    union {
        bool     b;
        int      i;
        int64_t  n;
        uint64_t u;
    } value;
    enum fl_status s;

    if (f->type == FL_FLAG_STRING || f->type == FL_FLAG_STRINGS) {
        s = run_extra_check(f, text, err);
        return s != FL_OK ? s : store_string(f, field, text, err);
    }
    if (!read_plain(f, &value, text)) /* aside first: a refused value must not touch the field */
        return base_flag_expected(f, err);
    s = run_extra_check(f, text, err);
    return s != FL_OK ? s : read_plain(f, field, text) ? FL_OK : base_flag_expected(f, err);
}

void base_flag_clear(const struct fl_flag *f, void *into)
{
    char **field = base_flag_field(f, into);

    if (f->type == FL_FLAG_STRINGS) {
        fl_strings_done((struct fl_strings *)(void *)field);
    } else if (f->type == FL_FLAG_STRING) {
        free(*field);
        *field = NULL;
    }
}

void base_flag_put_value(const struct fl_flag *f, const void *from, struct fl_buf *out)
{
    const void *field = (const char *)from + f->offset;
    const char *choice = f->choices;

    switch (f->type) {
    case FL_FLAG_BOOL: fl_buf_put_str(out, *(const bool *)field ? "true" : "false"); break;
    case FL_FLAG_INT: fl_buf_put_i64(out, *(const int64_t *)field); break;
    case FL_FLAG_BYTES: put_scaled(out, *(const uint64_t *)field, byte_units); break;
    case FL_FLAG_DURATION: put_scaled(out, *(const uint64_t *)field, time_units); break;
    case FL_FLAG_ENUM:
        for (int i = *(const int *)field; i > 0; i--)
            choice += strcspn(choice, "|") + 1;
        fl_buf_put(out, choice, strcspn(choice, "|"));
        break;
    case FL_FLAG_STRING: fl_buf_put_str(out, *(char *const *)field); break;
    case FL_FLAG_STRINGS: break;
    }
}

/* Lists of strings. The array stands behind a head that says whose the strings are, so that one fl_strings_done does
 * for lists of arguments (argv's) and of values (malloc'ed). A NULL ends the array. */

struct strings_head {
    size_t cap;
    bool   owned;
    char  *at[];
};

enum fl_status base_strings_add(struct fl_strings *s, char *text, bool owned, struct fl_error *err)
{
    struct strings_head *head = s->at == NULL ? NULL : FL_CONTAINER(s->at, struct strings_head, at);
    size_t               cap = head == NULL ? 4 : head->cap;

    if (head == NULL || s->count + 1 >= cap) {
        cap *= 2;
        head = realloc(head, sizeof *head + cap * sizeof head->at[0]);
        if (head == NULL)
            return fl_fail(err, FL_NO_MEMORY, 0, "no memory for %zu values", s->count + 1);
        head->cap = cap;
        head->owned = owned;
        s->at = head->at;
    }
    s->at[s->count++] = text;
    s->at[s->count] = NULL;
    return FL_OK;
}

void fl_strings_done(struct fl_strings *s)
{
    struct strings_head *head;

    if (s->at != NULL) {
        head = FL_CONTAINER(s->at, struct strings_head, at);
        for (size_t i = 0; head->owned && i < s->count; i++)
            free(s->at[i]);
        free(head);
    }
    *s = (struct fl_strings){ NULL, 0 };
}
