/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes as /proc shows them.  A pid is reused after its process has died, so a process is opened
 * first (pidfd), then compared by its start time, then signalled through the pidfd: the signal never
 * reaches another process.
 *
 * The processes of a run are found in one pass over a table of all processes:
 *
 *     marked directly:    by environment, by session and group, by cgroup
 *                         (the environment is the one that the process was started with)
 *     marked by descent:  the parent is marked (or is the given ancestor)
 *
 * A process can fork between the pass and the signal, so the caller repeats the pass until it finds
 * none.
 */
#define _GNU_SOURCE /* memmem, pidfds */
#include "backend/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/safe_dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"

#define CGROUP2_MAGIC 0x63677270
/* Arguments and environment together are at most 6 MiB for any stack limit. */
#define ENVIRON_LIMIT ((size_t)8 << 20)
/* 16 MiB of pids, one per line: a kernel has at most 2^22 of them. */
#define PROCS_LIMIT ((size_t)16 << 20)

struct entry {
    int pid, parent, group, session;
    char state; /* as in ps: 'Z' for a zombie */
    uint64_t start;
    bool marked;
};

struct table {
    struct entry *entries; /* by pid, ascending */
    size_t count, capacity;
};

/* ---- One process -------------------------------------------------------------------------- */

/* Read a small file of /proc and add a NUL: its length, or -errno. */
static ssize_t read_small (const char *path, char *buffer, size_t size)
{
    int file = open (path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -errno;
    ssize_t length = read (file, buffer, size - 1);
    int code = -errno;
    close (file);
    if (length < 0)
        return code;
    buffer[length] = '\0';
    return length;
}

/* -ESRCH if there is no such process. */
static int read_entry (int pid, struct entry *ret)
{
    char path[32], text[1024];
    snprintf (path, sizeof (path), "/proc/%d/stat", pid);
    ssize_t length = read_small (path, text, sizeof (text));
    if (length <= 0)
        return length == -ENOENT || length == 0 ? -ESRCH : (int)length;
    /* The name in parentheses may contain any character; the last parenthesis ends it. */
    const char *rest = strrchr (text, ')');
    struct entry entry = {.pid = pid};
    if (!rest ||
        sscanf (rest + 1,
                " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                "%*d %" SCNu64,
                &entry.state, &entry.parent, &entry.group, &entry.session, &entry.start) != 5)
        return -EIO;
    *ret = entry;
    return 0;
}

int process_boot (char ret[RUN_BOOT_SIZE], struct pollux_error *err)
{
    static const char path[] = "/proc/sys/kernel/random/boot_id";
    char text[RUN_BOOT_SIZE] = "";
    ssize_t length = read_small (path, text, sizeof (text));
    if (length < 0)
        return fail (err, (int)length, "%s: %s", path, strerror ((int)-length));
    text[strcspn (text, "\n")] = '\0';
    if (!*text)
        return fail (err, -EIO, "%s: empty", path);
    memcpy (ret, text, RUN_BOOT_SIZE);
    return 0;
}

int process_identify (int pid, struct run_process *ret, struct pollux_error *err)
{
    struct entry entry;
    int code = read_entry (pid, &entry);
    if (code < 0)
        return fail (err, code, "process %d: %s", pid, strerror (-code));
    *ret = (struct run_process){.pid = pid, .start = entry.start};
    return 0;
}

int process_open (const struct run_process *process, const char *boot, int *ret,
                  struct pollux_error *err)
{
    char now[RUN_BOOT_SIZE];
    struct run_process found = {0};
    int code = process_boot (now, err);
    if (code < 0)
        return code;
    if (strcmp (boot, now) != 0)
        return fail (err, -ESRCH, "process %d: the machine was rebooted since", process->pid);
    int file = pidfd_open (process->pid, 0);
    if (file < 0)
        return fail (err, -errno, "process %d: %s", process->pid, strerror (errno));
    code = process_identify (process->pid, &found, err);
    if (code == 0 && found.start != process->start)
        code =
            fail (err, -ESRCH, "process %d: gone, and another process has its pid", process->pid);
    if (code < 0)
        close (file);
    else
        *ret = file;
    return code;
}

int process_of_pidfd (int pidfd)
{
    char path[48], text[1024];
    int pid = 0;
    snprintf (path, sizeof (path), "/proc/self/fdinfo/%d", pidfd);
    if (read_small (path, text, sizeof (text)) <= 0)
        return 0;
    const char *line = strstr (text, "\nPid:\t");
    return line && sscanf (line, " Pid: %d", &pid) == 1 && pid > 0 ? pid : 0;
}

bool process_is_halted (int pid)
{
    struct entry entry;
    return pid > 0 && read_entry (pid, &entry) == 0 && entry.state == 'T';
}

/* A signal mask of /proc/PID/status; all bits set if it is missing. */
static uint64_t signal_mask (const char *status, const char *name)
{
    const char *line = strstr (status, name);
    return line ? strtoull (line + strlen (name), NULL, 16) : UINT64_MAX;
}

bool process_dies_by (int pid, int signal)
{
    char path[32], text[4096];
    snprintf (path, sizeof (path), "/proc/%d/status", pid);
    if (read_small (path, text, sizeof (text)) <= 0)
        return false;
    uint64_t survived = signal_mask (text, "\nSigCgt:\t") | signal_mask (text, "\nSigIgn:\t") |
                        signal_mask (text, "\nSigBlk:\t");
    return !(survived >> (signal - 1) & 1);
}

/* ---- All processes ------------------------------------------------------------------------ */

static int table_add (struct table *table, struct entry entry)
{
    if (table->count == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 512;
        struct entry *entries = realloc (table->entries, capacity * sizeof (*entries));
        if (!entries)
            return -ENOMEM;
        table->entries = entries;
        table->capacity = capacity;
    }
    table->entries[table->count++] = entry;
    return 0;
}

static int compare_pids (const void *a, const void *b)
{
    int left = ((const struct entry *)a)->pid, right = ((const struct entry *)b)->pid;
    return (left > right) - (left < right);
}

/* The caller frees ret->entries, also on failure. */
static int table_read (struct table *ret, struct pollux_error *err)
{
    DIR *proc = opendir ("/proc");
    if (!proc)
        return fail (err, -errno, "/proc: %s", strerror (errno));
    const char *name;
    int code = 0;
    while (code == 0 && (name = safe_dir_next (proc))) {
        struct entry entry;
        int64_t pid;
        if (number_int64 (name, &pid) < 0 || read_entry ((int)pid, &entry) < 0)
            continue; /* not a process, or it has ended */
        code = table_add (ret, entry);
    }
    closedir (proc);
    if (code < 0)
        return fail (err, code, "not enough memory for a list of processes");
    if (ret->count > 0)
        qsort (ret->entries, ret->count, sizeof (ret->entries[0]), compare_pids);
    return 0;
}

static struct entry *table_find (struct table *table, int pid)
{
    struct entry key = {.pid = pid};
    return table->count == 0
               ? NULL
               : bsearch (&key, table->entries, table->count, sizeof (key), compare_pids);
}

/* Is NAME=value one of the variables, or, without a NUL in its end, the start of one? */
static bool has_variable (const char *text, size_t length, const char *name, const char *value,
                          const char *end, size_t end_size)
{
    char wanted[RUN_ID_SIZE + 32];
    size_t size = (size_t)snprintf (wanted, sizeof (wanted) - 1, "%s=%s", name, value);
    if (size + end_size > sizeof (wanted))
        return false;
    memcpy (wanted + size, end, end_size);
    const char *at = text, *stop = text + length + 1; /* file_read adds a NUL */
    while (at < stop && (at = memmem (at, (size_t)(stop - at), wanted, size + end_size))) {
        if (at == text || at[-1] == '\0')
            return true;
        at++;
    }
    return false;
}

/* Read the environment that a process was started with.  False: another user's, or it has ended. */
static bool read_environment (int pid, char **ret, size_t *ret_length)
{
    char path[32];
    snprintf (path, sizeof (path), "/proc/%d/environ", pid);
    return file_read (path, ENVIRON_LIMIT, ret, ret_length, NULL) == 0;
}

static bool is_of_run (int pid, const struct process_tree *tree)
{
    char *text;
    size_t length;
    if ((!tree->id && !tree->family) || !read_environment (pid, &text, &length))
        return false;
    bool found =
        (tree->id && has_variable (text, length, "POLLUX_RUN", tree->id, "", 1)) ||
        (tree->family && (has_variable (text, length, "POLLUX_RUN", tree->family, ".", 1) ||
                          has_variable (text, length, "POLLUX_SUPERVISOR", tree->family, "", 1)));
    free (text);
    return found;
}

static void mark_cgroup (struct table *table, const char *cgroup)
{
    char path[RUN_PATH_SIZE + 16];
    char *text, *rest;
    size_t length;
    snprintf (path, sizeof (path), "%s/cgroup.procs", cgroup);
    if (file_read (path, PROCS_LIMIT, &text, &length, NULL) < 0)
        return;
    for (char *line = strtok_r (text, "\n", &rest); line; line = strtok_r (NULL, "\n", &rest)) {
        int64_t pid;
        struct entry *entry = number_int64 (line, &pid) == 0 ? table_find (table, (int)pid) : NULL;
        if (entry)
            entry->marked = true;
    }
    free (text);
}

static bool is_spared (const struct process_tree *tree, int pid)
{
    for (int i = 0; i < tree->spared_count; i++)
        if (tree->spared[i] == pid)
            return true;
    return false;
}

/* Repeat until nothing changes: a child can have a lower pid than its parent. */
static void mark_descendants (struct table *table, const struct process_tree *tree)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < table->count; i++) {
            struct entry *entry = &table->entries[i];
            if (entry->marked || entry->pid == getpid ())
                continue;
            const struct entry *parent = table_find (table, entry->parent);
            entry->marked = (tree->ancestor && entry->parent == tree->ancestor &&
                             !is_spared (tree, entry->pid)) ||
                            (parent && parent->marked);
            changed |= entry->marked;
        }
    }
}

