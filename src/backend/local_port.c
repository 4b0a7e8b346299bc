/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MASTER_PORT of generations.  Another program can take a port between the choice and the replicas'
 * bind, minutes later.  That failure is not the job's own: it starts again on another port, but only
 * a few times in succession, because the signs are no proof.
 */
#define _GNU_SOURCE /* strcasestr */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backend/local_private.h"
#include "backend/port.h"
#include "base/clock.h"
#include "base/error.h"

enum {
    COLLISIONS = 3,        /* excused in succession */
    COLLISION_TAIL = 8192, /* bytes at the end of the log in which the message is looked for */
};
/* A generation that ran longer than this did not fail because of its port. */
#define COLLISION_US INT64_C (120000000)

/* ---- Choosing ----------------------------------------------------------------------------- */

static bool is_used (const struct local *local, int port)
{
    for (int i = 0; i < local->set.count; i++)
        if (local->set.items[i]->slot_map.port == port)
            return true;
    return false;
}

int local_choose_port (struct local *local, struct pollux_error *err)
{
    for (int i = 0; i < PORT_COUNT; i++) {
        int port = PORT_FIRST + local->next_port++ % PORT_COUNT;
        if (!is_used (local, port) && port_is_free (port))
            return port;
    }
    return fail (err, -EADDRINUSE, "no port from %d to %d is free", PORT_FIRST,
                 PORT_FIRST + PORT_COUNT - 1);
}

/* ---- Collisions --------------------------------------------------------------------------- */

/* Does the end of rank 0's log say that an address was in use? */
static bool log_has_collision (const struct local *local, const struct generation *generation)
{
    static const char *const words[] = {"address already in use", "EADDRINUSE"};
    struct run_name name = generation_run_name (generation, 0);
    char tail[COLLISION_TAIL + 1];
    int file;
    if (run_open_log (local->runs.root, &name, 0, &file, NULL) < 0)
        return false;
    off_t size = lseek (file, 0, SEEK_END);
    off_t from = size > COLLISION_TAIL ? size - COLLISION_TAIL : 0;
    ssize_t got = pread (file, tail, COLLISION_TAIL, from);
    close (file);
    if (got <= 0)
        return false;
    for (ssize_t i = 0; i < got; i++)
        tail[i] = tail[i] ? tail[i] : ' ';
    tail[got] = '\0';
    return strcasestr (tail, words[0]) || strcasestr (tail, words[1]);
}

void local_forget_excuses (void *self, int job)
{
    excuse_counts_forget (&((struct local *)self)->collisions, job);
}

/* All processes of the generation are gone, so a port that is in use belongs to another program.
 * If that program has ended, too, the log of rank 0 may name the collision. */
const char *local_excuse (void *self, const struct generation *generation,
                          struct pollux_error *text, int *ret_pause_s)
{
    (void)ret_pause_s; /* none */
    struct local *local = self;
    int port = generation->slot_map.port;
    if (port == 0 || clock_monotonic_us () - generation->since_us > COLLISION_US ||
        (port_is_free (port) && !log_has_collision (local, generation)))
        return NULL;
    struct excuse_count *excuses = excuse_counts_of (&local->collisions, generation->job);
    if (!excuses || excuses->count >= COLLISIONS)
        return NULL;
    excuses->count++;
    fail (text, 0, "port %d was taken by another program: started again on another one", port);
    return text->text;
}
