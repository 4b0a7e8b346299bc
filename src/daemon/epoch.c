/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims, checks and tidies epochs (epoch.h).
 *
 * On NFS a client may answer from its cache, but it asks the server when a directory or file is opened.  So
 * every look at the epochs opens their directory anew and lists it.  STATE/epochs changes only when an
 * epoch is claimed or removed; temporary names are outside, so that two changes are never so close that
 * the times of the directory are equal.
 */
#define _GNU_SOURCE /* gethostname */
#include "daemon/epoch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/number.h"
#include "base/safe_dir.h"
#include "store/copy.h"

#define FOLDER "epochs"
#define CLAIM ".claim-" /* .claim-NUMBER-ID in STATE: an epoch before it gets its name */

/* A path below STATE, without a check of its length: state paths have room (checked by epoch_claim). */
struct path {
    char text[PATH_MAX + 64];
};

/* STATE/epochs/NUMBER/name; number 0: STATE/name. */
static struct path path_of (const char *state, int64_t number, const char *name)
{
    struct path path;
    if (number > 0)
        snprintf (path.text, sizeof (path.text), "%s/" FOLDER "/%08lld/%s", state,
                  (long long)number, name);
    else
        snprintf (path.text, sizeof (path.text), "%s/%s", state, name);
    return path;
}

static int fail_path (const char *path, const char *doing, int code, struct pollux_error *err)
{
    return fail (err, code == ESTALE ? -EIO : -code, "%s: cannot %s: %s", file_name (path).text,
                 doing, strerror (code));
}

static bool exists (const char *path)
{
    struct stat status;
    return lstat (path, &status) == 0;
}

/* ---- Listing ------------------------------------------------------------------------------ */

/* The number of a directory's name; 0: it is no epoch. */
static int64_t number_of (const char *name)
{
    int64_t number = 0;
    if (strspn (name, "0123456789") != strlen (name) || number_int64 (name, &number) < 0)
        return 0;
    return number;
}

/* The greatest epoch below `below` that has a file `with` (NULL: any); 0 if there is none. */
static int greatest (const char *state, int64_t below, const char *with, int64_t *ret,
                     struct pollux_error *err)
{
    struct path folder = path_of (state, 0, FOLDER);
    DIR *list = opendir (folder.text);
    if (!list)
        return fail_path (folder.text, "read it", errno, err);
    int64_t best = 0;
    const char *name;
    errno = 0;
    while ((name = safe_dir_next (list))) {
        int64_t number = number_of (name);
        if (number > best && number < below &&
            (!with || exists (path_of (state, number, with).text)))
            best = number;
        errno = 0;
    }
    int code = errno;
    closedir (list);
    if (code)
        return fail_path (folder.text, "read it", code, err);
    *ret = best;
    return 0;
}

bool epoch_used (const char *state)
{
    return exists (path_of (state, 0, FOLDER).text);
}

/* ---- Claiming ----------------------------------------------------------------------------- */

static int sync_path (const char *path)
{
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    int code = fd < 0 || (fsync (fd) < 0 && errno != EINVAL) ? -errno : 0;
    if (fd >= 0)
        close (fd);
    return code;
}

static int write_file (const char *path, const char *text)
{
    int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    ssize_t length = (ssize_t)strlen (text);
    int code = write (fd, text, (size_t)length) == length && fsync (fd) == 0 ? 0 : -EIO;
    if (close (fd) < 0 && code == 0)
        code = -errno;
    return code;
}

/* The first line of epoch's owner, "" if it cannot be read. */
static void read_owner (const char *state, int64_t number, char ret[160])
{
    char *text = NULL;
    size_t length = 0;
    ret[0] = '\0';
    if (file_read (path_of (state, number, "owner").text, 4096, &text, &length, NULL) == 0)
        snprintf (ret, 160, "%.*s", (int)strcspn (text, "\n"), text);
    free (text);
}

static int name_owner (struct epoch *epoch, unsigned long long *ret_id, struct pollux_error *err)
{
    char host[65] = "";
    if (getrandom (ret_id, sizeof (*ret_id), 0) != sizeof (*ret_id))
        return fail (err, -EIO, "the system has no random numbers for an epoch");
    gethostname (host, sizeof (host) - 1);
    snprintf (epoch->owner, sizeof (epoch->owner), "host %s, process %d, %016llx", host,
              (int)getpid (), *ret_id);
    return 0;
}

