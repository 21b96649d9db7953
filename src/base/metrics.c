#include "base/metrics.h"

#include <assert.h>
#include <stdatomic.h>

enum { CACHE_LINE = 64 };

/* Begins at a cache line and fills whole ones, so that no two writers share one. */
struct fl_metric_set {
    _Alignas(CACHE_LINE) size_t count;
    _Atomic int64_t cells[];
};

struct fl_metrics {
    const struct fl_metric *table;
    size_t                  count;
    unsigned                sets;
    struct fl_metric_set   *set[];
};

static struct fl_metric_set *new_set(size_t count)
{
    size_t                bytes = sizeof(struct fl_metric_set) + count * sizeof(_Atomic int64_t);
    size_t                whole = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    struct fl_metric_set *s = aligned_alloc(CACHE_LINE, whole);

    if (s == NULL)
        return NULL;
    s->count = count;
    for (size_t i = 0; i < count; i++)
        atomic_init(&s->cells[i], 0);
    return s;
}

struct fl_metrics *fl_metrics_new(const struct fl_metric *table, size_t count, unsigned sets)
{
    FL_AUTO(fl_metrics) m = calloc(1, sizeof *m + sets * sizeof m->set[0]);

    if (m == NULL)
        return NULL;
    m->table = table;
    m->count = count;
    for (; m->sets < sets; m->sets++) {
        m->set[m->sets] = new_set(count);
        if (m->set[m->sets] == NULL)
            return NULL;
    }
    return FL_TAKE(m);
}

void fl_metrics_free(struct fl_metrics *m)
{
    if (m == NULL)
        return;
    for (unsigned i = 0; i < m->sets; i++)
        free(m->set[i]);
    free(m);
}

struct fl_metric_set *fl_metrics_set(struct fl_metrics *m, unsigned set)
{
    assert(set < m->sets);
    return m->set[set];
}

void fl_metric_add(struct fl_metric_set *s, unsigned row, int64_t n)
{
    assert(row < s->count);
    /* One writer: a load and a store do, where an atomic addition would lock the bus. */
    fl_metric_put(s, row, atomic_load_explicit(&s->cells[row], memory_order_relaxed) + n);
}

void fl_metric_put(struct fl_metric_set *s, unsigned row, int64_t value)
{
    assert(row < s->count);
    atomic_store_explicit(&s->cells[row], value, memory_order_relaxed);
}

int64_t fl_metric_sum(const struct fl_metrics *m, unsigned row)
{
    int64_t sum = 0;

    assert(row < m->count);
    for (unsigned i = 0; i < m->sets; i++)
        sum += atomic_load_explicit(&m->set[i]->cells[row], memory_order_relaxed);
    return sum;
}

/* In the text format a help ends with its line, and a backslash escapes. */
static void put_help(struct fl_buf *out, const char *help)
{
    for (; *help != '\0'; help++) {
        if (*help == '\n')
            FL_BUF_LIT(out, "\\n");
        else if (*help == '\\')
            FL_BUF_LIT(out, "\\\\");
        else
            fl_buf_put_byte(out, (uint8_t)*help);
    }
}

static void put_heading(struct fl_buf *out, const struct fl_metric *row)
{
    fl_buf_printf(out, "# HELP %s ", row->name);
    put_help(out, row->help);
    fl_buf_printf(out, "\n# TYPE %s %s\n", row->name, row->kind == FL_COUNTER ? "counter" : "gauge");
}

static void put_sample(struct fl_buf *out, const struct fl_metric *row, int64_t value)
{
    fl_buf_put_str(out, row->name);
    if (row->labels != NULL)
        fl_buf_printf(out, "{%s}", row->labels);
    fl_buf_put_byte(out, ' ');
    fl_buf_put_i64(out, value);
    fl_buf_put_byte(out, '\n');
}

static bool same_name(const struct fl_metrics *m, size_t a, size_t b)
{
    return strcmp(m->table[a].name, m->table[b].name) == 0;
}

bool fl_metrics_prometheus(const struct fl_metrics *m, struct fl_buf *out)
{
    for (size_t first = 0; first < m->count; first++) {
        size_t before = 0;

        while (before < first && !same_name(m, before, first))
            before++;
        if (before < first)
            continue;
        put_heading(out, &m->table[first]);
        for (size_t i = first; i < m->count; i++) /* the format wants all rows of a name together */
            if (same_name(m, i, first))
                put_sample(out, &m->table[i], fl_metric_sum(m, (unsigned)i));
    }
    return !out->failed;
}
