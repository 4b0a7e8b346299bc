/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signed requests, with a test double in the place of libmunge: its credentials are the payload itself, and the test
 * sets the uid, the error and how long munged takes.  tests/cli/munge.sh uses a real munged.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <unistd.h>

#include "api/api_private.h"
#include "api/tokens.h"
#include "munge/library.h"
#include "munge/used_claims.h"
#include "munge/worker.h"

#define NOW 1763304000
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define NONCE "0123456789abcdef0123456789abcdef"

/* ---- The test double ------------------------------------------------------------------------- */

static struct {
    uid_t uid;          /* of every credential */
    uid_t first_uid;    /* of the first one that is decoded; 0: as all others */
    int error;          /* of the next calls; 0: none */
    atomic_bool blocks; /* a call waits for a post of go */
    sem_t begun, go;    /* begun: a call has begun to wait */
    atomic_int decodings, contexts;
    uid_t reader; /* as set in the last context */
    char socket[64];
} munged;

static void *ctx_create (void)
{
    munged.contexts++;
    return malloc (1);
}

static void ctx_destroy (void *context)
{
    free (context);
    munged.contexts--;
}

static int ctx_set (void *context, int option, ...)
{
    va_list arguments;
    (void)context;
    va_start (arguments, option);
    if (option == MUNGE_OPTION_UID)
        munged.reader = va_arg (arguments, uid_t);
    else
        snprintf (munged.socket, sizeof (munged.socket), "%s", va_arg (arguments, const char *));
    va_end (arguments);
    return MUNGE_SUCCESS;
}

static const char *ctx_strerror (void *context)
{
    (void)context;
    return NULL;
}

static const char *explain (int code)
{
    (void)code;
    return "as the test says";
}

static void wait_if_blocked (void)
{
    if (munged.blocks) {
        sem_post (&munged.begun);
        sem_wait (&munged.go);
    }
}

static int encode (char **credential, void *context, const void *payload, int length)
{
    (void)context;
    wait_if_blocked ();
    if (munged.error != 0)
        return munged.error;
    return asprintf (credential, "MUNGE:%.*s:", length, (const char *)payload) < 0 ? MUNGE_NO_MEMORY
                                                                                   : MUNGE_SUCCESS;
}

static int decode (const char *credential, void *context, void **payload, int *length, uid_t *uid,
                   gid_t *gid)
{
    (void)context;
    munged.decodings++;
    wait_if_blocked ();
    if (munged.error != 0)
        return munged.error;
    size_t size = strlen (credential);
    if (size < 8 || strncmp (credential, "MUNGE:", 6) != 0)
        return 8;
    *payload = strndup (credential + 6, size - 7);
    *length = (int)size - 7;
    *uid = munged.first_uid != 0 && munged.decodings == 1 ? munged.first_uid : munged.uid;
    *gid = 0;
    return MUNGE_SUCCESS;
}

/* In the place of the C library's: a name service that fails for one user, hangs for another, has a third one at
 * times, and finds another uid by the name of the fourth one. */
enum {
    UID_WITHOUT_ANSWER = 4242,
    UID_THAT_HANGS = 4343,
    UID_AT_TIMES = 4444,
    UID_OF_SHARED_NAME = 4545,
};
static sem_t lookup_begun, lookup_go;
static bool has_user; /* UID_AT_TIMES; set between lookups */
static struct {
    uid_t uid; /* 0: none */
    int code;
} by_name; /* UID_OF_SHARED_NAME */
static const struct {
    uid_t uid;
    const char *name;
} accounts[] = {
    {0, "root"}, {UID_THAT_HANGS, "slow"}, {UID_AT_TIMES, "anna"}, {UID_OF_SHARED_NAME, "hans"}};

static void give_user (uid_t uid, const char *name, struct passwd *user, char *memory,
                       struct passwd **ret)
{
    *user = (struct passwd){.pw_uid = uid, .pw_name = strcpy (memory, name)};
    *ret = user;
}

int getpwuid_r (uid_t uid, struct passwd *user, char *memory, size_t size, struct passwd **ret);
int getpwuid_r (uid_t uid, struct passwd *user, char *memory, size_t size, struct passwd **ret)
{
    *ret = NULL;
    if (uid == UID_WITHOUT_ANSWER)
        return EIO;
    if (uid == UID_THAT_HANGS) {
        sem_post (&lookup_begun);
        sem_wait (&lookup_go);
    }
    for (size_t i = 0; i < sizeof (accounts) / sizeof (accounts[0]); i++)
        if (accounts[i].uid == uid && (uid != UID_AT_TIMES || has_user) && size > 16)
            give_user (uid, accounts[i].name, user, memory, ret);
    return 0; /* perhaps there is no such user */
}

