/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the service makes of the answers of its root process about owners and submissions.  The root process is this
 * test.
 */
#include "unit.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/slurm/as_owner_private.h"
#include "backend/slurm/service_private.h"
#include "base/clock.h"
#include "cluster_fixture.h"

struct fixture {
    struct service service;
    struct cluster_fixture cluster;
    int root; /* the root process's end */
    int logged;
    char log[256]; /* the last line */
};

static void take_log (void *self, int level, const char *text)
{
    struct fixture *test = self;
    (void)level;
    test->logged++;
    snprintf (test->log, sizeof (test->log), "%s", text);
}

/* Job a of ann. */
static int set_up (void **state)
{
    struct fixture *test = calloc (1, sizeof (*test));
    struct backend_options options = {.state = "", .log = take_log, .self = test};
    int sockets[2];
    if (!test ||
        socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) < 0 ||
        slurm_init (&test->service.slurm, &service_way, &test->service, &options, NULL) < 0)
        return -1;
    cluster_fixture_init (&test->cluster, 1, 4);
    cluster_fixture_submit (&test->cluster, "a", 1, 1);
    test->root = sockets[1];
    test->service.slurm.cluster = &test->cluster.cluster;
    *state = test;
    return owner_client_new (sockets[0], &test->service.client, NULL);
}

static int tear_down (void **state)
{
    struct fixture *test = *state;
    slurm_clear (&test->service.slurm);
    service_owners_clear (&test->service);
    service_files_clear (&test->service);
    cluster_fixture_clear (&test->cluster);
    close (test->root);
    free (test);
    return 0;
}

/* The next request; false: there is none. */
static bool take (const struct fixture *test, struct owner_request *ret)
{
    uint8_t message[OWNER_MESSAGE_LIMIT];
    int file;
    ssize_t length = owner_socket_receive (test->root, message, sizeof (message), &file);
    if (length < 0)
        return false;
    if (file >= 0)
        close (file);
    assert_int_equal (owner_request_decode (message, (size_t)length, ret, NULL), 0);
    assert_string_equal (ret->owner, "ann");
    return true;
}

static void answer_with (struct fixture *test, const struct owner_request *request, int code,
                         const char *output, const char *text)
{
    struct owner_answer answer = {.number = request->number, .code = code};
    uint8_t message[OWNER_MESSAGE_LIMIT];
    snprintf (answer.text, sizeof (answer.text), "%s", text);
    snprintf (answer.output, sizeof (answer.output), "%s", output);
    int length = owner_answer_encode (&answer, message, NULL);
    assert_int_equal (owner_socket_send (test->root, message, (size_t)length, -1), length);
    service_take_answers (&test->service);
}

static void answer (struct fixture *test, const struct owner_request *request, int code,
                    const char *output)
{
    answer_with (test, request, code, output, "why not");
}

/* Answer a lookup, which is made now, and return what is known then. */
static int look_up (struct fixture *test, int code)
{
    static const struct owner_account ann = {.uid = 7,
                                             .gid = 7,
                                             .home = "/home/ann",
                                             .shell = "/bin/sh",
                                             .directory = "/home/ann/.pollux"};
    const struct service_account *account;
    struct owner_request request;
    char text[OWNER_OUTPUT_SIZE] = "";
    if (test->service.account_count > 0)
        test->service.accounts[0]->due_us = 0;
    service_account (&test->service, "ann", &account, NULL);
    assert_true (take (test, &request));
    assert_int_equal (request.kind, OWNER_LOOKUP);
    if (code == 0)
        assert_true (owner_account_encode (&ann, text) >= 0);
    answer (test, &request, code, text);
    return service_account (&test->service, "ann", &account, NULL);
}

/* A name service that does not answer, or that does not find a user for some minutes, changes nothing for owners who
 * are known. */
static void known_owners_are_kept (void **state)
{
    static const struct {
        int after_s; /* the last answer */
        int code, known;
    } rows[] = {
        {0, OWNER_LOOKUP_FAILED, OWNER_LOOKUP_FAILED},
        {0, OWNER_NO_ACCOUNT, OWNER_NO_ACCOUNT},
        {0, 0, 0},
        {3600, OWNER_LOOKUP_FAILED, 0},
        {3600, -ETIMEDOUT, 0},
        {3600, OWNER_NO_ACCOUNT, 0},
        {200, OWNER_NO_ACCOUNT, 0},
        {0, 0, 0},
        {3600, OWNER_NO_ACCOUNT, 0}, /* five minutes begin again */
        {200, OWNER_LOOKUP_FAILED, 0},
        {101, OWNER_NO_ACCOUNT, OWNER_NO_ACCOUNT},
        {0, 0, 0},
        {0, -EPERM, -EPERM},
        {0, OWNER_LOOKUP_FAILED, OWNER_LOOKUP_FAILED},
        {0, 0, 0},
        {0, OWNER_COMMAND_FAILED, 0}, /* of the lookup itself */
        {0, -EINVAL, -EINVAL},        /* no usable home */
    };
    struct fixture *test = *state;
    for (size_t i = 0; i < COUNT (rows); i++) {
        if (test->service.account_count > 0 && test->service.accounts[0]->gone_us > 0)
            test->service.accounts[0]->gone_us -= rows[i].after_s * INT64_C (1000000);
        assert_int_equal (look_up (test, rows[i].code), rows[i].known);
    }
}

