/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommands of pollux.  A new one needs a file with one `const struct command`, a line in the
 * list below and a line in the table of main.c; help, completion, usage errors and suggestions of
 * names follow from it.  Its man page is docs/man/pollux-NAME.1.scd; tests/cli/commands.sh names
 * what is missing.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/command.h"

extern const struct command decide_command;
extern const struct command exec_command;
extern const struct command slurm_pilot_command;
extern const struct command fit_command;
extern const struct command goodput_command;
extern const struct command sim_command;
extern const struct command replay_command;
extern const struct command report_command;
extern const struct command view_command;
extern const struct command capacity_command;
extern const struct command workload_command;
extern const struct command extract_command;
extern const struct command profiles_command;
extern const struct command submit_command;
extern const struct command list_command;
extern const struct command show_command;
extern const struct command logs_command;
extern const struct command cancel_command;
extern const struct command scale_command;
extern const struct command nodes_command;
extern const struct command drain_command;
extern const struct command resume_command;
extern const struct command groups_command;
extern const struct command cost_command;
extern const struct command events_command;
extern const struct command explain_command;
extern const struct command top_command;
extern const struct command token_command;
extern const struct command status_command;
extern const struct command doctor_command;

#endif
