/* Request bodies: the first byte chooses object or list, the rest is the body. What is accepted must be walkable, its
 * strings valid UTF-8, and a refusal must say something. */
#include "base/encode.h"
#include "kms/json_read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void walk(const struct json_value *v)
{
    for (; v != NULL; v = v->next) {
        if (!fl_utf8_valid(v->name) || !fl_utf8_valid(v->text))
            abort();
        if (v->first != NULL && v->kind != JSON_ARRAY && v->kind != JSON_OBJECT)
            abort();
        walk(v->first);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    bool                     array = len > 0 && (data[0] & 1) != 0;
    struct fl_slice          body = fl_slice_of(data + (len > 0), len > 0 ? len - 1 : 0);
    const struct json_value *v = NULL;
    struct json_fault        fault;
    struct fl_arena          arena;
    enum fl_status           s;

    fl_arena_init(&arena, 4096, 1 << 20);
    s = kms_json_read(body, array, &arena, &v, &fault);
    if (s == FL_OK) {
        if (v->kind != JSON_NULL && v->kind != (array ? JSON_ARRAY : JSON_OBJECT))
            abort();
        walk(v);
    } else if (s == FL_MALFORMED && fault.text[0] == '\0') {
        abort();
    }
    fl_arena_done(&arena);
    return 0;
}
