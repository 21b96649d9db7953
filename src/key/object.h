/* key/object.h - one key as it lies in the table: a struct key and all it points to, in one allocation.
 *
 * Objects are immutable once published; a roll makes a new one. Materials belong to the newest object of a key: the
 * one it replaces is freed without them. That is safe without counting, for whoever still reads the old object found
 * it before the newer one was published, so the grace period that the newer one's end waits for covers them too.
 *
 * Owns:    its bytes, and its materials unless a newer object has them.
 * Thread:  making: any; retiring: registered with RCU.   Blocks: never. */
#ifndef KEY_OBJECT_H
#define KEY_OBJECT_H

#include "base/rcu.h"
#include "key/key.h"

struct key_object {
    struct key           key;
    struct cds_lfht_node node;
    struct rcu_head      rcu;
    struct fl_secret   **slots; /* key.versions, to be filled before the object is published */
    bool                 owns_material;
};

/* Copies what model points to; its materials are left out: version_count empty slots. NULL without memory. */
struct key_object *key_object_new(const struct key *model, uint32_t version_count);
void               key_object_free(struct key_object *o); /* never published, or nobody reads any more */
FL_AUTO_DEFINE(key_object);
/* Before the object is published: it takes over the materials of the older one, which keeps showing them. */
void key_object_inherit(struct key_object *o, struct key_object *older);
void key_object_retire(struct key_object *o); /* unpublished: freed after the grace period */

static inline struct key_object *key_object_at(struct cds_lfht_node *node)
{
    return FL_CONTAINER(node, struct key_object, node);
}

#endif
