/* cli/cli.h - the subcommands. Each takes its own argv (argv[0] its name) and returns main's status (cli/client.h).
 *
 * Owns: nothing. Thread: main. Blocks: yes. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/flags.h"

int cli_key(int argc, char **argv);
int cli_token(int argc, char **argv);

/* `featherlock reference` prints docs/flags.md, `featherlock completion` a script for bash. */
int cli_reference(int argc, char **argv);
int cli_completion(int argc, char **argv);

/* Flag tables of the subcommands, for both; NULL past the last. */
const struct fl_flag_table *cli_key_table(size_t i);
const struct fl_flag_table *cli_token_table(size_t i);

#endif
