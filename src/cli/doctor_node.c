/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux doctor on a node.  A small batch job runs `pollux doctor --probe DIR` there; both sides write
 * files into DIR, which is on the shared file system:
 *
 *     doctor                                    probe
 *     question, lock (held)
 *     sbatch  ------------------------------->  started: host, its clock
 *     reply: the clock of this side  -------->  waits for it; tries the lock; asks the daemon
 *     <-------------------------------------    answer
 *
 * The two clocks are compared as in NTP: the middle of the exchange, with half of its length as the
 * error.  What the probe cannot write, the exit code of the job says.
 */
#define _GNU_SOURCE
#include "cli/doctor.h"
#include "cli/doctor_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/slurm/slurm_settings.h"
#include "backend/slurm/jobs.h"
#include "backend/slurm/submission.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/safe_dir.h"

enum { NO_DIRECTORY = 41, NO_PROGRAM = 42 }; /* exit codes of the script; see PROBE_FAILED */

/* Seconds: a difference of clocks that confuses people who read logs, and one that breaks munge. */
#define SKEW_WARNING_S 1.0
#define SKEW_PROBLEM_S 60.0

/* ---- On this side ------------------------------------------------------------------------- */

struct visit {
    struct doctor *doctor;
    char directory[PATH_MAX];
    int parent; /* of the directory; others may own it, as /scratch: only entries of ours are touched */
    int lock;
    int64_t job, submitted_us; /* monotonic */
    char host[256];
};

