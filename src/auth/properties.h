/* auth/properties.h - a Hadoop configuration file: <configuration><property><name/><value/><final/></property>…
 *
 * As Hadoop 3.4.3 reads it: names are trimmed and values are not; of two properties of one name the last wins unless an
 * earlier one was final; a property whose value is empty counts as absent; name, value and final may be attributes.
 * Refused where Java is lenient: another root element (a wrong file would mean 'no ACLs', that is: everybody), entity
 * declarations, XInclude.
 * Owns:    names and values. Thread: owner. Blocks: never.                                                            */
#ifndef AUTH_PROPERTIES_H
#define AUTH_PROPERTIES_H

#include "auth/strmap.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/own.h"

enum { PROPERTIES_MAX_BYTES = 16 * 1024 * 1024, PROPERTIES_MAX_COUNT = 100000, PROPERTIES_MAX_DEPTH = 32 };

struct property {
    struct fl_slice name, value; /* value.at NULL: none */
    bool            final;
    bool            emptied; /* an empty value stood in the file and was passed over */
};
struct properties {
    struct fl_arena    arena;
    struct property   *at;
    size_t             count, cap;
    struct auth_strmap by_name;
};

/* FL_MALFORMED names the line. *out is the caller's, to be given to properties_free. */
FL_CHECKED enum fl_status properties_parse(struct fl_slice xml, struct properties **out, struct fl_error *err);
void                      properties_free(struct properties *p);
FL_AUTO_DEFINE(properties);

/* Appends the value with its variables replaced: ${name} by another property's value, ${env.NAME}, ${env.NAME-word} and
 * ${env.NAME:-word} from the environment; what is unknown stays as it stands, and *unresolved (may be NULL) is set.
 * FL_NOT_FOUND: no such property. FL_MALFORMED: more than 20 replacements (a circle), or a value that grows too long. */
FL_CHECKED enum fl_status properties_get(const struct properties *p, struct fl_slice name, struct fl_buf *out,
                                         bool *unresolved, struct fl_error *err);

/* As Java's String.trim(): without bytes up to the blank at both ends. */
struct fl_slice properties_trim(struct fl_slice s);

#endif
