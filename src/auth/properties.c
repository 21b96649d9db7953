#include "auth/properties.h"

#include <assert.h>
#include <expat.h>
#include <limits.h>
#include <stdio.h>

enum { ARENA_BLOCK = 16 * 1024, ARENA_LIMIT = 64 * 1024 * 1024 };

struct reading {
    XML_Parser         parser;
    struct properties *into;
    struct fl_buf      text;      /* of the element that is being captured */
    bool               capturing; /* inside <name>, <value>, <final> or another element Hadoop keeps the text of */
    unsigned           depth;
    struct property    now;
    enum fl_status     status;
    char               why[160]; /* set: reading was stopped */
};

void properties_free(struct properties *p)
{
    if (p == NULL)
        return;
    auth_strmap_done(&p->by_name);
    free(p->at);
    fl_arena_done(&p->arena);
    free(p);
}

static void stop(struct reading *r, enum fl_status status, const char *why)
{
    if (r->why[0] != '\0')
        return;
    r->status = status;
    snprintf(r->why, sizeof r->why, "%s", why);
    XML_StopParser(r->parser, XML_FALSE);
}

/* Hadoop looks at local names, whatever the prefix. */
static const char *local_name(const char *name)
{
    const char *colon = strrchr(name, ':');

    return colon == NULL ? name : colon + 1;
}

static bool is(const char *name, const char *wanted)
{
    return strcmp(name, wanted) == 0;
}

static struct fl_slice keep(struct reading *r, struct fl_slice s)
{
    struct fl_slice kept = fl_arena_copy(&r->into->arena, s);

    if (kept.at == NULL)
        stop(r, FL_NO_MEMORY, "no memory for the properties");
    return kept;
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

static struct property *add_property(struct reading *r, struct fl_slice name)
{
    struct properties *p = r->into;