/* Starts wait for an owner whose lookup failed: it is made again, without a new start. */
static void failed_lookups_are_made_again (void **state)
{
    static const int codes[] = {OWNER_LOOKUP_FAILED, -EPERM, 0};
    struct fixture *test = *state;
    struct owner_request request;
    for (size_t i = 0; i < COUNT (codes); i++) {
        look_up (test, codes[i]);
        service_retry_accounts (&test->service);
        assert_false (take (test, &request)); /* not at once */
        test->service.accounts[0]->due_us = 0;
        service_retry_accounts (&test->service);
        assert_int_equal (take (test, &request), codes[i] == OWNER_LOOKUP_FAILED);
        if (codes[i] == OWNER_LOOKUP_FAILED)
            answer (test, &request, OWNER_LOOKUP_FAILED, "");
    }
}

/* ---- Submissions -------------------------------------------------------------------------- */

/* Job a begins its first generation. */
static struct carried_share *submit (struct fixture *test, struct owner_request *ret)
{
    static struct share shares[] = {{.node = 0, .replicas = 1}};
    struct owner_request request = {.kind = OWNER_SUBMIT, .job = "a", .generation = 1};
    struct owner_file script = {.text = "#!/bin/sh\n", .length = 10};
    struct generation *generation =
        generation_add (&test->service.slurm.set, "a", 1,
                        (struct placement){.shares = shares, .count = 1}, LAUNCHER_ENV);
    assert_non_null (generation);
    generation->job = 0;
    struct carried_share *share =
        slurm_table_add (&test->service.slurm, generation, 0, CARRIED_SENT);
    assert_non_null (share);
    assert_int_equal (service_submit (&test->service, "ann", share, &request, &script, 1, NULL), 0);
    assert_true (take (test, ret));
    assert_int_equal (ret->kind, OWNER_SUBMIT);
    return share;
}

static void drop (struct fixture *test, struct carried_share *share)
{
    struct generation *generation = share->generation;
    slurm_table_drop (&test->service.slurm, share);
    generation_drop (&test->service.slurm.set, generation);
}

/* What passes by itself is not the job's failure. */
static void submissions_are_excused (void **state)
{
    static const struct {
        int code;
        bool known, excused, refused;
    } rows[] = {
        {OWNER_NO_ACCOUNT, false, false, true},
        {OWNER_LOOKUP_FAILED, false, true, false},
        {OWNER_NO_ACCOUNT, true, true, false},
        {OWNER_LOOKUP_FAILED, true, true, false},
        {-EIO, true, true, false},
        {-ESTALE, true, true, false},
        {-EAGAIN, true, true, false},
        {OWNER_UNREACHABLE, true, true, false},
        {OWNER_NO_PROCESS, true, false, false},
        {OWNER_NOT_NOW, true, true, false},
        {OWNER_COMMAND_FAILED, true, false, true},
        {-EACCES, true, false, true},
        {-EDQUOT, true, false, true},
    };
    struct fixture *test = *state;
    struct owner_request request;
    for (size_t i = 0; i < COUNT (rows); i++) {
        if (rows[i].known)
            assert_int_equal (look_up (test, 0), 0);
        struct carried_share *share = submit (test, &request);
        answer (test, &request, rows[i].code, "");
        assert_int_equal (share->excused, rows[i].excused);
        assert_int_equal (share->refused, rows[i].refused);
        assert_int_equal (share->limited, rows[i].code == OWNER_NOT_NOW);
        assert_non_null (strstr (share->why, "why not"));
        assert_int_equal (strstr (share->why, "Slurm did not take it: ") != NULL,
                          rows[i].code == OWNER_NOT_NOW || rows[i].code == OWNER_COMMAND_FAILED);
        /* The account is looked up again at once. */
        assert_int_equal (take (test, &request), rows[i].code == OWNER_NO_ACCOUNT);
        if (rows[i].code == OWNER_NO_ACCOUNT)
            answer (test, &request, OWNER_NO_ACCOUNT, "");
        drop (test, share);
    }
}

