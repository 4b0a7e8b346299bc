/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child of the root process: becomes the owner and does one thing.  It has no other descriptors
 * than its standard ones and the payload, and ends by itself or by its deadline.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/kept_logs.h"
#include "backend/slurm/as_owner_private.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log_reader.h"
#include "base/safe_dir.h"
#include "wire/run.h"

_Noreturn static void end (int code, const struct pollux_error *err)
{
    dprintf (STDERR_FILENO, "%d %s", code, err->text);
    _exit (CHILD_FAILED);
}

/* ---- The owner's directories -------------------------------------------------------------- */

/* mkdir -p with mode 0700. */
static int make_path (const char *path, struct pollux_error *err)
{
    char part[PATH_MAX];
    size_t length = strlen (path);
    if (length >= sizeof (part))
        return fail (err, -ENAMETOOLONG, "%s: the path is too long", file_name (path).text);
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy (part, path, i);
        part[i] = '\0';
        struct stat found;
        int code = mkdir (part, 0700) < 0 ? errno : 0;
        /* A directory of the system may answer EACCES or EROFS although it exists. */
        if (code && stat (part, &found) < 0)
            return fail (err, -code, "cannot make %s: %s", file_name (part).text, strerror (code));
    }
    return 0;
}

/* Open DIRECTORY/run, made if `make`. */
static int open_run_root (const struct owner_account *account, bool make, int *ret,
                          struct pollux_error *err)
{
    int directory;
    int code = make ? make_path (account->directory, err) : 0;
    if (code == 0)
        code = safe_dir_open_root (account->directory, &directory, err);
    if (code < 0)
        return code;
    if (make)
        code = safe_dir_make (directory, "run", err);
    if (code == 0)
        code = safe_dir_open (directory, "run", ret, err);
    close (directory);
    return code;
}

/* Open a directory in another one, and close that one. */
static int enter (int directory, const char *name, bool make, int *ret, struct pollux_error *err)
{
    int code = make ? safe_dir_make (directory, name, err) : 0;
    if (code == 0)
        code = safe_dir_open (directory, name, ret, err);
    close (directory);
    return code;
}

/* Before a generation is made: remove the oldest ones, beyond the limit.  Returns the oldest that is
 * kept.  Failures do no harm. */
static int remove_old (int job, int generation, int64_t limit)
{
    int *numbers = NULL, first = generation - 1;
    int64_t used;
    if (kept_logs_first (job, generation - 1, limit, &first, &used, NULL) < 0)
        return generation;
    int count = kept_logs_list (job, &numbers, NULL), oldest = generation;
    for (int i = count - 1; i >= 0; i--) {
        char name[16];
        snprintf (name, sizeof (name), "%d", numbers[i]);
        if (numbers[i] < first)
            safe_dir_remove (job, name, NULL);
        else if (numbers[i] < generation)
            oldest = numbers[i];
    }
    free (numbers);
    return oldest;
}

/* Make the directory of a new generation, and write which generations before it are kept: polluxd, which
 * cannot list the directory, reads that (service_files.c). */
