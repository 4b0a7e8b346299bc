/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One decision at a time: a view copied, a thread that decides on it, an eventfd that tells when.
 * Between begin and finish the copy, the plan and the loop's memory are the thread's.
 */
#include "daemon/thinker.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "daemon/clock.h"

/* Whoever asks something meanwhile should not notice. */
static const double LONG_S = 0.005;

struct thinking {
    int64_t threshold;
    double recent_s; /* what lately took longest, half of it forgotten with each decision */
    int done;        /* eventfd */
    bool busy;
    pthread_t thread;
    struct view_copy *copy;
    const struct policy *policy;
    struct memory *memory;
    bool fill;
    struct plan plan;
    double seconds;
    int rc;
    struct pollux_error err;
};

int thinking_new (int64_t threshold, struct thinking **ret, struct pollux_error *err)
{
    struct thinking *thinking = calloc (1, sizeof (*thinking));
    if (!thinking)
        return fail (err, -ENOMEM, "no memory to think with");
    thinking->threshold = threshold;
    thinking->done = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (thinking->done < 0) {
        free (thinking);
        return fail (err, -errno, "cannot make an eventfd: %s", strerror (errno));
    }
    *ret = thinking;
    return 0;
}

static void join (struct thinking *thinking)
{
    pthread_join (thinking->thread, NULL);
    view_copy_free (thinking->copy);
    thinking->copy = NULL;
    thinking->busy = false;
}

void thinking_free (struct thinking *thinking)
{
    if (!thinking)
        return;
    if (thinking->busy)
        join (thinking);
    plan_clear (&thinking->plan);
    close (thinking->done);
    free (thinking);
}

static void *think (void *self)
{
    struct thinking *thinking = self;
    const struct view *view = view_copy_view (thinking->copy);
    int64_t from_us = clock_monotonic_us ();
    thinking->rc = thinking->fill
                       ? decide_fill (thinking->policy, view, &thinking->plan, &thinking->err)
                       : decide_full (thinking->policy, view, thinking->memory, &thinking->plan,
                                      &thinking->err);
    thinking->seconds = (double)(clock_monotonic_us () - from_us) * 1e-6;
    eventfd_write (thinking->done, 1);
    return NULL;
}

static int begin (void *self, struct loop *loop, const struct view *view, const struct round *round,
                  struct pollux_error *err)
{
    struct thinking *thinking = self;
    bool large = (int64_t)view_slots (view) * view->job_count >= thinking->threshold;
    if (!large && thinking->recent_s < LONG_S)
        return 0;
    thinking->copy = view_copy (view);
    if (!thinking->copy)
        return fail (err, -ENOMEM, "no memory for a view of %d jobs", view->job_count);
    thinking->policy = loop->policy;
    thinking->memory = &loop->memory;
    thinking->fill = round->fill;
    if (pthread_create (&thinking->thread, NULL, think, thinking) != 0) {
        view_copy_free (thinking->copy); /* then without one */
        thinking->copy = NULL;
        return 0;
    }
    thinking->busy = true;
    return 1;
}

struct thinker thinking_thinker (struct thinking *thinking)
{
    return (struct thinker){.begin = begin, .self = thinking};
}

void thinking_took (struct thinking *thinking, double seconds)
{
    thinking->recent_s = fmax (seconds, thinking->recent_s / 2);
}

bool thinking_busy (const struct thinking *thinking)
{
    return thinking->busy;
}

int thinking_fd (const struct thinking *thinking)
{
    return thinking->done;
}

int thinking_finish (struct thinking *thinking, const struct plan **ret, double *seconds,
                     struct pollux_error *err)
{
    eventfd_t count;
    eventfd_read (thinking->done, &count);
    join (thinking);
    if (thinking->rc < 0)
        return fail (err, thinking->rc, "%s", thinking->err.text);
    *ret = &thinking->plan;
    *seconds = thinking->seconds;
    return 0;
}
