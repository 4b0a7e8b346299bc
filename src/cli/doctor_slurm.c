/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux doctor asks Slurm: commands, controller, the settings that matter, munge, partitions and GPUs.
 */
#define _GNU_SOURCE
#include "cli/doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/slurm/slurm_settings.h"
#include "backend/slurm/lines.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "base/number.h"

/* --overlap of srun. */
enum { OLDEST_VERSION = 2011, PARTITIONS_LIMIT = 32 };
/* The grace of a job, 30 s by default, and the end of its supervisors. */
enum { KILL_WAIT_S = 60 };

static bool check_commands (struct doctor *doctor)
{
    static const char *const names[] = {"sinfo", "squeue", "sbatch", "srun", "scancel", "scontrol"};
    const char *conf = getenv ("SLURM_CONF");
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++)
        if (!doctor_has_program (names[i])) {
            doctor_report (doctor, "slurm-commands", FINDING_PROBLEM,
                           "Install Slurm's client commands, or add their folder to PATH.",
                           "%s of Slurm is not in PATH", names[i]);
            return false;
        }
    /* Without this file every command would wait for it for a minute. */
    if (conf && access (conf, R_OK) < 0) {
        doctor_report (doctor, "slurm-commands", FINDING_PROBLEM, "Correct or unset SLURM_CONF.",
                       "SLURM_CONF names %s: %s", file_name (conf).text, strerror (errno));
        return false;
    }
    static const char *const words[] = {"sinfo", "--version", NULL};
    struct doctor_answer answer = doctor_ask (doctor, words, NULL, NULL);
    int version = slurm_version (answer.output, answer.output_length);
    answer.output[strcspn (answer.output, "\n")] = '\0';
    bool good = answer.code == 0 && version >= OLDEST_VERSION;
    if (answer.code < 0)
        doctor_report (doctor, "slurm-commands", FINDING_PROBLEM,
                       "Run sinfo by hand; a missing slurm.conf or a controller that is not found "
                       "are usual reasons.",
                       "%s", answer.why.text);
    else if (version == 0)
        doctor_report (doctor, "slurm-commands", FINDING_PROBLEM,
                       "Is another program called sinfo first in PATH?",
                       "sinfo --version answers %s", quote (answer.output).text);
    else if (!good)
        doctor_report (
            doctor, "slurm-commands", FINDING_PROBLEM,
            "Pollux needs srun --overlap, which Slurm has from 20.11 on; it is tested with "
            "22.05.",
            "%s is too old", answer.output);
    else
        doctor_report (doctor, "slurm-commands", FINDING_OK, NULL, "%s", answer.output);
    doctor_answer_clear (&answer);
    return good;
}

/* ---- Settings ----------------------------------------------------------------------------- */

/* Two settings decide how fast a batch job starts: with their defaults it waits for seconds. */
static void check_scheduler (struct doctor *doctor, const char *config, size_t length)
{
    char parameters[1024], value[32];
    int64_t number;
    slurm_config_value (config, length, "SchedulerParameters", parameters, sizeof (parameters));
    slurm_list_value (parameters, "batch_sched_delay", value, sizeof (value));
    bool delay = number_int64 (value, &number) == 0 && number == 0;
    slurm_list_value (parameters, "sched_min_interval", value, sizeof (value));
    bool interval = number_int64 (value, &number) == 0 && number <= 500000;
    if (delay && interval)
        doctor_report (doctor, "slurm-scheduler", FINDING_OK, NULL,
                       "SchedulerParameters: batch_sched_delay and sched_min_interval start jobs "
                       "promptly");
    else
        doctor_report (doctor, "slurm-scheduler", FINDING_WARNING,
                       "For the service set in slurm.conf SchedulerParameters="
                       "batch_sched_delay=0,sched_min_interval=50000 and run scontrol "
                       "reconfigure. The pilot does not need it.",
                       "SchedulerParameters: each start takes seconds because of %s%s%s",
                       delay ? "" : "batch_sched_delay", delay || interval ? "" : " and ",
                       interval ? "" : "sched_min_interval");
}

