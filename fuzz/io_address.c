/* Addresses to listen on: what is taken prints as text that is taken again and means the same. */
#include "io/inside.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char             *text = fl_slice_dup(fl_slice_of(data, len));
    char              again[200];
    struct io_address a, b;
    struct fl_error   err = { FL_OK, 0, "" };

    if (text == NULL)
        return 0;
    if (io_address_parse(&a, text, &err) != FL_OK) {
        if (err.status != FL_USAGE || err.text[0] == '\0')
            abort();
    } else {
        io_address_text((struct sockaddr *)&a.at, again, sizeof again);
        if (io_address_parse(&b, again, &err) != FL_OK || a.len != b.len || (a.path == NULL) != (b.path == NULL) ||
            !fl_slice_equal(fl_slice_of(&a.at, a.len), fl_slice_of(&b.at, b.len)))
            abort();
    }
    free(text);
    return 0;
}
