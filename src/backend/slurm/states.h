/* SPDX-License-Identifier: Apache-2.0 */
/* What the states of Slurm mean for Pollux. */
#ifndef BACKEND_SLURM_STATES_H
#define BACKEND_SLURM_STATES_H

#include <stdbool.h>
#include <stddef.h>

enum slurm_phase {
    SLURM_COMING, /* not started: PENDING, CONFIGURING */
    SLURM_HELD,   /* started; its slots are taken: RUNNING, COMPLETING, SUSPENDED */
    SLURM_ENDED,  /* ended by itself; the status files say how: COMPLETED, FAILED */
    SLURM_EXCUSED, /* ended from outside; not the job's fault: NODE_FAIL, PREEMPTED, TIMEOUT, CANCELLED */
    SLURM_UNKNOWN, /* a state of a later Slurm: treat as held and look again */
    SLURM_PHASE_COUNT
};

/* The phase of a job's state, as squeue %T writes it ("RUNNING"), also followed by a reason
 * ("CANCELLED by 1000", "CANCELLED+"). */
enum slurm_phase slurm_phase (const char *state);

/* What a job waits for that Slurm does not start, by its reason (squeue %r). */
enum slurm_waiting {
    SLURM_WAITS_FOR_NODE, /* its node has no room, or is not available: Resources, Priority */
    SLURM_WAITS_FOR_LIMIT, /* until Slurm allows it, on any node: limits of accounts and QOS, holds, partitions */
    SLURM_WAITS_IN_VAIN, /* it never starts as it was submitted: InvalidAccount, PartitionTimeLimit */
};
enum slurm_waiting slurm_waiting (const char *reason);

/* Does sbatch, by all lines that it wrote, refuse a job only for now: by a closed partition, or a limit of the account? */
bool slurm_refuses_for_now (const char *messages);

/* "coming", "held", ... */
const char *slurm_phase_name (enum slurm_phase phase);
/* Is it a state of a job whose node has failed? */
bool slurm_is_node_failure (const char *state);

/* What a node's state (sinfo StateLong: "mixed", "idle*", "drained") allows. */
enum slurm_node_use {
    SLURM_NODE_USABLE, /* new shares may be started */
    SLURM_NODE_CLOSED, /* no new shares; those that run go on: drained, draining, reserved, maintenance, planned reboot */
    SLURM_NODE_LOST, /* does not answer, is down or powered off: shares there are lost sooner or later */
    SLURM_NODE_USE_COUNT
};

/* reserved: the node is in the reservation that the daemon works in, so that it is usable when reserved. */
enum slurm_node_use slurm_node_use (const char *state, bool reserved);

const char *slurm_node_use_name (enum slurm_node_use use);

#endif