static void check_memory (struct doctor *doctor, const char *config, size_t length)
{
    char select[128], per_node[64], per_cpu[64], per_gpu[64];
    slurm_config_value (config, length, "SelectTypeParameters", select, sizeof (select));
    slurm_config_value (config, length, "DefMemPerNode", per_node, sizeof (per_node));
    slurm_config_value (config, length, "DefMemPerCPU", per_cpu, sizeof (per_cpu));
    slurm_config_value (config, length, "JobDefaults", per_gpu, sizeof (per_gpu));
    bool set = per_cpu[0] || strstr (per_gpu, "DefMemPerGPU") ||
               (per_node[0] && strcmp (per_node, "UNLIMITED") != 0);
    if (strcasestr (select, "MEMORY") && !set)
        doctor_report (doctor, "slurm-memory", FINDING_WARNING,
                       "Set DefMemPerCPU or DefMemPerGPU in slurm.conf, or memory_per_replica in "
                       "the configuration of polluxd.",
                       "a job without --mem gets the whole memory of a node, so that no two jobs "
                       "share a node");
}

static void check_select (struct doctor *doctor, const char *config, size_t length)
{
    char select[64], gres[256], age[64];
    slurm_config_value (config, length, "SelectType", select, sizeof (select));
    slurm_config_value (config, length, "GresTypes", gres, sizeof (gres));
    slurm_config_value (config, length, "MinJobAge", age, sizeof (age));
    if (strcmp (select, "select/cons_tres") != 0)
        doctor_report (doctor, "slurm-select", FINDING_PROBLEM,
                       "Set SelectType=select/cons_tres in slurm.conf and restart slurmctld.",
                       "SelectType is %s: jobs cannot share the GPUs of a node", select);
    else
        doctor_report (doctor, "slurm-select", FINDING_OK, NULL, "SelectType is %s", select);
    if (!strstr (gres, "gpu"))
        doctor_report (doctor, "slurm-gres", FINDING_WARNING,
                       "Set GresTypes=gpu, Gres=gpu:TYPE:COUNT of the nodes, and gres.conf.",
                       "GresTypes has no gpu: Slurm does not know GPUs");
    if (atoi (age) > 0 && atoi (age) < 60)
        doctor_report (doctor, "slurm-age", FINDING_WARNING,
                       "Set MinJobAge=300 in slurm.conf: Pollux reads there how a job ended.",
                       "MinJobAge is %s: ended jobs are forgotten early", age);
}

/* Settings that work, but cost checkpoints or hide jobs. */
static void check_private (struct doctor *doctor, const char *config, size_t length)
{
    static const char *const hidden[] = {"jobs", "nodes", "reservations"};
    char hides[256], wait[64];
    slurm_config_value (config, length, "PrivateData", hides, sizeof (hides));
    slurm_config_value (config, length, "KillWait", wait, sizeof (wait));
    for (size_t i = 0; i < sizeof (hidden) / sizeof (hidden[0]); i++)
        if (strstr (hides, hidden[i])) {
            doctor_report (doctor, "slurm-private", FINDING_WARNING,
                           "Make polluxd's user an operator (sacctmgr modify user pollux set "
                           "adminlevel=operator), or change PrivateData in slurm.conf. The pilot "
                           "does not need it.",
                           "PrivateData is %s: the service does not see all %s", hides, hidden[i]);
            break;
        }
    if (atoi (wait) > 0 && atoi (wait) < KILL_WAIT_S)
        doctor_report (doctor, "slurm-kill-wait", FINDING_WARNING,
                       "Set KillWait=60 in slurm.conf and run scontrol reconfigure, or more if "
                       "checkpoints take longer.",
                       "KillWait is %s: a job that Slurm stops has only this time for its "
                       "checkpoint",
                       wait);
}

