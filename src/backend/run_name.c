/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of runs, and opening their directories.  Every path is walked from a descriptor of the root,
 * one name at a time and never through a symbolic link (base/safe_dir.h): replicas run as the same
 * user and could put one there.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/safe_dir.h"
#include "backend/run_open.h"
#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/number.h"
#include "wire/submission.h"

/* ---- Names -------------------------------------------------------------------------------- */

struct run_path run_path (const struct run_name *name)
{
    struct run_path path;
    snprintf (path.text, sizeof (path.text), "%.63s/%d/%d", name->job, name->generation,
              name->rank);
    return path;
}

struct run_family run_family (int root, const struct run_name *name)
{
    struct run_family family;
    struct stat stat = {0};
    fstat (root, &stat);
    uint64_t place = (uint64_t)stat.st_dev * UINT64_C (0x9e3779b97f4a7c15) ^ (uint64_t)stat.st_ino;
    snprintf (family.text, sizeof (family.text), "%.63s.%d.%d.%016" PRIx64, name->job,
              name->generation, name->rank, place);
    return family;
}

static int check_job (const char *job, struct pollux_error *err)
{
    if (wire_is_job (job))
        return 0;
    return fail (err, -EINVAL,
                 "job %s: expected a name of 1 to %d letters, digits, '.', '_' or '-' that starts "
                 "with none of '.' and '-'",
                 excerpt (job, strnlen (job, NAME_SIZE)).text, NAME_SIZE - 1);
}

/* Decimal, no sign, no leading zero. */
static bool parse_number (const char *text, int least, int *ret)
{
    int64_t number;
    if (number_int64 (text, &number) < 0 || number < least || number > INT_MAX ||
        (*text == '0' && text[1]) || *text == '+' || *text == '-')
        return false;
    *ret = (int)number;
    return true;
}

/* Split the last name off a path; NULL if there is none. */
static char *cut_last (char *path)
{
    char *slash = strrchr (path, '/');
    if (!slash || !slash[1])
        return NULL;
    *slash = '\0';
    return slash + 1;
}

int run_path_open (const char *path, int *ret_root, struct run_name *ret, struct pollux_error *err)
{
    char root[PATH_MAX];
    struct run_name name = {.rank = -1};
    char *rank = NULL, *generation = NULL, *job = NULL;
    if (strlen (path) < sizeof (root)) {
        strcpy (root, path);
        rank = cut_last (root);
        generation = rank ? cut_last (root) : NULL;
        job = generation ? cut_last (root) : NULL;
    }
    if (!job || !wire_is_job (job) || !parse_number (generation, 0, &name.generation) ||
        !parse_number (rank, 0, &name.rank))
        return fail (err, -EINVAL, "%s: expected a path STATE/run/JOB/GENERATION/RANK",
                     file_name (path).text);
    strcpy (name.job, job);
    int code = safe_dir_open_root (*root ? root : "/", ret_root, err);
    if (code == 0)
        *ret = name;
    return code;
}

/* ---- Directories above a run -------------------------------------------------------------- */

int run_number (const char *name)
{
    int64_t number;
    return number_int64 (name, &number) < 0 || number < 0 || number > INT_MAX ||
                   strspn (name, "0123456789") != strlen (name)
               ? -1
               : (int)number;
}

int run_root_open (const char *state, int *ret, struct pollux_error *err)
{
    int directory;
    int code = safe_dir_open_root (state, &directory, err);
    if (code < 0)
        return code;
    code = safe_dir_make (directory, "run", err);
    if (code == 0)
        code = safe_dir_open (directory, "run", ret, err);
    close (directory);
    return code;
}

int run_open_generation (int root, const char *job, int generation, int *ret,
                         struct pollux_error *err)
{
    char number[16];
    int directory;
    snprintf (number, sizeof (number), "%d", generation);
    int code = check_job (job, err);
    if (code == 0 && generation < 0)
        code = fail (err, -EINVAL, "job %s: generation %d: expected 0 or more", job, generation);
    if (code == 0)
        code = safe_dir_open (root, job, &directory, err);
    if (code < 0)
        return code;
    code = safe_dir_open (directory, number, ret, err);
    close (directory);
    return code;
}

int run_open_directory (int root, const struct run_name *name, int *ret, struct pollux_error *err)
{
    char number[16];
    int generation;
    snprintf (number, sizeof (number), "%d", name->rank);
    int code = run_open_generation (root, name->job, name->generation, &generation, err);
    if (code < 0)
        return code;
    code = safe_dir_open (generation, number, ret, err);
    close (generation);
    return code;
}

/* Make and open a directory.  If a job has put something else there, that is removed; if others may
 * write to it, it is closed to them. */
static int make_and_open (int parent, const char *name, int *ret, struct pollux_error *err)
{
    int code = safe_dir_make (parent, name, err);
    if (code < 0)
        return code;
    code = safe_dir_open (parent, name, ret, err);
    if (code == -ELOOP || code == -ENOTDIR) {
        unlinkat (parent, name, 0);
        code = safe_dir_make (parent, name, err);
    } else if (code == -EPERM || code == -EACCES) {
        fchmodat (parent, name, 0700, 0); /* a directory: its links gave -ELOOP */
        code = 0;
    } else {
        return code;
    }
    return code < 0 ? code : safe_dir_open (parent, name, ret, err);
}

int run_prepare (int root, const char *job, int generation, struct pollux_error *err)
{
    char number[16];
    int directory, inner;
    snprintf (number, sizeof (number), "%d", generation);
    int code = check_job (job, err);
    if (code == 0)
        code = make_and_open (root, job, &directory, err);
    if (code < 0)
        return code;
    code = make_and_open (directory, number, &inner, err);
    close (directory);
    if (code == 0)
        close (inner);
    return code;
}
