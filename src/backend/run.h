/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run directories: the protocol between the daemon and the supervisors of replicas.
 *
 *     STATE/run/                   run_root_open
 *       JOB/GENERATION/            run_prepare: by the daemon, before it starts supervisors
 *         seats                  what its replicas agree on, by the daemon, before the first
 *         stop                   the daemon has asked all of them to stop
 *         RANK.json              a description, for ranks that mpirun starts
 *         RANK/                    run_create: by the supervisor, whole and at once
 *           lock                   locked as long as the supervisor lives
 *           info                   who the supervisor is (wire/run.h)
 *           replica                who the replica is, after its start
 *           out.log, out.log.1 ..  what it wrote, out.log.1 is the youngest of the old ones
 *           agent.sock             where its agent sends messages
 *           status                 how it ended; the lock is released after this
 *
 * A run directory is made under another name and renamed when it is complete, so that whoever sees
 * it finds info in it and its lock taken; and since it is never empty, rename(2) refuses a second
 * one: of two supervisors of one run, one does nothing at all.  Hence
 *
 *     RUN_NONE      no directory: no supervisor has started it (one may be on its way)
 *     RUN_RUNNING   the lock is held: adopt it; process_open of info.supervisor is its pidfd
 *     RUN_ENDED     there is a status, and no process of the run is left
 *     RUN_LOST      neither: the supervisor died; what is left must be killed (run_kill)
 *
 * A generation that must not run any more while it is RUN_NONE is refused with run_refuse: a
 * supervisor that is still on its way then finds its place taken.  To stop a run: run_stop.
 *
 * Directories belong to this user and nobody else may write to them; symbolic links are refused.
 */
#ifndef BACKEND_RUN_H
#define BACKEND_RUN_H

#include "backend/process.h"
#include "cluster/node.h"
#include "wire/run.h"

/* Which run. */
struct run_name {
    char job[NAME_SIZE];
    int generation, rank;
};

/* STATE/run, made if it is missing.  *ret is a descriptor, the caller's (close). */
int run_root_open (const char *state, int *ret, struct pollux_error *err);

/* A path ROOT/JOB/GENERATION/RANK: its name, and the open ROOT.  -EINVAL if it is no such path. */
int run_path_open (const char *path, int *ret_root, struct run_name *ret, struct pollux_error *err);

/* "JOB/GENERATION/RANK", for messages and below the root. */
struct run_path {
    char text[NAME_SIZE + 24];
};
struct run_path run_path (const struct run_name *name);

/* Make JOB/GENERATION, so that supervisors can start; fine if it is there.  Durable. */
int run_prepare (int root, const char *job, int generation, struct pollux_error *err);

/* What the ranks of a generation agree on.  Reading: -ENOENT if it is not there; ret->slots is the
 * caller's (free). */
int run_write_slot_map (int root, const char *job, int generation,
                        const struct run_slot_map *slot_map, struct pollux_error *err);
int run_read_slot_map (int root, const char *job, int generation, struct run_slot_map *ret,
                       struct pollux_error *err);

/* Remember, for a daemon that comes after this one, that a stop was asked for before anything went
 * wrong. */
int run_mark_stop (int root, const char *job, int generation, struct pollux_error *err);
bool run_stop_marked (int root, const char *job, int generation);

/* Descriptions for mpirun's ranks, which remove theirs; and all that are left of `count`. */
int run_write_description (int root, const struct run_name *name, const char *text, size_t length,
                           struct pollux_error *err);
void run_remove_descriptions (int root, const char *job, int generation, int count);

/* ---- The supervisor's side ---------------------------------------------------------------- */

/* A run directory that is being made, or is ours. */
struct run {
    int generation, directory, lock; /* descriptors, -1: none */
    char temporary[32];              /* its name before it is published; "" after */
};

/* Make the run's directory with its lock taken.  It is seen by nobody before run_publish.  -ENOENT
 * if the generation was not prepared. */
int run_create (int root, const struct run_name *name, struct run *ret, struct pollux_error *err);

/* Write info, then let the directory be seen, durably.  -EEXIST if the run has been started or
 * refused before. */
int run_publish (struct run *run, const struct run_name *name, const struct run_info *info,
                 struct pollux_error *err);

/* Write a file of the run atomically and durably.  A status has its room reserved by run_create,
 * so that a full disk does not keep it from being told. */
int run_write_replica (struct run *run, const struct run_process *replica,
                       struct pollux_error *err);
int run_write_status (struct run *run, const struct run_status *status, struct pollux_error *err);

/* Release the lock.  A directory that was not published is removed.  Fine for a run that could not
 * be created. */
void run_close (struct run *run);

/* ---- The daemon's side -------------------------------------------------------------------- */

enum run_state { RUN_NONE, RUN_RUNNING, RUN_ENDED, RUN_LOST };
enum { RUN_STATES = RUN_LOST + 1 };
extern const char *const run_state_names[RUN_STATES];

/* What is known of a run. */
struct run_view {
    enum run_state state;
    bool has_info, has_replica, has_status;
    struct run_info info;
    struct run_process replica;
    struct run_status status;
    struct pollux_error why; /* RUN_LOST: what happened, or which file is unreadable and why */
};

/* Look at a run, without disturbing it; not from its supervisor's own process.  A damaged file of a run whose supervisor is gone makes it
 * RUN_LOST.  Failures: -EPROTO for a supervisor of a version that is not known here, -EINVAL for
 * damaged info of one that lives, -ELOOP and the like for what is no directory of ours. */
int run_look (int root, const struct run_name *name, struct run_view *ret,
              struct pollux_error *err);

/* Ask a supervisor, by its pidfd, to stop its run.  Asked again, also by another daemon that does not
 * know of the first time, it changes nothing: the grace is not cut short.  (It is a SIGTERM with a
 * value; a plain one that follows kills at once.)  -ESRCH if it is gone. */
#define RUN_STOP_VALUE 0x73746f70
int run_stop (int supervisor, struct pollux_error *err);

/* Take the place of a run that was never started, so that it never will be: it is RUN_ENDED with
 * this status.  -EEXIST if a supervisor was faster: look again. */
int run_refuse (int root, const struct run_name *name, const struct run_status *status,
                struct pollux_error *err);

/* One pass over all processes: SIGKILL to those of a lost run.  Returns how many live ones it
 * found, 0 when none is left (call it until then, with pauses: a process can take its time to
 * die), or a negative errno value.  When none is left, a socket outside of the run directory is
 * removed, too.  Costs about 20 us per process of this machine. */
int run_kill (const struct run_view *view, struct pollux_error *err);

/* Nothing is left of a lost run: it is RUN_ENDED from now on, with this status. */
int run_settle (int root, const struct run_name *name, const struct run_status *status,
                struct pollux_error *err);

/* Open out.log (number 0) or a rotated one for reading: a descriptor. -ENOENT if there is none. */
int run_open_log (int root, const struct run_name *name, int number, int *ret,
                  struct pollux_error *err);

/* Remove JOB/GENERATION and all runs in it.  -EBUSY if one of them is RUN_RUNNING.  A job's
 * directory goes with its last generation. */
int run_remove (int root, const char *job, int generation, struct pollux_error *err);

#endif
