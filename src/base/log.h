/* base/log.h - the program's log, text or JSON lines on standard error.
 *
 * One line an event: time (UTC, ms), level, room, sentence, then key=value pairs. Only the doors and cli/ log above
 * debug; rooms return errors. Never key material, passwords, tokens.
 * Owns:    nothing but its settings. Thread: any (a line is one write(2)). Blocks: as long as standard error does.    */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "featherlock/status.h"

#include <stdbool.h>

enum fl_log_level { FL_LOG_DEBUG, FL_LOG_INFO, FL_LOG_WARN, FL_LOG_ERROR, FL_LOG_NONE };

/* Start or reload. fd stays the caller's. */
void fl_log_setup(enum fl_log_level level, bool json, int fd);
bool fl_log_wants(enum fl_log_level level);

/* room: "kms". message is a printf sentence; newlines and control characters are escaped. */
void fl_log(enum fl_log_level level, const char *room, const char *format, ...) FL_PRINTF(3, 4);

#define fl_debug(room, ...)                          \
    do {                                             \
        if (fl_log_wants(FL_LOG_DEBUG))              \
            fl_log(FL_LOG_DEBUG, room, __VA_ARGS__); \
    } while (0)
#define fl_info(room, ...) fl_log(FL_LOG_INFO, room, __VA_ARGS__)
#define fl_warn(room, ...) fl_log(FL_LOG_WARN, room, __VA_ARGS__)
#define fl_err(room, ...) fl_log(FL_LOG_ERROR, room, __VA_ARGS__)

#endif
