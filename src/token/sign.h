/* token/sign.h - the password of an identifier: HMAC under a master key.
 *
 * OpenSSL 3 looks an algorithm up by name at each call of HMAC(), which costs more than the sum itself. So the
 * algorithm is fetched once and each thread keeps one context an algorithm, which forgets the key after each use.
 * Owns:    the contexts; a thread's go with the thread. Thread: any. Blocks: never.                                   */
#ifndef TOKEN_SIGN_H
#define TOKEN_SIGN_H

#include "token/token.h"

size_t token_password_bytes(enum token_algorithm a); /* 20, 32, 48, 64 */
/* Writes token_password_bytes(a) bytes. FL_SYSTEM, FL_NO_MEMORY. */
FL_CHECKED enum fl_status token_sign(enum token_algorithm a, struct fl_slice key, struct fl_slice identifier,
                                     uint8_t password[TOKEN_PASSWORD_MAX], struct fl_error *err);

#endif