static void mark (struct table *table, const struct process_tree *tree)
{
    for (size_t i = 0; i < table->count; i++) {
        struct entry *entry = &table->entries[i];
        entry->marked =
            (tree->session && entry->session == tree->session && entry->group == tree->group) ||
            is_of_run (entry->pid, tree);
    }
    if (tree->cgroup && *tree->cgroup)
        mark_cgroup (table, tree->cgroup);
    struct entry *self = table_find (table, getpid ());
    if (self)
        self->marked = false;
    mark_descendants (table, tree);
}

/* ---- Signals ------------------------------------------------------------------------------ */

/* Kill a whole cgroup atomically.  Kernels before 5.14 cannot; there the pass over processes does
 * it. */
static void kill_cgroup (const char *cgroup)
{
    struct statfs system;
    int directory = open (cgroup, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return;
    int file = fstatfs (directory, &system) == 0 && system.f_type == CGROUP2_MAGIC
                   ? openat (directory, "cgroup.kill", O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
                   : -1;
    if (file >= 0) {
        ssize_t written = write (file, "1", 1);
        (void)written; /* the pass over processes finds what is left */
        close (file);
    }
    close (directory);
}

static void signal_entry (const struct entry *entry, int signal)
{
    struct entry now;
    int file = pidfd_open (entry->pid, 0);
    if (file < 0)
        return;
    if (read_entry (entry->pid, &now) == 0 && now.start == entry->start)
        pidfd_send_signal (file, signal, NULL, 0);
    close (file);
}

int process_signal_tree (const struct process_tree *tree, int signal, struct pollux_error *err)
{
    struct table table = {0};
    int count = 0;
    if (signal == SIGKILL && tree->cgroup && *tree->cgroup)
        kill_cgroup (tree->cgroup);
    int code = table_read (&table, err);
    if (code == 0)
        mark (&table, tree);
    for (size_t i = 0; code == 0 && i < table.count; i++) {
        const struct entry *entry = &table.entries[i];
        if (!entry->marked || entry->state == 'Z' || entry->state == 'X')
            continue;
        signal_entry (entry, signal);
        count++;
    }
    free (table.entries);
    return code < 0 ? code : count;
}

/* The value of a variable; NULL if it is absent or too long. */
static const char *find_value (const char *text, size_t length, const char *name)
{
    size_t size = strlen (name);
    for (const char *at = text; at < text + length; at += strlen (at) + 1)
        if (strncmp (at, name, size) == 0 && at[size] == '=' &&
            strlen (at + size + 1) < RUN_ID_SIZE)
            return at + size + 1;
    return NULL;
}

/* Is a process one of a run?  ret->process is not set. */
static bool identify_run (int pid, struct process_of_run *ret)
{
    char *text;
    size_t length;
    if (!read_environment (pid, &text, &length))
        return false;
    const char *supervisor = find_value (text, length, "POLLUX_SUPERVISOR");
    const char *run = find_value (text, length, "POLLUX_RUN");
    const char *end = run ? strrchr (run, '.') : NULL;
    *ret = (struct process_of_run){.supervisor = supervisor};
    if (supervisor)
        strcpy (ret->family, supervisor);
    else if (end)
        memcpy (ret->family, run, (size_t)(end - run));
    free (text);
    return supervisor || end;
}

/* Without supervisors whose parent is one of the same run: that is their guardian. */
static int without_guarded (struct table *table, struct process_of_run *list, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++)
        table_find (table, list[i].process.pid)->marked = list[i].supervisor;
    for (int i = 0; i < count; i++) {
        const struct entry *entry = table_find (table, list[i].process.pid);
        const struct entry *parent = table_find (table, entry->parent);
        if (!list[i].supervisor || !parent || !parent->marked)
            list[kept++] = list[i];
    }
    return kept;
}

int process_list_runs (struct process_of_run **ret, int *ret_count, struct pollux_error *err)
{
    struct table table = {0};
    int code = table_read (&table, err), count = 0;
    struct process_of_run *list = code == 0 ? calloc (table.count + 1, sizeof (list[0])) : NULL;
    if (code == 0 && !list)
        code = fail (err, -ENOMEM, "not enough memory for a list of processes");
    for (size_t i = 0; code == 0 && i < table.count; i++) {
        const struct entry *entry = &table.entries[i];
        if (entry->state == 'Z' || entry->state == 'X' || entry->pid == getpid () ||
            !identify_run (entry->pid, &list[count]))
            continue;
        list[count++].process = (struct run_process){.pid = entry->pid, .start = entry->start};
    }
    if (code == 0) {
        *ret_count = without_guarded (&table, list, count);
        *ret = list;
    }
    free (table.entries);
    return code;
}

int process_chain (int pid, int *ret, int limit)
{
    struct table table = {0};
    int count = 0;
    const struct entry *at = table_read (&table, NULL) == 0 ? table_find (&table, pid) : NULL;
    while (at && count < limit) {
        ret[count++] = at->pid;
        const struct entry *child = NULL;
        int children = 0;
        for (size_t i = 0; i < table.count; i++) {
            if (table.entries[i].parent == at->pid && table.entries[i].group == at->group) {
                child = &table.entries[i];
                children++;
            }
        }
        at = children == 1 ? child : NULL;
    }
    free (table.entries);
    return count;
}