/* Returns the socket of munge in `socket`, "" for the usual one. */
static bool check_config (struct doctor *doctor, char *socket, size_t size)
{
    static const char *const words[] = {"scontrol", "show", "config", NULL};
    struct doctor_answer answer = doctor_ask (doctor, words, NULL, NULL);
    char auth[64], info[512];
    bool good = answer.code == 0 && slurm_config_value (answer.output, answer.output_length,
                                                        "AuthType", auth, sizeof (auth));
    if (!good && !doctor->interrupted)
        doctor_report (doctor, "slurm-controller", FINDING_PROBLEM,
                       "Is slurmctld running, and are munged and the network up? Try scontrol "
                       "ping.",
                       "the controller of Slurm does not answer: %s",
                       answer.code < 0 ? answer.why.text : "scontrol wrote something else");
    if (good) {
        doctor_report (doctor, "slurm-controller", FINDING_OK, NULL,
                       "the controller of Slurm answers");
        slurm_config_value (answer.output, answer.output_length, "AuthInfo", info, sizeof (info));
        slurm_list_value (info, "socket", socket, size);
        check_scheduler (doctor, answer.output, answer.output_length);
        check_select (doctor, answer.output, answer.output_length);
        check_memory (doctor, answer.output, answer.output_length);
        check_private (doctor, answer.output, answer.output_length);
        if (strcmp (auth, "auth/munge") != 0)
            doctor_report (doctor, "munge", FINDING_WARNING,
                           "The service authenticates users with munge: set AuthType=auth/munge "
                           "and run munged on all nodes.",
                           "AuthType is %s", auth);
    }
    doctor_answer_clear (&answer);
    return good;
}

/* ---- Munge -------------------------------------------------------------------------------- */

static void check_munge (struct doctor *doctor, const char *socket)
{
    const char *encode[] = {"munge", "-n", socket[0] ? "-S" : NULL, socket, NULL};
    const char *decode[] = {"unmunge", socket[0] ? "-S" : NULL, socket, NULL};
    static const char repair[] =
        "Start munged (systemctl start munge) with the same key as on the other nodes.";
    if (!doctor_has_program ("munge")) {
        doctor_report (doctor, "munge", FINDING_WARNING,
                       "Install munge to use the service; the pilot does not need it.",
                       "munge is not in PATH");
        return;
    }
    struct doctor_answer made = doctor_ask (doctor, encode, NULL, NULL), read = {.code = 0};
    if (made.code == 0)
        read = doctor_ask (doctor, decode, made.output, NULL);
    if (made.code < 0 && !doctor->interrupted)
        doctor_report (doctor, "munge", FINDING_PROBLEM, repair, "munged does not sign: %s",
                       made.why.text);
    else if ((read.code < 0 || !strstr (read.output, "Success")) && !doctor->interrupted)
        doctor_report (doctor, "munge", FINDING_PROBLEM, repair,
                       "munged does not check its own signature: %s",
                       read.code < 0 ? read.why.text : "no Success");
    else if (!doctor->interrupted)
        doctor_report (doctor, "munge", FINDING_OK, NULL, "munged signs and checks");
    doctor_answer_clear (&made);
    doctor_answer_clear (&read);
}

/* ---- Partitions --------------------------------------------------------------------------- */

static void report_nodes (struct doctor *doctor, const char *partition,
                          const struct slurm_nodes *nodes)
{
    int uses[SLURM_NODE_USE_COUNT] = {0}, slots = 0, used = 0, mixed = 0;
    const char *type = NULL;
    for (int i = 0; i < nodes->count; i++) {
        const struct slurm_node *node = &nodes->list[i];
        enum slurm_node_use use = slurm_node_use (node->state, false);
        uses[use]++;
        mixed += node->gres.others > 0;
        if (use == SLURM_NODE_USABLE) {
            slots += node->gres.count;
            used += node->gres_used;
        }
        if (node->gres.count > 0)
            type = type && strcmp (type, node->gres.type) != 0 ? "several types" : node->gres.type;
    }
    const char *repair = NULL;
    if (uses[SLURM_NODE_USABLE] == 0)
        repair = "Return nodes with scontrol update NodeName=NAME State=RESUME; sinfo -R has the "
                 "reasons.";
    else if (slots == 0)
        repair =
            "Give the nodes Gres=gpu:TYPE:COUNT in slurm.conf and gres.conf, if they have GPUs; "
            "without, slots are CPUs.";
    doctor_report (
        doctor, "slurm-partition",
        uses[SLURM_NODE_USABLE] == 0 ? FINDING_PROBLEM
        : slots == 0                 ? FINDING_WARNING
                                     : FINDING_OK,
        repair, "partition %s: nodes %d (usable %d, closed %d, lost %d), GPUs %d%s%s (%d in use)",
        partition, nodes->count, uses[SLURM_NODE_USABLE], uses[SLURM_NODE_CLOSED],
        uses[SLURM_NODE_LOST], slots, type && *type ? " " : "", type ? type : "", used);
    if (mixed > 0)
        doctor_report (doctor, "slurm-types", FINDING_WARNING,
                       "Name the type to use in the configuration of polluxd; a node has slots of "
                       "one type.",
                       "partition %s: %d nodes have GPUs of several types", partition, mixed);
}

