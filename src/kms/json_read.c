/* The JSON reader. Texts follow Jackson 2.12, whose first line reaches the client. */
#include "kms/json_read.h"

#include "base/encode.h"
#include "base/own.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE "(org.eclipse.jetty.server.HttpInputOverHTTP)"
#define ANY_VALUE "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"

struct reader {
    const uint8_t     *at, *begin, *end;
    struct fl_arena   *arena;
    struct json_fault *fault;
    bool               list;    /* an array is wanted */
    bool               element; /* inside an element of it: Jackson wraps what goes wrong there */
    unsigned           depth;
};

static enum fl_status read_value(struct reader *r, struct json_value *v);

static FL_PRINTF(3, 4) enum fl_status fail(struct reader *r, enum json_fault_kind kind, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(r->fault->text, sizeof r->fault->text, format, args);
    va_end(args);
    r->fault->kind = r->element && kind != JSON_BAD_SHAPE ? JSON_BAD_ELEMENT : kind;
    return FL_MALFORMED;
}

static enum fl_status unexpected(struct reader *r, const char *wanted)
{
    uint8_t c = *r->at;

    if (c == '/')
        return fail(r, JSON_BAD_TEXT,
                    "Unexpected character ('/' (code 47)): maybe a (non-standard) comment? (not recognized "
                    "as one since Feature 'ALLOW_COMMENTS' not enabled for parser)");
    if (c < 0x20)
        return fail(r, JSON_BAD_TEXT,
                    "Illegal character ((CTRL-CHAR, code %u)): only regular white space (\\r, \\n, \\t) is "
                    "allowed between tokens",
                    c);
    if (c >= 0x80)
        return fail(r, JSON_BAD_TEXT, "Unexpected character (code %u): %s", c, wanted);
    return fail(r, JSON_BAD_TEXT, "Unexpected character ('%c' (code %u)): %s", c, c, wanted);
}

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static bool next_is(struct reader *r, char c)
{
    if (r->at == r->end || *r->at != (uint8_t)c)
        return false;
    r->at++;
    return true;
}

/* The end came where a container should go on: as Jackson, its start is told by line and column. */
static enum fl_status unclosed(struct reader *r, const char *what, const uint8_t *start)
{
    unsigned       line = 1;
    const uint8_t *line_begin = r->begin;

