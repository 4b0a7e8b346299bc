/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_SIGNALS_H
#define AGENT_SIGNALS_H

#include "pollux/pollux.h"

/* Begin to remember a signal; *ret_count is how often it has come so far.  Each success is to be
 * undone with signals_release; the handler goes with the last of them. */
int signals_hold (int signal, unsigned *ret_count, struct pollux_error *err);
void signals_release (int signal);

/* How often a held signal has come. */
unsigned signals_count (int signal);

#endif
