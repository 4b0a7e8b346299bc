/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_REPORT_FILE_H
#define CLI_REPORT_FILE_H

#include <stdio.h>

#include "recorded/outcome.h"

/* Outcomes side by side.  A chart of more is not readable; a report of them is some tens of megabytes.
 */
enum { REPORT_OUTCOMES = 256 };

/* Write outcomes as one HTML file that needs nothing else; "-": to out.  command: that writes it.
 * -ENOTSUP: this program was built without the page. */
int report_write (const struct outcome *outcomes, int count, const char *command, const char *path,
                  FILE *out, struct pollux_error *err);

/* 0 if a report of so many outcomes can be written, for a check before a long run.  -ENOTSUP; -E2BIG.
 */
int report_check (int count, struct pollux_error *err);

#endif
