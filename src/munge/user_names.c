/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One lookup at a time, in a structure that caller and thread share:
 *
 *     IDLE --caller: uid--> ASKED --thread: ask--> DONE --caller: takes it--> IDLE
 *
 * If the caller does not wait any longer it stays ASKED.  The answer is taken with the next call.
 */
#include "munge/user_names.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/thread.h"

enum {
    NAMES = 256,            /* users in the cache; one place per uid modulo this */
    FRESH_S = 60,           /* how long a name is used without another lookup */
    KEPT_S = 3600,          /* how long it is used if there is no answer */
    GONE_S = 300,           /* how long it is used if the answer is that there is no such user */
    PASSWD_BYTES = 1 << 16, /* of one line of the user database */
};

struct name {
    uid_t uid;
    int64_t at_s; /* of the answer; 0: unused */
    char text[USER_NAME_SIZE];
};

struct answer {
    int code;                  /* 0 or an errno value: the user database did not answer */
    bool valid;                /* there is a usable name */
    bool mixed;                /* there is one, but by this name another user is found */
    char text[USER_NAME_SIZE]; /* the name, if valid or mixed */
};

enum lookup_state { LOOKUP_IDLE, LOOKUP_ASKED, LOOKUP_DONE };

struct user_names {
    struct name names[NAMES]; /* the caller's */
    bool started;
    pthread_t thread;
    pthread_mutex_t lock; /* protects the rest */
    pthread_cond_t changed;
    enum lookup_state state;
    bool busy; /* the thread is in a lookup */
    bool ending;
    uid_t uid;
    struct answer answer;
};

/* ---- The thread ----------------------------------------------------------------------------- */

/* Names become owners of jobs and words in messages: one printable word. */
static bool is_name (const char *text)
{
    size_t length = 0;
    for (; text[length] != '\0'; length++)
        if (text[length] <= ' ' || text[length] > '~')
            return false;
    return length > 0 && length < USER_NAME_SIZE;
}

/* Ask the user database: the name of the uid, and the uid of that name, by which jobs of this user are run.  They
 * differ if two databases have the same name. */
static struct answer ask (uid_t uid)
{
    struct answer answer = {.valid = false};
    struct passwd user, *found = NULL;
    char *memory = malloc (PASSWD_BYTES);
    answer.code = memory ? getpwuid_r (uid, &user, memory, PASSWD_BYTES, &found) : ENOMEM;
    if (found && is_name (found->pw_name)) {
        strcpy (answer.text, found->pw_name);
        answer.code = getpwnam_r (answer.text, &user, memory, PASSWD_BYTES, &found);
        answer.valid = found && found->pw_uid == uid;
        answer.mixed = found && found->pw_uid != uid;
    }
    free (memory);
    return answer;
}

static void destroy (struct user_names *names)
{
    pthread_cond_destroy (&names->changed);
    pthread_mutex_destroy (&names->lock);
    free (names);
}

static void *work (void *self)
{
    struct user_names *names = self;
    pthread_mutex_lock (&names->lock);
    for (;;) {
        while (names->state != LOOKUP_ASKED && !names->ending)
            pthread_cond_wait (&names->changed, &names->lock);
        if (names->ending)
            break;
        uid_t uid = names->uid;
        names->busy = true;
        pthread_mutex_unlock (&names->lock);
        struct answer answer = ask (uid);
        pthread_mutex_lock (&names->lock);
        names->busy = false;
        if (names->ending) { /* user_names_free has not waited */
            pthread_mutex_unlock (&names->lock);
            destroy (names);
            return NULL;
        }
        names->state = LOOKUP_DONE;
        names->answer = answer;
        pthread_cond_signal (&names->changed);
    }
    pthread_mutex_unlock (&names->lock);
    return NULL;
}

/* ---- The caller ----------------------------------------------------------------------------- */

