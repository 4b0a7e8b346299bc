/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_SIGNALS_H
#define AGENT_SIGNALS_H

#include "pollux/pollux.h"

/* Start to count a signal; *ret_count is the count so far.  Undo each success with signals_release;
 * the last one removes the handler. */
int signals_hold (int signal, unsigned *ret_count, struct pollux_error *err);
void signals_release (int signal);

/* The count of a held signal. */
unsigned signals_count (int signal);

#endif
