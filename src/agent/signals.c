/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Count signals.  A signal handler gets no user argument, so this is the only file of the library with
 * global state: per signal a count, the previous handler, and the number of agents that hold it.
 *
 * Our handler calls the previous one with the same arguments.  The previous handler is stored before
 * ours is installed, and does not change while any agent holds the signal.
 */
#define _GNU_SOURCE
#include "agent/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"

enum { SIGNALS = 65 }; /* 1..64 on Linux */

struct held {
    atomic_uint count;
    _Atomic (void (*) (int, siginfo_t *, void *)) next_action; /* NULL: none with three arguments */
    _Atomic (void (*) (int)) next_handler;                     /* NULL: none */
    int holders;    /* this and all below: protected by the lock */
    bool installed; /* our handler is installed; another handler may call it */
    struct sigaction before;
};

static struct held all_held[SIGNALS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void count_signal (int number, siginfo_t *info, void *context)
{
    int error = errno;
    struct held *held = &all_held[number];
    atomic_fetch_add (&held->count, 1);
    void (*action) (int, siginfo_t *, void *) = atomic_load (&held->next_action);
    void (*handler) (int) = atomic_load (&held->next_handler);
    if (action)
        action (number, info, context);
    else if (handler)
        handler (number);
    errno = error;
}

/* Install our handler and store the previous one. */
static int install (int number, struct held *held)
{
    struct sigaction before, ours = {.sa_flags = SA_SIGINFO | SA_RESTART};
    if (sigaction (number, NULL, &before) < 0)
        return -errno;
    bool three = before.sa_flags & SA_SIGINFO;
    bool plain = !three && before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN;
    atomic_store (&held->next_action, three ? before.sa_sigaction : NULL);
    atomic_store (&held->next_handler, plain ? before.sa_handler : NULL);
    held->before = before;
    ours.sa_sigaction = count_signal;
    ours.sa_mask = before.sa_mask;
    ours.sa_flags |=
        before.sa_flags & SA_ONSTACK; /* some language runtimes require the alternate stack */
    return sigaction (number, &ours, NULL) < 0 ? -errno : 0;
}

/* Whether nothing calls our handler any more: the program has set the signal to its default action
 * or to be ignored since. */
static bool is_dropped (int number)
{
    struct sigaction now;
    return sigaction (number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
           (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
}

int signals_hold (int number, unsigned *ret_count, struct pollux_error *err)
{
    if (number < 1 || number >= SIGNALS)
        return fail (err, -EINVAL, "agent: there is no signal %d", number);
    struct held *held = &all_held[number];
    pthread_mutex_lock (&lock);
    /* Never twice: if another handler calls ours, installing again would make a cycle. */
    int code = held->installed && !is_dropped (number) ? 0 : install (number, held);
    if (code == 0) {
        held->installed = true;
        held->holders++;
        *ret_count = atomic_load (&held->count);
    }
    pthread_mutex_unlock (&lock);
    return code < 0 ? fail (err, -EINVAL, "agent: signal %d cannot be caught: %s", number,
                            strerror (-code))
                    : 0;
}

void signals_release (int number)
{
    struct sigaction now;
    struct held *held = &all_held[number];
    pthread_mutex_lock (&lock);
    /* If another handler was installed after ours, it may call ours: then ours stays installed. */
    if (--held->holders == 0 && sigaction (number, NULL, &now) == 0 &&
        (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == count_signal)
        held->installed = sigaction (number, &held->before, NULL) < 0;
    pthread_mutex_unlock (&lock);
}

unsigned signals_count (int number)
{
    return atomic_load (&all_held[number].count);
}