/* The list of jobs has job a, in this state; NULL: it is empty. */
static void list (struct fixture *test, const char *job_state, enum slurm_phase phase)
{
    struct slurm_job job = {.id = 17,
                            .step = "",
                            .state = job_state ? job_state : "",
                            .phase = phase,
                            .uid = 7,
                            .user = "ann",
                            .reason = "",
                            .nodes = "n0",
                            .gres = "",
                            .name = "a.1.0",
                            .comment = "pollux-: job a"};
    struct slurm_jobs jobs = {.list = &job, .count = job_state != NULL};
    test->service.slurm.poll_began_us = clock_monotonic_us () + 1;
    slurm_table_take (&test->service.slurm, &jobs);
}

/* sbatch did not answer: this is the reason if Slurm never had the share, and not otherwise. */
static void unanswered_submissions (void **state)
{
    static const struct {
        const char *first, *state; /* in the lists that follow; NULL: it is not there */
        enum slurm_phase phase;
        bool excused;
        const char *why;
    } rows[] = {
        {NULL, NULL, SLURM_ENDED, true, "sbatch did not answer"},
        {NULL, "FAILED", SLURM_ENDED, false, ""},
        {"RUNNING", "RUNNING", SLURM_HELD, false, ""},
        {"RUNNING", "FAILED", SLURM_ENDED, false, ""},
        {"RUNNING", NULL, SLURM_ENDED, false, ""},
        {NULL, "RUNNING", SLURM_HELD, false, ""}, /* slurmctld took it late */
        {NULL, "PREEMPTED", SLURM_EXCUSED, true, "PREEMPTED"},
    };
    struct fixture *test = *state;
    struct owner_request request;
    assert_int_equal (look_up (test, 0), 0);
    for (size_t i = 0; i < COUNT (rows); i++) {
        struct carried_share *share = submit (test, &request);
        answer (test, &request, -ETIMEDOUT, "");
        assert_false (share->excused);
        list (test, rows[i].first, SLURM_HELD);
        list (test, rows[i].state, rows[i].phase);
        assert_int_equal (share->excused, rows[i].excused);
        assert_true (*rows[i].why ? strstr (share->why, rows[i].why) != NULL : !*share->why);
        drop (test, share);
    }
}

/* That an owner cannot be looked up now delays no job of others, and is not the failure of the job. */
static void unknown_owners_delay_no_others (void **state)
{
    static const int codes[] = {-EAGAIN, OWNER_LOOKUP_FAILED, -ETIMEDOUT}; /* -EAGAIN: no answer */
    static struct share shares[] = {{.node = 0, .replicas = 2}};
    struct fixture *test = *state;
    struct slurm *slurm = &test->service.slurm;
    for (size_t i = 0; i < COUNT (codes); i++) {
        struct pollux_error text = {.text = ""};
        int pause_s;
        if (codes[i] != -EAGAIN)
            look_up (test, codes[i]);
        struct generation *generation = generation_add (
            &slurm->set, "a", 1, (struct placement){.shares = shares, .count = 1}, LAUNCHER_ENV);
        assert_non_null (generation);
        generation->job = 0;
        slurm->set.start_until_us = 0; /* this step has time */
        generation_step (&slurm->set, slurm->cluster, generation, clock_monotonic_us ());
        assert_true (generation->over);
        assert_false (generation->carrier_failed);
        assert_int_equal (slurm->set.hold_until_us, 0);
        assert_non_null (slurm_carrier.excuse (slurm, generation, &text, &pause_s));
        assert_non_null (strstr (text.text, codes[i] == -EAGAIN ? "looked up" : "why not"));
        generation_drop (&slurm->set, generation);
        if (codes[i] == -EAGAIN) {
            struct owner_request request;
            assert_true (take (test, &request));
            answer (test, &request, OWNER_LOOKUP_FAILED, "");
        }
    }
}

/* A cancel of a hidden job that failed is repeated after the next list, also when its generation is over.  Then the share
 * leaves the table. */
