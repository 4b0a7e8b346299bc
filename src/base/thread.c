/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new thread has the signal mask of the one that starts it.
 */
#include "base/thread.h"

#include <signal.h>

int thread_start (pthread_t *ret, void *(*run) (void *self), void *self)
{
    sigset_t all, before;
    sigfillset (&all);
    pthread_sigmask (SIG_SETMASK, &all, &before);
    int code = pthread_create (ret, NULL, run, self);
    pthread_sigmask (SIG_SETMASK, &before, NULL);
    return code;
}

bool thread_end (pthread_t thread, pthread_mutex_t *lock, pthread_cond_t *wake, const bool *busy,
                 bool *ending)
{
    pthread_mutex_lock (lock);
    bool works = *busy;
    *ending = true;
    if (works)
        pthread_detach (thread);
    else
        pthread_cond_signal (wake);
    pthread_mutex_unlock (lock);
    if (!works)
        pthread_join (thread, NULL);
    return !works;
}
