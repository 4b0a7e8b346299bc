/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HOME_H
#define BASE_HOME_H

#include <limits.h>

#include "pollux/pollux.h"

/* The state directory of this user's daemon, where nobody says otherwise: POLLUX_STATE,
 * /var/lib/pollux for root, else $XDG_STATE_HOME/pollux or ~/.local/state/pollux.  Leaves room for
 * the name of a file behind it. */
int home_state (char ret[PATH_MAX], struct pollux_error *err);

#endif
