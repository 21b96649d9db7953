#include "cli/cli.h"

#include "cli/client.h"
#include "cli/table.h"
#include "store/store.h"

#include <stdio.h>
#include <unistd.h>

struct key_flags {
    struct client_flags client;
    int64_t             length, count;
    char               *cipher, *description, *material, *version, *iv, *data_dir;
    struct fl_strings   attributes;
    bool                metadata, decrypt, reencrypt;
};

struct key_command {
    struct client     client;
    struct key_flags  flags;
    struct fl_strings args;
};

#define FIELD(name) offsetof(struct key_flags, name)
static const struct fl_flag plain_flags[] = { CLIENT_FLAGS(struct key_flags) };
static const struct fl_flag create_flags[] = {
    CLIENT_FLAGS(struct key_flags),
    { .name = "length",
      .type = FL_FLAG_INT,
      .offset = FIELD(length),
      .unit = "bits",
      .default_text = "0",
      .min = 0,
      .max = 65536,
      .help = "length of the material; 0: the server's default" },
    { .name = "cipher", .type = FL_FLAG_STRING, .offset = FIELD(cipher), .help = "default: AES/CTR/NoPadding" },
    { .name = "description", .type = FL_FLAG_STRING, .offset = FIELD(description), .help = "for people" },
    { .name = "attribute",
      .type = FL_FLAG_STRINGS,
      .offset = FIELD(attributes),
      .help = "name=value, repeatable; key.acl.name is the one that means something" },
    { .name = "material",
      .type = FL_FLAG_STRING,
      .offset = FIELD(material),
      .help = "base64 of the bytes to use instead of random ones" },
};
static const struct fl_flag roll_flags[] = {
    CLIENT_FLAGS(struct key_flags),
    { .name = "material",
      .type = FL_FLAG_STRING,
      .offset = FIELD(material),
      .help = "base64 of the bytes to use instead of random ones" },
};
static const struct fl_flag list_flags[] = {
    CLIENT_FLAGS(struct key_flags),
    { .name = "metadata",
      .type = FL_FLAG_BOOL,
      .offset = FIELD(metadata),
      .help = "a table with what is known of each" },
};
static const struct fl_flag eek_flags[] = {
    CLIENT_FLAGS(struct key_flags),
    { .name = "count",
      .type = FL_FLAG_INT,
      .offset = FIELD(count),
      .default_text = "1",
      .min = 1,
      .max = 100000,
      .help = "how many to generate" },
    { .name = "decrypt",
      .type = FL_FLAG_BOOL,
      .offset = FIELD(decrypt),
      .help = "decrypt one: --version, --iv and --material of it" },
    { .name = "reencrypt",
      .type = FL_FLAG_BOOL,
      .offset = FIELD(reencrypt),
      .help = "the same DEK under the current version" },
    { .name = "version", .type = FL_FLAG_STRING, .offset = FIELD(version), .help = "version name, e.g. k1@0" },
    { .name = "iv", .type = FL_FLAG_STRING, .offset = FIELD(iv), .help = "base64" },
    { .name = "material", .type = FL_FLAG_STRING, .offset = FIELD(material), .help = "base64 of the EEK" },
};
static const struct fl_flag backup_flags[] = {
    { .name = "data_dir",
      .type = FL_FLAG_STRING,
      .offset = FIELD(data_dir),
      .required = true,
      .help = "the folder of the running server" },
    { .name = "timeout",
      .type = FL_FLAG_DURATION,
      .offset = offsetof(struct key_flags, client.timeout),
      .default_text = "10m",
      .unit = "s",
      .help = "of the whole copy" },
};
static const struct fl_flag restore_flags[] = {
    { .name = "data_dir",
      .type = FL_FLAG_STRING,
      .offset = FIELD(data_dir),
      .required = true,
      .help = "the folder to make; it must not hold a store" },
};
#undef FIELD

/* GET of "/v1/key/<name><tail>" and its like. */
static int call_key(struct key_command *k, const char *method, const char *kind, const char *name, const char *tail,
                    json_t *body, json_t **answer)
{
    struct fl_buf path;
    int           code;

    fl_buf_init(&path, 0);
    fl_buf_printf(&path, "/v1/%s/", kind);
    client_put_encoded(&path, name);
    fl_buf_put_str(&path, tail);
    code = client_call(&k->client, method, fl_buf_slice(&path), body, answer);
    fl_buf_done(&path);
    return code;
}

static bool is_nothing(const json_t *answer) /* {} or []: the KMS's way to say that there is none */
{
    return answer == NULL || (json_is_object(answer) && json_object_size(answer) == 0) ||
           (json_is_array(answer) && json_array_size(answer) == 0);
}