int getpwnam_r (const char *name, struct passwd *user, char *memory, size_t size,
                struct passwd **ret);
int getpwnam_r (const char *name, struct passwd *user, char *memory, size_t size,
                struct passwd **ret)
{
    *ret = NULL;
    for (size_t i = 0; i < sizeof (accounts) / sizeof (accounts[0]); i++) {
        bool two = accounts[i].uid == UID_OF_SHARED_NAME;
        if (strcmp (accounts[i].name, name) != 0 || size <= 16)
            continue;
        if (two && by_name.code != 0)
            return by_name.code;
        if (!two || by_name.uid != 0)
            give_user (two ? by_name.uid : accounts[i].uid, accounts[i].name, user, memory, ret);
    }
    return 0;
}

static struct munge *open_munge (void)
{
    static const struct munge_library library = {.ctx_create = ctx_create,
                                                 .ctx_destroy = ctx_destroy,
                                                 .ctx_set = ctx_set,
                                                 .ctx_strerror = ctx_strerror,
                                                 .encode = encode,
                                                 .decode = decode,
                                                 .strerror = explain};
    struct munge *munge = NULL;
    memset (&munged, 0, sizeof (munged));
    sem_init (&munged.begun, 0, 0);
    sem_init (&munged.go, 0, 0);
    assert_int_equal (munge_open_library (&library, "/some/socket", &munge, NULL), 0);
    return munge;
}

/* ---- Claims ------------------------------------------------------------------------------------ */

static void claims_survive_their_text (void **state)
{
    struct munge_claim claim, again;
    char text[MUNGE_CLAIM_SIZE], target[MUNGE_TARGET_SIZE + 1];
    (void)state;
    assert_int_equal (munge_claim_make ("POST", "/v1/jobs?a=%20", "abc", 3, NOW, &claim, NULL), 0);
    assert_string_equal (claim.hash, ABC);
    size_t length = munge_claim_format (&claim, text);
    assert_int_equal (length, strlen (text));
    assert_int_equal (munge_claim_parse (text, length, &again, NULL), 0);
    assert_string_equal (again.method, "POST");
    assert_string_equal (again.target, "/v1/jobs?a=%20");
    assert_string_equal (again.nonce, claim.nonce);
    assert_string_equal (again.hash, ABC);
    assert_int_equal (again.time_s, NOW);
    /* the longest */
    memset (target, 'x', sizeof (target));
    target[0] = '/';
    target[MUNGE_TARGET_SIZE - 1] = '\0';
    assert_int_equal (munge_claim_make ("ABCDEFGHIJKLMNO", target, NULL, 0, NOW, &claim, NULL), 0);
    claim.time_s = 9999999999999;
    length = munge_claim_format (&claim, text);
    assert_true (length < sizeof (text));
    assert_int_equal (munge_claim_parse (text, length, &again, NULL), 0);
    /* each has its own nonce */
    assert_int_equal (munge_claim_make ("GET", "/", NULL, 0, NOW, &again, NULL), 0);
    assert_string_not_equal (claim.nonce, again.nonce);
}

static void impossible_requests_are_not_signed (void **state)
{
    static const char *const requests[][2] = {
        {"", "/"},        {"get", "/"},         {"GET ", "/"},   {"ABCDEFGHIJKLMNOP", "/"},
        {"GET", ""},      {"GET", "v1"},        {"GET", "/a b"}, {"GET", "/a\nb"},
        {"GET", "/\x7f"}, {"GET", "/\xc3\xa4"},
    };
    char target[MUNGE_TARGET_SIZE + 1] = "/";
    struct munge_claim claim;
    struct pollux_error err;
    (void)state;
    for (size_t i = 0; i < COUNT (requests); i++)
        assert_int_equal (
            munge_claim_make (requests[i][0], requests[i][1], NULL, 0, NOW, &claim, &err), -EINVAL);
    memset (target + 1, 'x', MUNGE_TARGET_SIZE - 1);
    assert_int_equal (munge_claim_make ("GET", target, NULL, 0, NOW, &claim, &err), -EINVAL);
}

