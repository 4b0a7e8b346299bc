/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The documents of a run: the description that a supervisor gets, and the files in its run directory
 * (backend/run.h).  Version 1 of the protocol:
 *
 *     description  {"version": 1, "command": ["python", "train.py"], "environment": ["RANK=0"],
 *                   "directory": "/home/ann", "slots": [0], "cpus": [0, 1], "stop_signal": 15,
 *                   "grace": 30, "log_size": 10485760, "log_files": 5,
 *                   "url": "https://10.0.0.1:7467", "token": "...", "ca": "/home/ann/.pollux/tls.pem",
 *                   "auth": "munge", "munge_uid": 991, "cgroup": "/sys/fs/cgroup/...", "news": true,
 *                   "devices": [0, 2], "master": {"file": "master", "first": true}}
 *     info         {"version": 1, "run": "resnet.3.0.0000803a1f0c99d2.9f86d081884c7d65",
 *                   "boot": "201c1b7c-...", "pid": 4711, "start": "991827", "slots": [0],
 *                   "socket": "/...", "cgroup": "/...", "guardian": {"pid": 4710, "start": "991826"}}
 *     replica      {"version": 1, "pid": 4712, "start": "991830"}
 *     status       {"version": 1, "started": true, "code": 0, "signal": 0, "stopped": false,
 *                   "killed": false, "excused": false, "outside": false,
 *                   "at_us": 1731705000000000, "why": "..."}
 *     seats        {"version": 1, "port": 20001, "slots": [0, 1, 0]}
 *
 * Every reader accepts its own version and the one before (RUN_VERSION_OLDEST); unknown fields are
 * ignored.
 */
#ifndef WIRE_RUN_H
#define WIRE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pollux/pollux.h"

enum { RUN_VERSION = 1, RUN_VERSION_OLDEST = 1 };

/* 16 MiB: the kernel takes 2 MiB of arguments and environment (a quarter of the usual stack), and
 * a byte takes at most six in JSON. */
#define RUN_DESCRIPTION_LIMIT ((size_t)16 << 20)
/* 64 KiB for a file of a supervisor: two lists of 1024 numbers take 12 KiB, two paths 2 x 4 KiB
 * and six times that in JSON. */
#define RUN_FILE_LIMIT ((size_t)64 << 10)
/* 1 MiB: 2^16 numbers of at most four digits. */
#define RUN_SLOT_MAP_LIMIT ((size_t)1 << 20)

enum {
    RUN_LIST_LIMIT = 1 << 10, /* slots of a node, CPUs */
    RUN_CPU_LIMIT = 1 << 13,  /* CPUs are numbered below this, as in the largest kernels */
    RUN_LOG_FILES_LIMIT = 1000,
    RUN_ID_SIZE = 128, /* job of 63 bytes, generation, rank, twice 16 hexadecimal digits */
    RUN_BOOT_SIZE = 40,
    RUN_WHY_SIZE = 256,
    RUN_PATH_SIZE = 4096,
};

/* A week: longer than any checkpoint takes to write. */
#define RUN_GRACE_LIMIT 604800.0
#define RUN_LOG_SIZE_LEAST 4096
#define RUN_LOG_SIZE_LIMIT ((int64_t)1 << 40)
#define RUN_LOG_SIZE_DEFAULT ((int64_t)10 << 20)
#define RUN_LOG_FILES_DEFAULT 5
/* Disk space for the files of all generations of a job: backend/kept_logs.h has the arithmetic.  The
 * least holds a generation of a few replicas. */
#define RUN_JOB_LOG_LEAST ((int64_t)1 << 20)
#define RUN_JOB_LOG_LIMIT ((int64_t)1 << 50)
#define RUN_JOB_LOG_DEFAULT ((int64_t)256 << 20)
#define RUN_GRACE_DEFAULT 30.0

/* Numbers of slots or CPUs; may be empty. */
struct run_list {
    int count;
    int items[RUN_LIST_LIMIT];
};

/* How requests of a supervisor are authenticated. */
enum run_auth { RUN_AUTH_TOKEN, RUN_AUTH_MUNGE };
enum { RUN_AUTHS = RUN_AUTH_MUNGE + 1 };
extern const char *const run_auth_names[RUN_AUTHS];

