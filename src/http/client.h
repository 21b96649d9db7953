/* http/client.h - what http_call needs of a client beyond http/http.h.
 *
 * Owns: nothing. Thread: owner. Blocks: never.                                                                        */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "http/http.h"

/* Within on_reply: the connection of the request that failed had been open. */
bool http_client_was_open(const struct http_client *c);

#endif
