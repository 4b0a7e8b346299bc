/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between polluxd and its small root process (as_owner.h), one per packet of a
 * SOCK_SEQPACKET socket.  Numbers are little-endian; a text is its length (u16) and its bytes.
 *
 *     request   magic, version, kind, number, owner | job, generation, rank, file, lines, position, Slurm job,
 *               signal, words                       and for SUBMIT one descriptor: the payload
 *     answer    magic, version, number, code, text, output
 *                                                   and for LOG one descriptor: the piece
 *     payload   a list of files: name, length (u32), bytes.  The first one has no name and is the
 *               script for sbatch; the others are written into the generation's directory.
 *
 * A decoder accepts what its encoder writes, and nothing else: an unknown version, a name outside its
 * alphabet, a missing or an additional byte is refused with -EINVAL.
 */
#ifndef BACKEND_SLURM_OWNER_MESSAGE_H
#define BACKEND_SLURM_OWNER_MESSAGE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log_reader.h"
#include "cluster/node.h"
#include "pollux/pollux.h"

enum { OWNER_VERSION = 1 };

enum owner_request_kind {
    OWNER_LOOKUP, /* who is the owner, and where are their files? */
    OWNER_SUBMIT, /* write the payload's files, run sbatch with these words */
    OWNER_SIGNAL, /* scancel --batch --signal */
    OWNER_CANCEL, /* scancel */
    /* copy a piece of the log RUN_ROOT/JOB/GENERATION/RANK/FILE, or without rank .../GENERATION/FILE, and of its rotated
     * files FILE.1, FILE.2, ... into a file in memory: polluxd never waits for the owner's file system */
    OWNER_LOG,
    OWNER_READ, /* the text of a small file */
    OWNER_REMOVE, /* remove RUN_ROOT/JOB/1 to RUN_ROOT/JOB/GENERATION, and RUN_ROOT/JOB if it is empty then */
};
enum { OWNER_REQUEST_KINDS = OWNER_REMOVE + 1 };
extern const char *const owner_request_names[OWNER_REQUEST_KINDS];

/* 64 words of at most 4096 bytes would be more; sbatch gets about 20 short ones. */
enum { OWNER_WORDS = 64, OWNER_MESSAGE_LIMIT = 16384, OWNER_FILE_SIZE = 32 };
enum { OWNER_TEXT_SIZE = 512, OWNER_OUTPUT_SIZE = 3 * 4096 };
/* Descriptions of 16 MiB are possible, usual ones have 4 KiB: 64 MiB for all replicas of a node. */
#define OWNER_PAYLOAD_LIMIT ((size_t)64 << 20)
enum { OWNER_PAYLOAD_FILES = 1 << 12 };

struct owner_request {
    uint64_t number;
    enum owner_request_kind kind;
    char owner[NAME_SIZE];
    char job[NAME_SIZE]; /* SUBMIT, LOG, READ, REMOVE; else "" */
    int generation;      /* as above; else 0 */
    int rank;            /* LOG, READ; -1: the file is not one of a rank; else 0 */
    char file[OWNER_FILE_SIZE];
    int64_t lines;            /* LOG without a position: the last ones; -1: all; else 0 */
    struct log_position from; /* LOG; else empty */
    uint32_t slurm_job;       /* SIGNAL, CANCEL; else 0 */
    int signal;               /* SIGNAL: 1 .. 31; else 0 */
    int word_count;           /* SUBMIT: options of sbatch; else 0 */
    const char *words[OWNER_WORDS];
    char storage[OWNER_MESSAGE_LIMIT]; /* words, when decoded */
};

/* Codes of an answer besides those of errno.  The first four the root process gives by itself.  All others come from a
 * process of the owner, who can make it say anything: they concern this owner's request only. */
enum {
    OWNER_NO_PROCESS = -EUSERS,        /* the root process could not start a child */
    OWNER_UNREACHABLE = -EHOSTUNREACH, /* sbatch says that Slurm does not answer */
    OWNER_NOT_NOW = -ERESTART,         /* sbatch says that Slurm refuses the job only for now */
    OWNER_COMMAND_FAILED = -EREMOTEIO, /* sbatch or scancel failed for another reason */
    OWNER_LOOKUP_FAILED = -ECOMM,      /* the user database did not answer */
    OWNER_NO_ACCOUNT = -ESRCH,         /* it answered that there is no such user */
};

/* May the same request succeed later, although nothing is repaired: a file server, a name service or this machine does
 * not answer now, or has no room. */
bool owner_code_is_transient (int code);

struct owner_answer {
    uint64_t number;
    int code;                   /* 0, -errno of the owner's child, or one of the above */
    char text[OWNER_TEXT_SIZE]; /* why it failed: one sentence; for warnings of sbatch, too */
    /* Of sbatch; of READ: the file up to a NUL; of LOOKUP: struct owner_account as text. */
    char output[OWNER_OUTPUT_SIZE];
};

/* What LOOKUP says of an owner. */
struct owner_account {
    unsigned uid, gid;
    char home[1024], shell[256];
    char directory[1024]; /* of the owner's files: runs are in DIRECTORY/run */
};

/* Encode into a buffer of OWNER_MESSAGE_LIMIT bytes: the length, or -EINVAL. */
int owner_request_encode (const struct owner_request *request, uint8_t *ret,
                          struct pollux_error *err);
int owner_answer_encode (const struct owner_answer *answer, uint8_t *ret, struct pollux_error *err);

int owner_request_decode (const uint8_t *data, size_t size, struct owner_request *ret,
                          struct pollux_error *err);
int owner_answer_decode (const uint8_t *data, size_t size, struct owner_answer *ret,
                         struct pollux_error *err);
/* Only the number and the kind, for the answer to a request that is refused.  -EINVAL: no request. */
int owner_request_peek (const uint8_t *data, size_t size, uint64_t *ret_number);

/* ---- Pieces of logs ---- */

/* A sealed file in memory: this, then the bytes. */
struct owner_piece {
    struct log_position next; /* where the log goes on */
    uint64_t end;             /* 1: it had no more bytes */
};
/* A fork and a copy; 64 logs of an owner that are read at the same time take 64 MiB. */
enum { OWNER_PIECE_BYTES = 1 << 20 };

/* Is it a file in memory that cannot be changed, so that a read never waits?  Asks no file system. */
bool owner_file_is_sealed (int file);

/* ---- Payloads ---- */

struct owner_file {
    char name[OWNER_FILE_SIZE]; /* "": the script */
    const char *text;
    size_t length;
};

/* Write a payload into a new memory file: a descriptor, the caller's. */
int owner_payload_write (const struct owner_file *files, int count, struct pollux_error *err);
/* The next file of a payload in memory: 1, and *at moves behind it; 0 at the end; -EINVAL. */
int owner_payload_next (const uint8_t *data, size_t size, size_t *at, struct owner_file *ret,
                        struct pollux_error *err);

/* ---- Accounts, as the output of LOOKUP ---- */

int owner_account_encode (const struct owner_account *account, char ret[OWNER_OUTPUT_SIZE]);
int owner_account_decode (const char *text, struct owner_account *ret);

/* Letters, digits and . _ - @ +, beginning with none of . - @ +; below NAME_SIZE. */
bool owner_name_is_valid (const char *name);
/* The same without @ and +, below OWNER_FILE_SIZE: one name, no path. */
bool owner_file_is_valid (const char *name);
/* An option of sbatch that may be used: begins with --, has no control character, and is not --uid or
 * --gid or a beginning of these. */
bool owner_word_is_valid (const char *word);

#endif
