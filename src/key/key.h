/* key/key.h - the face of the keys: Hadoop's model of keys and versions, EEK cryptography, and where keys lie.
 *
 * Every key is held in memory, immutable, published under RCU: readers take no lock and see whole keys. Changes go to
 * the store, and are published after they are durable, in the store's order.
 *
 * Owns:    the table and every key in it; material lies in locked memory.
 * Thread:  stated. "reader": a thread registered with RCU; what it finds is valid until it goes offline.
 * Blocks:  keys_open and keys_close only.   Source: docs/protocol/hadoop-kms.md, "Keys". */
#ifndef KEY_KEY_H
#define KEY_KEY_H

#include "base/arena.h"
#include "base/secret.h"
#include "store/store.h"

#define KEY_DEFAULT_CIPHER "AES/CTR/NoPadding"
enum {
    KEY_DEFAULT_BITS = 128,
    KEY_IV_LEN = 16,
    KEY_NAME_MAX = 65536,
    KEY_ATTRIBUTES_MAX = 1000,
    KEY_MATERIAL_MAX = 64 * 1024
};

struct key_attribute {
    struct fl_slice name, value;
};

/* One key, whole. Slices point into the object. */
struct key {
    struct fl_slice             name, cipher;
    uint32_t                    bits;
    bool                        has_description;
    struct fl_slice             description;
    const struct key_attribute *attributes; /* in the order given at creation; count may be 0 */
    size_t                      attribute_count;
    int64_t                     created_wall_ms;
    uint32_t                    version_count; /* versions ever: 0 .. version_count-1 */
    struct fl_secret *const    *versions;      /* material of each */
};

struct keys; /* the table and its store */

struct keys_config {
    struct store *store; /* NULL: in memory only */
};
/* Start; the calling thread is no reader yet, or one that is online. Loads everything. FL_MALFORMED: a record is
 * damaged; the sentence names it. */
FL_CHECKED enum fl_status keys_open(struct keys **out, const struct keys_config *config, struct fl_error *err);
/* The same threads, when the reactors have ended and before the store closes: waits for the changes on their way, of
 * which those whose done could not be delivered any more are dropped. NULL is fine. */
void keys_close(struct keys *k);

/* Reader. NULL when there is none. Names are compared as bytes. */
const struct key *keys_find(struct keys *k, struct fl_slice name);
/* Splits "name@N"; FL_MALFORMED without '@'. *version is UINT32_MAX where N is no plain decimal of 32 bits. */
FL_CHECKED enum fl_status key_version_split(struct fl_slice version_name, struct fl_slice *name, uint32_t *version,
                                            struct fl_error *err);
/* Reader. The key of a version name and its number; NULL when key or version doesn't exist ("k@00" is not "k@0"). */
const struct key      *keys_find_version(struct keys *k, struct fl_slice version_name, uint32_t *version);
static inline uint32_t key_current(const struct key *k)
{
    return k->version_count - 1;
}
size_t keys_count(struct keys *k);
/* Reader. Calls each for every key, unspecified order. */
void keys_each(struct keys *k, void (*each)(void *ctx, const struct key *key), void *ctx);

/* ---- changes: asynchronous, durable before done
 * -------------------------------------------------------------------------- */

enum key_change_kind { KEY_CREATE, KEY_ROLL, KEY_DELETE };
/* The caller's, until done; the slices are copied by keys_submit. On success of create and roll *result_* tell. */
struct key_change {
    enum key_change_kind        kind;
    struct fl_slice             name, cipher; /* cipher of .at NULL: default; an empty one is kept, as Java keeps it */
    uint32_t                    bits;         /* 0: default */
    bool                        has_description;
    struct fl_slice             description;
    const struct key_attribute *attributes;
    size_t                      attribute_count;
    struct fl_secret           *material; /* given by the user; NULL: generated. Taken by submit in any case */
    struct io_reactor          *home;
    void (*done)(struct key_change *c); /* home; status FL_EXISTS, FL_NOT_FOUND, FL_SYSTEM …; nothing changed then */
    enum fl_status    status;
    struct fl_error   err;
    uint32_t          version;  /* out: the new current version */
    struct fl_secret *made;     /* out: a copy of the new material; key_change_done frees */
    void             *private_; /* key/'s own */
};
/* Reactor or any thread; in memory a reader, and home is not NULL. Without a home done runs on the store's thread.
 * FL_USAGE for what can't be (an empty name, 1001 attributes). The length of given material must have been checked
 * against bits. FL_OK: done will be called (never inside the call). */
FL_CHECKED enum fl_status keys_submit(struct keys *k, struct key_change *c, struct fl_error *err);
void                      key_change_done(struct key_change *c);

/* ---- EEKs: pure functions on bytes
 * ------------------------------------------------------------------------------- */

/* AES-CTR with IV xor 0xff over the 128-bit counter with wrap; encrypts and decrypts. kek: 16, 24 or 32 bytes.
 * out has data.len bytes. FL_USAGE for another key length. */
FL_CHECKED enum fl_status key_eek_crypt(struct fl_slice kek, const uint8_t iv[KEY_IV_LEN], struct fl_slice data,
                                        uint8_t *out, struct fl_error *err);
/* A fresh DEK of the KEK's length, encrypted: iv[16] and eek[kek.len]. The DEK never leaves. */
FL_CHECKED enum fl_status key_eek_generate(struct fl_slice kek, uint8_t iv[KEY_IV_LEN], uint8_t *eek,
                                           struct fl_error *err);
/* From one KEK to another under the same IV. */
FL_CHECKED enum fl_status key_eek_reencrypt(struct fl_slice from_kek, struct fl_slice to_kek,
                                            const uint8_t iv[KEY_IV_LEN], struct fl_slice eek, uint8_t *out,
                                            struct fl_error *err);

#endif