static int not_found(const struct key_command *k)
{
    return cli_fail(CLI_NOT_FOUND, k->client.program, "there is no key '%s'", k->args.at[0]);
}

static const char *text_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    return json_is_string(value) ? json_string_value(value) : "-";
}

static void put_number(const json_t *object, const char *name, char out[24])
{
    snprintf(out, 24, "%lld", (long long)json_integer_value(json_object_get(object, name)));
}

static void put_attributes(const json_t *meta, struct fl_buf *out)
{
    const char *name;
    json_t     *value;

    json_object_foreach(json_object_get(meta, "attributes"), name, value)
    {
        fl_buf_printf(out, "%s%s=%s", fl_buf_len(out) > 0 ? ", " : "", name,
                      json_is_string(value) ? json_string_value(value) : "");
    }
    if (fl_buf_len(out) == 0)
        fl_buf_put_str(out, "-");
    fl_buf_put_byte(out, '\0');
}

static void add_metadata_row(struct cli_table *t, const json_t *meta)
{
    char          length[24], versions[24], created[64];
    struct fl_buf attributes;

    fl_buf_init(&attributes, 0);
    put_number(meta, "length", length);
    put_number(meta, "versions", versions);
    put_attributes(meta, &attributes);
    cli_date(json_integer_value(json_object_get(meta, "created")), created);
    cli_table_row(t, text_of(meta, "name"), text_of(meta, "cipher"), length, versions, created,
                  text_of(meta, "description"), (const char *)attributes.data);
    fl_buf_done(&attributes);
}

static void print_metadata(const json_t *list)
{
    struct cli_table t;
    size_t           i;
    json_t          *meta;

    cli_table_init(&t, 7);
    cli_table_row(&t, "name", "cipher", "bits", "versions", "created", "description", "attributes");
    json_array_foreach(list, i, meta)
    {
        if (!is_nothing(meta))
            add_metadata_row(&t, meta);
    }
    cli_table_print(&t, stdout);
}

static void print_versions(const json_t *list)
{
    struct cli_table t;
    size_t           i;
    json_t          *version;

    cli_table_init(&t, 3);
    cli_table_row(&t, "version", "key", "material");
    json_array_foreach(list, i, version)
    {
        cli_table_row(&t, text_of(version, "versionName"), text_of(version, "name"), text_of(version, "material"));
    }
    cli_table_print(&t, stdout);
}

static void print_eeks(const json_t *list)
{
    struct cli_table t;
    size_t           i;
    json_t          *eek;

    cli_table_init(&t, 3);
    cli_table_row(&t, "version", "iv", "eek");
    json_array_foreach(list, i, eek)
    {
        cli_table_row(&t, text_of(eek, "versionName"), text_of(eek, "iv"),
                      text_of(json_object_get(eek, "encryptedKeyVersion"), "material"));
    }
    cli_table_print(&t, stdout);
}

/* Shows an answer: JSON as it came, or an array of it through print. Takes the answer. */
static int show(struct key_command *k, json_t *answer, void (*print)(const json_t *list))
{
    json_t *list = json_is_array(answer) ? json_incref(answer) : json_pack("[O]", answer);

    if (k->flags.client.json)
        cli_print_json(json_incref(answer));
    else
        print(list);
    json_decref(list);
    json_decref(answer);
    return CLI_OK;
}

static int put_attributes_of(struct key_command *k, json_t *body)
{
    json_t *attributes = json_object();

    for (size_t i = 0; i < k->flags.attributes.count; i++) {
        struct fl_slice both = fl_slice_str(k->flags.attributes.at[i]);
        size_t          eq = fl_slice_find(both, '=');

        if (eq == SIZE_MAX || eq == 0) {
            json_decref(attributes);
            return cli_fail(CLI_USAGE, k->client.program, "--attribute=%s: name=value is expected",
                            k->flags.attributes.at[i]);
        }
        json_object_setn_new(attributes, (const char *)both.at, eq,
                             json_stringn((const char *)both.at + eq + 1, both.len - eq - 1));
    }
    json_object_set_new(body, "attributes", attributes);
    return CLI_OK;
}

static int create(struct key_command *k)
{
    json_t *answer = NULL,
           *body = json_pack("{s:s, s:s*, s:s*, s:s*}", "name", k->args.at[0], "cipher", k->flags.cipher, "description",
                             k->flags.description, "material", k->flags.material);
    int code = k->flags.attributes.count > 0 ? put_attributes_of(k, body) : CLI_OK;

    if (k->flags.length > 0)
        json_object_set_new(body, "length", json_integer(k->flags.length));
    if (code != CLI_OK) {
        json_decref(body);
        return code;
    }
    code = client_call(&k->client, "POST", FL_LIT("/v1/keys"), body, &answer);
    return code == CLI_OK ? show(k, answer, print_versions) : code;
}