/* Make the directory under its temporary name. */
static int prepare (const struct epoch *epoch, int64_t order, const char *draft,
                    struct pollux_error *err)
{
    struct path owner, place;
    char text[200];
    if (mkdir (draft, 0700) < 0)
        return fail_path (draft, "make it", errno, err);
    snprintf (owner.text, sizeof (owner.text), "%.*s/owner", PATH_MAX, draft);
    snprintf (text, sizeof (text), "%s\n", epoch->owner);
    int code = write_file (owner.text, text);
    snprintf (place.text, sizeof (place.text), "%.*s/order", PATH_MAX, draft);
    snprintf (text, sizeof (text), "%lld\n", (long long)order);
    if (code == 0 && order > 0)
        code = write_file (place.text, text);
    if (code == 0)
        code = sync_path (draft);
    return code < 0 ? fail_path (draft, "write it", -code, err) : 0;
}

/* Rename the draft to its number.  If the answer of a file server is lost, rename reports an error although the
 * server did it: the file `owner` tells. */
static int publish (struct epoch *epoch, const char *draft, int64_t number,
                    struct pollux_error *err)
{
    struct path folder = path_of (epoch->state, 0, FOLDER);
    char target[PATH_MAX + 64], owner[160];
    snprintf (target, sizeof (target), "%.*s/%08lld", PATH_MAX, folder.text, (long long)number);
    fault_point ("epoch-rename");
    int code = rename (draft, target) < 0 ? errno : 0;
    fault_point ("epoch-renamed");
    if (code) {
        read_owner (epoch->state, number, owner);
        if (strcmp (owner, epoch->owner) != 0)
            return code == ENOTEMPTY || code == EEXIST || code == ENOENT
                       ? fail (
                             err, EPOCH_LOST,
                             "another polluxd claimed %s at the same moment: %.100s; this one ends",
                             file_name (epoch->state).text, owner)
                       : fail_path (target, "claim it", code, err);
    }
    code = sync_path (folder.text);
    if (code < 0)
        return fail_path (folder.text, "write it", -code, err);
    epoch->number = number;
    return 0;
}

/* May a daemon of this order follow that epoch?  The answer is still true when the next number is claimed:
 * the claim fails if another epoch has come in between. */
static int check_order (const char *state, int64_t order, int64_t last, struct pollux_error *err)
{
    struct path path = path_of (state, last, "order");
    char *text = NULL;
    size_t length = 0;
    int64_t other = 0;
    if (order == 0 || last == 0 || exists (path_of (state, last, "closed").text) ||
        file_read (path.text, 64, &text, &length, NULL) < 0)
        return 0;
    text[strcspn (text, "\n")] = '\0';
    bool later = number_int64 (text, &other) == 0 && other > order;
    free (text);
    if (!later)
        return 0;
    return fail (
        err, EPOCH_LOST,
        "polluxd of Slurm job %lld, a later one, is in charge of %s; if job numbers began anew, "
        "remove epochs/%08lld/order there",
        (long long)other, file_name (state).text, (long long)last);
}

int epoch_claim (const char *state, int64_t order, struct epoch *ret, struct pollux_error *err)
{
    struct epoch epoch = {.number = 0};
    struct path draft;
    unsigned long long id;
    int64_t last = 0;
    /* 64 bytes for "/epochs/00000001/journal.db.copy-wal". */
    if (strlen (state) + 64 > PATH_MAX)
        return fail (err, -ENAMETOOLONG, "state directory %s: the path is too long",
                     file_name (state).text);
    snprintf (epoch.state, sizeof (epoch.state), "%s", state);
    int code = name_owner (&epoch, &id, err);
    if (code < 0)
        return code;
    struct path folder = path_of (state, 0, FOLDER);
    if (mkdir (folder.text, 0700) < 0 && errno != EEXIST)
        return fail_path (folder.text, "make it", errno, err);
    code = greatest (state, INT64_MAX, NULL, &last, err);
    if (code == 0)
        code = check_order (state, order, last, err);
    if (code < 0)
        return code;
    snprintf (draft.text, sizeof (draft.text), "%s/" CLAIM "%08lld-%016llx", state,
              (long long)last + 1, id);
    code = prepare (&epoch, order, draft.text, err);
    if (code == 0)
        code = publish (&epoch, draft.text, last + 1, err);
    if (code < 0)
        safe_dir_remove (AT_FDCWD, draft.text, NULL);
    /* The number may have been free because it was used and removed long ago. */
    if (code == 0)
        code = epoch_check (&epoch, err);
    if (code == 0)
        *ret = epoch;
    return code;
}

