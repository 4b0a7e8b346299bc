/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of polluxd and the template of reports, which the build puts into the programs (tools/page).  A
 * program that was built without npm has neither.
 */
#ifndef API_PAGE_H
#define API_PAGE_H

#include <stdbool.h>
#include <stddef.h>

/* A file of the page, compressed by gzip. */
struct page_file {
    const char *path; /* "/", "/assets/page.js" */
    const char *type; /* its Content-Type */
    const unsigned char *bytes;
    size_t length;
};

/* Was the program built with the page? */
bool page_is_built (void);

/* The file of this path in *ret; false: there is none. */
bool page_find (const char *path, struct page_file *ret);

/* A tag that changes with the file's text: "\"0123abcd-1234\"". */
struct page_tag {
    char text[32];
};
struct page_tag page_tag (const struct page_file *file);

/* The text of report.html, with its length and a NUL behind it; NULL: the program was built without it. */
const char *page_report (size_t *ret_length);

#endif
