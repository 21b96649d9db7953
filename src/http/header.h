/* http/header.h - one header line. It stands alone because the file that talks to llhttp can't see http.h: both
 * libraries call an enumerator HTTP_GET.
 *
 * Owns: nothing; the slices point into the message. Thread: any. Blocks: never.                                       */
#ifndef HTTP_HEADER_H
#define HTTP_HEADER_H

#include "featherlock/slice.h"

struct http_header {
    struct fl_slice name, value; /* as sent, value trimmed */
};

#endif
