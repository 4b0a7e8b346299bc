/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what the root process and polluxd receive from each other; the first byte selects
 * which.  A refusal of a request has a sentence; an accepted message is the same after encoding.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/slurm/owner_message.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (bool holds)
{
    if (!holds)
        abort ();
}

static void try_request (const uint8_t *data, size_t size)
{
    static struct owner_request request;
    static uint8_t again[OWNER_MESSAGE_LIMIT];
    struct pollux_error err = {.text = ""};
    uint64_t number;
    int code = owner_request_decode (data, size, &request, &err);
    if (code < 0) {
        must (code == -EINVAL && err.text[0]);
        return;
    }
    must (owner_request_peek (data, size, &number) == 0 && number == request.number);
    must (owner_name_is_valid (request.owner) && !strchr (request.file, '/'));
    must (owner_request_encode (&request, again, &err) == (int)size);
    must (memcmp (data, again, size) == 0);
}

static void try_answer (const uint8_t *data, size_t size)
{
    static struct owner_answer answer;
    static uint8_t again[OWNER_MESSAGE_LIMIT];
    struct owner_account account;
    if (owner_answer_decode (data, size, &answer, NULL) < 0)
        return;
    must (owner_answer_encode (&answer, again, NULL) == (int)size);
    must (memcmp (data, again, size) == 0);
    if (owner_account_decode (answer.output, &account) == 0) {
        static char text[OWNER_OUTPUT_SIZE];
        must (owner_account_encode (&account, text) == 0);
    }
}

static void try_payload (const uint8_t *data, size_t size)
{
    struct owner_file file;
    size_t at = 0;
    unsigned sum = 0;
    while (owner_payload_next (data, size, &at, &file, NULL) == 1) {
        must (at <= size && !strchr (file.name, '/') && file.name[0] != '.');
        for (size_t i = 0; i < file.length; i++)
            sum += (unsigned char)file.text[i];
    }
    must (at <= size && sum < UINT32_MAX);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    switch (data[0] % 3) {
    case 0:
        try_request (data + 1, size - 1);
        break;
    case 1:
        try_answer (data + 1, size - 1);
        break;
    default:
        try_payload (data + 1, size - 1);
    }
    return 0;
}
