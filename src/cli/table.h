/* cli/table.h - a table for people: columns as wide as their widest cell, the first row is the heading.
 *
 * Owns:    copies of the cells. Thread: main. Blocks: writing. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdio.h>

struct cli_table {
    size_t columns, rows, room;
    char **cells;
};

void cli_table_init(struct cli_table *t, size_t columns);
/* As many strings as columns. A row without memory is left out of the table. */
#define cli_table_row(t, ...)                                \
    cli_table_add((t), (const char *const[]){ __VA_ARGS__ }, \
                  sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))
void cli_table_add(struct cli_table *t, const char *const *cells, size_t count);
void cli_table_print(struct cli_table *t, FILE *out); /* and frees it */

#endif
