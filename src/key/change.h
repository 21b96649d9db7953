/* key/change.h - one creation, roll or deletion on its way: what key/ keeps beside the caller's struct key_change.
 *
 * Owns:    copies of what the caller gave, the material, and the object to publish.
 * Thread:  one after the other: submitting, the store's (or the same, in memory), home.   Blocks: never. */
#ifndef KEY_CHANGE_H
#define KEY_CHANGE_H

#include "key/table.h"

struct change {
    struct store_job   job; /* in memory its mail, status and err serve too */
    struct keys       *keys;
    struct key_change *caller;
    struct fl_secret  *material; /* of a roll, until object has it */
    struct key_object *object;   /* what will be in the table; NULL for a deletion */
    struct fl_secret  *made;     /* the caller's copy of the new material */
    struct fl_slice    name;     /* lies in name_bytes */
    uint8_t            name_bytes[];
};

/* What both kinds of store share. Of a roll: makes ch->object from the key as it is, with the new material, given or
 * generated, and the caller's copy of that. The older versions' slots stay empty. */
FL_CHECKED enum fl_status change_build_rolled(struct change *ch, const struct key *now, struct fl_error *err);
FL_CHECKED enum fl_status change_exists(const struct change *ch, struct fl_error *err);
FL_CHECKED enum fl_status change_missing(const struct change *ch, struct fl_error *err);
/* The table's part of a change that has been accepted: cannot fail. */
void change_publish(struct change *ch);
void change_answer(struct store_job *j); /* home */

/* persist.c: the way through the store. On failure ch is still the caller's. */
FL_CHECKED enum fl_status change_persist(struct change *ch, struct fl_error *err);

#endif