int epoch_check (const struct epoch *epoch, struct pollux_error *err)
{
    int64_t newest = 0;
    char owner[160];
    int code = greatest (epoch->state, INT64_MAX, NULL, &newest, err);
    if (code < 0 || newest == epoch->number)
        return code;
    if (newest < epoch->number)
        return fail (err, -EIO, "%s: epoch %lld of this polluxd was removed",
                     file_name (epoch->state).text, (long long)epoch->number);
    read_owner (epoch->state, newest, owner);
    return fail (err, EPOCH_LOST, "another polluxd took over %s: %.90s; this one ends",
                 file_name (epoch->state).text, owner);
}

/* ---- The journal -------------------------------------------------------------------------- */

/* Move the journal of a daemon that has closed it.  -ENOENT: another claimer was faster. */
static int move_journal (const char *from, const char *to)
{
    if (rename (from, to) < 0)
        return -errno;
    struct path folder;
    snprintf (folder.text, sizeof (folder.text), "%.*s", (int)(strrchr (to, '/') - to), to);
    return sync_path (folder.text);
}

/* Of a daemon without epochs. */
static int take_first_journal (const struct epoch *epoch, const char *to, struct pollux_error *err)
{
    struct path from = path_of (epoch->state, 0, "journal.db");
    if (!exists (from.text))
        return 0;
    if (exists (path_of (epoch->state, 0, "journal.db-wal").text))
        return fail (
            err, -EBUSY,
            "%s: a polluxd without --shared-state writes to it, or did not end well: start "
            "and stop that one first",
            file_name (from.text).text);
    int code = move_journal (from.text, to);
    return code < 0 ? fail_path (from.text, "move it", -code, err) : 0;
}

static int take_from (const struct epoch *epoch, int64_t source, const char *to,
                      struct pollux_error *err)
{
    struct path from = path_of (epoch->state, source, "journal.db");
    if (!exists (path_of (epoch->state, source, "closed").text))
        return store_copy (from.text, to, err);
    int code = move_journal (from.text, to);
    return code < 0 ? fail_path (from.text, "move it", -code, err) : 0;
}

int epoch_take_journal (const struct epoch *epoch, char ret[PATH_MAX], struct pollux_error *err)
{
    struct path to = path_of (epoch->state, epoch->number, "journal.db");
    int64_t source = 0;
    int code;
    /* -ENOENT: another claimer, older or newer, took that journal in between. */
    do {
        int taken = 0;
        code = greatest (epoch->state, epoch->number, "journal.db", &source, err);
        if (code == 0)
            taken = source > 0 ? take_from (epoch, source, to.text, err)
                               : take_first_journal (epoch, to.text, err);
        fault_point ("epoch-copied");
        if (code == 0 && (taken == 0 || taken == -ENOENT))
            code = epoch_check (epoch, err);
        if (code == 0)
            code = taken == -ENOENT ? 1 : taken;
    } while (code == 1);
    if (code == 0)
        snprintf (ret, PATH_MAX, "%.*s", PATH_MAX - 1, to.text);
    return code;
}

int epoch_close (struct epoch *epoch, struct pollux_error *err)
{
    struct path path = path_of (epoch->state, epoch->number, "closed");
    if (exists (path_of (epoch->state, epoch->number, "journal.db-wal").text))
        return 0; /* the next daemon copies both files */
    int code = write_file (path.text, "");
    return code < 0 ? fail_path (path.text, "write it", -code, err) : 0;
}

/* ---- Tidying ------------------------------------------------------------------------------ */

/* Remove the entries of a directory for which the function is true. */
static void remove_where (const char *path, bool (*old) (const char *name, int64_t keep),
                          int64_t keep)
{
    DIR *list = opendir (path);
    const char *name;
    while (list && (name = safe_dir_next (list)))
        if (old (name, keep))
            safe_dir_remove (dirfd (list), name, NULL);
    if (list)
        closedir (list);
}

static bool is_old_epoch (const char *name, int64_t keep)
{
    return number_of (name) > 0 && number_of (name) < keep;
}

/* A claim of this number or an earlier one comes too late. */
static bool is_late_claim (const char *name, int64_t number)
{
    size_t start = strlen (CLAIM);
    return strncmp (name, CLAIM, start) == 0 && strtoll (name + start, NULL, 10) <= number;
}

void epoch_tidy (const struct epoch *epoch)
{
    int64_t last = 0;
    if (greatest (epoch->state, epoch->number, NULL, &last, NULL) < 0)
        return;
    remove_where (path_of (epoch->state, 0, FOLDER).text, is_old_epoch, last);
    remove_where (epoch->state, is_late_claim, epoch->number);
}