static int roll(struct key_command *k)
{
    json_t *answer = NULL;
    int     code =
        call_key(k, "POST", "key", k->args.at[0], "", json_pack("{s:s*}", "material", k->flags.material), &answer);

    return code == CLI_OK ? show(k, answer, print_versions) : code;
}

static int delete (struct key_command *k)
{
    json_t *answer = NULL;
    int     code = call_key(k, "DELETE", "key", k->args.at[0], "", NULL, &answer);

    json_decref(answer);
    return code;
}

static int describe(struct key_command *k)
{
    json_t *answer = NULL;
    int     code = call_key(k, "GET", "key", k->args.at[0], "/_metadata", NULL, &answer);

    if (code == CLI_OK && is_nothing(answer)) {
        json_decref(answer);
        return not_found(k);
    }
    return code == CLI_OK ? show(k, answer, print_metadata) : code;
}

static int versions(struct key_command *k)
{
    json_t *answer = NULL;
    int     code = call_key(k, "GET", "key", k->args.at[0], "/_versions", NULL, &answer);

    if (code == CLI_OK && is_nothing(answer)) {
        json_decref(answer);
        return not_found(k);
    }
    return code == CLI_OK ? show(k, answer, print_versions) : code;
}

static void print_names(const json_t *names)
{
    size_t  i;
    json_t *name;

    json_array_foreach(names, i, name)
    {
        printf("%s\n", json_string_value(name));
    }
}

/* Metadata of many keys, in requests whose URLs every server takes. */
static int list_metadata(struct key_command *k, const json_t *names)
{
    json_t       *all = json_array(), *part = NULL, *name;
    struct fl_buf path;
    size_t        i;
    int           code = CLI_OK;

    fl_buf_init(&path, 0);
    json_array_foreach(names, i, name)
    {
        fl_buf_put_str(&path, fl_buf_len(&path) == 0 ? "/v1/keys/metadata?key=" : "&key=");
        client_put_encoded(&path, json_string_value(name));
        if (fl_buf_len(&path) < 1000 && i + 1 < json_array_size(names))
            continue;
        code = client_call(&k->client, "GET", fl_buf_slice(&path), NULL, &part);
        if (code != CLI_OK)
            break;
        json_array_extend(all, part);
        json_decref(part);
        fl_buf_clear(&path);
    }
    fl_buf_done(&path);
    if (code == CLI_OK)
        return show(k, all, print_metadata);
    json_decref(all);
    return code;
}

static int list(struct key_command *k)
{
    json_t *names = NULL;
    int     code = client_call(&k->client, "GET", FL_LIT("/v1/keys/names"), NULL, &names);

    if (code != CLI_OK)
        return code;
    if (!k->flags.metadata)
        return show(k, names, print_names);
    code = list_metadata(k, names);
    json_decref(names);
    return code;
}

static int eek_from(struct key_command *k, const char *op)
{
    json_t *answer = NULL, *body;
    char    tail[64];
    int     code;

    if (k->flags.version == NULL || k->flags.iv == NULL || k->flags.material == NULL)
        return cli_fail(CLI_USAGE, k->client.program, "--%s needs --version, --iv and --material", op);
    body = json_pack("{s:s, s:s, s:s}", "name", k->args.at[0], "iv", k->flags.iv, "material", k->flags.material);
    snprintf(tail, sizeof tail, "/_eek?eek_op=%s", op);
    code = call_key(k, "POST", "keyversion", k->flags.version, tail, body, &answer);
    return code == CLI_OK ? show(k, answer, k->flags.decrypt ? print_versions : print_eeks) : code;
}

static int eek(struct key_command *k)
{
    json_t *answer = NULL;
    char    tail[64];
    int     code;

    if (k->flags.decrypt && k->flags.reencrypt)
        return cli_fail(CLI_USAGE, k->client.program, "--decrypt and --reencrypt are both given, one is expected");
    if (k->flags.decrypt || k->flags.reencrypt)
        return eek_from(k, k->flags.decrypt ? "decrypt" : "reencrypt");
    snprintf(tail, sizeof tail, "/_eek?eek_op=generate&num_keys=%lld", (long long)k->flags.count);
    code = call_key(k, "GET", "key", k->args.at[0], tail, NULL, &answer);
    return code == CLI_OK ? show(k, answer, print_eeks) : code;
}

