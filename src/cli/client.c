#include "cli/client.h"

#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { TOKEN_FILE_MAX = 64 * 1024, PATH_MAX_BYTES = 256 * 1024 };

int cli_fail(int code, const char *program, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s: ", program);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return code;
}

void cli_print_json(json_t *json)
{
    json_dumpf(json, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY);
    fputc('\n', stdout);
    json_decref(json);
}

const char *cli_date(int64_t wall_ms, char out[64])
{
    time_t    s = (time_t)(wall_ms / 1000);
    struct tm tm;

    if (gmtime_r(&s, &tm) == NULL)
        snprintf(out, 64, "%lld ms", (long long)wall_ms);
    else
        snprintf(out, 64, "%04d-%02d-%02d %02d:%02d:%02d.%03d UTC", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
                 tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(wall_ms % 1000));
    return out;
}

static void print_help(const struct fl_flag_table *t)
{
    struct fl_buf help;

    fl_buf_init(&help, 0);
    fl_flags_help(t, &help);
    fwrite(help.data, 1, fl_buf_len(&help), stdout);
    fl_buf_done(&help);
}

bool cli_parse(const struct fl_flag_table *t, void *flags, int argc, char **argv, struct fl_strings *args,
               size_t min_args, size_t max_args, int *code)
{
    struct fl_error err;
    enum fl_status  status = fl_flags_parse(t, flags, argc, argv, args, &err);

    if (status == FL_CLOSED) {
        print_help(t);
        *code = CLI_OK;
    } else if (status != FL_OK) {
        *code = cli_fail(CLI_USAGE, t->program, "%s", err.text);
    } else if (args->count < min_args || args->count > max_args) {
        *code = cli_fail(CLI_USAGE, t->program, "%zu argument%s given, expected: %s; --help tells more", args->count,
                         args->count == 1 ? "" : "s", t->arguments[0] == '\0' ? "none" : t->arguments);
    } else {
        return true;
    }
    return false;
}

bool client_put_encoded(struct fl_buf *b, const char *name)
{
    bool ok = true;

    for (const unsigned char *at = (const unsigned char *)name; ok && *at != '\0'; at++)
        ok = (*at < 128 && isalnum(*at)) || strchr("-._~", *at) != NULL ? fl_buf_put_byte(b, *at)
                                                                        : fl_buf_printf(b, "%%%02X", *at);
    return ok;
}

static int read_token_file(struct client *c, const char *path)
{
    char            text[TOKEN_FILE_MAX + 1];
    FILE           *f = fopen(path, "re");
    struct fl_slice token;
    size_t          len;

    if (f == NULL)
        return cli_fail(CLI_USAGE, c->program, "--token_file=%s: cannot be read: %m", path);
    len = fread(text, 1, sizeof text, f);
    fclose(f);
    token = fl_slice_trim(fl_slice_of(text, len));
    if (token.len == 0 || len > TOKEN_FILE_MAX || fl_slice_find(token, '\n') != SIZE_MAX)
        return cli_fail(CLI_USAGE, c->program, "--token_file=%s: one line of at most %d bytes is expected", path,
                        TOKEN_FILE_MAX);
    fl_buf_printf(&c->headers, "X-Hadoop-Delegation-Token: %.*s\r\n", FL_SLICE_ARGS(token));
    return CLI_OK;
}

int client_init(struct client *c, const struct client_flags *flags, const char *program)
{
    *c = (struct client){ .flags = flags, .program = program };
    fl_buf_init(&c->headers, TOKEN_FILE_MAX + 1024);
    c->tls = (struct tls_config){ .client = true, .ca_file = flags->ca_file, .insecure_noverify = flags->insecure };
    if (flags->token != NULL && flags->token_file != NULL)
        return cli_fail(CLI_USAGE, program, "--token and --token_file are both given, one is expected");
    if (flags->token != NULL)
        fl_buf_printf(&c->headers, "X-Hadoop-Delegation-Token: %s\r\n", flags->token);
    if (flags->token_file != NULL)
        return read_token_file(c, flags->token_file);
    return CLI_OK;
}