static void other_texts_are_no_claims (void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n\n\n\n\n",
        "pollux-request 2\nGET\n/\n1\n" NONCE "\n" EMPTY "\n",
        "pollux-request 1 \nGET\n/\n1\n" NONCE "\n" EMPTY "\n",
        "pollux-request 1\nget\n/\n1\n" NONCE "\n" EMPTY "\n",
        "pollux-request 1\n\n/\n1\n" NONCE "\n" EMPTY "\n",
        "pollux-request 1\nABCDEFGHIJKLMNOP\n/\n1\n" NONCE "\n" EMPTY "\n",
        "pollux-request 1\nGET\nx\n1\n" NONCE "\n" EMPTY "\n",
        "pollux-request 1\nGET\n/ x\n1\n" NONCE "\n" EMPTY "\n",
        "pollux-request 1\nGET\n/\n\n" NONCE "\n" EMPTY "\n",
        "pollux-request 1\nGET\n/\n-1\n" NONCE "\n" EMPTY "\n",
        "pollux-request 1\nGET\n/\n12345678901234\n" NONCE "\n" EMPTY "\n",
        "pollux-request 1\nGET\n/\n1\n" EMPTY "\n" EMPTY "\n",
        "pollux-request 1\nGET\n/\n1\n" NONCE "\n" NONCE "\n",
        "pollux-request 1\nGET\n/\n1\n" NONCE "\n" EMPTY,
        "pollux-request 1\nGET\n/\n1\n" NONCE "\n" EMPTY "\n\n",
        "pollux-request 1\nGET\n/\n1\n" NONCE "\nE3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934C"
        "A495991B7852B855\n",
    };
    static const char inside[] = "pollux-request 1\nGET\n/a\0b\n1\n" NONCE "\n" EMPTY "\n";
    struct munge_claim claim = {.time_s = 7};
    struct pollux_error err;
    (void)state;
    for (size_t i = 0; i < COUNT (texts); i++)
        assert_int_equal (munge_claim_parse (texts[i], strlen (texts[i]), &claim, &err), -EACCES);
    assert_int_equal (munge_claim_parse (inside, sizeof (inside) - 1, &claim, &err), -EACCES);
    assert_int_equal (munge_claim_parse (NULL, 0, &claim, &err), -EACCES);
    assert_int_equal (claim.time_s, 7);
}

static void a_claim_is_for_one_request (void **state)
{
    static const struct {
        const char *method, *target, *body;
        int64_t now_s;
        const char *why; /* NULL: it is right */
    } requests[] = {
        {"POST", "/v1/jobs?a=1", "abc", NOW, NULL},
        {"POST", "/v1/jobs?a=1", "abc", NOW + MUNGE_AGE_S, NULL},
        {"POST", "/v1/jobs?a=1", "abc", NOW - MUNGE_AGE_S, NULL},
        {"POST", "/v1/jobs?a=1", "abc", NOW + MUNGE_AGE_S + 1, "signed 301 seconds ago"},
        {"POST", "/v1/jobs?a=1", "abc", NOW - MUNGE_AGE_S - 1, "in the future"},
        {"PUT", "/v1/jobs?a=1", "abc", NOW, "another request, POST /v1/jobs"},
        {"POST", "/v1/jobs?a=2", "abc", NOW, "another request"},
        {"POST", "/v1/jobs", "abc", NOW, "another request"},
        {"POST", "/v1/jobs?a=1", "abd", NOW, "another body"},
        {"POST", "/v1/jobs?a=1", "", NOW, "another body"},
        {"POST", "/v1/jobs?a=1", NULL, NOW, "another body"},
    };
    struct munge_claim claim;
    (void)state;
    assert_int_equal (munge_claim_make ("POST", "/v1/jobs?a=1", "abc", 3, NOW, &claim, NULL), 0);
    for (size_t i = 0; i < COUNT (requests); i++) {
        struct pollux_error err = {.text = ""};
        const char *body = requests[i].body;
        int code = munge_claim_check (&claim, requests[i].method, requests[i].target, body,
                                      body ? strlen (body) : 0, requests[i].now_s, &err);
        assert_int_equal (code, requests[i].why ? -EACCES : 0);
        if (requests[i].why && !strstr (err.text, requests[i].why))
            fail_msg ("request %zu: %s", i, err.text);
    }
}

/* ---- Signing and decoding ---------------------------------------------------------------------- */

