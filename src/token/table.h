/* token/table.h - the live tokens: a hash table by number, read under RCU without a lock.
 *
 * An entry's renew date is the one word that decides about it: whoever turns it into "dead" by compare-and-swap removes
 * the entry, and a renewal can't come after that. So renewals, cancels and expiry may race, in whatever threads.
 * Owns:    the entries, in slabs that are kept out of dumps and wiped when freed; an entry until it is added or
 *          discarded belongs to its maker.
 * Thread:  any registered with RCU. Blocks: never, but for _free (start or end).                                      */
#ifndef TOKEN_TABLE_H
#define TOKEN_TABLE_H

#include "token/slabs.h"
#include "token/token.h"

struct token_table;
struct token_entry;

struct token_table *token_table_new(void);
void                token_table_free(struct token_table *t); /* NULL is fine */

/* Room for an identifier and a password, which the caller fills before adding. NULL without memory. */
struct token_entry *token_entry_new(struct token_table *t, struct fl_slice identifier, size_t password_len,
                                    int32_t number, int64_t renew_ms);
void                token_entry_discard(struct token_entry *e); /* one that was not added; NULL is fine */
struct fl_slice     token_entry_identifier(const struct token_entry *e);
struct fl_slice     token_entry_password(const struct token_entry *e);
uint8_t            *token_entry_password_room(struct token_entry *e);
/* INT64_MIN: dead, that is cancelled or expired meanwhile. */
int64_t token_entry_renew_ms(const struct token_entry *e);

/* FL_EXISTS: there is one with this number, and e remains the caller's. */
FL_CHECKED enum fl_status token_table_add(struct token_table *t, struct token_entry *e);
/* By number, then the whole identifier by value. NULL: not there. Until the thread goes offline. */
struct token_entry *token_table_find(struct token_table *t, struct fl_slice identifier,
                                     const struct token_identifier *fields);
struct token_entry *token_table_at(struct token_table *t, int32_t number); /* whatever has the number */
/* FL_NOT_FOUND when it died first; the renew date then stays dead. */
FL_CHECKED enum fl_status token_table_renew(struct token_entry *e, int64_t renew_ms);
FL_CHECKED enum fl_status token_table_remove(struct token_table *t, struct token_entry *e);
/* Only while its renew date is below before_ms: else FL_EXISTS. FL_NOT_FOUND: gone already. */
FL_CHECKED enum fl_status token_table_expire(struct token_table *t, int32_t number, int64_t before_ms);

/* A part of a walk over all entries: at most `slots` of them from *place on; gives the numbers of those whose renew
 * date is below before_ms, at most `room`. Advice only, since entries change meanwhile. place->end: all were seen. */
size_t   token_table_past(struct token_table *t, struct slab_place *place, unsigned slots, int64_t before_ms,
                          int32_t *numbers, size_t room);
uint64_t token_table_live(const struct token_table *t);
/* Makes the table fit what it holds, now. Adding alone leaves that to a thread of liburcu's, which a loader outruns: it
 * would search ever longer chains meanwhile. Registered and online; blocks while it makes buckets (start only). */
void token_table_fit(struct token_table *t);

#endif
