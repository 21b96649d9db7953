/* kms/kms.h - the face of the KMS door: Hadoop's REST API over HTTP and HTTPS, as one program.
 *
 * Owns:    everything of a running server, from kms_main's start to its return.
 * Thread:  start. Blocks: kms_main serves until SIGTERM or SIGINT.
 * Source:  docs/protocol/hadoop-kms.md */
#ifndef KMS_KMS_H
#define KMS_KMS_H

#include "base/flags.h"

/* How kms_main ends; docs/guide.md, "Exit statuses". */
enum kms_exit { KMS_EXIT_OK = 0, KMS_EXIT_FAILED = 1, KMS_EXIT_USAGE = 2 };

/* `featherlock kms`: argv[0] is the subcommand's name. Returns an exit status. */
int kms_main(int argc, char **argv);
/* `featherlock check`: the same flags; opens everything as kms_main would, says what it found, serves nothing. A data
 * folder that isn't there is not made. */
int kms_check_main(int argc, char **argv);

/* The settings, for help, completion, the reference page and `featherlock check`. */
const struct fl_flag_table *kms_flag_table(void);

#endif
