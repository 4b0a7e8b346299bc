/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside an event loop. */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Start a thread that gets no signals: they are for the caller's.  0 or an errno value. */
int thread_start (pthread_t *ret, void *(*run) (void *self), void *self);

/* End a thread that waits for work on a condition variable: set *ending, and wake it.  False: it is *busy with
 * something that may take long; it is not waited for, and has to free by itself what it uses when it sees *ending.
 * Both are protected by the lock. */
bool thread_end (pthread_t thread, pthread_mutex_t *lock, pthread_cond_t *wake, const bool *busy,
                 bool *ending);

#endif
