/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: recordings of simulations.  A refusal has a reason; an accepted one can be written
 * and read again.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/recording.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (int holds)
{
    if (!holds)
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct recording recording, again;
    struct wire_text_buffer text = {0};
    struct pollux_error err = {""};
    if (wire_recording_decode ((const char *)data, size, "fuzz", &recording, &err) < 0) {
        must (strncmp (err.text, "fuzz:", 5) == 0);
        return 0;
    }
    must (wire_recording_encode (&recording, &text, &err) == 0);
    must (wire_recording_decode (text.text, text.length, "again", &again, &err) == 0);
    must (again.rho_count == recording.rho_count && !again.command == !recording.command);
    for (int i = 0; i < again.rho_count; i++)
        must (again.rhos[i].rho == recording.rhos[i].rho);
    recording_clear (&recording);
    recording_clear (&again);
    wire_text_buffer_clear (&text);
    return 0;
}
