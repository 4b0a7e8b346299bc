/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HOME_H
#define BASE_HOME_H

#include <limits.h>

#include "pollux/pollux.h"

/* The default state directory of this user's daemon: $POLLUX_STATE; else /var/lib/pollux for root,
 * $XDG_STATE_HOME/pollux or ~/.local/state/pollux for others.  Leaves room to append a file name. */
int home_state (char ret[PATH_MAX], struct pollux_error *err);

#endif
