#include "cli/table.h"

#include "base/own.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

void cli_table_init(struct cli_table *t, size_t columns)
{
    *t = (struct cli_table){ .columns = columns };
}

static bool grow(struct cli_table *t)
{
    size_t room = t->room == 0 ? 16 : t->room * 2;
    char **cells = reallocarray(t->cells, room * t->columns, sizeof *cells);

    if (cells == NULL)
        return false;
    t->cells = cells;
    t->room = room;
    return true;
}

void cli_table_add(struct cli_table *t, const char *const *cells, size_t count)
{
    assert(count == t->columns);
    if (t->rows == t->room && !grow(t))
        return;
    for (size_t i = 0; i < count; i++)
        t->cells[t->rows * count + i] = strdup(cells[i]);
    t->rows++;
}

static const char *cell(const struct cli_table *t, size_t row, size_t column)
{
    const char *text = t->cells[row * t->columns + column];

    return text == NULL ? "?" : text;
}

/* Columns on a terminal: UTF-8 continuation bytes take none. */
static size_t width_of(const char *text)
{
    size_t n = 0;

    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void cli_table_print(struct cli_table *t, FILE *out)
{
    for (size_t row = 0; row < t->rows; row++) {
        for (size_t column = 0; column < t->columns; column++) {
            const char *text = cell(t, row, column);
            size_t      widest = 0;

            fputs(text, out);
            if (column + 1 == t->columns)
                continue;
            for (size_t i = 0; i < t->rows; i++)
                widest = FL_MAX(widest, width_of(cell(t, i, column)));
            fprintf(out, "%*s", (int)(widest - width_of(text) + 2), "");
        }
        fputc('\n', out);
    }
    for (size_t i = 0; i < t->rows * t->columns; i++)
        free(t->cells[i]);
    free(t->cells);
}
