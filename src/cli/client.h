/* cli/client.h - how the subcommands talk to a KMS, ours or Java's, and how they end.
 *
 * Owns:    one session of the blocking HTTP client. Thread: main. Blocks: as long as the server takes. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "base/flags.h"
#include "http/http.h"
#include "tls/tls.h"

#include <jansson.h>

/* Exit statuses of every subcommand, as docs/guide.md lists them. */
enum cli_exit {
    CLI_OK = 0,
    CLI_REFUSED = 1,     /* the server answered with an error */
    CLI_USAGE = 2,       /* a flag or an argument is wrong */
    CLI_NOT_FOUND = 3,   /* no such key or version */
    CLI_UNREACHABLE = 4, /* no server, no answer, or not a KMS's */
};

struct client_flags {
    char    *url, *user, *do_as, *token, *token_file, *ca_file;
    uint64_t timeout;
    bool     insecure, json;
};

/* Rows of a subcommand's flag table; its struct holds `struct client_flags client`. */
#define CLIENT_FLAGS(holder)                                                                                 \
    { .name = "url",                                                                                         \
      .type = FL_FLAG_STRING,                                                                                \
      .offset = offsetof(holder, client.url),                                                                \
      .group = "Server",                                                                                     \
      .default_text = "http://127.0.0.1:9600/kms",                                                           \
      .help = "the KMS" },                                                                                   \
        { .name = "user",                                                                                    \
          .type = FL_FLAG_STRING,                                                                            \
          .offset = offsetof(holder, client.user),                                                           \
          .group = "Server",                                                                                 \
          .help = "user.name of simple authentication; default: who you are" },                              \
        { .name = "do_as",                                                                                   \
          .type = FL_FLAG_STRING,                                                                            \
          .offset = offsetof(holder, client.do_as),                                                          \
          .group = "Server",                                                                                 \
          .help = "act for this user; the server must allow it" },                                           \
        { .name = "token",                                                                                   \
          .type = FL_FLAG_STRING,                                                                            \
          .offset = offsetof(holder, client.token),                                                          \
          .group = "Server",                                                                                 \
          .help = "authenticate with this delegation token; other users of this machine may see it: better " \
                  "--token_file" },                                                                          \
        { .name = "token_file",                                                                              \
          .type = FL_FLAG_STRING,                                                                            \
          .offset = offsetof(holder, client.token_file),                                                     \
          .group = "Server",                                                                                 \
          .help = "authenticate with the delegation token in this file" },                                   \
        { .name = "ca_file",                                                                                 \
          .type = FL_FLAG_STRING,                                                                            \
          .offset = offsetof(holder, client.ca_file),                                                        \
          .group = "Server",                                                                                 \
          .help = "PEM of whom https is to trust; default: the system's" },                                  \
        { .name = "insecure",                                                                                \
          .type = FL_FLAG_BOOL,                                                                              \
          .offset = offsetof(holder, client.insecure),                                                       \
          .group = "Server",                                                                                 \
          .help = "https: take any certificate" },                                                           \
        { .name = "timeout",                                                                                 \
          .type = FL_FLAG_DURATION,                                                                          \
          .offset = offsetof(holder, client.timeout),                                                        \
          .default_text = "60s",                                                                             \
          .unit = "s",                                                                                       \
          .group = "Server",                                                                                 \
          .help = "of a whole request" },                                                                    \
    {                                                                                                        \
        .name = "json", .type = FL_FLAG_BOOL, .offset = offsetof(holder, client.json), .group = "Output",    \
        .help = "JSON for programs instead of text for people"                                               \
    }

struct client {
    const struct client_flags *flags;
    const char                *program; /* for messages */
    struct http_session       *session;
    struct tls_config          tls;
    struct fl_buf              headers;   /* that every request carries */
    bool                       anonymous; /* send no credentials: cancelling, as Hadoop's client does */
};

/* Reads the token file, finds out who the user is. CLI_OK or what main returns. */
int  client_init(struct client *c, const struct client_flags *flags, const char *program);
void client_done(struct client *c);

/* One request. path: below the URL, already encoded, query included ("/v1/keys"). body: stolen, NULL for none.
 * *answer: what the server sent, NULL when empty; the caller decrefs. An answer outside 2xx is printed with its class
 * and message, or reason, and gives CLI_REFUSED. */
int client_call(struct client *c, const char *method, struct fl_slice path, json_t *body, json_t **answer);

/* A name as a path segment or query value: all but letters, digits, '-', '.', '_' and '~' as %XX. */
bool client_put_encoded(struct fl_buf *b, const char *name);

/* Parses a subcommand's flags: true to go on. Otherwise *code is what main returns (help was printed, or the fault). */
bool cli_parse(const struct fl_flag_table *t, void *flags, int argc, char **argv, struct fl_strings *args,
               size_t min_args, size_t max_args, int *code);
/* Prints and returns: the way a subcommand fails. */
int cli_fail(int code, const char *program, const char *format, ...) FL_PRINTF(3, 4);
/* Prints json indented, with a line end, and decrefs it. */
void cli_print_json(json_t *json);
/* "2026-12-01 04:50:21.123 UTC" into out. */
const char *cli_date(int64_t wall_ms, char out[64]);

#endif
