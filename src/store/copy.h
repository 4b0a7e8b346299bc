/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_COPY_H
#define STORE_COPY_H

#include "pollux/pollux.h"

/* Copy a journal with its write-ahead log while its writer may still write, without locks.  The copy is what
 * a crash of the writer at one moment during this call would have left: it has every event whose commit
 * had returned before the call.  The name `to` exists only when the copy is complete and durable.
 * -ENOENT: there is no journal `from`; -EBUSY: it changes all the time. */
int store_copy (const char *from, const char *to, struct pollux_error *err);

#endif
