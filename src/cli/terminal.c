/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of the output terminal.  Queried once per command; tables and plots get them as a
 * value.
 */
#include "cli/terminal.h"

#include <langinfo.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"

static int columns (int fd)
{
    const char *given = getenv ("COLUMNS");
    int64_t value;
    if (given && number_int64 (given, &value) == 0 && value > 0)
        return value < INT32_MAX ? (int)value : INT32_MAX;
    struct winsize size;
    if (ioctl (fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

static bool says (const char *name, const char *value)
{
    const char *is = getenv (name);
    return is && (value ? strcmp (is, value) == 0 : *is != '\0');
}

struct terminal terminal_of (FILE *stream)
{
    int fd = fileno (stream), width = columns (fd);
    return (struct terminal){
        .width = width < 40    ? 40
                 : width > 200 ? 200
                               : width,
        .unicode = strcmp (nl_langinfo (CODESET), "UTF-8") == 0,
        .colour = isatty (fd) && !says ("NO_COLOR", NULL) && !says ("TERM", "dumb"),
    };
}