void client_done(struct client *c)
{
    fl_buf_done(&c->headers);
    http_session_free(c->session);
}

/* user.name and doAs, unless a token speaks for itself. */
static void put_identity(struct client *c, struct fl_buf *url, bool has_query)
{
    const struct passwd *me;
    const char          *user = c->flags->user;

    if (c->anonymous)
        return;
    if (user == NULL && c->flags->token == NULL && c->flags->token_file == NULL)
        user = (me = getpwuid(geteuid())) != NULL ? me->pw_name : "nobody";
    if (user != NULL) {
        fl_buf_put_str(url, has_query ? "&user.name=" : "?user.name=");
        client_put_encoded(url, user);
        has_query = true;
    }
    if (c->flags->do_as != NULL) {
        fl_buf_put_str(url, has_query ? "&doAs=" : "?doAs=");
        client_put_encoded(url, c->flags->do_as);
    }
}

static int print_refusal(const struct client *c, const struct http_reply *reply, json_t *json)
{
    const char *message = NULL, *class = NULL;

    if (json != NULL &&
        json_unpack(json, "{s:{s?s, s?s}}", "RemoteException", "message", &message, "exception", &class) == 0 &&
        class != NULL)
        return cli_fail(CLI_REFUSED, c->program, "the server answers %d, %s: %s", reply->status, class,
                        message == NULL ? "no message" : message);
    if (c->anonymous && reply->body.len > 0) /* our own control socket: the sentence is the body */
        return cli_fail(CLI_REFUSED, c->program, "%.*s", FL_SLICE_ARGS(reply->body));
    return cli_fail(CLI_REFUSED, c->program, "the server answers %d %.*s", reply->status, FL_SLICE_ARGS(reply->reason));
}

static int take_reply(struct client *c, const struct http_reply *reply, json_t **answer)
{
    json_error_t bad;
    json_t      *json = NULL;
    bool         good = reply->status >= 200 && reply->status < 300;
    int          code = CLI_OK;

    *answer = NULL;
    if (reply->body.len > 0)
        json = json_loadb((const char *)reply->body.at, reply->body.len, JSON_DECODE_ANY, &bad);
    if (!good) {
        code = print_refusal(c, reply, json);
    } else if (reply->body.len > 0 && json == NULL) {
        code =
            cli_fail(CLI_UNREACHABLE, c->program, "the answer is no JSON (%s): is %s a KMS?", bad.text, c->flags->url);
    } else {
        *answer = json_incref(json);
    }
    json_decref(json);
    return code;
}

int client_call(struct client *c, const char *method, struct fl_slice path, json_t *body, json_t **answer)
{
    FL_AUTO_MEM char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
    struct fl_buf     url, headers;
    struct http_reply reply = { 0 };
    struct fl_error   err;
    enum fl_status    status;
    int               code;

    json_decref(body);
    fl_buf_init(&url, PATH_MAX_BYTES);
    fl_buf_init(&headers, 0);
    fl_buf_put_str(&url, c->flags->url);
    fl_buf_put_slice(&url, path);
    put_identity(c, &url, fl_slice_find(path, '?') != SIZE_MAX);
    fl_buf_put_byte(&url, '\0');
    if (!c->anonymous)
        fl_buf_put_slice(&headers, fl_buf_slice(&c->headers));
    if (text != NULL)
        fl_buf_put_str(&headers, "Content-Type: application/json\r\n");
    if (url.failed || headers.failed)
        status = fl_fail(&err, FL_USAGE, 0, "the request is longer than %d bytes", PATH_MAX_BYTES);
    else
        status = http_call(&c->session, method, (const char *)url.data, fl_buf_slice(&headers), fl_slice_str(text),
                           &c->tls, c->flags->timeout, &reply, &err);
    code = status == FL_OK ? take_reply(c, &reply, answer)
                           : cli_fail(status == FL_USAGE ? CLI_USAGE : CLI_UNREACHABLE, c->program, "%s: %s",
                                      c->flags->url, err.text);
    if (status == FL_OK)
        http_reply_done(&reply);
    fl_buf_done(&url);
    fl_buf_done(&headers);
    return code;
}
