/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux doctor on one machine: the state directory, the daemon, GPUs, the cgroup and Python.
 */
#define _GNU_SOURCE
#include "cli/doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backend/machine.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "cli/answer_text.h"
#include "cli/daemon_access.h"

/* Below this, journals, logs and checkpoints soon fill the disk. */
#define FREE_BYTES_LEAST (1ULL << 30)

/* ---- The state directory ------------------------------------------------------------------ */

/* The nearest directory above that exists. */
static void existing_parent (const char *path, char ret[PATH_MAX])
{
    snprintf (ret, PATH_MAX, "%s", path);
    while (access (ret, F_OK) < 0) {
        char *slash = strrchr (ret, '/');
        if (!slash || slash == ret) {
            strcpy (ret, "/");
            return;
        }
        *slash = '\0';
    }
}

static void check_space (struct doctor *doctor, const char *path)
{
    struct statvfs space;
    if (statvfs (path, &space) < 0)
        return;
    unsigned long long bytes = (unsigned long long)space.f_bavail * space.f_frsize;
    if (bytes < FREE_BYTES_LEAST)
        doctor_report (doctor, "state-space", FINDING_WARNING,
                       "Free some space, or choose another directory with polluxd --state.",
                       "state directory %s: only %llu MB are free", file_name (path).text,
                       bytes >> 20);
}

static void check_state (struct doctor *doctor)
{
    char parent[PATH_MAX];
    struct stat info;
    struct file_name name = file_name (doctor->state);
    existing_parent (doctor->state, parent);
    if (strcmp (parent, doctor->state) != 0) {
        if (access (parent, W_OK | X_OK) < 0)
            doctor_report (doctor, "state", FINDING_PROBLEM,
                           "Make it for the daemon's user, or choose another with --state or "
                           "POLLUX_STATE.",
                           "state directory %s cannot be made: %s: %s", name.text,
                           file_name (parent).text, strerror (errno));
        else
            doctor_report (doctor, "state", FINDING_OK, NULL,
                           "state directory %s is not there yet; polluxd makes it", name.text);
        check_space (doctor, parent);
        return;
    }
    if (stat (doctor->state, &info) < 0 || !S_ISDIR (info.st_mode)) {
        doctor_report (doctor, "state", FINDING_PROBLEM,
                       "Move it away, or choose another with --state or POLLUX_STATE.",
                       "state directory %s is not a directory", name.text);
        return;
    }
    if (info.st_uid != geteuid () && geteuid () != 0) {
        doctor_report (doctor, "state", FINDING_WARNING,
                       "Run pollux doctor as that user, or name your own with --state.",
                       "state directory %s belongs to user %u, not to you", name.text,
                       (unsigned)info.st_uid);
        return;
    }
    if (info.st_mode & 077) {
        doctor_report (doctor, "state", FINDING_PROBLEM,
                       "Close it with chmod 700: it contains tokens.",
                       "state directory %s: other users can enter it (mode %03o)", name.text,
                       (unsigned)info.st_mode & 0777);
        return;
    }
    if (access (doctor->state, R_OK | W_OK | X_OK) < 0)
        doctor_report (doctor, "state", FINDING_PROBLEM,
                       "Check its permissions and whether its file system is mounted read-only.",
                       "state directory %s: %s", name.text, strerror (errno));
    else
        doctor_report (doctor, "state", FINDING_OK, NULL, "state directory %s", name.text);
    check_space (doctor, doctor->state);
}

/* ---- The daemon --------------------------------------------------------------------------- */

static bool is_loopback (const struct client_server *server)
{
    struct daemon_access access;
    if (daemon_access_find (server->address, server->ca, &access, NULL) < 0)
        return false;
    explicit_bzero (access.token, sizeof (access.token));
    const char *host = strstr (access.url, "://");
    host = host ? host + 3 : access.url;
    return access.socket[0] || strncmp (host, "127.", 4) == 0 || strncmp (host, "[::1]", 5) == 0 ||
           strncmp (host, "localhost", 9) == 0;
}

static void check_daemon (struct doctor *doctor)
{
    struct client *client = NULL;
    json_t *status = NULL;
    struct pollux_error err = {.text = ""};
    int rc = client_open (&doctor->server, &client, &err);
    if (rc == 0)
        rc = client_get (client, "/v1/status", &status, &err);
    if (rc == -EHOSTUNREACH) {
        doctor_report (doctor, "daemon", FINDING_WARNING,
                       "Start polluxd (man polluxd; on Slurm: pollux slurm-pilot), or name its "
                       "address with --server.",
                       "no daemon answers at %s", client_address (client));
    } else if (rc < 0) {
        doctor_report (doctor, "daemon", FINDING_PROBLEM,
                       "Compare the address and the token with those of the daemon's state "
                       "directory.",
                       "the daemon: %s", err.text);
    } else {
        const char *version = answer_text (status, "version");
        snprintf (doctor->backend, sizeof (doctor->backend), "%s", answer_text (status, "backend"));
        doctor->loopback = is_loopback (&doctor->server);
        bool same = strcmp (version, pollux_version ()) == 0;
        doctor_report (doctor, "daemon", same ? FINDING_OK : FINDING_WARNING,
                       same ? NULL : "Restart polluxd: jobs continue under their supervisors.",
                       "polluxd %s answers at %s%s%s, backend %s", version, client_address (client),
                       same ? "" : ", but this command is version ", same ? "" : pollux_version (),
                       doctor->backend);
    }
    json_decref (status);
    client_close (client);
}