struct user_names *user_names_new (void)
{
    struct user_names *names = calloc (1, sizeof (*names));
    pthread_condattr_t clock;
    if (!names)
        return NULL;
    pthread_condattr_init (&clock);
    pthread_condattr_setclock (&clock, CLOCK_MONOTONIC);
    pthread_cond_init (&names->changed, &clock);
    pthread_condattr_destroy (&clock);
    pthread_mutex_init (&names->lock, NULL);
    return names;
}

void user_names_free (struct user_names *names)
{
    if (!names)
        return;
    if (!names->started ||
        thread_end (names->thread, &names->lock, &names->changed, &names->busy, &names->ending))
        destroy (names);
}

/* Put an answer into the cache; the lock is held.  Returns 0, or why there is no name. */
static int take_answer (struct user_names *names, int64_t now_s, struct pollux_error *err)
{
    struct name *kept = &names->names[names->uid % NAMES];
    const struct answer *answer = &names->answer;
    names->state = LOOKUP_IDLE;
    if (answer->valid) {
        *kept = (struct name){.uid = names->uid, .at_s = now_s};
        memcpy (kept->text, answer->text, sizeof (kept->text));
        return 0;
    }
    if (answer->code != 0)
        return fail (err, -EAGAIN, "the name of uid %u cannot be looked up: %s",
                     (unsigned)names->uid, strerror (answer->code));
    if (answer->mixed) {
        if (kept->uid == names->uid)
            kept->at_s = 0; /* its jobs would run as the other user */
        return fail (err, -EACCES,
                     "uid %u has the name %s, which is also that of another uid on polluxd's "
                     "machine: give the users different names",
                     (unsigned)names->uid, answer->text);
    }
    if (kept->uid == names->uid && now_s >= kept->at_s + GONE_S)
        kept->at_s = 0; /* the user was removed */
    return fail (err, -EACCES,
                 "uid %u has no user name (of 1 to %d printable characters) on polluxd's machine",
                 (unsigned)names->uid, USER_NAME_SIZE - 1);
}

/* Wait for the lookup of a uid.  The lock is held. */
static int look_up (struct user_names *names, uid_t uid, int64_t now_s, struct pollux_error *err)
{
    struct timespec until;
    if (names->state == LOOKUP_DONE) { /* of an earlier call */
        uid_t answered = names->uid;
        int code = take_answer (names, now_s, err);
        if (answered == uid)
            return code;
    }
    if (names->state == LOOKUP_IDLE) {
        names->uid = uid;
        names->state = LOOKUP_ASKED;
        pthread_cond_signal (&names->changed);
        clock_gettime (CLOCK_MONOTONIC, &until);
        until.tv_sec += USER_NAMES_WAIT_MS / 1000;
        while (names->state != LOOKUP_DONE &&
               pthread_cond_timedwait (&names->changed, &names->lock, &until) == 0)
            ;
        if (names->state == LOOKUP_DONE)
            return take_answer (names, now_s, err);
    }
    return fail (err, -EAGAIN,
                 "the name of uid %u is not known: the directory service does not answer",
                 (unsigned)uid);
}

int user_names_find (struct user_names *names, uid_t uid, int64_t now_s, char ret[USER_NAME_SIZE],
                     struct pollux_error *err)
{
    struct name *kept = &names->names[uid % NAMES];
    int code = 0;
    if (kept->uid != uid || kept->at_s == 0 || now_s >= kept->at_s + FRESH_S) {
        names->started = names->started || thread_start (&names->thread, work, names) == 0;
        if (!names->started)
            return fail (err, -EAGAIN, "no thread for the names of users");
        pthread_mutex_lock (&names->lock);
        code = look_up (names, uid, now_s, err);
        pthread_mutex_unlock (&names->lock);
    }
    if (kept->uid == uid && kept->at_s > 0 && now_s < kept->at_s + KEPT_S)
        code = 0; /* take_answer has removed the names of users who are gone */
    if (code == 0)
        memcpy (ret, kept->text, USER_NAME_SIZE);
    return code;
}
