/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root process (backend/slurm/as_owner.h) with real processes and users.  Its commands sbatch and
 * scancel are small scripts here.  As root the owners are the accounts "daemon" and "nobody", which
 * every system has; without root the tests of two owners are skipped.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/slurm/as_owner_private.h"
#include "wire/slurm_config.h"

struct fixture {
    char base[64];
    char directory[80];
    struct owner_helper_options options;
    struct owner_client *client;
    int pid;
    const char *owner;
    uid_t uid;
    gid_t gid;
    int64_t log_limit; /* 0: the default */
};

static const char sbatch[] =
    "#!/bin/sh\n"
    "echo \"ids $(id -u) $(id -g) $(id -ru) $(id -rg)\"\n"
    "echo \"groups $(id -G)\"\n"
    "grep -E '^(Uid|Gid|CapEff|CapPrm|CapAmb|NoNewPrivs)' /proc/self/status\n"
    "echo \"fds $(ls /proc/$$/fd | tr '\\n' ' ')\"\n"
    "echo \"umask $(umask)\"\n"
    "pwd\n"
    "env | sort\n"
    "echo \"args $*\"\n"
    "cat\n";

static void write_file (const char *path, const char *text, mode_t mode)
{
    int file = open (path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    assert_true (file >= 0);
    assert_int_equal (write (file, text, strlen (text)), (ssize_t)strlen (text));
    fchmod (file, mode);
    close (file);
}

static void set_command (const struct fixture *test, const char *name, const char *text)
{
    char path[128];
    snprintf (path, sizeof (path), "%s/bin/%s", test->base, name);
    write_file (path, text, 0755);
}

static void start (struct fixture *test, unsigned min_uid, double deadline_s)
{
    struct pollux_error err = {.text = ""};
    int socket;
    test->options = (struct owner_helper_options){.min_uid = min_uid,
                                                  .directory = test->directory,
                                                  .deadline_s = deadline_s,
                                                  .log_limit = test->log_limit};
    assert_int_equal (owner_helper_start (&test->options, &socket, &test->pid, &err), 0);
    assert_int_equal (owner_client_new (socket, &test->client, &err), 0);
}

static void stop (struct fixture *test)
{
    owner_client_free (test->client);
    test->client = NULL;
    if (test->pid > 0)
        assert_int_equal (waitpid (test->pid, NULL, 0), test->pid);
    test->pid = 0;
}

static int set_up (void **state)
{
    struct fixture *test = calloc (1, sizeof (*test));
    char path[160];
    if (!test)
        return -1;
    /* A private TMPDIR is out of the owners' reach. */
    snprintf (test->base, sizeof (test->base), "%s/owner.XXXXXX",
              geteuid () == 0 ? "/tmp" : temporary_folder ());
    if (!mkdtemp (test->base)) {
        free (test);
        return -1;
    }
    chmod (test->base, 01777);
    snprintf (test->directory, sizeof (test->directory), "%s/%%u/.pollux", test->base);
    snprintf (path, sizeof (path), "%s/bin", test->base);
    mkdir (path, 0755);
    snprintf (path, sizeof (path), "%s/bin:/usr/bin:/bin", test->base);
    setenv ("PATH", path, 1);
    setenv ("SLURM_CONF", "/etc/slurm/slurm.conf", 1);
    setenv ("POLLUX_SECRET", "of polluxd", 1);
    set_command (test, "sbatch", sbatch);
    set_command (test, "scancel", "#!/bin/sh\necho \"$(id -u) $*\"\n");
    // cppcheck-suppress [getpwnamCalled, getpwuidCalled] ; there is one thread
    const struct passwd *account = geteuid () == 0 ? getpwnam ("daemon") : getpwuid (geteuid ());
    if (!account)
        return -1;
    test->owner = strdup (account->pw_name);
    test->uid = account->pw_uid;
    test->gid = account->pw_gid;
    start (test, 1, 20);
    *state = test;
    return 0;
}

static int tear_down (void **state)
{
    struct fixture *test = *state;
    char command[128];
    stop (test);
    setenv ("PATH", "/usr/bin:/bin", 1);
    snprintf (command, sizeof (command), "rm -rf %s", test->base);
    int code = system (command);
    free ((char *)test->owner);
    free (test);
    return code;
}

static bool skip_unless_root (void)
{
    if (geteuid () == 0)
        return false;
    fprintf (stderr, "SKIPPED: two owners need root\n");
    return true;
}

/* Wait for one answer.  At the end of the root process: number 0, -EPIPE. */
static struct owner_answer await (struct fixture *test, int *ret_file)
{
    struct owner_answer answer = {0};
    int code, file = -1;
    while ((code = owner_client_next (test->client, &answer, &file)) == 0)
        poll (&(struct pollfd){.fd = owner_client_fd (test->client), .events = POLLIN}, 1, -1);
    if (code < 0)
        answer = (struct owner_answer){.code = code};
    if (ret_file)
        *ret_file = file;
    else if (file >= 0)
        close (file);
    return answer;
}

static struct owner_answer ask (struct fixture *test, struct owner_request request,
                                const struct owner_file *files, int count, int *ret_file)
{
    struct pollux_error err = {.text = ""};
    uint64_t number;
    if (!request.owner[0])
        snprintf (request.owner, sizeof (request.owner), "%s", test->owner);
    int code = owner_client_send (test->client, &request, files, count, &number, &err);
    if (code < 0) {
        struct owner_answer answer = {.code = code};
        snprintf (answer.text, sizeof (answer.text), "%s", err.text);
        return answer;
    }
    struct owner_answer answer = await (test, ret_file);
    assert_int_equal (answer.number, number);
    return answer;
}

static struct owner_answer ask_file (struct fixture *test, const char *owner, int rank,
                                     const char *name, int *ret_file)
{
    struct owner_request request = {
        .kind = OWNER_LOG, .job = "resnet", .generation = 4, .rank = rank, .lines = -1};
    snprintf (request.owner, sizeof (request.owner), "%s", owner);
    snprintf (request.file, sizeof (request.file), "%s", name);
    return ask (test, request, NULL, 0, ret_file);
}

static const struct owner_file two_files[] = {
    {.name = "", .text = "#!/bin/sh\nexec pollux\n", .length = 22},
    {.name = "0.json", .text = "{\"token\": 1}", .length = 12},
    {.name = "1.json", .text = "", .length = 0},
};

static struct owner_answer ask_submit (struct fixture *test, const char *owner)
{
    struct owner_request request = {.kind = OWNER_SUBMIT,
                                    .job = "resnet",
                                    .generation = 4,
                                    .word_count = 2,
                                    .words = {"--parsable", "--job-name=pollux resnet"}};
    snprintf (request.owner, sizeof (request.owner), "%s", owner);
    return ask (test, request, two_files, COUNT (two_files), NULL);
}

/* ---- A user database that does not answer, in the place of the C library's ---- */

static int lookup_code; /* 0: it answers */
int getpwnam_r (const char *name, struct passwd *user, char *memory, size_t size,
                struct passwd **ret);
int getpwnam_r (const char *name, struct passwd *user, char *memory, size_t size,
                struct passwd **ret)
{
    // cppcheck-suppress getpwnamCalled ; there is one thread
    const struct passwd *found = lookup_code == 0 ? getpwnam (name) : NULL;
    *ret = NULL;
    if (!found)
        return lookup_code;
    *user = *found; /* valid until the next call */
    *ret = user;
    (void)memory;
    (void)size;
    return 0;
}

/* ---- Owners ------------------------------------------------------------------------------- */

static void test_lookup (void **state)
{
    struct fixture *test = *state;
    struct owner_account account;
    char directory[160];
    struct owner_answer answer =
        ask (test, (struct owner_request){.kind = OWNER_LOOKUP}, NULL, 0, NULL);
    assert_int_equal (answer.code, 0);
    assert_int_equal (owner_account_decode (answer.output, &account), 0);
    assert_int_equal (account.uid, test->uid);
    assert_int_equal (account.gid, test->gid);
    snprintf (directory, sizeof (directory), "%s/%s/.pollux", test->base, test->owner);
    assert_string_equal (account.directory, directory);
    assert_int_equal (account.home[0], '/');
}

static void test_refused_owners (void **state)
{
    struct fixture *test = *state;
    static const struct {
        const char *owner;
        int code;
        const char *text;
    } cases[] = {
        {"root", -EPERM, "is root"},
        {"no-such-user-of-pollux", OWNER_NO_ACCOUNT, "has no account"},
        {"../daemon", -EINVAL, "not valid"},
        {"-daemon", -EINVAL, "not valid"},
        {"a/b", -EINVAL, "not valid"},
        {"a b", -EINVAL, "not valid"},
        {"a%h", -EINVAL, "not valid"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct owner_request request = {.kind = OWNER_LOOKUP};
        snprintf (request.owner, sizeof (request.owner), "%s", cases[i].owner);
        struct owner_answer answer = ask (test, request, NULL, 0, NULL);
        assert_int_equal (answer.code, cases[i].code);
        assert_non_null (strstr (answer.text, cases[i].text));
    }
    stop (test);
    start (test, test->uid + 1, 20);
    struct owner_answer answer = ask_submit (test, test->owner);
    assert_int_equal (answer.code, -EPERM);
    assert_non_null (strstr (answer.text, "--min-uid"));
}

/* A lookup that fails is told from the answer that there is no such user. */
static void test_silent_user_database (void **state)
{
    static const int codes[] = {ENOENT, EIO, ECONNREFUSED, EAGAIN};
    struct fixture *test = *state;
    for (size_t i = 0; i < COUNT (codes); i++) {
        stop (test);
        lookup_code = codes[i];
        start (test, 1, 20);
        lookup_code = 0;
        struct owner_answer answer = ask_submit (test, test->owner);
        assert_int_equal (answer.code, OWNER_LOOKUP_FAILED);
        assert_non_null (strstr (answer.text, "cannot be looked up: "));
        assert_true (owner_code_is_transient (answer.code));
    }
    assert_false (owner_code_is_transient (OWNER_NO_ACCOUNT));
    assert_false (owner_code_is_transient (OWNER_COMMAND_FAILED));
}

/* ---- Submitting --------------------------------------------------------------------------- */

static void check_owned (const struct fixture *test, const char *name, mode_t mode)
{
    char path[256];
    struct stat stat;
    snprintf (path, sizeof (path), "%s/%s/.pollux%s", test->base, test->owner, name);
    assert_int_equal (lstat (path, &stat), 0);
    assert_int_equal (stat.st_uid, test->uid);
    assert_int_equal (stat.st_gid, test->gid);
    assert_int_equal (stat.st_mode & 07777, mode);
}

static void test_submit (void **state)
{
    struct fixture *test = *state;
    char line[256];
    struct owner_answer answer = ask_submit (test, test->owner);
    assert_string_equal (answer.text, "");
    assert_int_equal (answer.code, 0);
    snprintf (line, sizeof (line), "ids %u %u %u %u\n", test->uid, test->gid, test->uid, test->gid);
    assert_non_null (strstr (answer.output, line));
    assert_non_null (strstr (answer.output, "NoNewPrivs:\t1\n"));
    assert_non_null (strstr (answer.output, "CapEff:\t0000000000000000\n"));
    assert_non_null (strstr (answer.output, "CapPrm:\t0000000000000000\n"));
    assert_non_null (strstr (answer.output, "umask 0077\n"));
    snprintf (line, sizeof (line), "\n%s/%s/.pollux/run/resnet/4\n", test->base, test->owner);
    assert_non_null (strstr (answer.output, line));
    assert_non_null (strstr (answer.output, "\nSLURM_CONF=/etc/slurm/slurm.conf\n"));
    assert_null (strstr (answer.output, "POLLUX_SECRET"));
    assert_non_null (strstr (answer.output, "args --parsable --job-name=pollux resnet\n"));
    assert_non_null (strstr (answer.output, "#!/bin/sh\nexec pollux\n"));
    /* Standard input, output and error; the script itself is 10 in dash, 255 in bash. */
    assert_null (strstr (answer.output, "fds 0 1 2 3"));
    check_owned (test, "", 0700);
    check_owned (test, "/run", 0700);
    check_owned (test, "/run/resnet/4", 0700);
    check_owned (test, "/run/resnet/4/0.json", 0600);
    check_owned (test, "/run/resnet/4/1.json", 0600);
}

/* The groups are those of the owner, not root's. */
static void test_groups (void **state)
{
    struct fixture *test = *state;
    char line[256], command[128], expected[128] = "";
    if (skip_unless_root ())
        skip ();
    snprintf (command, sizeof (command), "id -G %s", test->owner);
    FILE *pipe = popen (command, "r");
    assert_non_null (fgets (expected, sizeof (expected), pipe));
    pclose (pipe);
    struct owner_answer answer = ask_submit (test, test->owner);
    snprintf (line, sizeof (line), "\ngroups %s", expected);
    assert_int_equal (answer.code, 0);
    assert_non_null (strstr (answer.output, line));
}

static void test_submit_fails (void **state)
{
    struct fixture *test = *state;
    set_command (test, "sbatch",
                 "#!/bin/sh\necho 'sbatch: error: no such partition' >&2\nexit 1\n");
    struct owner_answer answer = ask_submit (test, test->owner);
    assert_int_equal (answer.code, OWNER_COMMAND_FAILED);
    assert_string_equal (answer.text, "sbatch: error: no such partition");
    /* What the owner wrote is no sentence of Slurm's, and the child cannot give the root process's own codes. */
    set_command (test, "sbatch",
                 "#!/bin/sh\necho 'sbatch: error: invalid partition specified: munge' >&2\n"
                 "echo 'sbatch: error: Batch job submission failed: Invalid partition name' >&2\n"
                 "exit 1\n");
    answer = ask_submit (test, test->owner);
    assert_int_equal (answer.code, OWNER_COMMAND_FAILED);
    assert_string_equal (answer.text, "sbatch: error: invalid partition specified: munge");
    set_command (test, "sbatch", "#!/bin/sh\necho '-87 x' >&2\nexit 254\n");
    assert_int_equal (OWNER_NO_PROCESS, -87);
    assert_int_equal (ask_submit (test, test->owner).code, OWNER_COMMAND_FAILED);
    set_command (test, "sbatch",
                 "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9; do\n"
                 "echo \"sbatch: error: If munged is up, restart with --num-threads=10, $i\" >&2\n"
                 "done\necho 'sbatch: error: Batch job submission failed: Protocol authentication "
                 "error' >&2\nexit 1\n");
    answer = ask_submit (test, test->owner);
    assert_int_equal (answer.code, OWNER_UNREACHABLE);
    /* The second line says that the job is refused only for now. */
    set_command (test, "sbatch",
                 "#!/bin/sh\necho 'sbatch: error: AssocMaxSubmitJobLimit' >&2\n"
                 "echo 'sbatch: error: Batch job submission failed: Job violates accounting/QOS "
                 "policy' >&2\nexit 1\n");
    answer = ask_submit (test, test->owner);
    assert_int_equal (answer.code, OWNER_NOT_NOW);
    assert_string_equal (answer.text, "sbatch: error: AssocMaxSubmitJobLimit");
    set_command (test, "sbatch", "#!/bin/sh\nkill -9 $$\n");
    answer = ask_submit (test, test->owner);
    assert_int_equal (answer.code, -EINTR);
    /* It leaves a process, and its output goes on without end. */
    set_command (test, "sbatch", "#!/bin/sh\nyes &\nexit 3\n");
    answer = ask_submit (test, test->owner);
    assert_int_equal (answer.code, OWNER_COMMAND_FAILED);
    assert_string_equal (answer.text, "it ended with exit code 3");
    char path[128];
    snprintf (path, sizeof (path), "%s/bin/sbatch", test->base);
    unlink (path);
    setenv ("PATH", "/nowhere", 1);
    stop (test);
    start (test, 1, 20);
    answer = ask_submit (test, test->owner);
    assert_int_equal (answer.code, -ENOEXEC);
    assert_string_equal (answer.text, "cannot run sbatch: No such file or directory");
}

static void test_refused_words (void **state)
{
    (void)state;
    static const struct {
        const char *word;
        bool valid;
    } cases[] = {
        {"--parsable", true}, {"--gres=gpu:2", true}, {"--uid=0", false},
        {"--uid", false},     {"--ui=0", false},      {"--u=0", false},
        {"--gid=0", false},   {"--g", false},         {"--gi", false},
        {"-u", false},        {"script", false},      {"--wrap=a\nb", false},
        {"--", false},        {"--nice=5", true},     {"--use-min-nodes", true},
    };
    for (size_t i = 0; i < COUNT (cases); i++)
        assert_int_equal (owner_word_is_valid (cases[i].word), cases[i].valid);
}

static void test_old_generations (void **state)
{
    struct fixture *test = *state;
    char path[256];
    struct stat stat;
    stop (test);
    test->log_limit = 6 * (16 << 10); /* 2 generations of a directory and 2 files */
    start (test, test->options.min_uid, 0);
    for (int i = 1; i <= 5; i++) {
        struct owner_request request = {.kind = OWNER_SUBMIT, .job = "resnet", .generation = i};
        struct owner_answer answer = ask (test, request, two_files, 2, NULL);
        assert_int_equal (answer.code, 0);
    }
    for (int i = 1; i <= 5; i++) {
        snprintf (path, sizeof (path), "%s/%s/.pollux/run/resnet/%d", test->base, test->owner, i);
        assert_int_equal (lstat (path, &stat), i <= 2 ? -1 : 0);
    }
    struct owner_request request = {
        .kind = OWNER_READ, .job = "resnet", .generation = 5, .rank = -1, .file = OWNER_OLDEST};
    struct owner_answer answer = ask (test, request, NULL, 0, NULL);
    assert_int_equal (answer.code, 0);
    assert_string_equal (answer.output, "3\n");
}

/* All generations up to one are removed, with what the owner has put there; what links lead to stays. */
static void test_remove (void **state)
{
    struct fixture *test = *state;
    char run[160], path[256], other[256];
    struct stat stat;
    for (int i = 1; i <= 3; i++) {
        struct owner_request request = {.kind = OWNER_SUBMIT, .job = "resnet", .generation = i};
        assert_int_equal (ask (test, request, two_files, 2, NULL).code, 0);
    }
    snprintf (run, sizeof (run), "%s/%s/.pollux/run", test->base, test->owner);
    snprintf (other, sizeof (other), "%s/precious", test->base);
    assert_int_equal (mkdir (other, 0755), 0);
    snprintf (path, sizeof (path), "%s/resnet/1/link", run);
    assert_int_equal (symlink (other, path), 0);
    struct owner_request request = {.kind = OWNER_REMOVE, .job = "resnet", .generation = 2};
    assert_int_equal (ask (test, request, NULL, 0, NULL).code, 0);
    for (int i = 1; i <= 3; i++) {
        snprintf (path, sizeof (path), "%s/resnet/%d", run, i);
        assert_int_equal (lstat (path, &stat), i <= 2 ? -1 : 0); /* 3: of another daemon */
    }
    request.generation = 3;
    assert_int_equal (ask (test, request, NULL, 0, NULL).code, 0);
    snprintf (path, sizeof (path), "%s/resnet", run);
    assert_int_equal (lstat (path, &stat), -1);
    assert_int_equal (ask (test, request, NULL, 0, NULL).code, -ENOENT);
    assert_int_equal (symlink (other, path), 0); /* in place of the job's directory */
    assert_true (ask (test, request, NULL, 0, NULL).code < 0);
    assert_int_equal (lstat (other, &stat), 0);
    request.generation = 0;
    assert_int_equal (ask (test, request, NULL, 0, NULL).code, -EINVAL);
}

/* Another user's files are out of reach: the process that removes is the owner's. */
static void test_remove_as_owner (void **state)
{
    struct fixture *test = *state;
    char path[256];
    struct stat stat;
    if (skip_unless_root ())
        return;
    assert_int_equal (ask_submit (test, test->owner).code, 0);
    snprintf (path, sizeof (path), "%s/%s/.pollux/run/resnet", test->base, test->owner);
    assert_int_equal (chown (path, 0, 0), 0);
    chmod (path, 0755);
    struct owner_request request = {.kind = OWNER_REMOVE, .job = "resnet", .generation = 4};
    assert_true (ask (test, request, NULL, 0, NULL).code < 0);
    assert_int_equal (lstat (path, &stat), 0);
}

static void test_signal_and_cancel (void **state)
{
    struct fixture *test = *state;
    char expected[64];
    struct owner_request request = {.kind = OWNER_SIGNAL, .slurm_job = 17, .signal = SIGURG};
    struct owner_answer answer = ask (test, request, NULL, 0, NULL);
    snprintf (expected, sizeof (expected), "%u --batch --signal %d 17\n", test->uid, SIGURG);
    assert_int_equal (answer.code, 0);
    assert_string_equal (answer.output, expected);
    request = (struct owner_request){.kind = OWNER_CANCEL, .slurm_job = 4294967294u};
    answer = ask (test, request, NULL, 0, NULL);
    snprintf (expected, sizeof (expected), "%u 4294967294\n", test->uid);
    assert_string_equal (answer.output, expected);
    request.slurm_job = 0;
    assert_int_equal (ask (test, request, NULL, 0, NULL).code, -EINVAL);
}

/* ---- Opening ------------------------------------------------------------------------------ */

/* Run a shell command in the owner's generation directory. */
static void as_root_in_generation (const struct fixture *test, const char *command)
{
    char text[512];
    snprintf (text, sizeof (text), "cd %s/%s/.pollux/run/resnet/4 && %s", test->base, test->owner,
              command);
    assert_int_equal (system (text), 0);
    if (geteuid () == 0) {
        snprintf (text, sizeof (text), "chown -hR %u:%u %s/%s", test->uid, test->gid, test->base,
                  test->owner);
        assert_int_equal (system (text), 0);
    }
}

static void test_open (void **state)
{
    struct fixture *test = *state;
    char text[16] = "";
    int file;
    assert_int_equal (ask_file (test, test->owner, 0, "status", &file).code, -ENOENT);
    assert_int_equal (ask_submit (test, test->owner).code, 0);
    as_root_in_generation (test, "mkdir -m 700 0 && echo ended >0/status && echo 7 >master");
    assert_int_equal (ask_file (test, test->owner, 0, "status", &file).code, 0);
    assert_true (file >= 0);
    assert_int_equal (pread (file, text, sizeof (text), sizeof (struct owner_piece)), 6);
    assert_string_equal (text, "ended\n");
    assert_true (owner_file_is_sealed (file));
    assert_int_equal (pwrite (file, "x", 1, 0), -1);
    close (file);
    assert_int_equal (ask_file (test, test->owner, -1, "master", &file).code, 0);
    close (file);
    struct owner_request request = {
        .kind = OWNER_READ, .job = "resnet", .generation = 4, .rank = -1, .file = "master"};
    struct owner_answer answer = ask (test, request, NULL, 0, NULL);
    assert_int_equal (answer.code, 0);
    assert_string_equal (answer.output, "7\n");
    as_root_in_generation (test, "head -c 20000 /dev/zero >master");
    assert_int_equal (ask (test, request, NULL, 0, NULL).code, -EFBIG);
    assert_int_equal (ask_file (test, test->owner, 1, "status", &file).code, -ENOENT);
    assert_int_equal (ask_file (test, test->owner, 0, "..", &file).code, -EINVAL);
    assert_int_equal (ask_file (test, test->owner, 0, "a/b", &file).code, -EINVAL);
}

/* Whatever the owner puts there, only their own regular files are opened. */
static void test_planted (void **state)
{
    struct fixture *test = *state;
    static const struct {
        const char *command;
        int code;
    } cases[] = {
        {"rm -rf 0; mkdir -m 700 0; ln -s /etc/passwd 0/status", -ELOOP},
        {"rm -rf 0; mkdir -m 700 0; mkfifo 0/status", -EINVAL},
        {"rm -rf 0; mkdir -m 700 0; mkdir 0/status", -EINVAL},
        {"rm -rf 0; mkdir -m 700 1; echo x >1/status; ln -s 1 0", -ELOOP},
        {"rm -rf 0 1; ln -s / 0", -ELOOP},
        {"rm -rf 0; mkdir -m 777 0; echo x >0/status; chmod 777 0", -EPERM},
        {"rm -rf 0; cd ..; mv 4 5; ln -s 5 4", -ELOOP},
    };
    assert_int_equal (ask_submit (test, test->owner).code, 0);
    for (size_t i = 0; i < COUNT (cases); i++) {
        int file = -1;
        as_root_in_generation (test, cases[i].command);
        struct owner_answer answer = ask_file (test, test->owner, 0, "status", &file);
        assert_int_equal (answer.code, cases[i].code);
        assert_int_equal (file, -1);
    }
    /* SUBMIT does not write through links either. */
    struct owner_answer answer = ask_submit (test, test->owner);
    assert_int_equal (answer.code, -ELOOP);
}

/* Ask for the next piece of the log of rank 0, and append its bytes to `text`.  Was it the last one? */
static bool take_piece (struct fixture *test, struct log_position *at, int64_t lines, char *text,
                        size_t size)
{
    struct owner_request request = {.kind = OWNER_LOG,
                                    .job = "resnet",
                                    .generation = 4,
                                    .file = "out.log",
                                    .lines = lines,
                                    .from = *at};
    struct owner_piece piece;
    size_t length = strlen (text);
    int file = -1;
    struct owner_answer answer = ask (test, request, NULL, 0, &file);
    assert_string_equal (answer.text, "");
    assert_int_equal (answer.code, 0);
    assert_int_equal (pread (file, &piece, sizeof (piece), 0), sizeof (piece));
    ssize_t got = pread (file, text + length, size - 1 - length, sizeof (piece));
    assert_in_range (got, 0, OWNER_PIECE_BYTES + (1 << 16));
    text[length + (size_t)got] = '\0';
    close (file);
    *at = piece.next;
    return piece.end != 0;
}

/* A log is read in pieces, from any line on, while it grows and its files are rotated or removed. */
static void test_log_pieces (void **state)
{
    struct fixture *test = *state;
    size_t size = 4 << 20;
    char *text = calloc (1, size);
    struct log_position at = {.inode = 0}, last = {.inode = 0};
    int pieces = 0;
    assert_non_null (text);
    assert_int_equal (ask_submit (test, test->owner).code, 0);
    as_root_in_generation (test, "mkdir -m 700 0 && seq 200000 >0/out.log.2 && seq 200001 200100 "
                                 ">0/out.log.1 && seq 200101 200105 >0/out.log");
    do
        pieces++;
    while (!take_piece (test, &at, -1, text, size));
    assert_in_range (pieces, 2, 3);
    char *line = text;
    for (long i = 1; i <= 200105; i++)
        assert_int_equal (strtol (line, &line, 10), i);
    assert_string_equal (line, "\n");
    *text = '\0';
    assert_true (take_piece (test, &last, 103, text, size));
    assert_int_equal (strncmp (text, "200003\n", 7), 0);
    assert_memory_equal (&last, &at, sizeof (at));
    static const struct {
        const char *command, *text;
    } steps[] = {
        {"true", ""},
        {"echo a >>0/out.log", "a\n"},
        {"rm 0/out.log.2; mv 0/out.log.1 0/out.log.2; mv 0/out.log 0/out.log.1; echo b "
         ">>0/out.log.1; "
         "echo c >0/out.log",
         "b\nc\n"},
        {"mv 0/out.log 0/out.log.1", ""}, /* in the middle of a rotation */
        {"echo d >0/out.log", "d\n"},
        {"rm 0/out.log; echo ef >0/out.log.2; echo g >0/out.log.1; echo h >0/out.log",
         "ef\ng\nh\n"},
    };
    for (size_t i = 0; i < COUNT (steps); i++) {
        as_root_in_generation (test, steps[i].command);
        *text = '\0';
        assert_true (take_piece (test, &at, 0, text, size));
        assert_string_equal (text, steps[i].text);
    }
    free (text);
}

/* A file system of one file, which a thread of this process serves. */
static void *serve_file (void *self)
{
    const int device = *(const int *)self;
    static _Alignas(struct fuse_in_header) char message[1 << 17];
    const struct fuse_in_header *in = (const struct fuse_in_header *)message;
    while (read (device, message, sizeof (message)) > 0) {
        struct {
            struct fuse_out_header head;
            union {
                struct fuse_init_out init;
                struct fuse_attr_out attr;
                struct fuse_open_out open;
                char data[2];
            } body;
        } out = {.head = {.unique = in->unique}};
        size_t length = 0;
        if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET)
            continue;
        if (in->opcode == FUSE_INIT) {
            out.body.init = (struct fuse_init_out){.major = FUSE_KERNEL_VERSION,
                                                   .minor = FUSE_KERNEL_MINOR_VERSION,
                                                   .max_write = 4096};
            length = sizeof (out.body.init);
        } else if (in->opcode == FUSE_GETATTR) {
            out.body.attr.attr =
                (struct fuse_attr){.ino = 1, .mode = S_IFREG | 0644, .nlink = 1, .size = 2};
            length = sizeof (out.body.attr);
        } else if (in->opcode == FUSE_OPEN) {
            length = sizeof (out.body.open);
        } else if (in->opcode == FUSE_READ) {
            bool begin = ((const struct fuse_read_in *)(in + 1))->offset == 0;
            memcpy (out.body.data, "x\n", sizeof (out.body.data));
            length = begin ? sizeof (out.body.data) : 0;
        } else if (in->opcode != FUSE_RELEASE && in->opcode != FUSE_FLUSH) {
            out.head.error = -ENOSYS;
        }
        out.head.len = (uint32_t)(sizeof (out.head) + length);
        if (write (device, &out, out.head.len) < 0)
            break;
    }
    return NULL;
}

/* A file behind a program of the owner's: polluxd gets a copy in memory, and never waits for that program. */
static void test_user_file_system (void **state)
{
    struct fixture *test = *state;
    static const char *const cases[] = {"", ",allow_other", NULL};
    char path[160], options[128];
    pthread_t thread;
    if (skip_unless_root ())
        skip ();
    assert_int_equal (ask_submit (test, test->owner).code, 0);
    as_root_in_generation (test, "mkdir -m 700 0 && echo x >0/status");
    stop (test);
    if (unshare (CLONE_NEWNS) < 0 || mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
        start (test, 1, 20);
        fprintf (stderr, "SKIPPED: no mounts of one's own\n");
        skip ();
    }
    start (test, 1, 20);
    snprintf (path, sizeof (path), "%s/%s/.pollux/run/resnet/4/0/status", test->base, test->owner);
    for (size_t i = 0; i < COUNT (cases); i++) {
        int device = open ("/dev/fuse", O_RDWR | O_CLOEXEC), file = -1;
        bool by_root = !cases[i];
        snprintf (options, sizeof (options), "fd=%d,rootmode=100644,user_id=%u,group_id=%u%s",
                  device, by_root ? 0 : test->uid, by_root ? 0 : test->gid,
                  by_root ? ",allow_other" : cases[i]);
        if (device < 0 || mount ("test", path, "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
            fprintf (stderr, "SKIPPED: no FUSE\n");
            skip ();
        }
        assert_int_equal (pthread_create (&thread, NULL, serve_file, &device), 0);
        struct owner_answer answer = ask_file (test, test->owner, 0, "status", &file);
        char text[8] = "";
        assert_string_equal (answer.text, "");
        assert_int_equal (answer.code, 0);
        assert_true (owner_file_is_sealed (file));
        assert_int_equal (pread (file, text, sizeof (text), sizeof (struct owner_piece)), 2);
        assert_string_equal (text, "x\n");
        close (file);
        assert_int_equal (umount2 (path, MNT_DETACH), 0);
        pthread_join (thread, NULL);
        close (device);
    }
}

static void test_planted_target (void **state)
{
    struct fixture *test = *state;
    char path[128], command[256];
    struct stat stat_;
    if (skip_unless_root ())
        skip ();
    assert_int_equal (ask_submit (test, test->owner).code, 0);
    snprintf (path, sizeof (path), "%s/of-root", test->base);
    write_file (path, "secret\n", 0600);
    snprintf (command, sizeof (command), "rm 0.json && ln -s %s 0.json", path);
    as_root_in_generation (test, command);
    assert_int_equal (ask_submit (test, test->owner).code, -ELOOP);
    /* The whole directory of the owner leads elsewhere: the owner's own rights decide. */
    snprintf (command, sizeof (command),
              "cd %s && rm -rf %s && mkdir -m 755 of-others && ln -s of-others %s", test->base,
              test->owner, test->owner);
    assert_int_equal (system (command), 0);
    assert_int_equal (ask_submit (test, test->owner).code, -EACCES);
    assert_int_equal (stat (path, &stat_), 0);
    assert_int_equal (stat_.st_size, 7);
}

/* One owner's files are out of the other's reach, and of polluxd's. */
static void test_two_owners (void **state)
{
    struct fixture *test = *state;
    int file;
    if (skip_unless_root ())
        skip ();
    assert_int_equal (ask_submit (test, "daemon").code, 0);
    as_root_in_generation (test, "mkdir -m 700 0 && echo ended >0/status");
    assert_int_equal (ask_file (test, "nobody", 0, "status", &file).code, -ENOENT);
    assert_int_equal (ask_submit (test, "nobody").code, 0);
    assert_int_equal (ask_file (test, "nobody", 0, "status", &file).code, -ENOENT);
    char command[512];
    snprintf (command, sizeof (command),
              "rm -rf %s/nobody/.pollux/run/resnet && "
              "ln -s %s/daemon/.pollux/run/resnet %s/nobody/.pollux/run/resnet && "
              "chown -h nobody %s/nobody/.pollux/run/resnet",
              test->base, test->base, test->base, test->base);
    assert_int_equal (system (command), 0);
    assert_int_equal (ask_file (test, "nobody", 0, "status", &file).code, -ELOOP);
    snprintf (command, sizeof (command),
              "cd %s/nobody && rm -rf .pollux && ln -s ../daemon/.pollux .pollux", test->base);
    assert_int_equal (system (command), 0);
    assert_true (ask_file (test, "nobody", 0, "status", &file).code < 0);
    assert_true (ask_submit (test, "nobody").code < 0);
}

/* ---- Hostile messages --------------------------------------------------------------------- */

static void drain (struct fixture *test)
{
    struct owner_answer answer;
    int file;
    while (owner_client_next (test->client, &answer, &file) == 1) {
    }
}

/* The same socket, as a polluxd under foreign control would use it. */
static void send_raw (struct fixture *test, const void *data, size_t length, int file)
{
    struct pollfd poll_ = {.fd = owner_client_fd (test->client), .events = POLLIN | POLLOUT};
    while (owner_socket_send (poll_.fd, data, length, file) < 0) {
        if (errno == EMSGSIZE)
            return;
        assert_int_equal (errno, EAGAIN);
        poll (&poll_, 1, -1);
        drain (test);
    }
}

static void test_garbage (void **state)
{
    struct fixture *test = *state;
    struct rng rng = rng_seed (12);
    uint8_t message[OWNER_MESSAGE_LIMIT], *large = calloc (1, 100000);
    struct owner_request request = {
        .kind = OWNER_LOG, .job = "resnet", .generation = 4, .file = "status", .number = 99};
    snprintf (request.owner, sizeof (request.owner), "%s", test->owner);
    int length = owner_request_encode (&request, message, NULL);
    assert_true (length > 0);
    int null = open ("/dev/zero", O_RDONLY);
    for (int i = 0; i < soak_count (2000); i++) {
        uint8_t copy[OWNER_MESSAGE_LIMIT];
        size_t size = rng_below (&rng, (uint64_t)length + 8);
        memcpy (copy, message, sizeof (copy));
        copy[rng_below (&rng, (uint64_t)length)] ^= (uint8_t)(1 + rng_below (&rng, 255));
        send_raw (test, copy, size > 0 ? size : 1, i % 3 ? -1 : null);
        drain (test);
    }
    send_raw (test, large, 100000, null);
    close (null);
    free (large);
    /* It still serves. */
    struct pollux_error err;
    struct owner_answer answer;
    uint64_t number;
    request = (struct owner_request){.kind = OWNER_LOOKUP};
    snprintf (request.owner, sizeof (request.owner), "%s", test->owner);
    do {
        assert_int_equal (owner_client_send (test->client, &request, NULL, 0, &number, &err), 0);
        answer = await (test, NULL);
    } while (answer.code == OWNER_NO_PROCESS); /* children of the garbage still run */
    assert_int_equal (answer.code, 0);
}

static void test_bad_payloads (void **state)
{
    struct fixture *test = *state;
    static const struct {
        struct owner_file files[3];
        int count;
    } cases[] = {
        {{{.name = "0.json", .text = "x", .length = 1}}, 1}, /* no script */
        {{{.text = "x", .length = 1}, {.name = "../x", .text = "x", .length = 1}}, 2},
        {{{.text = "x", .length = 1}, {.name = ".", .text = "x", .length = 1}}, 2},
        {{{.text = "x", .length = 1}, {.text = "x", .length = 1}}, 2},
        {{{.text = ""}}, 0},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct owner_request request = {.kind = OWNER_SUBMIT, .job = "resnet", .generation = 4};
        assert_int_equal (ask (test, request, cases[i].files, cases[i].count, NULL).code, -EINVAL);
    }
}

/* ---- Time and ends ------------------------------------------------------------------------ */

static void test_deadline (void **state)
{
    struct fixture *test = *state;
    char text[256], path[128];
    int pid = 0;
    stop (test);
    start (test, 1, 0.3);
    snprintf (path, sizeof (path), "%s/pid", test->base);
    snprintf (text, sizeof (text), "#!/bin/sh\nsleep 1000 & echo $! >%s\nwait\n", path);
    set_command (test, "sbatch", text);
    write_file (path, "", 0666);
    struct owner_answer answer = ask_submit (test, test->owner);
    assert_int_equal (answer.code, -ETIMEDOUT);
    FILE *file = fopen (path, "r");
    assert_int_equal (fscanf (file, "%d", &pid), 1);
    fclose (file);
    /* The whole process group is dead; the kernel may still list it for a moment. */
    while (kill (pid, 0) == 0)
        usleep (1000);
    assert_int_equal (errno, ESRCH);
}

/* polluxd does not read its answers, which fill the socket: deadlines are kept, and no answer is lost. */
static void test_full_socket (void **state)
{
    enum { READS = OWNER_CHILDREN - 1 };
    struct fixture *test = *state;
    struct owner_request request = {.kind = OWNER_SUBMIT, .job = "resnet", .generation = 4};
    struct owner_answer answer;
    struct pollux_error err;
    uint8_t message[OWNER_MESSAGE_LIMIT];
    uint64_t number;
    char text[256], path[128];
    int pid = 0, file, socket, reads = 0;
    assert_int_equal (ask_submit (test, test->owner).code, 0);
    as_root_in_generation (test,
                           "mkdir -m 700 0 && head -c 12000 /dev/zero | tr '\\0' x >0/status");
    stop (test);
    start (test, 1, 2);
    socket = owner_client_fd (test->client);
    snprintf (path, sizeof (path), "%s/pid", test->base);
    write_file (path, "", 0666);
    snprintf (text, sizeof (text), "#!/bin/sh\necho $$ >%s\nexec sleep 1000\n", path);
    set_command (test, "sbatch", text);
    snprintf (request.owner, sizeof (request.owner), "%s", test->owner);
    assert_int_equal (
        owner_client_send (test->client, &request, two_files, COUNT (two_files), &number, &err), 0);
    while (pid == 0) {
        FILE *from = fopen (path, "r");
        if (fscanf (from, "%d", &pid) != 1)
            usleep (1000);
        fclose (from);
    }
    request.kind = OWNER_READ;
    strcpy (request.file, "status");
    for (int i = 0; i < READS; i++) { /* more than the limit of owner_client.c for one owner */
        request.number = 1000 + (uint64_t)i;
        int length = owner_request_encode (&request, message, NULL);
        while (owner_socket_send (socket, message, (size_t)length, -1) < 0)
            poll (&(struct pollfd){.fd = socket, .events = POLLOUT}, 1, -1);
    }
    for (int i = 0; kill (pid, 0) == 0; i++) {
        assert_true (i < 60000);
        usleep (1000);
    }
    for (int i = 0; i < READS + 1; i++) {
        ssize_t length;
        while ((length = owner_socket_receive (socket, message, sizeof (message), &file)) < 0)
            poll (&(struct pollfd){.fd = socket, .events = POLLIN}, 1, -1);
        assert_int_equal (owner_answer_decode (message, (size_t)length, &answer, NULL), 0);
        assert_true (answer.code == -ETIMEDOUT || /* on a slow machine also a read */
                     (answer.number != number && strlen (answer.output) == 12000));
        reads += answer.number >= 1000;
    }
    assert_int_equal (reads, READS);
}

/* Requests that hang because of the owner do not delay those that stop the owner's jobs. */
static void test_stop_overtakes (void **state)
{
    struct fixture *test = *state;
    struct owner_request submit = {.kind = OWNER_SUBMIT, .job = "resnet", .generation = 4};
    struct owner_request stop = {.kind = OWNER_CANCEL, .slurm_job = 7};
    struct pollux_error err;
    uint64_t number;
    set_command (test, "sbatch", "#!/bin/sh\nexec sleep 1000\n");
    snprintf (submit.owner, sizeof (submit.owner), "%s", test->owner);
    snprintf (stop.owner, sizeof (stop.owner), "%s", test->owner);
    for (int i = 0; i < 2 * OWNER_CHILDREN_OF_ONE; i++)
        assert_int_equal (
            owner_client_send (test->client, &submit, two_files, COUNT (two_files), &number, &err),
            0);
    assert_int_equal (owner_client_send (test->client, &stop, NULL, 0, &number, &err), 0);
    struct owner_answer answer = await (test, NULL);
    assert_int_equal (answer.number, number);
    assert_int_equal (answer.code, 0);
}

static void test_many (void **state)
{
    struct fixture *test = *state;
    struct pollux_error err;
    uint64_t number;
    int answers = 0;
    for (int i = 0; i < 100; i++) {
        struct owner_request request = {.kind = OWNER_CANCEL, .slurm_job = (uint32_t)i + 1};
        snprintf (request.owner, sizeof (request.owner), "%s", test->owner);
        assert_int_equal (owner_client_send (test->client, &request, NULL, 0, &number, &err), 0);
    }
    bool seen[101] = {false};
    while (answers < 100) {
        struct owner_answer answer = await (test, NULL);
        assert_int_equal (answer.code, 0);
        assert_in_range (answer.number, 1, 100);
        assert_false (seen[answer.number]);
        seen[answer.number] = true;
        answers++;
    }
}

static void test_helper_killed (void **state)
{
    struct fixture *test = *state;
    struct pollux_error err = {.text = ""};
    struct owner_request request = {.kind = OWNER_LOOKUP};
    uint64_t number;
    assert_int_equal (ask (test, request, NULL, 0, NULL).code, 0);
    kill (test->pid, SIGTERM); /* ignored */
    assert_int_equal (ask (test, request, NULL, 0, NULL).code, 0);
    kill (test->pid, SIGKILL);
    assert_int_equal (await (test, NULL).code, -EPIPE);
    snprintf (request.owner, sizeof (request.owner), "%s", test->owner);
    assert_int_equal (owner_client_send (test->client, &request, NULL, 0, &number, &err), -EPIPE);
    assert_non_null (strstr (err.text, "restart polluxd"));
}

/* polluxd is killed: the root process ends, and so does what its children do. */
static void test_polluxd_killed (void **state)
{
    struct fixture *test = *state;
    char text[256], path[128];
    int pids[2], channel[2], pid = 0;
    snprintf (path, sizeof (path), "%s/pid", test->base);
    snprintf (text, sizeof (text), "#!/bin/sh\nsleep 1000 & echo $! >%s\nwait\n", path);
    set_command (test, "scancel", text);
    write_file (path, "", 0666);
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    assert_int_equal (pipe (channel), 0);
    pids[0] = fork ();
    if (pids[0] == 0) {
        struct fixture inner = *test;
        struct owner_request request = {.kind = OWNER_CANCEL, .slurm_job = 1};
        uint64_t number;
        start (&inner, 1, 1000);
        snprintf (request.owner, sizeof (request.owner), "%s", test->owner);
        if (owner_client_send (inner.client, &request, NULL, 0, &number, NULL) < 0 ||
            write (channel[1], &inner.pid, sizeof (inner.pid)) < 0)
            _exit (1);
        pause ();
    }
    assert_int_equal (read (channel[0], &pids[1], sizeof (int)), (ssize_t)sizeof (int));
    while (pid == 0) { /* its command runs */
        FILE *file = fopen (path, "r");
        if (fscanf (file, "%d", &pid) != 1)
            pid = 0;
        fclose (file);
        usleep (1000);
    }
    kill (pids[0], SIGKILL);
    assert_int_equal (waitpid (pids[0], NULL, 0), pids[0]);
    assert_int_equal (waitpid (pids[1], NULL, 0), pids[1]); /* waits for ever if it lives */
    while (kill (pid, 0) == 0) {
        waitpid (-1, NULL, WNOHANG);
        usleep (1000);
    }
    while (waitpid (-1, NULL, WNOHANG) > 0) {
    }
    prctl (PR_SET_CHILD_SUBREAPER, 0);
    close (channel[0]);
    close (channel[1]);
}

/* ---- Messages ----------------------------------------------------------------------------- */

static void test_directory (void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"%h/.pollux", "/home/ann/.pollux"},
        {"/scratch/%u/p", "/scratch/ann/p"},
        {"/a%%b", "/a%b"},
        {"relative", NULL},
        {"%u/x", NULL},
        {"/x/%z", NULL},
        {"/x/%", NULL},
        {"/x\n", NULL},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        char text[64] = "";
        int code = owner_directory_expand (cases[i].text, "/home/ann", "ann", text, sizeof (text));
        assert_int_equal (code, cases[i].expected ? 0 : -EINVAL);
        if (cases[i].expected)
            assert_string_equal (text, cases[i].expected);
        else
            assert_non_null (wire_wrong_slurm_directory (cases[i].text));
    }
}

