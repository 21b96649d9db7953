/* http/text.c - the standard phrases and the date. */
#include "http/http.h"

#include <stdio.h>
#include <time.h>

struct phrase {
    int         status;
    const char *text;
};

static const struct phrase phrases[] = {
    { 100, "Continue" },
    { 101, "Switching Protocols" },
    { 200, "OK" },
    { 201, "Created" },
    { 202, "Accepted" },
    { 204, "No Content" },
    { 206, "Partial Content" },
    { 301, "Moved Permanently" },
    { 302, "Found" },
    { 303, "See Other" },
    { 304, "Not Modified" },
    { 307, "Temporary Redirect" },
    { 308, "Permanent Redirect" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 406, "Not Acceptable" },
    { 408, "Request Timeout" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 411, "Length Required" },
    { 412, "Precondition Failed" },
    { 413, "Payload Too Large" },
    { 414, "URI Too Long" },
    { 415, "Unsupported Media Type" },
    { 416, "Range Not Satisfiable" },
    { 417, "Expectation Failed" },
    { 422, "Unprocessable Entity" },
    { 426, "Upgrade Required" },
    { 428, "Precondition Required" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 502, "Bad Gateway" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
    { 505, "HTTP Version Not Supported" },
    { 507, "Insufficient Storage" },
};

const char *http_standard_reason(int status)
{
    if (status == 200)
        return "OK";
    for (size_t i = 0; i < FL_COUNT(phrases); i++)
        if (phrases[i].status == status)
            return phrases[i].text;
    return "Unknown";
}

/* A reactor is a thread, so what is kept for the thread is kept for the reactor. Names are our own: strftime's follow
 * the locale. */
struct fl_slice http_date(struct io_reactor *r)
{
    static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char months[][4] = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"
    };
    static _Thread_local char    text[64];
    static _Thread_local int64_t made_for = -1;
    int64_t                      now = io_now_wall_ms(r) / 1000;
    struct tm                    t;
    time_t                       seconds = (time_t)now;

    if (now != made_for) {
        gmtime_r(&seconds, &t);
        snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[t.tm_wday], t.tm_mday, months[t.tm_mon],
                 t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
        made_for = now;
    }
    return fl_slice_of(text, 29);
}