static void signed_for_one_reader (void **state)
{
    struct munge *munge = open_munge ();
    struct munge_claim claim;
    char *header = NULL;
    uid_t uid = 0;
    (void)state;
    munged.uid = 1234;
    assert_int_equal (munge_sign (munge, 991, "POST", "/v1/jobs", "abc", 3, &header, NULL), 0);
    assert_int_equal (munged.reader, 991);
    assert_string_equal (munged.socket, "/some/socket");
    assert_int_equal (strncmp (header, "Munge MUNGE:", 12), 0);
    assert_int_equal (munge_decode_claim (munge, header + 6, &uid, &claim, NULL), 0);
    assert_int_equal (uid, 1234);
    assert_string_equal (claim.target, "/v1/jobs");
    assert_string_equal (claim.hash, ABC);
    free (header);
    header = NULL;
    assert_int_equal (munge_sign (munge, 991, "POST", "no target", NULL, 0, &header, NULL),
                      -EINVAL);
    assert_null (header);
    assert_int_equal (munge_decode_claim (munge, "MUNGE:hello:", &uid, &claim, NULL), -EACCES);
    munge_close (munge);
}

static void errors_have_sentences (void **state)
{
    static const struct {
        int error, code;
        const char *sentence;
    } errors[] = {
        {MUNGE_SOCKET, -EAGAIN, "munged does not answer"},
        {MUNGE_TIMEOUT, -EAGAIN, "munged does not answer"},
        {MUNGE_NO_MEMORY, -ENOMEM, "memory"},
        {MUNGE_EXPIRED, -EACCES, "expired"},
        {MUNGE_REWOUND, -EACCES, "clocks"},
        {MUNGE_REPLAYED, -EACCES, "used before"},
        {MUNGE_UNAUTHORIZED, -EACCES, "another user than polluxd's"},
        {14, -EACCES, "as the test says"},
    };
    struct munge *munge = open_munge ();
    (void)state;
    for (size_t i = 0; i < COUNT (errors); i++) {
        struct pollux_error err = {.text = ""};
        struct munge_claim claim;
        char *header = NULL;
        uid_t uid;
        munged.error = errors[i].error;
        assert_int_equal (munge_decode_claim (munge, "MUNGE:x:", &uid, &claim, &err),
                          errors[i].code);
        assert_non_null (strstr (err.text, errors[i].sentence));
        assert_int_equal (munge_sign (munge, 1, "GET", "/", NULL, 0, &header, &err),
                          errors[i].code);
        assert_null (header);
    }
    munge_close (munge);
}

/* ---- Replays ----------------------------------------------------------------------------------- */

static struct munge_claim numbered (int number)
{
    struct munge_claim claim = {.time_s = NOW};
    snprintf (claim.nonce, sizeof (claim.nonce), "%032x", number);
    return claim;
}

static void claims_are_remembered_long_enough (void **state)
{
    struct used_claims *used = used_claims_new ();
    struct munge_claim claim = numbered (1);
    (void)state;
    for (int start = 0; start < 10 * MUNGE_AGE_S; start += 137) {
        claim = numbered (start);
        assert_false (used_claims_seen (used, 1000, &claim, start));
        assert_true (used_claims_seen (used, 1000, &claim, start));
        assert_false (used_claims_seen (used, 1001, &claim, start));
        for (int past = 0; past <= 2 * MUNGE_AGE_S && past <= start; past += 137) {
            claim = numbered (start - past);
            assert_true (used_claims_seen (used, 1000, &claim, start));
        }
    }
    claim = numbered (0);
    assert_false (used_claims_seen (used, 1000, &claim, 10 * MUNGE_AGE_S)); /* forgotten */
    used_claims_free (used);
    used_claims_free (NULL);
}

static void many_claims_are_remembered (void **state)
{
    enum { MANY = 100000, TOO_MANY = 400000 };
    struct used_claims *used = used_claims_new ();
    (void)state;
    for (int i = 0; i < MANY; i++) {
        struct munge_claim claim = numbered (i);
        assert_false (used_claims_seen (used, 1000, &claim, 0));
    }
    for (int i = 0; i < MANY; i += 7) {
        struct munge_claim claim = numbered (i);
        assert_true (used_claims_seen (used, 1000, &claim, 0));
    }
    /* Beyond the limit, the latest are remembered. */
    for (int i = MANY; i < TOO_MANY; i++) {
        struct munge_claim claim = numbered (i);
        assert_false (used_claims_seen (used, 1000, &claim, 0));
    }
    for (int i = TOO_MANY - MANY; i < TOO_MANY; i += 7) {
        struct munge_claim claim = numbered (i);
        assert_true (used_claims_seen (used, 1000, &claim, 0));
    }
    used_claims_free (used);
}

/* ---- The worker -------------------------------------------------------------------------------- */

