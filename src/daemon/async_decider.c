/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One decision at a time: a copy of the view, a thread that decides on it, an eventfd that signals the
 * end.  Between begin and finish the copy, the plan and the loop's memory belong to the thread.
 */
#include "daemon/async_decider.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/clock.h"

/* A decision in the loop delays requests by at most this time. */
static const double LONG_S = 0.005;

struct async_decider {
    int64_t threshold;
    double recent_s; /* maximum of recent durations; halved with each decision */
    int done;        /* eventfd */
    bool busy;
    pthread_t thread;
    struct view_copy *copy;
    const struct policy *policy;
    struct memory *memory;
    bool fill;
    struct plan plan;
    struct size_decision size;
    int sized; /* what size_decide returned; 1: it was not called */
    bool drop_size;
    int wanted[NODE_GROUPS_LIMIT]; /* of the view */
    double seconds;
    int rc;
    struct pollux_error err;
};

int async_decider_new (int64_t threshold, struct async_decider **ret, struct pollux_error *err)
{
    struct async_decider *decider = calloc (1, sizeof (*decider));
    if (!decider)
        return fail (err, -ENOMEM, "no memory for the decider");
    decider->threshold = threshold;
    decider->done = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (decider->done < 0) {
        free (decider);
        return fail (err, -errno, "cannot make an eventfd: %s", strerror (errno));
    }
    *ret = decider;
    return 0;
}

static void join (struct async_decider *decider)
{
    pthread_join (decider->thread, NULL);
    view_copy_free (decider->copy);
    decider->copy = NULL;
    decider->busy = false;
}

void async_decider_free (struct async_decider *decider)
{
    if (!decider)
        return;
    if (decider->busy)
        join (decider);
    plan_clear (&decider->plan);
    close (decider->done);
    free (decider);
}

static void *decide_in_thread (void *self)
{
    struct async_decider *decider = self;
    const struct view *view = view_copy_view (decider->copy);
    int64_t from_us = clock_monotonic_us ();
    decider->rc = decider->fill ? decide_fill (decider->policy, view, &decider->plan, &decider->err)
                                : decide_full (decider->policy, view, decider->memory,
                                               &decider->plan, &decider->err);
    decider->sized = 1;
    if (decider->rc == 0 && !decider->fill && view->power)
        decider->sized =
            size_decide (decider->policy, view, &decider->plan, &decider->size, &decider->err);
    decider->seconds = (double)(clock_monotonic_us () - from_us) * 1e-6;
    eventfd_write (decider->done, 1);
    return NULL;
}

static int begin (void *self, struct loop *loop, const struct view *view, const struct round *round,
                  struct pollux_error *err)
{
    struct async_decider *decider = self;
    bool large = (int64_t)view_slots (view) * view->job_count >= decider->threshold;
    if (!large && decider->recent_s < LONG_S)
        return 0;
    decider->copy = view_copy (view);
    if (!decider->copy)
        return fail (err, -ENOMEM, "no memory for a view of %d jobs", view->job_count);
    decider->policy = loop->policy;
    decider->memory = &loop->memory;
    decider->fill = round->fill;
    if (pthread_create (&decider->thread, NULL, decide_in_thread, decider) != 0) {
        view_copy_free (decider->copy); /* no thread: the loop decides */
        decider->copy = NULL;
        return 0;
    }
    decider->busy = true;
    decider->drop_size = false;
    if (view->power)
        memcpy (decider->wanted, view->power->wanted, sizeof (decider->wanted));
    return 1;
}

struct decider_hook async_decider_hook (struct async_decider *decider)
{
    return (struct decider_hook){.begin = begin, .self = decider};
}

void async_decider_measured (struct async_decider *decider, double seconds)
{
    decider->recent_s = fmax (seconds, decider->recent_s / 2);
}

bool async_decider_busy (const struct async_decider *decider)
{
    return decider->busy;
}

int async_decider_fd (const struct async_decider *decider)
{
    return decider->done;
}

int async_decider_finish (struct async_decider *decider, const struct plan **ret, double *seconds,
                          struct pollux_error *err)
{
    eventfd_t count;
    eventfd_read (decider->done, &count);
    join (decider);
    *seconds = decider->seconds;
    if (decider->rc < 0)
        return fail (err, decider->rc, "%s", decider->err.text);
    *ret = &decider->plan;
    return 0;
}

void async_decider_drop_size (struct async_decider *decider)
{
    decider->drop_size = true;
}

/* True if nodes came, went or were ordered since the view.  Two changes in flight would be the result. */
static bool is_outdated (const struct async_decider *decider, const struct cluster *cluster)
{
    return power_in_flight (cluster) ||
           memcmp (decider->wanted, cluster->power.wanted, sizeof (decider->wanted)) != 0;
}

int async_decider_size (const struct async_decider *decider, const struct cluster *cluster,
                        struct size_decision *ret, struct pollux_error *err)
{
    if (decider->drop_size)
        return 0;
    if (decider->sized != 0)
        return decider->sized > 0 ? 0 : fail (err, decider->sized, "%s", decider->err.text);
    if (decider->size.resize && is_outdated (decider, cluster))
        return 0;
    *ret = decider->size;
    return 1;
}