/* What a supervisor is to run.  Only the command is required; defaults are in parentheses. */
struct run_description {
    char **command;        /* one word at least, NULL at the end */
    char **environment;    /* NAME=value, NULL at the end (none); the supervisor adds POLLUX_RUN and
                              POLLUX_SOCKET */
    char *directory;       /* absolute ("/") */
    struct run_list slots; /* copied to info, for the daemon that adopts the run (none) */
    struct run_list cpus;  /* affinity; none: the supervisor's own (none) */
    int stop_signal;       /* (SIGTERM) */
    double grace_s;        /* from the stop signal to SIGKILL (30) */
    int64_t log_size;      /* bytes of out.log before it is rotated (10 MiB) */
    int log_files;         /* rotated ones that are kept besides out.log (5) */
    char *url;             /* where hints are sent: http://127.0.0.1:7467, https://HOST:PORT or
                              unix:/path; NULL: they are not sent */
    char *token;        /* for these reports; NULL: none.  Sent to this machine or by https only */
    char *ca;           /* file of the certificates that https trusts; NULL: the system's */
    enum run_auth auth; /* (RUN_AUTH_TOKEN: the token, if there is one) */
    int64_t munge_uid; /* polluxd's, which alone can decode the credentials of RUN_AUTH_MUNGE (0) */
    bool news;         /* send news, too (wire/run_news.h) (false) */
    char *cgroup;      /* a cgroup v2 directory that the supervisor makes and puts the replica
                              into; NULL: none */
    /* Devices of all ranks of the share, in rank order: positions in CUDA_VISIBLE_DEVICES of the
     * supervisor, or device numbers if that is unset.  CUDA_VISIBLE_DEVICES of the replica (none:
     * not set) */
    struct run_list devices;
    /* MASTER_PORT: the file in the generation's directory that holds it; NULL: the environment has
     * it, if at all.  first: choose a port of this machine and write the file, unless it exists;
     * otherwise wait until it exists. */
    char *master;
    bool master_first;
};

/* The identity of a process within one boot: pids are reused, start times differ. */
struct run_process {
    int pid;
    uint64_t start; /* clock ticks after boot: field 22 of /proc/PID/stat */
};

struct run_info {
    char id[RUN_ID_SIZE]; /* the value of POLLUX_RUN in all processes of the run */
    char boot[RUN_BOOT_SIZE];
    struct run_process supervisor;
    struct run_process guardian; /* its parent, which outlives it; pid 0: none */
    struct run_list slots;
    char socket[RUN_PATH_SIZE];
    char cgroup[RUN_PATH_SIZE]; /* "": none */
};

/* How a replica ended. */
struct run_status {
    bool started;           /* false: the command could not be run, or a stop came before */
    int code;               /* exit code; 127 or 126, as in a shell, if it could not be run; 143 if
                               a stop came before its start; 0 if a signal ended it */
    int signal;             /* the signal that ended it, or 0 */
    bool stopped;           /* a stop was requested before it ended */
    bool killed;            /* by SIGKILL after its grace, or after a second request */
    bool excused;           /* it could not be run because of its node, not because of the job */
    bool outside;           /* the first request to stop came from Slurm, not from the daemon */
    int64_t at_us;          /* wall clock */
    char why[RUN_WHY_SIZE]; /* a sentence if it could not be run; "" otherwise */
};

/* Slots and port of a generation (the document "seats").  The daemon writes it before it starts the
 * first replica, so that the next daemon starts the rest with the same. */
struct run_slot_map {
    int port;   /* MASTER_PORT; 0: chosen by the node of the first rank */
    int *slots; /* of its node, by rank */
    int count;
};

/* As in a shell: the exit code, or 128 plus the signal. */
int run_status_code (const struct run_status *status);

/* Encode to text, the caller's (free).  -EINVAL for what the decoder would refuse, -ENOMEM. */
int run_description_encode (const struct run_description *description, char **ret,
                            size_t *ret_length, struct pollux_error *err);
int run_info_encode (const struct run_info *info, char **ret, size_t *ret_length,
                     struct pollux_error *err);
int run_replica_encode (const struct run_process *replica, char **ret, size_t *ret_length,
                        struct pollux_error *err);
int run_status_encode (const struct run_status *status, char **ret, size_t *ret_length,
                       struct pollux_error *err);

int run_slot_map_encode (const struct run_slot_map *slot_map, char **ret, size_t *ret_length,
                         struct pollux_error *err);

/* Decode from text; name is its name in messages.  On failure *ret is untouched: -EINVAL and the
 * place, -EPROTO for an unknown version of the protocol, -EFBIG, -ENOMEM. */
int run_description_decode (const char *name, const char *text, size_t length,
                            struct run_description **ret, struct pollux_error *err);
void run_description_free (struct run_description *description);
int run_info_decode (const char *name, const char *text, size_t length, struct run_info *ret,
                     struct pollux_error *err);
int run_replica_decode (const char *name, const char *text, size_t length, struct run_process *ret,
                        struct pollux_error *err);
int run_status_decode (const char *name, const char *text, size_t length, struct run_status *ret,
                       struct pollux_error *err);
/* ret->slots belongs to the caller (free). */
int run_slot_map_decode (const char *name, const char *text, size_t length,
                         struct run_slot_map *ret, struct pollux_error *err);

/* 16 KiB: hints are 30 numbers with their names, less than 2 KiB. */
#define RUN_MESSAGE_LIMIT ((size_t)16 << 10)
/* 0 if a message of an agent is one JSON object of at most RUN_MESSAGE_LIMIT bytes; the daemon checks
 * its content. */
int run_message_check (const char *text, size_t length, struct pollux_error *err);

#endif
