/* Targets: the path finds a resource, the query its parameters. Cut at the first '?', as http cuts. */
#include "kms/query.h"
#include "kms/route.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void try_path(struct fl_slice path, struct fl_arena *a)
{
    struct kms_route r;
    enum fl_status   s = kms_route_find(path, a, &r, NULL);

    if (s != FL_OK)
        return;
    if ((r.resource >= KMS_R_KEY) != (r.name.at != NULL) || r.name.len > path.len)
        abort();
    if (kms_route_allow(r.resource) == NULL ||
        (r.resource >= KMS_R_KEY && fl_slice_find(r.name, 0) != SIZE_MAX && fl_slice_find(path, 0) == SIZE_MAX))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fl_slice  all = fl_slice_of(data, len), path = all, query = { NULL, 0 }, value;
    size_t           cut = len > 0 ? fl_slice_find(all, '?') : SIZE_MAX;
    struct fl_arena  arena;
    struct kms_query q;
    enum fl_status   s;

    if (len == 0)
        return 0;
    if (cut != SIZE_MAX) {
        path.len = cut;
        query = fl_slice_from(all, cut + 1);
    }
    fl_arena_init(&arena, 4096, 1 << 20);
    try_path(path, &arena);
    if (kms_query_read(&q, query, &arena, NULL) == FL_OK)
        for (int p = 0; p < KMS_PARAMETERS; p++)
            if (q.value[p].len > query.len)
                abort();
    while (kms_query_next_key(&query, &arena, &value, &s))
        if (value.len > len)
            abort();
    fl_arena_done(&arena);
    return 0;
}
