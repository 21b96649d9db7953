/* cli/cli.h - the subcommands. Each takes its own argv (argv[0] its name) and returns main's status (cli/client.h).
 *
 * Owns: nothing. Thread: main. Blocks: yes. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

int cli_key(int argc, char **argv);
int cli_token(int argc, char **argv);
int cli_check(int argc, char **argv);

#endif
