/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report is the template that the build has made of web/src/report.ts, with the data in place of a mark.
 */
#define _GNU_SOURCE /* memmem */
#include "cli/report_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/page.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/text_output.h"

static const char mark[] = "/* DATA */";

int report_check (int count, struct pollux_error *err)
{
    size_t length;
    if (!page_report (&length))
        return fail (err, -ENOTSUP,
                     "this pollux was built without npm and has no reports; install npm "
                     "(tools/setup web) and build it again");
    if (count > REPORT_OUTCOMES)
        return fail (err, -E2BIG, "%d simulations; a report takes at most %d", count,
                     REPORT_OUTCOMES);
    return 0;
}

int report_write (const struct outcome *outcomes, int count, const char *command, const char *path,
                  FILE *out, struct pollux_error *err)
{
    size_t length = 0;
    const char *template = page_report (&length);
    if (!template)
        return report_check (count, err);
    const char *at = memmem (template, length, mark, strlen (mark));
    char *text = outcomes_text (outcomes, count, command, (double)clock_wall_us () * 1e-6);
    int code = at && text ? 0 : fail (err, -ENOMEM, "not enough memory for the report");
    if (code == 0) {
        const char *rest = at + strlen (mark);
        struct text_piece pieces[] = {{template, (size_t)(at - template)},
                                      {text, strlen (text)},
                                      {rest, length - (size_t)(rest - template)}};
        code = output_text_file (pieces, 3, path, out, err);
    }
    free (text);
    return code;
}
