#include "cli/cli.h"

#include "base/encode.h"
#include "cli/client.h"
#include "cli/table.h"
#include "token/token.h"

#include <inttypes.h>

struct token_flags {
    struct client_flags client;
    char               *renewer, *service;
};

#define FIELD(name) offsetof(struct token_flags, name)
static const struct fl_flag plain_flags[] = { CLIENT_FLAGS(struct token_flags) };
static const struct fl_flag get_flags[] = {
    CLIENT_FLAGS(struct token_flags),
    { .name = "renewer",
      .type = FL_FLAG_STRING,
      .offset = FIELD(renewer),
      .help = "who may renew it; default: its owner" },
    { .name = "service", .type = FL_FLAG_STRING, .offset = FIELD(service), .help = "written into the token" },
};
static const struct fl_flag decode_flags[] = {
    { .name = "json", .type = FL_FLAG_BOOL, .offset = FIELD(client.json), .help = "JSON for programs" },
};
#undef FIELD

struct token_command {
    struct client      client;
    struct token_flags flags;
    struct fl_strings  args;
};

/* A token and its fields, all in one arena. */
struct read_token {
    struct fl_arena         arena;
    struct token            token;
    struct token_identifier id;
};

static enum fl_status read_token(const char *url_string, struct read_token *out, struct fl_error *err)
{
    enum fl_status status;

    fl_arena_init(&out->arena, 4096, 4 << 20);
    status = token_from_url(fl_slice_str(url_string), &out->arena, &out->token, err);
    return status == FL_OK ? token_identifier_get(out->token.identifier, &out->id, err) : status;
}

static json_t *text_json(struct fl_slice s)
{
    json_t *text = json_stringn((const char *)s.at, s.len);

    return text == NULL ? json_null() : text; /* not UTF-8 */
}

static json_t *token_json(const char *url_string, const struct read_token *t)
{
    struct fl_buf password;
    json_t       *json;

    fl_buf_init(&password, 0);
    fl_hex_put(&password, t->token.password);
    json = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:i, s:i, s:o}", "urlString", url_string, "kind",
                     text_json(t->token.kind), "service", text_json(t->token.service), "owner", text_json(t->id.owner),
                     "renewer", text_json(t->id.renewer), "realUser", text_json(t->id.real_user), "issueDate",
                     (json_int_t)t->id.issue_ms, "maxDate", (json_int_t)t->id.max_ms, "sequenceNumber",
                     (int)t->id.sequence, "masterKeyId", (int)t->id.master_key_id, "password",
                     text_json(fl_buf_slice(&password)));
    fl_buf_done(&password);
    return json;
}

static void add_text(struct cli_table *t, const char *name, struct fl_slice value)
{
    FL_AUTO_MEM char *text = fl_slice_dup(value);

    cli_table_row(t, name, text == NULL || text[0] == '\0' ? "-" : text);
}

static void add_number(struct cli_table *t, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRId64, value);
    cli_table_row(t, name, text);
}

static void print_fields(const struct read_token *t)
{
    struct cli_table table;
    char             issued[64], max[64];

    cli_table_init(&table, 2);
    add_text(&table, "kind", t->token.kind);
    add_text(&table, "service", t->token.service);
    add_text(&table, "owner", t->id.owner);
    add_text(&table, "renewer", t->id.renewer);
    add_text(&table, "real user", t->id.real_user);
    cli_table_row(&table, "issued", cli_date(t->id.issue_ms, issued));
    cli_table_row(&table, "lives until", cli_date(t->id.max_ms, max));
    add_number(&table, "sequence number", t->id.sequence);
    add_number(&table, "master key", t->id.master_key_id);
    cli_table_print(&table, stdout);
}

static int decode(struct token_command *c)
{
    struct read_token t;
    struct fl_error   err;
    int               code = CLI_OK;

    if (read_token(c->args.at[0], &t, &err) != FL_OK)
        code = cli_fail(CLI_USAGE, c->client.program, "that is no delegation token: %s", err.text);
    else if (c->flags.client.json)
        cli_print_json(token_json(c->args.at[0], &t));
    else
        print_fields(&t);
    fl_arena_done(&t.arena);
    return code;
}