    for (const uint8_t *p = r->begin; p < start; p++)
        if (*p == '\n') {
            line++;
            line_begin = p + 1;
        }
    return fail(r, JSON_CUT_SHORT,
                "Unexpected end-of-input: expected close marker for %s (start marker at [Source: " SOURCE
                "; line: %u, column: %zu])",
                what, line, (size_t)(start - line_begin) + 1);
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* at: the four digits. -1: not four, or the end. */
static int32_t code_unit(const struct reader *r, const uint8_t *at)
{
    int32_t n = 0;

    for (int i = 0; i < 4; i++) {
        int digit = at + i < r->end ? hex_digit(at[i]) : -1;

        if (digit < 0)
            return -1;
        n = n << 4 | digit;
    }
    return n;
}

/* r->at: behind "\u". Half a surrogate pair becomes '?', which is what Java's encoder makes of it. */
static FL_CHECKED enum fl_status read_unicode(struct reader *r, uint8_t **to)
{
    int32_t c = code_unit(r, r->at), low;

    if (c < 0)
        return r->end - r->at < 4 ? fail(r, JSON_CUT_SHORT, "Unexpected end-of-input in character escape sequence")
                                  : unexpected(r, "expected a hex-digit for character escape sequence");
    r->at += 4;
    if (c >= 0xd800 && c < 0xdc00 && r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u' &&
        (low = code_unit(r, r->at + 2)) >= 0xdc00 && low < 0xe000) {
        r->at += 6;
        *to = kms_utf8_put(*to, 0x10000 + (((uint32_t)c & 0x3ff) << 10 | ((uint32_t)low & 0x3ff)));
        return FL_OK;
    }
    *to = kms_utf8_put(*to, c >= 0xd800 && c < 0xe000 ? '?' : (uint32_t)c);
    return FL_OK;
}

/* r->at: behind the backslash. */
static FL_CHECKED enum fl_status read_escape(struct reader *r, uint8_t **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char       *which;

    if (r->at == r->end)
        return fail(r, JSON_CUT_SHORT, "Unexpected end-of-input in character escape sequence");
    if (*r->at == 'u') {
        r->at++;
        return read_unicode(r, to);
    }
    which = *r->at == 0 ? NULL : strchr(from, *r->at);
    if (which == NULL)
        return fail(r, JSON_BAD_TEXT, "Unrecognized character escape (code %u)", *r->at);
    *(*to)++ = (uint8_t)into[which - from];
    r->at++;
    return FL_OK;
}

/* Finds the closing quote; *escaped tells whether the text must be rewritten. */
static FL_CHECKED enum fl_status find_quote(struct reader *r, const char *where, const uint8_t **quote, bool *escaped)
{
    const uint8_t *p = r->at;

    for (*escaped = false; p < r->end && *p != '"'; p++) {
        if (*p < 0x20)
            return fail(r, JSON_BAD_TEXT,
                        "Illegal unquoted character ((CTRL-CHAR, code %u)): has to be escaped using "
                        "backslash to be included in %s",
                        *p, where);
        if (*p == '\\') {
            *escaped = true;
            if (++p == r->end)
                break;
        }
    }
    if (p >= r->end)
        return fail(r, JSON_CUT_SHORT, "Unexpected end-of-input %s",
                    where[0] == 's' ? "in VALUE_STRING" : "in field name");
    if (!fl_utf8_valid(fl_slice_of(r->at, (size_t)(p - r->at))))
        return fail(r, JSON_BAD_TEXT, "Invalid UTF-8 byte in %s", where);
    *quote = p;
    return FL_OK;
}

/* r->at: behind the opening quote. */
static FL_CHECKED enum fl_status read_string(struct reader *r, const char *where, struct fl_slice *out)
{
    const uint8_t *quote = NULL;
    bool           escaped;
    uint8_t       *begin, *to;
    enum fl_status s = find_quote(r, where, &quote, &escaped);

    if (s != FL_OK)
        return s;
    *out = fl_slice_of(r->at, (size_t)(quote - r->at));
    if (escaped) {
        if ((begin = to = fl_arena_take(r->arena, out->len)) == NULL)
            return FL_NO_MEMORY;
        while (r->at < quote) {
            if (*r->at != '\\') {
                *to++ = *r->at++;
                continue;
            }
            r->at++;
            if ((s = read_escape(r, &to)) != FL_OK)
                return s;
        }
        *out = fl_slice_of(begin, (size_t)(to - begin));
    }
    r->at = quote + 1;
    return FL_OK;
}

/* ---- numbers and words ------------------------------------------------------------------------------------------- */

static size_t digits(struct reader *r)
{
    const uint8_t *from = r->at;

    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    return (size_t)(r->at - from);
}

static FL_CHECKED enum fl_status need_digits(struct reader *r, const char *wanted)
{
    if (digits(r) > 0)
        return FL_OK;
    if (r->at == r->end && r->at[-1] != '.')
        return fail(r, JSON_CUT_SHORT, "Unexpected end-of-input in a Number value");
    if (r->at == r->end) /* the point is what Jackson complains of */
        r->at--;
    return unexpected(r, wanted);
}

static void classify(struct json_value *v, const uint8_t *from, size_t len)
{
    char      text[24];
    long long n;

    v->kind = JSON_BIG;
    if (len >= sizeof text)
        return;
    memcpy(text, from, len);
    text[len] = '\0';
    errno = 0;
    n = strtoll(text, NULL, 10);
    if (errno != 0)
        return;
    v->number = n;
    v->kind = n >= INT32_MIN && n <= INT32_MAX ? JSON_INT : JSON_LONG;
}

static FL_CHECKED enum fl_status read_number(struct reader *r, struct json_value *v)
{
    const uint8_t *from = r->at;
    enum fl_status s = FL_OK;
    bool           whole = true;

    next_is(r, '-');
    if (r->at < r->end && *r->at == '0' && r->end - r->at > 1 && r->at[1] >= '0' && r->at[1] <= '9')
        return fail(r, JSON_BAD_TEXT, "Invalid numeric value: Leading zeroes not allowed");
    s = need_digits(r, "Expected digit (0-9) to follow minus sign, for valid numeric value");
    if (s == FL_OK && next_is(r, '.')) {
        whole = false;
        s = need_digits(r, "Decimal point not followed by a digit");
    }
    if (s == FL_OK && (next_is(r, 'e') || next_is(r, 'E'))) {
        whole = false;
        if (!next_is(r, '+'))
            next_is(r, '-');
        s = need_digits(r, "Exponent indicator not followed by a digit");
    }
    v->kind = JSON_DOUBLE;
    if (s == FL_OK && whole)
        classify(v, from, (size_t)(r->at - from));
    return s;
}

static bool is_word(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           c >= 0x80;
}

static FL_CHECKED enum fl_status read_word(struct reader *r, struct json_value *v)
{
    static const struct {
        const char    *word;
        enum json_kind kind;
    } words[] = { { "null", JSON_NULL }, { "true", JSON_BOOL }, { "false", JSON_BOOL } };
    const uint8_t  *end = r->at;
    struct fl_slice word;

    while (end < r->end && is_word(*end))
        end++;
    word = fl_slice_of(r->at, (size_t)(end - r->at));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (fl_slice_equal(word, fl_slice_str(words[i].word))) {
            v->kind = words[i].kind;
            v->number = words[i].word[0] == 't';
            r->at = end;
            return FL_OK;
        }
    if (word.len == 0 || word.at[0] >= 0x80)
        return unexpected(r, "expected a valid value " ANY_VALUE);
    if (word.at[0] >= 'A' && (fl_slice_equal(word, FL_LIT("NaN")) || fl_slice_equal(word, FL_LIT("Infinity"))))
        return fail(r, JSON_BAD_TEXT,
                    "Non-standard token '%.*s': enable JsonParser.Feature.ALLOW_NON_NUMERIC_NUMBERS to allow",
                    FL_SLICE_ARGS(word));
    return fail(r, JSON_BAD_TEXT, "Unrecognized token '%.*s': was expecting " ANY_VALUE, (int)FL_MIN(word.len, 100),
                word.at);
}

/* ---- containers -------------------------------------------------------------------------------------------------- */

static struct json_value *new_value(struct reader *r, const struct json_value ***tail)
{
    struct json_value *v = fl_arena_take(r->arena, sizeof *v);