    if (p->count == PROPERTIES_MAX_COUNT) {
        stop(r, FL_MALFORMED, "more than 100000 properties, which is the most allowed");
        return NULL;
    }
    if (p->count == p->cap) {
        size_t           cap = p->cap == 0 ? 64 : p->cap * 2;
        struct property *at = realloc(p->at, cap * sizeof *at);

        if (at == NULL) {
            stop(r, FL_NO_MEMORY, "no memory for the properties");
            return NULL;
        }
        p->at = at;
        p->cap = cap;
    }
    if (!auth_strmap_put(&p->by_name, 0, name, (uint32_t)p->count)) {
        stop(r, FL_NO_MEMORY, "no memory for the properties");
        return NULL;
    }
    p->at[p->count] = (struct property){ .name = name };
    return &p->at[p->count++];
}

static void end_property(struct reading *r)
{
    struct property *p;
    uint32_t         index;

    if (r->now.name.at == NULL)
        return;
    p = auth_strmap_get(&r->into->by_name, 0, r->now.name, &index) ? &r->into->at[index] : add_property(r, r->now.name);
    if (p == NULL)
        return;
    if (!p->final && r->now.value.at != NULL)
        p->value = r->now.value;
    p->emptied = p->emptied || r->now.emptied;
    p->final = p->final || r->now.final;
}

static void start_property(struct reading *r, const char **attributes)
{
    r->now = (struct property){ 0 };
    for (; attributes[0] != NULL; attributes += 2) {
        const char *name = local_name(attributes[0]);

        if (is(name, "name"))
            r->now.name = keep(r, fl_slice_str(attributes[1]));
        else if (is(name, "value"))
            r->now.value = keep(r, fl_slice_str(attributes[1]));
        else if (is(name, "final"))
            r->now.final = is(attributes[1], "true");
    }
}

/* ---- expat's callbacks ------------------------------------------------------------------------------------------- */

static void XMLCALL on_start(void *arg, const char *qualified, const char **attributes)
{
    struct reading *r = arg;
    const char     *name = local_name(qualified);

    if (r->depth++ == 0 && !is(name, "configuration"))
        stop(r, FL_MALFORMED, "the root element is not <configuration>");
    else if (r->depth > PROPERTIES_MAX_DEPTH)
        stop(r, FL_MALFORMED, "elements nested more than 32 deep, which is the most allowed");
    else if (is(name, "include"))
        stop(r, FL_MALFORMED, "<include> is not supported: put all properties into one file");
    else if (is(name, "property"))
        start_property(r, attributes);
    else if (is(name, "name") || is(name, "value") || is(name, "final") || is(name, "source") || is(name, "tag")) {
        r->capturing = true;
        fl_buf_clear(&r->text);
    }
}

static void XMLCALL on_text(void *arg, const char *text, int len)
{
    struct reading *r = arg;

    if (r->capturing && !fl_buf_put(&r->text, text, (size_t)len))
        stop(r, FL_NO_MEMORY, "no memory for a value");
}

struct fl_slice properties_trim(struct fl_slice s)
{
    if (s.at == NULL)
        return s;
    while (s.len > 0 && s.at[0] <= ' ')
        s = fl_slice_from(s, 1);
    while (s.len > 0 && s.at[s.len - 1] <= ' ')
        s.len--;
    return s;
}

static void XMLCALL on_end(void *arg, const char *qualified)
{
    struct reading *r = arg;
    struct fl_slice text = r->text.data == NULL ? FL_LIT("") : fl_buf_slice(&r->text);
    const char     *name = local_name(qualified);

    r->depth--;
    if (is(name, "name")) {
        if (text.len > 0)
            r->now.name = keep(r, properties_trim(text));
    } else if (is(name, "value")) {
        if (text.len > 0)
            r->now.value = keep(r, text);
        r->now.emptied = text.len == 0;
    } else if (is(name, "final")) {
        r->now.final = fl_slice_equal(text, FL_LIT("true"));
    } else if (is(name, "property")) {
        end_property(r);
    } else if (!is(name, "source") && !is(name, "tag")) {
        return; /* an unknown element inside a value: its text belongs to the value */
    }
    r->capturing = false;
}

static void XMLCALL on_entity(void *arg, const char *name, int is_parameter, const char *value, int len,
                              const char *base, const char *system_id, const char *public_id, const char *notation)
{
    (void)name, (void)is_parameter, (void)value, (void)len, (void)base, (void)system_id, (void)public_id,
        (void)notation;
    stop(arg, FL_MALFORMED, "an entity declaration, which is not allowed");
}

static void XMLCALL on_skipped(void *arg, const char *name, int is_parameter)
{
    (void)name, (void)is_parameter;
    stop(arg, FL_MALFORMED, "a reference to an entity that is not one of XML's own");
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static enum fl_status run(struct reading *r, struct fl_slice xml, struct fl_error *err)
{
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, on_start, on_end);
    XML_SetCharacterDataHandler(r->parser, on_text);
    XML_SetEntityDeclHandler(r->parser, on_entity);
    XML_SetSkippedEntityHandler(r->parser, on_skipped);
    if (XML_Parse(r->parser, (const char *)xml.at, (int)xml.len, 1) == XML_STATUS_OK && r->why[0] == '\0')
        return FL_OK;
    if (XML_GetErrorCode(r->parser) == XML_ERROR_NO_MEMORY)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory to read the XML");
    return fl_fail(err, r->why[0] != '\0' ? r->status : FL_MALFORMED, 0, "line %lu: %s",
                   (unsigned long)XML_GetCurrentLineNumber(r->parser),
                   r->why[0] != '\0' ? r->why : XML_ErrorString(XML_GetErrorCode(r->parser)));
}

enum fl_status properties_parse(struct fl_slice xml, struct properties **out, struct fl_error *err)
{
    FL_AUTO(properties) p = calloc(1, sizeof *p);
    struct reading r = { .into = p, .depth = 0 };
    enum fl_status s;

