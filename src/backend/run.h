/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run directories: the protocol between the daemon and the supervisors of replicas.
 *
 *     STATE/run/                   run_root_open
 *       JOB/GENERATION/            run_prepare: by the daemon, before it starts supervisors
 *         seats                    slots and port of the replicas; by the daemon, before the first
 *         stop                     exists if the daemon asked the generation to stop
 *         RANK.json                a description, for a rank that mpirun or a share starts
 *         oldest                   backend slurm: the oldest generation kept when this one was made
 *         master                   MASTER_PORT, where the node of the first rank chooses it
 *         share.FIRST, hosts, agent, mpirun, RANK.mpi
 *                                  MPI in the backend slurm (mpirun.c, supervisor_mpi.c)
 *         RANK/                    run_create, run_publish: by the supervisor, atomically
 *           lock                   locked as long as the supervisor lives
 *           info                   identity of the supervisor (wire/run.h)
 *           replica                identity of the replica, after its start
 *           out.log, out.log.1 ..  its output; out.log.1 is the newest rotated file
 *           agent.sock             where its agent sends messages
 *           status                 how it ended; written before the lock is released
 *
 * A run directory is made under a temporary name and renamed when it is complete: a published one
 * has info in it and its lock taken.  It is never empty, so rename(2) refuses a second one: of two
 * supervisors of one run, one does nothing.  The states of a run:
 *
 *     RUN_NONE      no directory: no supervisor has started it (one may be starting)
 *     RUN_RUNNING   the lock is held: adopt it; process_open of info.supervisor is its pidfd
 *     RUN_ENDED     there is a status, and no process of the run is left
 *     RUN_LOST      neither: the supervisor died; what is left must be killed (run_kill)
 *
 * Where Slurm runs supervisors on other machines, STATE/run is on a shared file system; run_read
 * reads it, and Slurm says what lives.
 *
 * A job can change these files: it runs as the same user.  So they say how a run ended, but whether it
 * lives is decided by what a job cannot change: the pidfd of its supervisor, and after a restart of
 * the daemon the process table (run_family).
 *
 * run_refuse prevents a run that is RUN_NONE from starting: a supervisor that comes later finds the
 * directory taken.  run_stop stops a run.
 *
 * Directories belong to this user and are writable for no other; symbolic links are refused.
 */
#ifndef BACKEND_RUN_H
#define BACKEND_RUN_H

#include "backend/process.h"
#include "cluster/node.h"
#include "wire/run.h"

struct run_name {
    char job[NAME_SIZE];
    int generation, rank;
};

/* Open STATE/run, made if it is missing.  *ret is a descriptor, the caller's (close). */
int run_root_open (const char *state, int *ret, struct pollux_error *err);

/* Parse a path ROOT/JOB/GENERATION/RANK and open ROOT (the caller closes it).  -EINVAL if it is no
 * such path. */
int run_path_open (const char *path, int *ret_root, struct run_name *ret, struct pollux_error *err);

/* The number of a generation or a rank, by the name of its directory; -1: it is no such name. */
int run_number (const char *name);

/* "JOB/GENERATION/RANK", for messages and below the root. */
struct run_path {
    char text[NAME_SIZE + 24];
};
struct run_path run_path (const struct run_name *name);

/* JOB.GENERATION.RANK and a number that stands for the root directory: the start of the id of this run
 * (struct run_info).  Its supervisors have it as POLLUX_SUPERVISOR in their environment, its other
 * processes have their id as POLLUX_RUN: so they are found in /proc even if the run's files are
 * gone. */
struct run_family {
    char text[RUN_ID_SIZE];
};
struct run_family run_family (int root, const struct run_name *name);

/* Make JOB/GENERATION durably, so that supervisors can start.  0 if it exists. */
int run_prepare (int root, const char *job, int generation, struct pollux_error *err);

/* The slots and the port of a generation, in the file `seats`.  Reading: -ENOENT if it is missing;
 * ret->slots is the caller's (free). */
int run_write_slot_map (int root, const char *job, int generation,
                        const struct run_slot_map *slot_map, struct pollux_error *err);
int run_read_slot_map (int root, const char *job, int generation, struct run_slot_map *ret,
                       struct pollux_error *err);

/* Record for the next daemon that a stop was asked for before any failure. */
int run_mark_stop (int root, const char *job, int generation, struct pollux_error *err);
bool run_stop_marked (int root, const char *job, int generation);

/* Descriptions for ranks that mpirun or a share starts; they are removed when they were read.  Remove those of ranks
 * 0..count-1 that are left. */
int run_write_description (int root, const struct run_name *name, const char *text, size_t length,
                           struct pollux_error *err);
void run_remove_descriptions (int root, const char *job, int generation, int count);

/* ---- The supervisor's side ---------------------------------------------------------------- */