    if (v == NULL)
        return NULL;
    memset(v, 0, sizeof *v);
    **tail = v;
    *tail = &v->next;
    return v;
}

/* One "name": value; r->at: at the name. */
static FL_CHECKED enum fl_status read_member(struct reader *r, struct json_value *member)
{
    enum fl_status s;

    if (!next_is(r, '"'))
        return unexpected(r, "was expecting double-quote to start field name");
    if ((s = read_string(r, "name", &member->name)) != FL_OK)
        return s;
    skip_blanks(r);
    if (r->at == r->end)
        return fail(r, JSON_CUT_SHORT, "Unexpected end-of-input within/between Object entries");
    if (!next_is(r, ':'))
        return unexpected(r, "was expecting a colon to separate field name and value");
    skip_blanks(r);
    if (r->at == r->end)
        return fail(r, JSON_CUT_SHORT, "Unexpected end-of-input within/between Object entries");
    return read_value(r, member);
}

/* r->at: behind the opening bracket, which is at `start`. */
static FL_CHECKED enum fl_status read_items(struct reader *r, struct json_value *v, const uint8_t *start)
{
    bool                      object = v->kind == JSON_OBJECT;
    const char               *what = object ? "Object" : "Array";
    const struct json_value **tail = &v->first;

    for (bool more = false;; more = true) {
        struct json_value *item;
        enum fl_status     s;

        skip_blanks(r);
        if (r->at == r->end)
            return unclosed(r, what, start);
        if (next_is(r, object ? '}' : ']'))
            return FL_OK;
        if (more && !next_is(r, ','))
            return unexpected(r, object ? "was expecting comma to separate Object entries"
                                        : "was expecting comma to separate Array entries");
        skip_blanks(r);
        if (more && r->at == r->end) /* nothing behind a comma: to Jackson no end that came too early */
            return fail(r, JSON_BAD_TEXT, "Unexpected end-of-input within/between %s entries", what);
        if ((item = new_value(r, &tail)) == NULL)
            return FL_NO_MEMORY;
        if ((s = object ? read_member(r, item) : read_value(r, item)) != FL_OK)
            return s;
    }
}

static FL_CHECKED enum fl_status read_container(struct reader *r, struct json_value *v)
{
    const uint8_t *start = r->at;
    enum fl_status s;

    if (r->depth == KMS_JSON_DEPTH)
        return fail(r, JSON_BAD_TEXT, "Document nesting depth exceeds the maximum allowed (%d)", KMS_JSON_DEPTH);
    v->kind = *r->at++ == '{' ? JSON_OBJECT : JSON_ARRAY;
    r->depth++;
    s = read_items(r, v, start);
    r->depth--;
    return s;
}

/* r->at: at the value's first byte. */
static enum fl_status read_value(struct reader *r, struct json_value *v)
{
    uint8_t        c = *r->at;
    bool           was = r->element;
    enum fl_status s;

    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(r, v);
    if (c != '"' && c != '{' && c != '[')
        return read_word(r, v);
    /* Jackson reads what stands inside an element of the wanted list in a step of its own and wraps its failures. */
    r->element = was || (r->list && r->depth == 1);
    if (c == '"') {
        r->at++;
        v->kind = JSON_STRING;
        s = read_string(r, "string value", &v->text);
    } else {
        s = read_container(r, v);
    }
    r->element = was;
    return s;
}

/* ---- the face ---------------------------------------------------------------------------------------------------- */

static FL_CHECKED enum fl_status check_shape(struct reader *r, const struct json_value *v)
{
    static const char *const tokens[][2] = {
        [JSON_BOOL] = { "Boolean", "VALUE_TRUE" },
        [JSON_INT] = { "Integer", "VALUE_NUMBER_INT" },
        [JSON_LONG] = { "Integer", "VALUE_NUMBER_INT" },
        [JSON_BIG] = { "Integer", "VALUE_NUMBER_INT" },
        [JSON_DOUBLE] = { "Floating-point", "VALUE_NUMBER_FLOAT" },
        [JSON_ARRAY] = { "Array", "START_ARRAY" },
        [JSON_OBJECT] = { "Object", "START_OBJECT" },
    };

    if (v->kind == JSON_NULL || v->kind == (r->list ? JSON_ARRAY : JSON_OBJECT))
        return FL_OK;
    if (v->kind == JSON_STRING)
        return fail(r, JSON_BAD_SHAPE,
                    "Cannot construct instance of `java.util.%s` (although at least one Creator exists): no "
                    "String-argument constructor/factory method to deserialize from String value ('%.*s')",
                    r->list ? "ArrayList" : "LinkedHashMap", (int)FL_MIN(v->text.len, 60), v->text.at);
    return fail(r, JSON_BAD_SHAPE,
                "Cannot deserialize value of type `java.util.%s` from %s value (token `JsonToken.%s`)",
                r->list ? "ArrayList<java.lang.Object>" : "LinkedHashMap<java.lang.Object,java.lang.Object>",
                tokens[v->kind][0], tokens[v->kind][1]);
}

/* Where the wrong container came, Jackson says so at its first byte and reads no further. */
static bool wrong_container(const struct reader *r)
{
    return *r->at == (r->list ? '{' : '[');
}

enum fl_status kms_json_read(struct fl_slice body, bool want_array, struct fl_arena *a, const struct json_value **out,
                             struct json_fault *fault)
{
    struct reader             r = { .arena = a, .fault = fault, .list = want_array };
    const struct json_value **tail = out;
    struct json_value        *v;
    enum fl_status            s = kms_json_utf8(body, a, &body);

