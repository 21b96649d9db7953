/* A query string, and a URL of the command line: every part lies inside the text. */
#include "http/http.h"

static void check_inside(struct fl_slice s, struct fl_slice text)
{
    if (s.at != NULL && (s.at < text.at || s.at + s.len > text.at + text.len))
        abort();
}

static void walk(struct fl_slice text)
{
    struct fl_slice rest = text, name, value;
    size_t          left = text.len + 1;

    while (http_query_next(&rest, &name, &value)) {
        check_inside(name, text);
        check_inside(value, text);
        if (rest.len >= left || fl_slice_find(name, '=') != SIZE_MAX || fl_slice_find(value, '&') != SIZE_MAX)
            abort();
        left = rest.len;
    }
    if (rest.len > 0)
        abort();
}

static void find(struct fl_slice text)
{
    static const char *const names[] = { "key", "user.name", "doAs", "a" };
    struct fl_arena          arena;
    struct http_request      r = { .query = text, .arena = &arena };

    fl_arena_init(&arena, 1024, 1 << 20);
    for (size_t i = 0; i < FL_COUNT(names); i++) {
        bool            found;
        struct fl_slice value = { NULL, 0 };
        enum fl_status  s = http_query_find(&r, names[i], i == 2, &found, &value, NULL);

        if (s != FL_OK && s != FL_MALFORMED)
            abort();
        if (s == FL_OK && found && value.len > text.len)
            abort();
    }
    fl_arena_done(&arena);
}

static void parse_url(struct fl_slice text)
{
    char           *copy = fl_slice_dup(text);
    struct http_url url;

    if (copy != NULL && http_url_parse(copy, &url, NULL) == FL_OK)
        if (url.host[0] == '\0' || url.local == (url.port != 0) || url.target.at[0] != '/' ||
            strlen(url.host) >= sizeof url.host)
            abort();
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fl_slice text = fl_slice_of(data, len);

    walk(text);
    find(text);
    parse_url(text);
    return 0;
}