static int get(struct token_command *c)
{
    struct fl_buf     path;
    struct read_token t;
    struct fl_error   err;
    json_t           *answer = NULL;
    const char       *text = NULL;
    int               code;

    fl_buf_init(&path, 0);
    fl_buf_put_str(&path, "/v1/?op=GETDELEGATIONTOKEN");
    if (c->flags.renewer != NULL) {
        fl_buf_put_str(&path, "&renewer=");
        client_put_encoded(&path, c->flags.renewer);
    }
    if (c->flags.service != NULL) {
        fl_buf_put_str(&path, "&service=");
        client_put_encoded(&path, c->flags.service);
    }
    code = client_call(&c->client, "GET", fl_buf_slice(&path), NULL, &answer);
    fl_buf_done(&path);
    if (code != CLI_OK)
        return code;
    fl_arena_init(&t.arena, 0, 0);
    if (json_unpack(answer, "{s:{s:s}}", "Token", "urlString", &text) != 0)
        code = cli_fail(CLI_UNREACHABLE, c->client.program, "the answer holds no Token.urlString");
    else if (!c->flags.client.json)
        printf("%s\n", text);
    else if (read_token(text, &t, &err) != FL_OK)
        code = cli_fail(CLI_UNREACHABLE, c->client.program, "the server's token can't be read: %s", err.text);
    else
        cli_print_json(token_json(text, &t));
    fl_arena_done(&t.arena);
    json_decref(answer);
    return code;
}

static int call_with_token(struct token_command *c, const char *op, json_t **answer)
{
    struct fl_buf path;
    int           code;

    fl_buf_init(&path, 0);
    fl_buf_printf(&path, "/v1/?op=%s&token=", op);
    client_put_encoded(&path, c->args.at[0]);
    code = client_call(&c->client, "PUT", fl_buf_slice(&path), NULL, answer);
    fl_buf_done(&path);
    return code;
}

static int renew(struct token_command *c)
{
    json_t    *answer = NULL;
    json_int_t until;
    char       date[64];
    int        code = call_with_token(c, "RENEWDELEGATIONTOKEN", &answer);

    if (code != CLI_OK)
        return code;
    if (json_unpack(answer, "{s:I}", "long", &until) != 0)
        code = cli_fail(CLI_UNREACHABLE, c->client.program, "the answer holds no expiry date");
    else if (c->flags.client.json)
        cli_print_json(json_pack("{s:I}", "expiryDate", until));
    else
        printf("valid until %s\n", cli_date(until, date));
    json_decref(answer);
    return code;
}

/* Whoever holds a token may cancel it: Hadoop's client sends nothing else, and a Java server looks at nothing else. */
static int cancel(struct token_command *c)
{
    json_t *answer = NULL;
    int     code;

    c->client.anonymous = true;
    code = call_with_token(c, "CANCELDELEGATIONTOKEN", &answer);
    json_decref(answer);
    return code;
}

static const struct {
    const char          *name;
    struct fl_flag_table table;
    size_t               args;
    bool                 talks;
    int (*run)(struct token_command *c);
} commands[] = {
#define TABLE(f, what, words, arguments_)                                                             \
    {                                                                                                 \
        .flags = (f), .count = FL_COUNT(f), .program = "featherlock token " what, .summary = (words), \
        .arguments = (arguments_)                                                                     \
    }
    { "get", TABLE(get_flags, "get", "Asks for a delegation token and prints it.", ""), 0, true, get },
    { "renew", TABLE(plain_flags, "renew", "Moves a token's expiry; you must be its renewer.", "TOKEN"), 1, true,
      renew },
    { "cancel", TABLE(plain_flags, "cancel", "Ends a token. Holding it is enough.", "TOKEN"), 1, true, cancel },
    { "decode", TABLE(decode_flags, "decode", "Shows a token's fields; asks no server.", "TOKEN"), 1, false, decode },
#undef TABLE
};

static int run_command(size_t i, int argc, char **argv)
{
    struct token_command c = { 0 };
    int                  code = CLI_USAGE;

    if (cli_parse(&commands[i].table, &c.flags, argc, argv, &c.args, commands[i].args, commands[i].args, &code)) {
        code = client_init(&c.client, &c.flags.client, commands[i].table.program);
        if (code == CLI_OK)
            code = commands[i].run(&c);
        client_done(&c.client);
    }
    fl_flags_done(&commands[i].table, &c.flags);
    fl_strings_done(&c.args);
    return code;
}

const struct fl_flag_table *cli_token_table(size_t i)
{
    return i < FL_COUNT(commands) ? &commands[i].table : NULL;
}

int cli_token(int argc, char **argv)
{
    FILE *out = argc >= 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr;

    for (size_t i = 0; argc >= 2 && i < FL_COUNT(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return run_command(i, argc - 1, argv + 1);
    fprintf(out, "usage: featherlock token COMMAND [flags]\n");
    for (size_t i = 0; i < FL_COUNT(commands); i++)
        fprintf(out, "  %-9s %-5s %s\n", commands[i].name, commands[i].table.arguments, commands[i].table.summary);
    return out == stdout ? CLI_OK : CLI_USAGE;
}
