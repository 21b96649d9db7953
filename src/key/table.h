/* key/table.h - the inside of struct keys: every key, by name, readable under RCU.
 *
 * Owns:    the objects in it.
 * Thread:  finding: reader. Changing: one thread at a time, registered with RCU.   Blocks: never. */
#ifndef KEY_TABLE_H
#define KEY_TABLE_H

#include "key/hash.h"
#include "key/object.h"

#include <pthread.h>

struct keys {
    struct cds_lfht     *table;
    struct key_hash_seed seed;
    struct store        *store; /* NULL: in memory only */
    pthread_mutex_t      order; /* in memory: a change is checked and published under it */
    size_t               count; /* atomic */
};

struct key_object *key_table_find(struct keys *k, struct fl_slice name);
void               key_table_add(struct keys *k, struct key_object *o); /* its name is not there */
void               key_table_replace(struct keys *k, struct key_object *old, struct key_object *o);
void               key_table_remove(struct keys *k, struct key_object *o);

/* At start the caller may be a thread that is no reader: makes it one. To be handed to key_table_leave. */
bool key_table_enter(void);
void key_table_leave(bool became);

/* persist.c, start: fills the empty table from the store. */
FL_CHECKED enum fl_status keys_load(struct keys *k, struct fl_error *err);

#endif