static void check_partition (struct doctor *doctor, const char *partition)
{
    struct slurm_nodes_query query = {.partition = partition};
    struct slurm_nodes nodes;
    struct words words;
    if (slurm_nodes_words (&query, &words) < 0)
        return;
    struct doctor_answer answer = doctor_ask (doctor, words_list (&words), NULL, NULL);
    int code = answer.code;
    if (code == 0)
        code = slurm_nodes_parse (&query, answer.output, answer.output_length, &nodes, &answer.why);
    if (code == 0) {
        report_nodes (doctor, partition, &nodes);
        slurm_nodes_clear (&nodes);
    } else if (!doctor->interrupted) {
        doctor_report (doctor, "slurm-partition", FINDING_PROBLEM,
                       "Run sinfo -N by hand and report this output.", "partition %s: %s",
                       partition, answer.why.text);
    }
    doctor_answer_clear (&answer);
    words_clear (&words);
}

static void check_partitions (struct doctor *doctor)
{
    static const char *const words[] = {"sinfo", "-h", "-o", "%R|%a", NULL};
    struct doctor_answer answer = doctor_ask (doctor, words, NULL, NULL);
    struct slurm_lines lines = {
        .at = answer.output, .end = answer.output + answer.output_length, .key = ""};
    char *fields[2], last[256] = "";
    int found = 0;
    while (answer.code == 0 && !doctor->interrupted && found < PARTITIONS_LIMIT &&
           slurm_lines_next (&lines, fields, 2, 2) > 0) {
        if (strcmp (last, fields[0]) == 0 ||
            (doctor->partition && strcmp (doctor->partition, fields[0]) != 0))
            continue;
        snprintf (last, sizeof (last), "%s", fields[0]);
        found++;
        if (strcmp (fields[1], "up") == 0)
            check_partition (doctor, fields[0]);
        else
            doctor_report (doctor, "slurm-partition",
                           doctor->partition ? FINDING_PROBLEM : FINDING_WARNING,
                           "Open it with scontrol update PartitionName=NAME State=UP.",
                           "partition %s is %s", fields[0], fields[1]);
    }
    if (answer.code < 0 && !doctor->interrupted)
        doctor_report (doctor, "slurm-partition", FINDING_PROBLEM, "Run sinfo by hand.", "%s",
                       answer.why.text);
    else if (found == 0 && !doctor->interrupted)
        doctor_report (doctor, "slurm-partition", FINDING_PROBLEM,
                       "sinfo lists the partitions that you may use.", "Slurm has no partition %s",
                       doctor->partition ? quote (doctor->partition).text : "");
    doctor_answer_clear (&answer);
}

/* For jobs with the launcher mpi in the pilot. */
static void check_mpi (struct doctor *doctor)
{
    static const char *const words[] = {"srun", "--mpi=list", NULL};
    struct doctor_answer answer = doctor_ask (doctor, words, NULL, NULL);
    bool found = strstr (answer.output, "pmix") || strstr (answer.error, "pmix");
    if (found)
        doctor_report (doctor, "slurm-mpi", FINDING_OK, NULL, "srun has the MPI plugin pmix");
    else if (!doctor->interrupted)
        doctor_report (
            doctor, "slurm-mpi", FINDING_WARNING,
            "Install Slurm's PMIx plugin to run jobs with the launcher mpi in a pilot; others do "
            "not need it.",
            "srun has no MPI plugin pmix");
    doctor_answer_clear (&answer);
}

bool doctor_check_slurm (struct doctor *doctor)
{
    char socket[256] = "";
    if (!check_commands (doctor) || doctor->interrupted ||
        !check_config (doctor, socket, sizeof (socket)) || doctor->interrupted)
        return false;
    check_munge (doctor, socket);
    if (!doctor->interrupted)
        check_partitions (doctor);
    if (!doctor->interrupted)
        check_mpi (doctor);
    return true;
}