static struct munge_answer *wait_for (struct munge_worker *worker)
{
    struct pollfd ready = {.fd = munge_worker_fd (worker), .events = POLLIN};
    struct munge_answer *answer;
    while ((answer = munge_worker_next (worker)) == NULL)
        assert_int_equal (poll (&ready, 1, 60000), 1);
    return answer;
}

/* A credential of the test double. */
static const char *credential (int number)
{
    static char text[256];
    snprintf (text, sizeof (text), "MUNGE:pollux-request 1\nGET\n/\n%d\n%032x\n" EMPTY "\n:", NOW,
              number);
    return text;
}

static void the_worker_finds_the_user (void **state)
{
    struct munge *munge = open_munge ();
    struct munge_worker *worker;
    struct munge_answer *answer;
    static char large[MUNGE_CREDENTIAL_SIZE + 1];
    (void)state;
    assert_int_equal (munge_worker_new (munge, &worker, NULL), 0);
    assert_null (munge_worker_next (worker));
    for (int i = 0; i < 2; i++) { /* the second time from the cache */
        assert_int_equal (munge_worker_decode (worker, 7, "a", credential (i), NULL), 0);
        answer = wait_for (worker);
        assert_int_equal (answer->code, 0);
        assert_int_equal (answer->ticket, 7);
        assert_int_equal (answer->uid, 0);
        assert_string_equal (answer->name, "root");
        assert_string_equal (answer->claim.method, "GET");
        munge_answer_free (answer);
    }
    /* munged has forgotten the first one */
    assert_int_equal (munge_worker_decode (worker, 8, "a", credential (0), NULL), 0);
    answer = wait_for (worker);
    assert_int_equal (answer->code, -EACCES);
    assert_non_null (strstr (answer->err.text, "used before"));
    munge_answer_free (answer);
    munged.uid = 4000000000u; /* without an account */
    assert_int_equal (munge_worker_decode (worker, 9, "a", credential (9), NULL), 0);
    answer = wait_for (worker);
    assert_int_equal (answer->code, -EACCES);
    assert_non_null (strstr (answer->err.text, "uid 4000000000 has no user name"));
    munge_answer_free (answer);
    memset (large, 'x', sizeof (large) - 1);
    assert_int_equal (munge_worker_decode (worker, 10, "a", large, NULL), -EACCES);
    assert_int_equal (munge_worker_sign (worker, 11, 991, "POST", "/v1/jobs", "abc", 3, NULL), 0);
    answer = wait_for (worker);
    assert_int_equal (answer->code, 0);
    assert_non_null (strstr (answer->header, "POST\n/v1/jobs\n"));
    assert_non_null (strstr (answer->header, ABC));
    munge_answer_free (answer);
    munge_worker_free (worker);
}

static void a_frozen_munged_delays_nobody_twice (void **state)
{
    struct munge *munge = open_munge ();
    struct munge_worker *worker;
    struct pollux_error err;
    (void)state;
    assert_int_equal (munge_worker_new (munge, &worker, NULL), 0);
    munged.blocks = true;
    munged.error = MUNGE_SOCKET;
    assert_int_equal (munge_worker_decode (worker, 0, "a", credential (0), NULL), 0);
    sem_wait (&munged.begun);
    for (uint64_t i = 1; i <= MUNGE_WAITING_MAX; i++) {
        if (i == MUNGE_SHARE_MAX + 1) /* the rest is for others */
            assert_int_equal (munge_worker_decode (worker, i, "a", credential (1), &err), -EAGAIN);
        const char *source = i <= MUNGE_SHARE_MAX ? "a" : "b";
        assert_int_equal (munge_worker_decode (worker, i, source, credential (1), NULL), 0);
    }
    assert_int_equal (munge_worker_decode (worker, 1, "c", credential (1), &err), -EAGAIN);
    assert_non_null (strstr (err.text, "too many"));
    assert_null (munge_worker_next (worker));
    sem_post (&munged.go); /* once: the others do not reach munged */
    for (uint64_t i = 0; i <= MUNGE_WAITING_MAX; i++) {
        struct munge_answer *answer = wait_for (worker);
        assert_int_equal (answer->code, -EAGAIN);
        assert_non_null (strstr (answer->err.text, "munged does not answer"));
        munge_answer_free (answer);
    }
    assert_int_equal (munged.decodings, 1);
    munged.blocks = false; /* it is back */
    munged.error = 0;
    assert_int_equal (munge_worker_decode (worker, 5, "a", credential (2), NULL), 0);
    struct munge_answer *answer = wait_for (worker);
    assert_int_equal (answer->code, 0);
    munge_answer_free (answer);
    munge_worker_free (worker);
}

