#include "base/hist.h"

#include "featherlock/slice.h"

#include <math.h>

/* Values below 2^11 have a bucket each; every octave [2^k, 2^(k+1)) from there to 2^42 has 2^10 buckets of equal
 * width, 1/1024 of its lowest value. One more takes what is larger. */
enum {
    STEP_BITS = 10,
    STEPS = 1 << STEP_BITS,
    TOP_BITS = 42,
    OVER = (TOP_BITS - STEP_BITS + 1) * STEPS,
    BUCKETS = OVER + 1,
};

struct fl_hist {
    uint64_t min, max; /* min is UINT64_MAX when empty */
    uint64_t counts[BUCKETS];
};

/* How far values of this bucket are shifted right to be numbered by the step. */
static unsigned shift_of(unsigned bucket)
{
    return bucket < 2 * STEPS ? 0 : bucket / STEPS - 1;
}

static unsigned bucket_of(uint64_t value)
{
    unsigned shift;

    if (value >= UINT64_C(1) << TOP_BITS)
        return OVER;
    if (value < 2 * STEPS)
        return (unsigned)value;
    shift = 63 - STEP_BITS - (unsigned)__builtin_clzll(value);
    return shift * STEPS + (unsigned)(value >> shift);
}

static uint64_t lowest_in(unsigned bucket)
{
    unsigned shift = shift_of(bucket);

    return (uint64_t)(bucket - shift * STEPS) << shift;
}

static uint64_t highest_in(const struct fl_hist *h, unsigned bucket)
{
    return bucket == OVER ? h->max : lowest_in(bucket) + ((UINT64_C(1) << shift_of(bucket)) - 1);
}

static double middle_of(const struct fl_hist *h, unsigned bucket)
{
    return ((double)lowest_in(bucket) + (double)highest_in(h, bucket)) / 2;
}

struct fl_hist *fl_hist_new(void)
{
    struct fl_hist *h = malloc(sizeof *h);

    if (h != NULL)
        fl_hist_reset(h);
    return h;
}

void fl_hist_free(struct fl_hist *h)
{
    free(h);
}

void fl_hist_record(struct fl_hist *h, uint64_t value)
{
    h->counts[bucket_of(value)]++;
    if (value < h->min)
        h->min = value;
    if (value > h->max)
        h->max = value;
}

void fl_hist_merge(struct fl_hist *into, const struct fl_hist *from)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        into->counts[i] += from->counts[i];
    into->min = FL_MIN(into->min, from->min);
    into->max = FL_MAX(into->max, from->max);
}

void fl_hist_reset(struct fl_hist *h)
{
    memset(h->counts, 0, sizeof h->counts);
    h->min = UINT64_MAX;
    h->max = 0;
}

uint64_t fl_hist_count(const struct fl_hist *h)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < BUCKETS; i++)
        count += h->counts[i];
    return count;
}

uint64_t fl_hist_percentile(const struct fl_hist *h, double p)
{
    uint64_t count = fl_hist_count(h), seen = 0;
    /* The rank is a whole number and 99.9 no exact one: 99.9 % of 1000 values must be the 999th, not the 1000th. */
    uint64_t rank = (uint64_t)ceil(p / 100 * (double)count - (double)count * 1e-12);

    if (count == 0)
        return 0;
    rank = FL_MIN(FL_MAX(rank, 1), count);
    for (unsigned i = 0; i < BUCKETS; i++) {
        seen += h->counts[i];
        if (seen >= rank)
            return highest_in(h, i);
    }
    return h->max;
}

uint64_t fl_hist_min(const struct fl_hist *h)
{
    return h->min == UINT64_MAX ? 0 : h->min;
}

uint64_t fl_hist_max(const struct fl_hist *h)
{
    return h->max;
}

double fl_hist_mean(const struct fl_hist *h)
{
    double   sum = 0;
    uint64_t count = 0;

    for (unsigned i = 0; i < BUCKETS; i++) {
        if (h->counts[i] > 0)
            sum += (double)h->counts[i] * middle_of(h, i);
        count += h->counts[i];
    }
    return count == 0 ? 0 : sum / (double)count;
}

double fl_hist_stddev(const struct fl_hist *h)
{
    double   mean = fl_hist_mean(h), sum = 0;
    uint64_t count = 0;

    for (unsigned i = 0; i < BUCKETS; i++) {
        double off = middle_of(h, i) - mean;

        sum += (double)h->counts[i] * off * off;
        count += h->counts[i];
    }
    return count == 0 ? 0 : sqrt(sum / (double)count);
}