static int make_directory (struct visit *visit, const char *parent)
{
    int length =
        snprintf (visit->directory, sizeof (visit->directory), "%s/.pollux-doctor-XXXXXX", parent);
    visit->parent = open (parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int code = (size_t)length >= sizeof (visit->directory)        ? -ENAMETOOLONG
               : visit->parent < 0 || !mkdtemp (visit->directory) ? -errno
                                                                  : 0;
    if (code < 0)
        visit->directory[0] = '\0';
    return code;
}

/* The directory to check: --shared; with the service, where files of jobs are in the owner's home, that; else
 * the state directory, or what exists above it. */
static int visit_open (struct visit *visit, struct pollux_error *err)
{
    struct doctor *doctor = visit->doctor;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    const char *home = strcmp (doctor->backend, "slurm") == 0 ? getenv ("HOME") : NULL;
    char *base = strdup (doctor->shared ? doctor->shared : home ? home : doctor->state);
    if (!base)
        return fail (err, -ENOMEM, "not enough memory");
    struct file_name name = file_name (base);
    while (!doctor->shared && access (base, F_OK) < 0 && strrchr (base, '/') > base)
        *strrchr (base, '/') = '\0';
    char *resolved = realpath (base, NULL);
    free (base);
    if (!resolved)
        return fail (err, -errno, "%s: %s", name.text, strerror (errno));
    int code = make_directory (visit, resolved);
    free (resolved);
    if (code < 0)
        return fail (err, code, "%s: cannot make a directory: %s", name.text, strerror (-code));
    code = probe_write (visit->directory, "lock", err, "x");
    int folder = -1;
    if (code == 0)
        code = safe_dir_open_root (visit->directory, &folder, err);
    if (code == 0) {
        visit->lock = openat (folder, "lock", O_RDWR | O_CLOEXEC);
        if (visit->lock < 0 || fcntl (visit->lock, F_OFD_SETLK, &lock) < 0)
            code =
                fail (err, -errno, "%s: a file cannot be locked: %s", name.text, strerror (errno));
        close (folder);
    }
    const char *server = doctor->server.address ? doctor->server.address : getenv ("POLLUX_SERVER");
    const char *ca = doctor->server.ca ? doctor->server.ca : getenv ("POLLUX_CA");
    if (code == 0)
        code = probe_write (visit->directory, "question", err,
                            "server = %s\nca = %s\nstate = %s\nask = %d\n", server ? server : "",
                            ca ? ca : "", doctor->state, doctor->backend[0] && !doctor->loopback);
    return code;
}

static void visit_close (struct visit *visit)
{
    const char *slash = strrchr (visit->directory, '/');
    if (visit->lock >= 0)
        close (visit->lock);
    if (slash)
        safe_dir_remove (visit->parent, slash + 1, NULL);
    if (visit->parent >= 0)
        close (visit->parent);
}

static char *make_script (const struct visit *visit)
{
    char *directory = slurm_shell_quote (visit->directory);
    char *program = slurm_shell_quote (visit->doctor->program), *script = NULL;
    if (directory && program &&
        asprintf (&script,
                  "#!/bin/sh\ntest -d %s || exit %d\ntest -x %s || exit %d\n"
                  "exec %s doctor --probe=%s\n",
                  directory, NO_DIRECTORY, program, NO_PROGRAM, program, directory) < 0)
        script = NULL;
    free (directory);
    free (program);
    return script;
}

static bool submit (struct visit *visit)
{
    struct doctor *doctor = visit->doctor;
    struct words words = {.count = 0};
    char *script = make_script (visit);
    words_add (&words, "sbatch");
    words_add (&words, "--parsable");
    words_add (&words, "--job-name=pollux-doctor");
    words_add (&words, "--nodes=1");
    words_add (&words, "--ntasks=1");
    words_add (&words, "--mem=100M");
    words_add (&words, "--time=3");
    words_add (&words, "--no-requeue");
    words_add (&words, "--chdir=/");
    words_add (&words, "--output=/dev/null");
    if (doctor->partition)
        words_add (&words, "--partition=%s", doctor->partition);
    if (doctor->node)
        words_add (&words, "--nodelist=%s", doctor->node);
    if (words_check (&words) < 0 || !script) {
        free (script);
        words_clear (&words);
        return false;
    }
    char socket[PATH_MAX + 32];
    const char *munge = getenv ("POLLUX_MUNGE_SOCKET"),
               *environment[] = {munge ? socket : NULL, NULL};
    snprintf (socket, sizeof (socket), "POLLUX_MUNGE_SOCKET=%s", munge ? munge : "");
    visit->submitted_us = clock_monotonic_us ();
    struct doctor_answer answer = doctor_ask (doctor, words_list (&words), script, environment);
    int code = answer.code;
    if (code == 0)
        code =
            slurm_submitted_parse (answer.output, answer.output_length, &visit->job, &answer.why);
    if (code < 0 && !doctor->interrupted)
        doctor_report (doctor, "slurm-submit", FINDING_PROBLEM,
                       "Submit a job by hand; perhaps an account, a partition or a QOS is missing.",
                       "Slurm takes no job of yours: %s", answer.why.text);
    doctor_answer_clear (&answer);
    words_clear (&words);
    free (script);
    return code == 0;
}

static void cancel (struct visit *visit)
{
    struct words words;
    struct doctor *doctor = visit->doctor;
    bool interrupted = doctor->interrupted;
    if (visit->job == 0 || slurm_scancel_job (visit->job, NULL, &words) < 0)
        return;
    doctor->interrupted = false; /* the job is cancelled also after a signal */
    struct doctor_answer answer = doctor_ask (doctor, words_list (&words), NULL, NULL);
    doctor->interrupted |= interrupted;
    doctor_answer_clear (&answer);
    words_clear (&words);
}

/* How the job is: its state, and the reason why it waits.  Its exit code, -1: it has none yet. */
static int look_at_job (struct visit *visit, char state[64], char reason[64])
{
    char id[32], code[32] = "";
    snprintf (id, sizeof (id), "%lld", (long long)visit->job);
    const char *words[] = {"scontrol", "show", "job", "-o", id, NULL};
    struct doctor_answer answer = doctor_ask (visit->doctor, words, NULL, NULL);
    slurm_word_value (answer.output, answer.output_length, "JobState", state, 64);
    slurm_word_value (answer.output, answer.output_length, "Reason", reason, 64);
    slurm_word_value (answer.output, answer.output_length, "ExitCode", code, sizeof (code));
    bool answered = answer.code == 0;
    doctor_answer_clear (&answer);
    enum slurm_phase phase = slurm_phase (state);
    return answered && (phase == SLURM_ENDED || phase == SLURM_EXCUSED) ? atoi (code) : -1;
}

/* The job has ended with this code and no file. */
static void report_end (struct visit *visit, int code, const char *state)
{
    struct doctor *doctor = visit->doctor;
    if (code == NO_DIRECTORY)
        doctor_report (doctor, "shared", FINDING_PROBLEM,
                       "Use a directory that all nodes mount (home or scratch) with --state or "
                       "--shared.",
                       "the node does not see %s", file_name (visit->directory).text);
    else if (code == NO_PROGRAM || code == 126 || code == 127)
        doctor_report (doctor, "node-program", FINDING_PROBLEM,
                       "Install Pollux on the nodes at the same path, or on a shared file system.",
                       "the node cannot run %s", file_name (doctor->program).text);
    else if (code == PROBE_FAILED)
        doctor_report (doctor, "shared", FINDING_PROBLEM,
                       "Check that your user may write there from a node, and that the file system "
                       "is healthy.",
                       "the node sees %s but cannot read and write files there",
                       file_name (visit->directory).text);
    else
        doctor_report (doctor, "node-job", FINDING_PROBLEM,
                       "Look at the node with scontrol show node and at the log of slurmd.",
                       "the job on a node ended as %s with exit code %d", state, code);
}

/* Wait until the probe has written a file.  False: reported. */
static bool wait_for_file (struct visit *visit, const char *name, double limit_s,
                           char text[PROBE_TEXT_SIZE], const char *doing)
{
    struct doctor *doctor = visit->doctor;
    char state[64] = "", reason[64] = "";
    int64_t begin_us = clock_monotonic_us (), asked_us = begin_us, ended_us = 0;
    int code = -1;
    for (;;) {
        int64_t now_us = clock_monotonic_us ();
        if (probe_read (visit->directory, name, text))
            return true;
        /* A job that has ended may have written the file a moment ago, on another machine. */
        if (ended_us > 0 && (code > 0 || now_us - ended_us > (int64_t)(PROBE_FILE_S * 1e6))) {
            if (code == 0)
                doctor_report (doctor, "shared", FINDING_PROBLEM,
                               "Mount the file system so that new files are seen within seconds "
                               "(NFS: actimeo=3 or noac).",
                               "a file that the node wrote is not seen here after %.0f s",
                               PROBE_FILE_S);
            else
                report_end (visit, code, state);
            return false;
        }
        if (ended_us == 0 && (double)(now_us - begin_us) / 1e6 > limit_s)
            break;
        if (ended_us == 0 && now_us - asked_us > 1000000) {
            code = look_at_job (visit, state, reason);
            ended_us = code >= 0 ? now_us : 0;
            asked_us = clock_monotonic_us ();
        }
        if (!doctor_wait (doctor, 0, 0.05, doing))
            return false;
    }
    look_at_job (visit, state, reason);
    doctor_report (doctor, "node-job", FINDING_WARNING,
                   "Try again when a node is free, with --partition or --node, or with a longer "
                   "--wait.",
                   "the job on a node is %s (%s) after %.0f s: nothing was checked on a node",
                   state[0] ? state : "unknown", reason[0] ? reason : "no reason", limit_s);
    return false;
}

static void report_clock (struct visit *visit, const char *started, int64_t here_received_us,
                          int64_t here_sent_us, const char *answer)
{
    int64_t sent_us = probe_number (started, "sent_us"),
            received_us = probe_number (answer, "received_us");
    double skew_s =
        ((double)(sent_us - here_received_us) + (double)(received_us - here_sent_us)) / 2e6;
    double error_s = (double)((received_us - sent_us) - (here_sent_us - here_received_us)) / 2e6;
    double least_s = (skew_s < 0 ? -skew_s : skew_s) - error_s;
    if (sent_us < 0 || received_us < 0)
        return;
    enum finding finding = least_s > SKEW_PROBLEM_S   ? FINDING_PROBLEM
                           : least_s > SKEW_WARNING_S ? FINDING_WARNING
                                                      : FINDING_OK;
    doctor_report (
        visit->doctor, "clock", finding,
        finding == FINDING_OK ? NULL
                              : "Let chrony or systemd-timesyncd set the clocks of all nodes; "
                                "munge refuses credentials that are minutes off.",
        "the clock of %s differs by %.2f s, give or take %.2f s", visit->host, skew_s, error_s);
}

static void report_daemon (struct visit *visit, const char *answer)
{
    struct doctor *doctor = visit->doctor;
    char daemon[1024];
    slurm_config_value (answer, strlen (answer), "daemon", daemon, sizeof (daemon));
    if (strcmp (daemon, "reached") == 0)
        doctor_report (doctor, "node-daemon", FINDING_OK, NULL, "polluxd is reached from %s",
                       visit->host);
    else if (daemon[0])
        doctor_report (doctor, "node-daemon", FINDING_PROBLEM,
                       "Open the port of polluxd for the nodes in the firewall; check --listen of "
                       "polluxd, and munged on the node.",
                       "polluxd is not reached from %s: %s", visit->host, daemon);
    else if (doctor->backend[0] && strncmp (doctor->backend, "slurm", 5) == 0)
        doctor_report (
            doctor, "node-daemon", FINDING_PROBLEM,
            "Start polluxd with --listen ADDRESS:PORT of a network that the nodes reach.",
            "polluxd listens for this machine only: nodes cannot report");
}

static void report_answer (struct visit *visit, const char *answer)
{
    char lock[16], reply[16];
    slurm_config_value (answer, strlen (answer), "lock", lock, sizeof (lock));
    slurm_config_value (answer, strlen (answer), "reply", reply, sizeof (reply));
    if (strcmp (reply, "seen") != 0)
        doctor_report (visit->doctor, "shared", FINDING_PROBLEM,
                       "Mount the file system so that new files are seen within seconds (NFS: "
                       "actimeo=3 or noac).",
                       "a file that was renamed here is not seen on %s after %.0f s", visit->host,
                       PROBE_FILE_S);
    else
        doctor_report (visit->doctor, "shared", FINDING_OK, NULL,
                       "files are written, renamed and seen here and on %s", visit->host);
    bool held = strcmp (lock, "held") == 0;
    doctor_report (
        visit->doctor, "locks", held ? FINDING_OK : FINDING_WARNING,
        held ? NULL
             : "Mount the file system with locks (NFS 4, Lustre: -o flock). Two daemons are "
               "kept apart without them, but only after a second.",
        held ? "a lock of this machine is seen on %s" : "a lock of this machine is not seen on %s",
        visit->host);
}

void doctor_check_node (struct doctor *doctor)
{
    struct visit visit = {.doctor = doctor, .parent = -1, .lock = -1};
    struct pollux_error err = {.text = ""};
    char started[PROBE_TEXT_SIZE], answer[PROBE_TEXT_SIZE];
    if (visit_open (&visit, &err) < 0) {
        doctor_report (doctor, "shared", FINDING_PROBLEM,
                       "Name a directory that you can write with --state or --shared.", "%s",
                       err.text);
        visit_close (&visit);
        return;
    }
    if (submit (&visit) &&
        wait_for_file (&visit, "started", doctor->wait_s, started, "waiting for a job on a node")) {
        int64_t received_us = clock_wall_us ();
        double start_s = (double)(clock_monotonic_us () - visit.submitted_us) / 1e6;
        slurm_config_value (started, strlen (started), "host", visit.host, sizeof (visit.host));
        doctor_report (doctor, "start", start_s < 2 ? FINDING_OK : FINDING_WARNING,
                       start_s < 2 ? NULL
                                   : "In the service each new placement waits this long: see "
                                     "SchedulerParameters, or use the pilot.",
                       "a job ran on %s %.1f s after sbatch", visit.host, start_s);
        int64_t sent_us = clock_wall_us ();
        if (probe_write (visit.directory, "reply", &err, "x\n") < 0)
            doctor_report (doctor, "shared", FINDING_PROBLEM, "Check the file system.", "%s",
                           err.text);
        else if (wait_for_file (&visit, "answer", PROBE_FILE_S + 30, answer,
                                "checking on the node")) {
            report_clock (&visit, started, received_us, sent_us, answer);
            report_answer (&visit, answer);
            report_daemon (&visit, answer);
        }
    }
    cancel (&visit);
    visit_close (&visit);
}