/* FILE seen from here, as the server must see it. */
static char *absolute(const char *file)
{
    char             *out = NULL;
    FL_AUTO_MEM char *here = file[0] == '/' ? NULL : getcwd(NULL, 0);

    if (file[0] == '/')
        return strdup(file);
    return here == NULL || asprintf(&out, "%s/%s", here, file) < 0 ? NULL : out;
}

static int backup(struct key_command *k)
{
    FL_AUTO_MEM char   *folder = realpath(k->flags.data_dir, NULL), *file = absolute(k->args.at[0]), *url = NULL;
    struct client_flags flags = k->flags.client;
    struct client       control = { .flags = &flags, .program = k->client.program, .anonymous = true };
    struct fl_buf       path;
    json_t             *answer = NULL;
    int                 code;

    if (folder == NULL)
        return cli_fail(CLI_USAGE, k->client.program, "--data_dir=%s: %m", k->flags.data_dir);
    if (file == NULL || asprintf(&url, "unix:%s/control.sock:", folder) < 0)
        return cli_fail(CLI_UNREACHABLE, k->client.program, "no memory for a path");
    flags.url = url;
    fl_buf_init(&path, 0);
    fl_buf_put_str(&path, "/backup?file=");
    client_put_encoded(&path, file);
    code = client_call(&control, "POST", fl_buf_slice(&path), NULL, &answer);
    json_decref(answer);
    client_done(&control);
    fl_buf_done(&path);
    return code;
}

static int restore(struct key_command *k)
{
    struct fl_error err;

    if (store_restore(k->args.at[0], k->flags.data_dir, &err) != FL_OK)
        return cli_fail(CLI_REFUSED, k->client.program, "%s", err.text);
    return CLI_OK;
}

static const struct {
    const char          *name;
    struct fl_flag_table table;
    size_t               args;
    int (*run)(struct key_command *k);
} commands[] = {
#define TABLE(f, what, words, arguments_)                                                           \
    {                                                                                               \
        .flags = (f), .count = FL_COUNT(f), .program = "featherlock key " what, .summary = (words), \
        .arguments = (arguments_)                                                                   \
    }
    { "create", TABLE(create_flags, "create", "Makes a key with its version 0.", "NAME"), 1, create },
    { "list", TABLE(list_flags, "list", "Names of all keys.", ""), 0, list },
    { "describe", TABLE(plain_flags, "describe", "What is known of a key.", "NAME"), 1, describe },
    { "roll", TABLE(roll_flags, "roll", "Gives a key a new version; the old ones still decrypt.", "NAME"), 1, roll },
    { "delete",
      TABLE(plain_flags, "delete", "Removes a key and all its versions. What they encrypted is lost.", "NAME"), 1,
      delete },
    { "versions", TABLE(plain_flags, "versions", "All versions of a key with their material.", "NAME"), 1, versions },
    { "eek", TABLE(eek_flags, "eek", "Generates encrypted keys, decrypts or re-encrypts one.", "NAME"), 1, eek },
    { "backup", TABLE(backup_flags, "backup", "Copies the store of a running server into a file.", "FILE"), 1, backup },
    { "restore", TABLE(restore_flags, "restore", "Makes a data folder of such a file.", "FILE"), 1, restore },
#undef TABLE
};

static int run_command(size_t i, int argc, char **argv)
{
    struct key_command k = { 0 };
    int                code = CLI_USAGE;

    if (cli_parse(&commands[i].table, &k.flags, argc, argv, &k.args, commands[i].args, commands[i].args, &code)) {
        code = client_init(&k.client, &k.flags.client, commands[i].table.program);
        if (code == CLI_OK)
            code = commands[i].run(&k);
        client_done(&k.client);
    }
    fl_flags_done(&commands[i].table, &k.flags);
    fl_strings_done(&k.args);
    return code;
}

const struct fl_flag_table *cli_key_table(size_t i)
{
    return i < FL_COUNT(commands) ? &commands[i].table : NULL;
}

int cli_key(int argc, char **argv)
{
    FILE *out = argc >= 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr;

    for (size_t i = 0; argc >= 2 && i < FL_COUNT(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return run_command(i, argc - 1, argv + 1);
    fprintf(out, "usage: featherlock key COMMAND [flags]\n");
    for (size_t i = 0; i < FL_COUNT(commands); i++)
        fprintf(out, "  %-9s %-5s %s\n", commands[i].name, commands[i].table.arguments, commands[i].table.summary);
    return out == stdout ? CLI_OK : CLI_USAGE;
}