    *out = NULL;
    if (s == FL_MALFORMED)
        return fail(&r, JSON_BAD_CHARSET, "Invalid UTF-16 or UTF-32 in the request");
    if (s != FL_OK)
        return s;
    r.at = r.begin = body.at;
    r.end = body.len > 0 ? body.at + body.len : body.at;
    if (body.len > 0)
        skip_blanks(&r);
    if (r.at == r.end)
        return fail(&r, JSON_BAD_SHAPE, "No content to map due to end-of-input");
    if ((v = new_value(&r, &tail)) == NULL)
        return FL_NO_MEMORY;
    if (wrong_container(&r))
        v->kind = want_array ? JSON_OBJECT : JSON_ARRAY;
    else if ((s = read_value(&r, v)) != FL_OK)
        return s;
    return check_shape(&r, v);
}

const struct json_value *kms_json_member(const struct json_value *object, const char *name)
{
    const struct json_value *found = NULL;

    for (const struct json_value *m = object->first; m != NULL; m = m->next)
        if (fl_slice_equal(m->name, fl_slice_str(name)))
            found = m;
    return found;
}

const char *kms_json_java_class(enum json_kind kind)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",
        [JSON_BOOL] = "java.lang.Boolean",
        [JSON_INT] = "java.lang.Integer",
        [JSON_LONG] = "java.lang.Long",
        [JSON_BIG] = "java.math.BigInteger",
        [JSON_DOUBLE] = "java.lang.Double",
        [JSON_STRING] = "java.lang.String",
        [JSON_ARRAY] = "java.util.ArrayList",
        [JSON_OBJECT] = "java.util.LinkedHashMap",
    };

    return names[kind];
}
