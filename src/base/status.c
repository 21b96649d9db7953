#include "featherlock/status.h"

#include "base/own.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum fl_status fl_fail(struct fl_error *err, enum fl_status status, int sys, const char *format, ...)
{
    va_list args;
    size_t  len;
    char    reason[80];

    if (err == NULL)
        return status;
    err->status = status;
    err->sys = sys;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    len = strlen(err->text);
    if (sys != 0 && len + 3 < sizeof err->text)
        snprintf(err->text + len, sizeof err->text - len, ": %s", strerror_r(sys, reason, sizeof reason));
    return status;
}

enum fl_status fl_fail_in(struct fl_error *err, const char *format, ...)
{
    va_list args;
    char    context[sizeof err->text];
    char    cause[sizeof err->text];
    size_t  len;

    if (err == NULL)
        return FL_SYSTEM;
    va_start(args, format);
    vsnprintf(context, sizeof context, format, args);
    va_end(args);
    memcpy(cause, err->text, sizeof cause);
    snprintf(err->text, sizeof err->text, "%s", context);
    len = strlen(err->text);
    if (len + 3 < sizeof err->text)
        snprintf(err->text + len, sizeof err->text - len, ": %s", cause);
    return err->status;
}

const char *fl_status_name(enum fl_status status)
{
    static const char *const names[FL_STATUS_COUNT] = {
        [FL_OK] = "ok",
        [FL_PENDING] = "pending",
        [FL_WANT_READ] = "want read",
        [FL_WANT_WRITE] = "want write",
        [FL_CLOSED] = "closed",
        [FL_MALFORMED] = "malformed",
        [FL_DENIED] = "denied",
        [FL_NOT_FOUND] = "not found",
        [FL_EXISTS] = "exists",
        [FL_BUSY] = "busy",
        [FL_TIMEOUT] = "timeout",
        [FL_USAGE] = "usage",
        [FL_NO_MEMORY] = "no memory",
        [FL_SYSTEM] = "system",
    };

    return (unsigned)status < FL_STATUS_COUNT ? names[status] : "unknown status";
}

void fl_auto_close_(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
