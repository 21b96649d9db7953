/* featherlock: one program, subcommands. */
#include "bench/bench.h"
#include "cli/cli.h"
#include "kms/kms.h"

#include <stdio.h>
#include <string.h>

static int version_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return printf("featherlock %s\n", FL_VERSION) < 0 || fflush(stdout) != 0;
}

static const struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
    { "kms", "serves the Hadoop KMS REST API", kms_main },
    { "check", "loads what `kms` would, says what it found, serves nothing", kms_check_main },
    { "key", "makes, shows, rolls and deletes keys; backup and restore", cli_key },
    { "token", "gets, renews, cancels and decodes delegation tokens", cli_token },
    { "bench", "measures a server, ours or another", bench_main },
    { "reference", "prints every flag as Markdown", cli_reference },
    { "completion", "prints a completion script for bash", cli_completion },
    { "version", "prints the version", version_main },
};

static void usage(FILE *to)
{
    fputs("usage: featherlock COMMAND [flags]\n\ncommands:\n", to);
    for (size_t i = 0; i < FL_COUNT(commands); i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\n`featherlock COMMAND --help` tells more.\n", to);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return KMS_EXIT_USAGE;
    }
    for (size_t i = 0; i < FL_COUNT(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return KMS_EXIT_OK;
    }
    fprintf(stderr, "featherlock: '%s' is no command\n", argv[1]);
    usage(stderr);
    return KMS_EXIT_USAGE;
}
