#include "key/hash.h"

#include <endian.h>

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate(s->v2, 32);
}

static inline void absorb(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    sip_round(s);
    sip_round(s);
    s->v0 ^= word;
}

uint64_t key_hash(const struct key_hash_seed *seed, struct fl_slice bytes)
{
    struct sip s = {
        seed->k0 ^ UINT64_C(0x736f6d6570736575),
        seed->k1 ^ UINT64_C(0x646f72616e646f6d),
        seed->k0 ^ UINT64_C(0x6c7967656e657261),
        seed->k1 ^ UINT64_C(0x7465646279746573),
    };
    size_t   whole = bytes.len / 8 * 8;
    uint64_t word, last = (uint64_t)bytes.len << 56;

    for (size_t i = 0; i < whole; i += 8) {
        memcpy(&word, bytes.at + i, sizeof word);
        absorb(&s, le64toh(word));
    }
    for (size_t i = whole; i < bytes.len; i++)
        last |= (uint64_t)bytes.at[i] << (i - whole) * 8;
    absorb(&s, last);
    s.v2 ^= 0xff;
    for (int i = 0; i < 4; i++)
        sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
