/*
 * cmd: the subcommands.  argv[0] is the subcommand's name.
 *
 * Each returns FAIL_OK or a fail code whose text main() prints; a command that has printed all
 * there is to say and only needs an exit code of the contract returns CMD_QUIET(exit code).
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#define CMD_QUIET(exit_code) (exit_code)

int cmd_doctor(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_validate(int argc, char **argv);

#endif