static void sources_take_turns (void **state)
{
    static const struct {
        const char *source;
        uint64_t place; /* in the order of the answers */
    } tasks[] = {{"a", 0}, {"a", 1}, {"a", 4}, {"a", 6}, {"a", 7}, {"b", 2}, {"b", 5}, {"c", 3}};
    struct munge *munge = open_munge ();
    struct munge_worker *worker;
    (void)state;
    assert_int_equal (munge_worker_new (munge, &worker, NULL), 0);
    munged.blocks = true;
    for (int i = 0; i < (int)COUNT (tasks); i++) {
        assert_int_equal (
            munge_worker_decode (worker, tasks[i].place, tasks[i].source, credential (i), NULL), 0);
        if (i == 0)
            sem_wait (&munged.begun);
    }
    munged.blocks = false;
    sem_post (&munged.go);
    for (uint64_t i = 0; i < COUNT (tasks); i++) {
        struct munge_answer *answer = wait_for (worker);
        assert_int_equal (answer->ticket, i);
        assert_int_equal (answer->code, 0);
        munge_answer_free (answer);
    }
    munge_worker_free (worker);
}

static void a_failing_name_service_concerns_one_user (void **state)
{
    struct munge *munge = open_munge ();
    struct munge_worker *worker;
    (void)state;
    assert_int_equal (munge_worker_new (munge, &worker, NULL), 0);
    munged.blocks = true;
    munged.first_uid = UID_WITHOUT_ANSWER;
    assert_int_equal (munge_worker_decode (worker, 0, "a", credential (0), NULL), 0);
    sem_wait (&munged.begun);
    for (int i = 1; i <= 3; i++)
        assert_int_equal (munge_worker_decode (worker, (uint64_t)i, "a", credential (i), NULL), 0);
    munged.blocks = false;
    sem_post (&munged.go);
    for (int i = 0; i <= 3; i++) {
        struct munge_answer *answer = wait_for (worker);
        assert_int_equal (answer->ticket, i);
        assert_int_equal (answer->code, i == 0 ? -EAGAIN : 0);
        if (i == 0)
            assert_non_null (strstr (answer->err.text, "uid 4242 cannot be looked up"));
        munge_answer_free (answer);
    }
    munge_worker_free (worker);
}

/* What the worker says of a user: its code, and the name. */
static int ask_name (struct munge_worker *worker, uid_t uid, int number, char name[MUNGE_NAME_SIZE])
{
    munged.uid = uid;
    assert_int_equal (munge_worker_decode (worker, 1, "a", credential (number), NULL), 0);
    struct munge_answer *answer = wait_for (worker);
    int code = answer->code;
    memcpy (name, answer->name, MUNGE_NAME_SIZE);
    munge_answer_free (answer);
    return code;
}

static void a_hanging_name_service_concerns_new_users (void **state)
{
    struct munge *munge = open_munge ();
    struct munge_worker *worker;
    char name[MUNGE_NAME_SIZE];
    (void)state;
    sem_init (&lookup_begun, 0, 0);
    sem_init (&lookup_go, 0, 0);
    assert_int_equal (munge_worker_new (munge, &worker, NULL), 0);
    assert_int_equal (ask_name (worker, 0, 0, name), 0);
    assert_int_equal (ask_name (worker, UID_THAT_HANGS, 1, name), -EAGAIN);
    sem_wait (&lookup_begun);
    for (int i = 2; i < 10; i++) { /* nothing waits, and no second lookup begins */
        assert_int_equal (ask_name (worker, i % 2 ? 0 : UID_THAT_HANGS, i, name),
                          i % 2 ? 0 : -EAGAIN);
        assert_string_equal (name, i % 2 ? "root" : "");
    }
    sem_post (&lookup_go); /* its late answer is not lost */
    int number = 10;
    while (ask_name (worker, UID_THAT_HANGS, number++, name) != 0)
        usleep (10000);
    assert_string_equal (name, "slow");
    assert_int_equal (sem_trywait (&lookup_begun), -1);
    munge_worker_free (worker);
}

