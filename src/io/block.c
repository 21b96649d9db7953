#include "io/inside.h"

#include <stdlib.h>

/* Last in, first out: the block that was used a moment ago is still in the cache. */
bool io_lend(struct io_reactor *r, struct fl_buf *b)
{
    if (b->data != NULL)
        return true;
    b->data = r->block_count > 0 ? r->blocks[--r->block_count] : malloc(IO_BLOCK_BYTES);
    b->cap = b->data != NULL ? IO_BLOCK_BYTES : 0;
    b->read = b->write = 0;
    return b->data != NULL;
}

void io_return(struct io_reactor *r, struct fl_buf *b)
{
    if (b->data == NULL || b->read != b->write)
        return;
    if (b->cap == IO_BLOCK_BYTES && r->block_count < IO_BLOCKS_KEPT)
        r->blocks[r->block_count++] = b->data;
    else
        free(b->data);
    b->data = NULL;
    b->cap = b->read = b->write = 0;
}