/* The run directory of this process, published or not. */
struct run {
    int generation, directory, lock; /* descriptors, -1: none */
    char temporary[32];              /* its name before it is published; "" after */
};

/* Make the run's directory under a temporary name, with its lock taken.  -ENOENT if the generation
 * was not prepared. */
int run_create (int root, const struct run_name *name, struct run *ret, struct pollux_error *err);

/* Write info, then rename the directory to its final name, durably.  -EEXIST if the run was started
 * or refused before. */
int run_publish (struct run *run, const struct run_name *name, const struct run_info *info,
                 struct pollux_error *err);

/* Write a file of the run atomically and durably.  run_create reserves the space of a status, so it
 * can be written on a full disk; what is in its way is removed.  -ENOENT: the directory was
 * removed. */
int run_write_replica (struct run *run, const struct run_process *replica,
                       struct pollux_error *err);
int run_write_status (struct run *run, const struct run_status *status, struct pollux_error *err);

/* Release the lock.  A directory that was not published is removed.  A run whose run_create failed
 * is fine. */
void run_close (struct run *run);

/* ---- The daemon's side -------------------------------------------------------------------- */

enum run_state { RUN_NONE, RUN_RUNNING, RUN_ENDED, RUN_LOST, RUN_BEGUN };
enum { RUN_STATES = RUN_BEGUN + 1 };
extern const char *const run_state_names[RUN_STATES];

struct run_view {
    enum run_state state;
    bool has_info, has_replica, has_status;
    struct run_info info;
    struct run_process replica;
    struct run_status status;
    struct pollux_error why; /* RUN_LOST: what happened, or which file is unreadable and why */
};

/* Read the state of a run.  Never call it from the run's own supervisor: that releases the lock.  A
 * damaged file of a run whose supervisor is gone makes it RUN_LOST.  -EPROTO: the supervisor has an
 * unknown version; -EINVAL: its info is damaged but it lives; -ELOOP, -EPERM and the like: not a
 * directory of this user. */
int run_look (int root, const struct run_name *name, struct run_view *ret,
              struct pollux_error *err);

/* The same for a run on another machine, from its files alone: RUN_NONE, RUN_BEGUN (no status; the
 * run may live or be lost) or RUN_ENDED.  has_replica: its command runs or ran.  Files that are
 * damaged count as missing, and view->why names the first; a damaged directory is RUN_BEGUN.  The
 * directories are opened by their names, so that NFS asks the server. */
int run_read (int root, const struct run_name *name, struct run_view *ret,
              struct pollux_error *err);

/* Ask a supervisor, by its pidfd, to stop its run.  Asking again, also by the next daemon, changes
 * nothing: the grace is not cut short.  It is a SIGTERM with this value; a plain SIGTERM after it
 * kills at once.  -ESRCH if the supervisor is gone. */
#define RUN_STOP_VALUE 0x73746f70
int run_stop (int supervisor, struct pollux_error *err);

/* Prevent a run from starting: it becomes RUN_ENDED with this status.  -EEXIST: a supervisor was
 * faster; look again. */
int run_refuse (int root, const struct run_name *name, const struct run_status *status,
                struct pollux_error *err);

/* One pass over all processes: SIGKILL to those of a lost run, by what its files say and by its
 * family.  Returns the number of live ones found, or -errno; repeat with pauses until it is 0.  Then
 * the agent's socket and the cgroup are removed, too.  Costs about 20 us per process of this
 * machine. */
int run_kill (int root, const struct run_name *name, const struct run_view *view,
              struct pollux_error *err);

/* Are the files of the run at fault, so that looking again does not help?  Given what run_look
 * returned. */
bool run_is_damage (int code);

/* Remove what supervisors that died left in JOB/GENERATION beside its runs. */
void run_tidy (int root, const char *job, int generation);

/* Write the status of a lost run of which no process is left: it becomes RUN_ENDED. */
int run_settle (int root, const struct run_name *name, const struct run_status *status,
                struct pollux_error *err);

/* Open out.log (number 0) or a rotated one for reading: a descriptor. -ENOENT if there is none. */
int run_open_log (int root, const struct run_name *name, int number, int *ret,
                  struct pollux_error *err);
/* The same for a job's name from a request: it may be any text. */
int run_open_job_log (int root, const char *job, int generation, int rank, int number, int *ret,
                      struct pollux_error *err);

/* The exit code of the first replica of a generation that failed by itself, and its rank; 0 and rank 0
 * if none is known.  elsewhere: the runs are on other machines (run_read). */
int run_first_failure (int root, const char *job, int generation, bool elsewhere, int *ret_rank);

/* Remove JOB/GENERATION and all runs in it, and JOB if it was the last generation.  -EBUSY if a run
 * is RUN_RUNNING. */
int run_remove (int root, const char *job, int generation, struct pollux_error *err);

#endif