/* ---- GPUs and the cgroup ------------------------------------------------------------------ */

/* "8 GPUs: 4 t4, 4 a100": the nodes are one per type. */
static void report_gpus (struct doctor *doctor, const struct machine *machine)
{
    char text[256] = "";
    size_t length = 0;
    for (int i = 0; i < machine->node_count && length < sizeof (text); i++) {
        const struct node *node = &machine->nodes[i].node;
        length += (size_t)snprintf (text + length, sizeof (text) - length, "%s%d %s",
                                    i > 0 ? ", " : "", node->slots, node->type);
    }
    doctor_report (doctor, "gpus", FINDING_OK, NULL, "%d GPUs: %s", machine->gpu_count, text);
}

static void check_gpus (struct doctor *doctor)
{
    struct machine machine;
    struct pollux_error err = {.text = ""};
    bool device = access ("/dev/nvidiactl", F_OK) == 0, program = doctor_has_program ("nvidia-smi");
    if (machine_discover (NULL, NULL, 0, &machine, &err) < 0) {
        doctor_report (doctor, "gpus", FINDING_PROBLEM, "See the message.", "GPUs: %s", err.text);
        return;
    }
    if (machine.gpu_count > 0)
        report_gpus (doctor, &machine);
    else if (device && !program)
        doctor_report (doctor, "gpus", FINDING_WARNING,
                       "Install nvidia-smi of the driver's version: polluxd counts GPUs with it.",
                       "an NVIDIA driver is loaded, but nvidia-smi is not in PATH");
    else if (program)
        doctor_report (doctor, "gpus", FINDING_WARNING,
                       "Run nvidia-smi by hand, and repair the driver.",
                       "nvidia-smi finds no GPUs, or fails");
    else
        doctor_report (doctor, "gpus", FINDING_OK, NULL,
                       "no GPUs here: the slots of this machine are its %d CPUs",
                       machine.cpu_count);
    machine_clear (&machine);
}

static void check_cgroup (struct doctor *doctor)
{
    char path[RUN_PATH_SIZE];
    struct pollux_error err = {.text = ""};
    if (machine_cgroup (path, &err) == 0)
        doctor_report (doctor, "cgroup", FINDING_OK, NULL, "cgroups can be made in %s",
                       file_name (path).text);
    else
        doctor_report (doctor, "cgroup", FINDING_WARNING,
                       "Start polluxd as a systemd unit with Delegate=yes. Without it everything "
                       "works, but memory is not limited.",
                       "no cgroup v2 in which this user may make others: %s",
                       err.text[0] ? err.text : "none found");
}

/* ---- Python ------------------------------------------------------------------------------- */

static void check_module (struct doctor *doctor, const char *const *environment, const char *module,
                          const char *repair)
{
    char script[128], check[32];
    snprintf (script, sizeof (script), "import %s; print (getattr (%s, '__version__', ''))", module,
              module);
    snprintf (check, sizeof (check), "python-%s", module);
    const char *words[] = {"python3", "-c", script, NULL};
    struct doctor_answer answer = doctor_ask (doctor, words, NULL, environment);
    if (answer.code == 0)
        doctor_report (doctor, check, FINDING_OK, NULL, "Python imports %s %.*s", module,
                       (int)strcspn (answer.output, "\n"), answer.output);
    else if (!doctor->interrupted) {
        /* The last line of a traceback is the reason. */
        char *end = answer.error + strlen (answer.error);
        while (end > answer.error && end[-1] == '\n')
            *--end = '\0';
        char *last = strrchr (answer.error, '\n');
        doctor_report (doctor, check, FINDING_WARNING, repair, "Python does not import %s: %s",
                       module,
                       answer.code == -EREMOTEIO ? quote (last ? last + 1 : answer.error).text
                                                 : answer.why.text);
    }
    doctor_answer_clear (&answer);
}

static void check_python (struct doctor *doctor)
{
    static const char *const passed[] = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX"};
    struct words environment = {.count = 0};
    if (!doctor_has_program ("python3")) {
        doctor_report (doctor, "python", FINDING_WARNING,
                       "Install Python 3 and PyTorch, or activate their environment; jobs in C "
                       "need neither.",
                       "python3 is not in PATH");
        return;
    }
    for (size_t i = 0; i < sizeof (passed) / sizeof (passed[0]); i++)
        if (getenv (passed[i]))
            words_add (&environment, "%s=%s", passed[i], getenv (passed[i]));
    if (words_check (&environment) == 0) {
        check_module (doctor, words_list (&environment), "torch",
                      "Install PyTorch, or activate its environment; jobs in C do not need it.");
        if (!doctor->interrupted)
            check_module (doctor, words_list (&environment), "pollux",
                          "Install the Python package of Pollux (make install), or set PYTHONPATH; "
                          "docs/pytorch.md.");
    }
    words_clear (&environment);
}

void doctor_check_machine (struct doctor *doctor)
{
    check_state (doctor);
    check_daemon (doctor);
    check_gpus (doctor);
    check_cgroup (doctor);
    check_python (doctor);
}