/* A name is looked up again after a minute, and used for an hour if there is no answer. */
static void an_old_name_is_better_than_none (void **state)
{
    struct user_names *names = user_names_new ();
    struct pollux_error err;
    char name[USER_NAME_SIZE] = "";
    (void)state;
    assert_non_null (names);
    sem_init (&lookup_begun, 0, 0);
    sem_init (&lookup_go, 0, 1);
    assert_int_equal (user_names_find (names, UID_THAT_HANGS, 1, name, &err), 0);
    sem_wait (&lookup_begun);
    assert_int_equal (user_names_find (names, UID_THAT_HANGS, 60, name, &err),
                      0); /* from the cache */
    assert_int_equal (sem_trywait (&lookup_begun), -1);
    memset (name, 0, sizeof (name));
    assert_int_equal (user_names_find (names, UID_THAT_HANGS, 61, name, &err), 0);
    assert_int_equal (sem_trywait (&lookup_begun), 0); /* it hangs now */
    assert_string_equal (name, "slow");
    assert_int_equal (user_names_find (names, UID_THAT_HANGS, 3600, name, &err), 0);
    assert_int_equal (user_names_find (names, UID_THAT_HANGS, 3601, name, &err), -EAGAIN);
    assert_non_null (strstr (err.text, "directory service does not answer"));
    user_names_free (names); /* does not wait */
    sem_post (&lookup_go);
    user_names_free (NULL);
}

/* While sssd restarts there seems to be no such user: the name of the cache counts for five minutes. */
static void a_user_who_is_missing_for_a_moment_is_served (void **state)
{
    static const struct {
        int64_t at_s;
        bool has_user;
        int code;
    } rows[] = {{1, false, -EACCES}, {2, true, 0},    {62, false, 0},        {301, false, 0},
                {302, true, 0},      {601, false, 0}, {602, false, -EACCES}, {603, false, -EACCES},
                {604, true, 0},      {700, false, 0}};
    struct user_names *names = user_names_new ();
    (void)state;
    assert_non_null (names);
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        char name[USER_NAME_SIZE] = "";
        has_user = rows[i].has_user;
        assert_int_equal (user_names_find (names, UID_AT_TIMES, rows[i].at_s, name, NULL),
                          rows[i].code);
        assert_string_equal (name, rows[i].code == 0 ? "anna" : "");
    }
    user_names_free (names);
}

/* Two databases have the same name with different uids: jobs of one user would run as the other. */
static void a_name_of_two_users_is_not_used (void **state)
{
    static const struct {
        int64_t at_s;
        uid_t uid; /* that the name has */
        int lookup, code;
        const char *why;
    } rows[] = {{1, 7, 0, -EACCES, "uid 4545 has the name hans, which is also that of another uid"},
                {2, 0, 0, -EACCES, "no user name"},
                {3, 0, EIO, -EAGAIN, "cannot be looked up"},
                {4, UID_OF_SHARED_NAME, 0, 0, ""},
                {64, 0, EIO, 0, ""},
                {65, 0, 0, 0, ""},
                {66, 7, 0, -EACCES, "of another uid"}, /* at once, not after minutes */
                {67, 0, EIO, -EAGAIN, "cannot be looked up"}};
    struct user_names *names = user_names_new ();
    (void)state;
    assert_non_null (names);
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        char name[USER_NAME_SIZE] = "";
        struct pollux_error err = {.text = ""};
        by_name.uid = rows[i].uid;
        by_name.code = rows[i].lookup;
        assert_int_equal (user_names_find (names, UID_OF_SHARED_NAME, rows[i].at_s, name, &err),
                          rows[i].code);
        assert_string_equal (name, rows[i].code == 0 ? "hans" : "");
        assert_true (rows[i].code == 0 || strstr (err.text, rows[i].why));
    }
    user_names_free (names);
}

static void a_worker_ends_with_work_left (void **state)
{
    struct munge *munge = open_munge ();
    struct munge_worker *worker;
    (void)state;
    assert_int_equal (munge_worker_new (munge, &worker, NULL), 0);
    munge_worker_free (worker); /* its thread never started */
    munge_worker_free (NULL);
    munge = open_munge ();
    assert_int_equal (munge_worker_new (munge, &worker, NULL), 0);
    munged.blocks = true;
    for (int i = 0; i < 10; i++)
        assert_int_equal (munge_worker_decode (worker, 1, "a", credential (i), NULL), 0);
    sem_wait (&munged.begun);
    munge_worker_free (worker); /* returns, although munged does not answer */
    sem_post (&munged.go);
    while (munged.contexts > 0) /* the thread ends by itself */
        sched_yield ();
    /* Idle, it is joined. */
    munge = open_munge ();
    assert_int_equal (munge_worker_new (munge, &worker, NULL), 0);
    assert_int_equal (munge_worker_decode (worker, 1, "a", credential (1), NULL), 0);
    munge_answer_free (wait_for (worker));
    munge_worker_free (worker);
}