static int make_generation (int job, const char *name, int generation, int64_t limit, int *ret,
                            struct pollux_error *err)
{
    char text[16];
    bool made = faccessat (job, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0; /* by another share */
    int oldest = made ? 0 : remove_old (job, generation, limit);
    int code = enter (job, name, true, ret, err);
    if (code == 0 && !made) {
        snprintf (text, sizeof (text), "%d\n", oldest);
        safe_dir_write (*ret, OWNER_OLDEST, text, strlen (text), NULL);
    }
    return code;
}

/* limit: make it, and leave that many bytes to older ones; 0: it exists. */
static int open_generation (const struct owner_account *account,
                            const struct owner_request *request, int64_t limit, int *ret,
                            struct pollux_error *err)
{
    bool make = limit > 0;
    char number[16];
    int root, job;
    int code = open_run_root (account, make, &root, err);
    if (code == 0)
        code = enter (root, request->job, make, &job, err);
    if (code < 0)
        return code;
    snprintf (number, sizeof (number), "%d", request->generation);
    return make ? make_generation (job, number, request->generation, limit, ret, err)
                : enter (job, number, false, ret, err);
}

/* ---- Commands ----------------------------------------------------------------------------- */

/* The variables that sbatch gets, and passes on to the job. */
static char **clean_environment (const char *owner, const struct owner_account *account)
{
    static char texts[7][PATH_MAX];
    static char *list[8];
    const char *path = getenv ("PATH"), *conf = getenv ("SLURM_CONF");
    const char *munge = getenv ("POLLUX_MUNGE_SOCKET"); /* of a munged at another place */
    int count = 0;
    snprintf (texts[count++], PATH_MAX, "PATH=%s",
              path && *path ? path : "/usr/local/bin:/usr/bin:/bin");
    snprintf (texts[count++], PATH_MAX, "HOME=%s", account->home);
    snprintf (texts[count++], PATH_MAX, "USER=%s", owner);
    snprintf (texts[count++], PATH_MAX, "LOGNAME=%s", owner);
    snprintf (texts[count++], PATH_MAX, "LANG=C.UTF-8");
    if (conf && *conf)
        snprintf (texts[count++], PATH_MAX, "SLURM_CONF=%s", conf);
    if (munge && *munge)
        snprintf (texts[count++], PATH_MAX, "POLLUX_MUNGE_SOCKET=%s", munge);
    for (int i = 0; i < count; i++)
        list[i] = texts[i];
    return list;
}

/* Replace this process by a command; returns only on failure, with a code that means nothing else. */
static int run (const char *owner, const struct owner_account *account, char **words,
                struct pollux_error *err)
{
    char **environment = clean_environment (owner, account);
    execvpe (words[0], words, environment);
    return fail (err, -ENOEXEC, "cannot run %s: %s", words[0], strerror (errno));
}

static int run_scancel (const struct owner_request *request, const struct owner_account *account,
                        struct pollux_error *err)
{
    char job[16], signal[16];
    snprintf (job, sizeof (job), "%u", request->slurm_job);
    snprintf (signal, sizeof (signal), "%d", request->signal);
    char *words[] = {"scancel", job, NULL, NULL, NULL, NULL};
    if (request->kind == OWNER_SIGNAL) {
        /* --batch: without it only steps get the signal, and the batch script has none. */
        words[1] = "--batch";
        words[2] = "--signal";
        words[3] = signal;
        words[4] = job;
    }
    return run (request->owner, account, words, err);
}

/* ---- Submitting --------------------------------------------------------------------------- */

static int read_payload (int payload, uint8_t **ret, size_t *ret_size, struct pollux_error *err)
{
    struct stat stat;
    size_t size = 0;
    if (payload < 0 || fstat (payload, &stat) < 0 || !S_ISREG (stat.st_mode))
        return fail (err, -EINVAL, "the request has no files");
    if (stat.st_size < 0 || (size_t)stat.st_size > OWNER_PAYLOAD_LIMIT)
        return fail (err, -EFBIG, "the files of the request are too large");
    uint8_t *data = malloc ((size_t)stat.st_size + 1);
    if (!data)
        return fail (err, -ENOMEM, "not enough memory");
    while (size < (size_t)stat.st_size) {
        ssize_t count = pread (payload, data + size, (size_t)stat.st_size - size, (off_t)size);
        if (count <= 0)
            break;
        size += (size_t)count;
    }
    *ret = data;
    *ret_size = size;
    return 0;
}

/* Standard input becomes a file in memory with this text. */
static int set_input (const char *text, size_t length, struct pollux_error *err)
{
    int file = memfd_create ("script", MFD_CLOEXEC);
    int code = file < 0 ? -errno : file_write_all (file, text, length);
    if (code == 0 && (lseek (file, 0, SEEK_SET) < 0 || dup2 (file, STDIN_FILENO) < 0))
        code = -errno;
    return code < 0 ? fail (err, code, "cannot hold the script in memory: %s", strerror (-code))
                    : 0;
}

static int write_files (int directory, const uint8_t *data, size_t size, struct pollux_error *err)
{
    struct owner_file file;
    size_t at = 0;
    int code = owner_payload_next (data, size, &at, &file, err), count = 0;
    if (code == 0)
        return fail (err, -EINVAL, "the request has no script");
    if (code == 1)
        code = set_input (file.text, file.length, err);
    while (code >= 0 && (code = owner_payload_next (data, size, &at, &file, err)) == 1) {
        if (++count > OWNER_PAYLOAD_FILES)
            return fail (err, -EFBIG, "the request has too many files");
        code = safe_dir_write (directory, file.name, file.text, file.length, err);
    }
    return code;
}

static int submit (const struct owner_request *request, const struct owner_account *account,
                   int payload, int64_t log_limit, struct pollux_error *err)
{
    uint8_t *data = NULL;
    size_t size = 0;
    int directory;
    int code = read_payload (payload, &data, &size, err);
    if (code == 0)
        code = open_generation (account, request, log_limit, &directory, err);
    if (code == 0)
        code = write_files (directory, data, size, err);
    if (code == 0 && fchdir (directory) < 0)
        code = fail (err, -errno, "cannot enter the run directory: %s", strerror (errno));
    if (code < 0)
        return code;
    char *words[OWNER_WORDS + 2] = {"sbatch"};
    for (int i = 0; i < request->word_count; i++)
        words[i + 1] = (char *)request->words[i];
    return run (request->owner, account, words, err);
}

/* ---- Reading ------------------------------------------------------------------------------ */

static int write_out (const char *text, size_t length, struct pollux_error *err)
{
    return write (STDOUT_FILENO, text, length) == (ssize_t)length
               ? 0
               : fail (err, -EIO, "cannot write the answer");
}

static int open_directory (const struct owner_request *request, const struct owner_account *account,
                           int *ret, struct pollux_error *err)
{
    char number[16];
    int code = open_generation (account, request, 0, ret, err);
    if (code == 0 && request->rank >= 0) {
        snprintf (number, sizeof (number), "%d", request->rank);
        code = enter (*ret, number, false, ret, err);
    }
    return code;
}

static int read_file (const struct owner_request *request, const struct owner_account *account,
                      struct pollux_error *err)
{
    char *text = NULL;
    size_t length = 0;
    int directory;
    int code = open_directory (request, account, &directory, err);
    if (code == 0)
        code = safe_dir_read (directory, request->file, OWNER_OUTPUT_SIZE - 1, &text, &length, err);
    return code < 0 ? code : write_out (text, length, err);
}

/* ---- Logs --------------------------------------------------------------------------------- */

struct log_files {
    int directory;
    const char *name;
};

static int open_log_file (void *self, int number, int *ret, struct pollux_error *err)
{
    const struct log_files *files = self;
    char name[OWNER_FILE_SIZE + 16];
    snprintf (name, sizeof (name), number > 0 ? "%s.%d" : "%s", files->name, number);
    return safe_dir_open_file (files->directory, name, ret, err);
}

/* Copy the next bytes of a log, up to OWNER_PIECE_BYTES, and what precedes them in the piece. */
static int copy_piece (struct log_reader *reader, int to)
{
    static char block[1 << 16];
    struct owner_piece piece = {.end = 0};
    ssize_t got = 1;
    int code = file_write_all (to, &piece, sizeof (piece));
    for (size_t sum = 0; code == 0 && got > 0 && sum < OWNER_PIECE_BYTES; sum += (size_t)got) {
        got = log_reader_read (reader, block, sizeof (block));
        code = got < 0 ? (int)got : file_write_all (to, block, (size_t)got);
    }
    piece.end = got == 0;
    if (code == 0)
        code = log_reader_position (reader, &piece.next);
    if (code == 0 && pwrite (to, &piece, sizeof (piece), 0) != (ssize_t)sizeof (piece))
        code = -EIO;
    if (code == 0 &&
        fcntl (to, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        code = -errno;
    return code;
}

static int read_log (const struct owner_request *request, const struct owner_account *account,
                     struct pollux_error *err)
{
    struct log_files files = {.name = request->file};
    struct log_reader reader = {.open = open_log_file, .self = &files, .file = -1};
    int code = open_directory (request, account, &files.directory, err);
    if (code == 0)
        code = request->from.inode == 0 ? log_reader_open (&reader, request->lines, err)
                                        : log_reader_resume (&reader, &request->from, err);
    if (code < 0)
        return code;
    int piece = memfd_create ("log", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    code = piece < 0 ? -errno : copy_piece (&reader, piece);
    if (code == 0 && owner_socket_send (STDOUT_FILENO, "f", 1, piece) != 1)
        code = -errno;
    return code < 0 ? fail (err, code, "%s: %s", request->file, strerror (-code)) : 0;
}

/* ---- Removing ----------------------------------------------------------------------------- */

/* Generations after the given one belong to another daemon's job of that name: they stay. */
static int remove_job (const struct owner_request *request, const struct owner_account *account,
                       struct pollux_error *err)
{
    int root, job, *numbers = NULL;
    int code = open_run_root (account, false, &root, err);
    if (code < 0)
        return code;
    code = safe_dir_open (root, request->job, &job, err);
    int count = code == 0 ? kept_logs_list (job, &numbers, err) : code;
    code = count < 0 ? count : 0;
    for (int i = 0; i < count && numbers[i] <= request->generation; i++) {
        char name[16];
        snprintf (name, sizeof (name), "%d", numbers[i]);
        int rc = safe_dir_remove (job, name, err);
        code = rc < 0 ? rc : code;
    }
    free (numbers);
    if (code == 0 && unlinkat (root, request->job, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY &&
        errno != EEXIST)
        code = fail (err, -errno, "%s: %s", request->job, strerror (errno));
    return code;
}

/* ---- All ---------------------------------------------------------------------------------- */

static int look_up (const struct owner_account *account, struct pollux_error *err)
{
    char text[OWNER_OUTPUT_SIZE];
    if (owner_account_encode (account, text) < 0)
        return fail (err, -EINVAL, "the account has a line break in it");
    return write_out (text, strlen (text), err);
}

static int act (const struct owner_request *request, const struct owner_account *account,
                int payload, int64_t log_limit, struct pollux_error *err)
{
    switch (request->kind) {
    case OWNER_LOOKUP:
        return look_up (account, err);
    case OWNER_SUBMIT:
        return submit (request, account, payload, log_limit, err);
    case OWNER_SIGNAL:
    case OWNER_CANCEL:
        return run_scancel (request, account, err);
    case OWNER_LOG:
        return read_log (request, account, err);
    case OWNER_READ:
        return read_file (request, account, err);
    case OWNER_REMOVE:
        return remove_job (request, account, err);
    }
    return fail (err, -EINVAL, "unknown request");
}

void owner_child_run (const struct owner_helper_options *options, const uint8_t *message,
                      size_t length, int payload)
{
    static struct owner_request request;
    struct owner_account account;
    struct pollux_error err = {.text = ""};
    int code = owner_request_decode (message, length, &request, &err);
    if (code == 0)
        code = become_owner (request.owner, options->min_uid, &account, &err);
    if (code == 0 && owner_directory_expand (options->directory, account.home, request.owner,
                                             account.directory, sizeof (account.directory)) < 0)
        code = fail (&err, -EINVAL, "owner %s has no usable home directory: %s", request.owner,
                     file_name (account.home).text);
    if (code == 0 && chdir ("/") < 0)
        code = fail (&err, -errno, "/: %s", strerror (errno));
    if (code == 0)
        code = act (&request, &account, payload,
                    options->log_limit > 0 ? options->log_limit : RUN_JOB_LOG_DEFAULT, &err);
    if (code < 0)
        end (code, &err);
    _exit (0);
}