    if (p == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the properties");
    fl_arena_init(&p->arena, ARENA_BLOCK, ARENA_LIMIT);
    if (xml.len > PROPERTIES_MAX_BYTES)
        return fl_fail(err, FL_MALFORMED, 0, "%zu bytes, where at most %d are allowed", xml.len, PROPERTIES_MAX_BYTES);
    r.parser = XML_ParserCreate(NULL);
    if (r.parser == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory to read the XML");
    fl_buf_init(&r.text, PROPERTIES_MAX_BYTES);
    s = run(&r, xml, err);
    fl_buf_done(&r.text);
    XML_ParserFree(r.parser);
    if (s == FL_OK)
        *out = FL_TAKE(p);
    return s;
}

/* ---- variables --------------------------------------------------------------------------------------------------- */

enum { MOST_REPLACEMENTS = 20 }; /* as Hadoop */

/* The first innermost ${…}: between the braces no '}', '$' or blank, and at least one character. */
static bool find_variable(struct fl_slice s, size_t *from, size_t *to)
{
    for (size_t i = 0; i + 2 < s.len; i++) {
        size_t end = i + 2;

        if (s.at[i] != '$' || s.at[i + 1] != '{')
            continue;
        while (end < s.len && s.at[end] != '}' && s.at[end] != '$' && s.at[end] != ' ')
            end++;
        if (end < s.len && s.at[end] == '}' && end > i + 2) {
            *from = i;
            *to = end + 1;
            return true;
        }
    }
    return false;
}

/* "NAME", "NAME-word" or "NAME:-word". */
static bool from_environment(struct fl_slice spec, struct fl_slice *value)
{
    size_t      dash = fl_slice_find(spec, '-');
    bool        also_empty = dash != SIZE_MAX && dash > 0 && spec.at[dash - 1] == ':';
    char        name[128];
    size_t      len = dash == SIZE_MAX ? spec.len : dash - (also_empty ? 1 : 0);
    const char *found;

    if (len == 0 || len >= sizeof name)
        return false;
    memcpy(name, spec.at, len);
    name[len] = '\0';
    found = getenv(name);
    if (found != NULL && !(also_empty && *found == '\0'))
        *value = fl_slice_str(found);
    else if (dash != SIZE_MAX)
        *value = fl_slice_from(spec, dash + 1);
    else
        return false;
    return true;
}

static bool raw_value(const struct properties *p, struct fl_slice name, struct fl_slice *value)
{
    uint32_t index;

    if (!auth_strmap_get(&p->by_name, 0, name, &index) || p->at[index].value.at == NULL)
        return false;
    *value = p->at[index].value;
    return true;
}

/* Replaces one variable of *value, which lives in *text or in p, into *next. FL_NOT_FOUND: there is none that is known. */
static enum fl_status replace_one(const struct properties *p, struct fl_slice value, struct fl_buf *next,
                                  bool *unresolved)
{
    size_t          from, to;
    struct fl_slice name, with;
    enum fl_status  s;

    if (!find_variable(value, &from, &to))
        return FL_NOT_FOUND;
    assert(value.at != NULL);
    name = fl_slice_of(value.at + from + 2, to - from - 3);
    if (!(fl_slice_starts(name, FL_LIT("env.")) && from_environment(fl_slice_from(name, 4), &with)) &&
        !raw_value(p, name, &with)) {
        if (unresolved != NULL)
            *unresolved = true;
        return FL_NOT_FOUND; /* Hadoop, too, replaces nothing after the first unknown one */
    }
    fl_buf_clear(next);
    s = fl_buf_reserve(next, from + with.len + (value.len - to), NULL); /* FL_MALFORMED past the limit */
    if (s != FL_OK)
        return s;
    fl_buf_put(next, value.at, from);
    fl_buf_put_slice(next, with);
    fl_buf_put_slice(next, fl_slice_from(value, to));
    return FL_OK;
}

enum fl_status properties_get(const struct properties *p, struct fl_slice name, struct fl_buf *out, bool *unresolved,
                              struct fl_error *err)
{
    struct fl_buf   texts[2];
    struct fl_slice value;
    enum fl_status  s = FL_OK;
    int             turn = 0;

    if (unresolved != NULL)
        *unresolved = false;
    if (!raw_value(p, name, &value))
        return fl_fail(err, FL_NOT_FOUND, 0, "no property '%.*s'", FL_SLICE_ARGS(name));
    fl_buf_init(&texts[0], PROPERTIES_MAX_BYTES);
    fl_buf_init(&texts[1], PROPERTIES_MAX_BYTES);
    while (turn < MOST_REPLACEMENTS && (s = replace_one(p, value, &texts[turn % 2], unresolved)) == FL_OK)
        value = fl_buf_slice(&texts[turn++ % 2]);
    if (s == FL_NOT_FOUND)
        s = fl_buf_put_slice(out, value) ? FL_OK : FL_NO_MEMORY;
    if (s == FL_NO_MEMORY)
        s = fl_fail(err, FL_NO_MEMORY, 0, "no memory for a value");
    else if (s != FL_OK || turn == MOST_REPLACEMENTS)
        s = fl_fail(err, FL_MALFORMED, 0, "property '%.*s': %s", FL_SLICE_ARGS(name),
                    s == FL_OK ? "more than 20 variables to replace, or a circle of them" : "its value grows too long");
    fl_buf_done(&texts[0]);
    fl_buf_done(&texts[1]);
    return s;
}
