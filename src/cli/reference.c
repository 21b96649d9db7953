#include "cli/cli.h"

#include "bench/bench.h"
#include "kms/kms.h"

#include <stdio.h>

static const struct fl_flag_table *table_at(size_t i)
{
    size_t keys = 0, tokens = 0;

    if (i == 0)
        return kms_flag_table();
    while (cli_key_table(keys) != NULL)
        keys++;
    while (cli_token_table(tokens) != NULL)
        tokens++;
    i -= 1;
    if (i < keys)
        return cli_key_table(i);
    i -= keys;
    return i < tokens ? cli_token_table(i) : i == tokens ? bench_flag_table() : NULL;
}

static int print(struct fl_buf *out)
{
    bool ok = !out->failed && fwrite(out->data, 1, fl_buf_len(out), stdout) == fl_buf_len(out);

    fl_buf_done(out);
    return ok && fflush(stdout) == 0 ? 0 : 1;
}

int cli_reference(int argc, char **argv)
{
    struct fl_buf out;

    (void)argc;
    (void)argv;
    fl_buf_init(&out, 0);
    fl_buf_put_str(&out,
                   "# Flags\n\nMade by `featherlock reference` from the tables that parse them. A flag may be given as "
                   "`--name=value` (`_` and `-` alike), in a file named by `--flagfile` (one a line), or as "
                   "`FEATHERLOCK_NAME` in the environment; the command line wins, then the file.\n");
    for (size_t i = 0; table_at(i) != NULL; i++) {
        fl_buf_put_byte(&out, '\n');
        fl_flags_reference(table_at(i), &out);
    }
    return print(&out);
}

int cli_completion(int argc, char **argv)
{
    struct fl_buf out;

    (void)argc;
    (void)argv;
    fl_buf_init(&out, 0);
    fl_buf_put_str(&out, "# bash completion of featherlock: source <(featherlock completion)\n"
                         "_featherlock()\n{\n    local words=\"kms key token bench check version help\"\n"
                         "    case \"${COMP_WORDS[*]:0:3}\" in\n");
    for (size_t i = 0; table_at(i) != NULL; i++) {
        const char *name = table_at(i)->program;

        fl_buf_printf(&out, "    \"%s\"%s) words=\"", name, strchr(name + 12, ' ') == NULL ? "*" : "");
        fl_flags_completion(table_at(i), &out);
        fl_buf_put_str(&out, "\" ;;\n");
    }
    fl_buf_put_str(
        &out, "    \"featherlock key \"*) words=\"create list describe roll delete versions eek backup restore\" ;;\n"
              "    \"featherlock token \"*) words=\"get renew cancel decode\" ;;\n"
              "    esac\n    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\")\n}\n"
              "complete -o default -F _featherlock featherlock\n");
    return print(&out);
}
