/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in profiles: the text of profiles.json, put into the program by the assembler.  It
 * was made from the published traces, and is made again, by
 *     pollux profiles --traces DIR > src/sim/profiles.json
 */
#include "sim/profile.h"

__asm__(".section .rodata\n"
        "builtin_profiles_text:\n"
        ".incbin \"src/sim/profiles.json\"\n"
        ".byte 0\n"
        ".text\n");

/* Hidden: found relative to the code, in a shared object too. */
extern const char builtin_profiles_text[] __attribute__ ((visibility ("hidden")));

const char *builtin_profiles (void)
{
    return builtin_profiles_text;
}