static void signed_soon_or_not_at_all (void **state)
{
    struct munge *munge = open_munge ();
    struct munge_worker *worker;
    struct pollux_error err = {.text = ""};
    char header[MUNGE_CREDENTIAL_SIZE] = "";
    (void)state;
    assert_int_equal (munge_worker_new (munge, &worker, NULL), 0);
    assert_int_equal (munge_worker_sign_now (worker, 60000, 991, "POST", "/a", "abc", 3, header,
                                             sizeof (header), &err),
                      0);
    assert_int_equal (strncmp (header, "Munge MUNGE:", 12), 0);
    assert_non_null (strstr (header, ABC));
    assert_int_equal (
        munge_worker_sign_now (worker, 60000, 991, "POST", "/a", "abc", 3, header, 20, &err),
        -ENOBUFS);
    munged.blocks = true; /* frozen: not in time */
    assert_int_equal (
        munge_worker_sign_now (worker, 1, 991, "POST", "/late", NULL, 0, header, 20, &err),
        -EAGAIN);
    assert_non_null (strstr (err.text, "within 1 ms"));
    munged.blocks = false;
    sem_post (&munged.go);
    /* The late answer is not taken for another request. */
    assert_int_equal (munge_worker_sign_now (worker, 60000, 991, "POST", "/b", NULL, 0, header,
                                             sizeof (header), &err),
                      0);
    assert_non_null (strstr (header, "\n/b\n"));
    munged.error = MUNGE_SOCKET;
    assert_int_equal (munge_worker_sign_now (worker, 60000, 991, "POST", "/c", NULL, 0, header,
                                             sizeof (header), &err),
                      -EAGAIN);
    assert_non_null (strstr (err.text, "munged does not answer"));
    munge_worker_free (worker);
}

/* ---- Roles ------------------------------------------------------------------------------------- */

static void users_have_roles (void **state)
{
    static char ann[] = "ann", bob[] = "bob", admin[] = "admin";
    static char *const few[] = {ann, bob, NULL}, *const none[] = {NULL},
                       *const named[] = {admin, NULL};
    const struct {
        char *const *admins;
        uid_t uid;
        const char *name;
        unsigned role; /* 0: refused */
    } users[] = {
        {few, 0, "root", ROLE_ADMIN},
        {NULL, 0, "root", ROLE_ADMIN},
        {none, geteuid (), "me", ROLE_ADMIN},
        {few, 54321, "bob", ROLE_ADMIN},
        {few, 54321, "carl", ROLE_USER},
        {few, 54321, "an", ROLE_USER},
        {none, 54321, "bob", ROLE_USER},
        {NULL, 54321, "root", ROLE_USER}, /* the uid counts */
        {few, 54321, "admin", 0},         /* the owner of the admin token's jobs */
        {named, 54321, "admin", ROLE_ADMIN},
    };
    (void)state;
    for (size_t i = 0; i < COUNT (users); i++) {
        struct http_identity identity = {.role = 0};
        struct pollux_error err = {.text = ""};
        int code =
            api_signed_identity (users[i].admins, users[i].uid, users[i].name, &identity, &err);
        assert_int_equal (code, users[i].role ? 0 : -EACCES);
        assert_int_equal (identity.role, users[i].role);
        assert_string_equal (identity.name, users[i].role ? users[i].name : "");
        assert_int_equal (err.text[0] == '\0', users[i].role != 0);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (claims_survive_their_text),
        cmocka_unit_test (impossible_requests_are_not_signed),
        cmocka_unit_test (other_texts_are_no_claims),
        cmocka_unit_test (a_claim_is_for_one_request),
        cmocka_unit_test (signed_for_one_reader),
        cmocka_unit_test (errors_have_sentences),
        cmocka_unit_test (claims_are_remembered_long_enough),
        cmocka_unit_test (many_claims_are_remembered),
        cmocka_unit_test (the_worker_finds_the_user),
        cmocka_unit_test (a_frozen_munged_delays_nobody_twice),
        cmocka_unit_test (sources_take_turns),
        cmocka_unit_test (a_failing_name_service_concerns_one_user),
        cmocka_unit_test (a_hanging_name_service_concerns_new_users),
        cmocka_unit_test (an_old_name_is_better_than_none),
        cmocka_unit_test (a_user_who_is_missing_for_a_moment_is_served),
        cmocka_unit_test (a_name_of_two_users_is_not_used),
        cmocka_unit_test (a_worker_ends_with_work_left),
        cmocka_unit_test (signed_soon_or_not_at_all),
        cmocka_unit_test (users_have_roles),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