static void cancels_of_hidden_jobs_are_repeated (void **state)
{
    static const struct {
        int code;
        const char *text;
        bool repeated;
    } rows[] = {
        {OWNER_COMMAND_FAILED, "munge failed", true},
        {-ETIMEDOUT, "", true},
        {OWNER_COMMAND_FAILED, "error: Invalid job id specified", false},
        {OWNER_NO_ACCOUNT, "", false},
        {0, "", false},
    };
    struct fixture *test = *state;
    struct slurm *slurm = &test->service.slurm;
    struct owner_request request;
    assert_int_equal (look_up (test, 0), 0);
    for (size_t i = 0; i < COUNT (rows); i++) {
        struct carried_share *share = submit (test, &request);
        struct generation *generation = share->generation;
        answer (test, &request, 0, "17\n");
        list (test, NULL, SLURM_ENDED);
        assert_true (take (test, &request));
        assert_int_equal (request.kind, OWNER_CANCEL);
        slurm_carrier.release_share (slurm, generation, 0);
        generation_drop (&slurm->set, generation);
        answer_with (test, &request, rows[i].code, "", rows[i].text);
        slurm->poll_us = slurm->query_us = INT64_MAX;
        slurm_step (slurm, slurm->cluster);
        assert_int_equal (slurm->count, rows[i].repeated);
        list (test, NULL, SLURM_ENDED);
        assert_int_equal (take (test, &request), rows[i].repeated);
        if (!rows[i].repeated)
            continue;
        assert_int_equal (request.kind, OWNER_CANCEL);
        assert_int_equal (request.slurm_job, 17);
        answer (test, &request, 0, "");
        slurm->poll_us = slurm->query_us = INT64_MAX;
        slurm_step (slurm, slurm->cluster);
        assert_int_equal (slurm->count, 0);
    }
}

/* A query that began after sbatch had answered does not list the job: it is cancelled by its id, once, and the job
 * starts again after a pause. */
static void hidden_jobs_are_cancelled (void **state)
{
    struct fixture *test = *state;
    struct slurm *slurm = &test->service.slurm;
    struct slurm_jobs none = {.count = 0};
    struct pollux_error text;
    struct owner_request request;
    assert_int_equal (look_up (test, 0), 0);
    for (int i = 0; i < 3; i++) {
        char id[16];
        int pause_s = 0, logged = test->logged;
        struct carried_share *share = submit (test, &request);
        snprintf (id, sizeof (id), "%d\n", 17 + i);
        answer (test, &request, 0, id);
        assert_int_equal (share->id, 17 + i);
        slurm->poll_began_us = share->id_us; /* Slurm may have answered it before */
        slurm_table_take (slurm, &none);
        assert_false (share->hidden || take (test, &request));
        for (int k = 1; k <= 2; k++) {
            slurm->poll_began_us = share->id_us + k;
            slurm_table_take (slurm, &none);
            assert_true (share->hidden && share->excused);
            assert_int_equal (take (test, &request), k == 1);
        }
        assert_int_equal (request.kind, OWNER_CANCEL);
        assert_int_equal (request.slurm_job, 17 + i);
        answer (test, &request, 0, "");
        assert_int_equal (test->logged, logged + (i == 0));
        if (i == 0)
            assert_non_null (strstr (test->log, "does not show our jobs: is PrivateData set?"));
        share->generation->exits[0].lost = true;
        assert_non_null (slurm_carrier.excuse (slurm, share->generation, &text, &pause_s));
        assert_non_null (strstr (text.text, "PrivateData"));
        assert_int_equal (pause_s, 10 << i);
        drop (test, share);
    }
}

/* A job that was listed once, or whose end was, is not hidden. */
static void listed_jobs_are_not_hidden (void **state)
{
    struct fixture *test = *state;
    struct owner_request request;
    assert_int_equal (look_up (test, 0), 0);
    for (int i = 0; i < 2; i++) {
        struct carried_share *share = submit (test, &request);
        answer (test, &request, 0, "17\n");
        list (test, i ? "COMPLETED" : "RUNNING", i ? SLURM_ENDED : SLURM_HELD);
        list (test, NULL, SLURM_ENDED);
        assert_int_equal (share->state, CARRIED_GONE);
        assert_false (share->hidden || share->excused || take (test, &request));
        drop (test, share);
    }
    assert_int_equal (test->logged, 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (known_owners_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown (failed_lookups_are_made_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown (submissions_are_excused, set_up, tear_down),
        cmocka_unit_test_setup_teardown (unanswered_submissions, set_up, tear_down),
        cmocka_unit_test_setup_teardown (unknown_owners_delay_no_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown (cancels_of_hidden_jobs_are_repeated, set_up, tear_down),
        cmocka_unit_test_setup_teardown (hidden_jobs_are_cancelled, set_up, tear_down),
        cmocka_unit_test_setup_teardown (listed_jobs_are_not_hidden, set_up, tear_down),
    };
    return cmocka_run_group_tests_name ("owners of the service", tests, NULL, NULL);
}
