#include "store/inside.h"

#include <endian.h>

/* How a new store stretches its passphrase: 16 MiB for some 50 ms. Stands in the header, so that a later version may
 * ask more of new stores. */
static const struct scrypt_params new_params = { 1 << 14, 8, 1 };

/* big-endian format, N, r, p; salt; and a text sealed with what comes before it as its place: opening it proves the
 * passphrase and that nobody has turned the parameters. */
enum { AT_PARAMS = 4, AT_SALT = AT_PARAMS + 12, AT_CHECK = AT_SALT + SCRYPT_SALT };
#define CHECK_TABLE "header"

static void put32(uint8_t *at, uint32_t n)
{
    n = htobe32(n);
    memcpy(at, &n, sizeof n);
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t n;

    memcpy(&n, at, sizeof n);
    return be32toh(n);
}

enum fl_status header_make(struct fl_slice passphrase, uint8_t out[HEADER_BYTES], struct seal **seal,
                           struct fl_error *err)
{
    FL_AUTO(seal) made = NULL;
    enum fl_status s;

    put32(out, HEADER_FORMAT);
    put32(out + AT_PARAMS, new_params.n);
    put32(out + AT_PARAMS + 4, new_params.r);
    put32(out + AT_PARAMS + 8, new_params.p);
    if ((s = fl_random(out + AT_SALT, SCRYPT_SALT, err)) != FL_OK ||
        (s = seal_new(&made, passphrase, &new_params, out + AT_SALT, err)) != FL_OK ||
        (s = seal_close(made, CHECK_TABLE, fl_slice_of(out, AT_CHECK), FL_LIT(""), out + AT_CHECK, err)) != FL_OK)
        return s;
    *seal = FL_TAKE(made);
    return FL_OK;
}

enum fl_status header_check(struct fl_slice header, struct fl_error *err)
{
    if (header.len < AT_PARAMS)
        return fl_fail(err, FL_MALFORMED, 0, "the store's header has %zu bytes: it is damaged", header.len);
    if (get32(header.at) != HEADER_FORMAT)
        return fl_fail(err, FL_MALFORMED, 0, "the store has format %u, where this version knows %d: use a newer one",
                       get32(header.at), HEADER_FORMAT);
    if (header.len != HEADER_BYTES)
        return fl_fail(err, FL_MALFORMED, 0, "the store's header has %zu bytes, where %d are right: it is damaged",
                       header.len, HEADER_BYTES);
    return FL_OK;
}

/* Nobody has vouched for them yet, and they say how much memory is taken. */
static bool sane(const struct scrypt_params *p)
{
    return p->n >= 2 && p->n <= 1 << 20 && (p->n & (p->n - 1)) == 0 && p->r >= 1 && p->r <= 32 && p->p >= 1 &&
           p->p <= 16;
}

enum fl_status header_open(struct fl_slice header, struct fl_slice passphrase, struct seal **seal, struct fl_error *err)
{
    FL_AUTO(seal) made = NULL;
    struct scrypt_params params;
    uint8_t              nothing[1];
    enum fl_status       s = header_check(header, err);

    if (s != FL_OK)
        return s;
    params.n = get32(header.at + AT_PARAMS);
    params.r = get32(header.at + AT_PARAMS + 4);
    params.p = get32(header.at + AT_PARAMS + 8);
    if (!sane(&params))
        return fl_fail(err, FL_MALFORMED, 0, "the store's header asks for scrypt with N=%u, r=%u, p=%u: it is damaged",
                       params.n, params.r, params.p);
    if ((s = seal_new(&made, passphrase, &params, header.at + AT_SALT, err)) != FL_OK)
        return s;
    if (seal_open(made, CHECK_TABLE, fl_slice_of(header.at, AT_CHECK), fl_slice_from(header, AT_CHECK), nothing,
                  NULL) != FL_OK)
        return fl_fail(err, FL_DENIED, 0, "the passphrase doesn't fit this store");
    *seal = FL_TAKE(made);
    return FL_OK;
}
