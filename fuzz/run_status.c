/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the documents of a run; the first byte selects which.  A refusal has a message; an
 * accepted document is the same after encoding and decoding.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/run_news.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (bool holds)
{
    if (!holds)
        abort ();
}

static void refused (int code, const struct pollux_error *err)
{
    must (code == -EINVAL || code == -EPROTO || code == -EFBIG);
    must (strncmp (err->text, "fuzz:", 5) == 0 || strncmp (err->text, "message:", 8) == 0);
}

static void try_status (const char *text, size_t length)
{
    struct run_status status, back;
    struct pollux_error err = {.text = ""};
    char *again;
    int code = run_status_decode ("fuzz", text, length, &status, &err);
    if (code < 0) {
        refused (code, &err);
        return;
    }
    must (run_status_encode (&status, &again, &length, &err) == 0);
    must (run_status_decode ("fuzz", again, length, &back, &err) == 0);
    must (strcmp (status.why, back.why) == 0 && status.at_us == back.at_us);
    must (run_status_code (&status) == run_status_code (&back) && run_status_code (&status) >= 0);
    free (again);
}

static void try_info (const char *text, size_t length)
{
    static struct run_info info, back;
    struct pollux_error err = {.text = ""};
    char *again;
    int code = run_info_decode ("fuzz", text, length, &info, &err);
    if (code < 0) {
        refused (code, &err);
        return;
    }
    must (run_info_encode (&info, &again, &length, &err) == 0);
    must (run_info_decode ("fuzz", again, length, &back, &err) == 0);
    must (memcmp (&info, &back, sizeof (info)) == 0);
    free (again);
}

static void try_news (const char *text, size_t length)
{
    struct run_news news, back;
    struct pollux_error err = {.text = ""};
    char *again;
    int code = run_news_decode ("fuzz", text, length, &news, &err);
    if (code < 0) {
        refused (code, &err);
        return;
    }
    must (news.generation > 0 && news.rank >= 0);
    must (run_news_encode (&news, &again, &length, &err) == 0);
    must (run_news_decode ("fuzz", again, length, &back, &err) == 0);
    must (news.rank == back.rank && news.ended == back.ended);
    must (!news.ended || strcmp (news.status.why, back.status.why) == 0);
    free (again);
}

static void try_replica (const char *text, size_t length)
{
    struct run_process replica;
    struct pollux_error err = {.text = ""};
    int code = run_replica_decode ("fuzz", text, length, &replica, &err);
    if (code < 0)
        refused (code, &err);
    else
        must (replica.pid > 0);
}

static void try_description (const char *text, size_t length)
{
    struct run_description *description, *back;
    struct pollux_error err = {.text = ""};
    char *again, *third;
    size_t third_length;
    int code = run_description_decode ("fuzz", text, length, &description, &err);
    if (code < 0) {
        refused (code, &err);
        return;
    }
    must (description->command[0] != NULL && description->directory[0] == '/');
    must (run_description_encode (description, &again, &length, &err) == 0);
    must (run_description_decode ("fuzz", again, length, &back, &err) == 0);
    must (run_description_encode (back, &third, &third_length, &err) == 0);
    must (strcmp (again, third) == 0);
    free (again);
    free (third);
    run_description_free (description);
    run_description_free (back);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct pollux_error err = {.text = ""};
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    switch (data[0] % 6) {
    case 0:
        try_status (text, size - 1);
        break;
    case 1:
        try_info (text, size - 1);
        break;
    case 2:
        try_replica (text, size - 1);
        break;
    case 3:
        try_description (text, size - 1);
        break;
    case 4:
        try_news (text, size - 1);
        break;
    default:
        if (run_message_check (text, size - 1, &err) < 0)
            refused (-EINVAL, &err);
    }
    return 0;
}
