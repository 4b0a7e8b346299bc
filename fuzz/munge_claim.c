/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the text of a munge credential.  An accepted claim is bounded, and written again it is the same text.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "munge/claim.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (int holds)
{
    if (!holds)
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct munge_claim claim, again;
    struct pollux_error err = {.text = ""};
    char text[MUNGE_CLAIM_SIZE];
    int code = munge_claim_parse ((const char *)data, size, &claim, &err);
    if (code < 0) {
        must (code == -EACCES && err.text[0] != '\0');
        return 0;
    }
    must (claim.target[0] == '/' && strlen (claim.nonce) + 1 == sizeof (claim.nonce));
    must (claim.time_s >= 0 && claim.time_s < 10000000000000);
    size_t length = munge_claim_format (&claim, text);
    must (length < sizeof (text) && length <= size); /* leading zeros of the time are dropped */
    must (munge_claim_parse (text, length, &again, NULL) == 0);
    must (strcmp (claim.target, again.target) == 0 && claim.time_s == again.time_s);
    must (munge_claim_check (&claim, claim.method, claim.target, data, size, claim.time_s, &err) ==
          -EACCES); /* no text has its own hash in it */
    return 0;
}