static void test_answers (void **state)
{
    (void)state;
    uint8_t message[OWNER_MESSAGE_LIMIT];
    struct owner_answer answer = {.number = 7, .code = -EPERM, .text = "no", .output = "12;c\n"};
    struct owner_answer back;
    int length = owner_answer_encode (&answer, message, NULL);
    assert_true (length > 0);
    assert_int_equal (owner_answer_decode (message, (size_t)length, &back, NULL), 0);
    assert_memory_equal (&answer, &back, sizeof (answer));
    for (int i = 0; i < length; i++)
        assert_int_equal (owner_answer_decode (message, (size_t)i, &back, NULL), -EINVAL);
    message[4] ^= 1; /* the version */
    assert_int_equal (owner_answer_decode (message, (size_t)length, &back, NULL), -EINVAL);
}

#define with_process(test) cmocka_unit_test_setup_teardown (test, set_up, tear_down)

int main (void)
{
    const struct CMUnitTest tests[] = {
        with_process (test_lookup),
        with_process (test_refused_owners),
        with_process (test_silent_user_database),
        with_process (test_submit),
        with_process (test_groups),
        with_process (test_submit_fails),
        cmocka_unit_test (test_refused_words),
        with_process (test_old_generations),
        with_process (test_remove),
        with_process (test_remove_as_owner),
        with_process (test_signal_and_cancel),
        with_process (test_open),
        with_process (test_log_pieces),
        with_process (test_planted),
        with_process (test_planted_target),
        with_process (test_user_file_system),
        with_process (test_two_owners),
        with_process (test_garbage),
        with_process (test_bad_payloads),
        with_process (test_deadline),
        with_process (test_full_socket),
        with_process (test_stop_overtakes),
        with_process (test_many),
        with_process (test_helper_killed),
        with_process (test_polluxd_killed),
        cmocka_unit_test (test_directory),
        cmocka_unit_test (test_answers),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
