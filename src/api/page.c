/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of polluxd (GET / and /assets/...).  The assembler puts the files that tools/page has made into the
 * program, so it needs no folder of files at run time.  page_built.h, from tools/page, says whether there are
 * any.
 *
 * The page has no secret in it and needs no token: it asks the user for one, and sends it with its requests to
 * /v1/.  The Content-Security-Policy permits scripts, styles and requests of this server only, so text of
 * a job that reaches the page as HTML by mistake can neither run nor send anything.
 */
#include "api/page.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/api_private.h"
#include <page_built.h> /* made by tools/page */

/* The largest file when decompressed: the page's script has less than a tenth of it. */
enum { FILE_LIMIT = 4 << 20 };

#if PAGE_BUILT

/* Each in a section of its own: the linker leaves out the report where it is not used. */
#define EMBED(name, file)                                                                          \
    __asm__(".section .rodata." #name ",\"a\"\n"                                                   \
            ".global " #name "\n.hidden " #name "\n" #name ":\n"                                   \
            ".incbin \"" PAGE_FOLDER "/" file "\"\n"                                               \
            ".global " #name "_end\n.hidden " #name "_end\n" #name "_end:\n"                       \
            ".byte 0\n"                                                                            \
            ".text\n");                                                                            \
    extern const unsigned char name[] __attribute__ ((visibility ("hidden")));                     \
    extern const unsigned char name##_end[] __attribute__ ((visibility ("hidden")))

EMBED (page_index_html, "index.html.gz");
EMBED (page_page_js, "page.js.gz");
EMBED (page_page_css, "page.css.gz");
EMBED (page_favicon_svg, "favicon.svg.gz");
EMBED (page_report_html, "report.html");

bool page_find (const char *path, struct page_file *ret)
{
    static const struct {
        const char *path, *type;
        const unsigned char *bytes, *end;
    } files[] = {
        {"/", "text/html; charset=utf-8", page_index_html, page_index_html_end},
        {"/assets/page.js", "text/javascript; charset=utf-8", page_page_js, page_page_js_end},
        {"/assets/page.css", "text/css; charset=utf-8", page_page_css, page_page_css_end},
        {"/assets/favicon.svg", "image/svg+xml", page_favicon_svg, page_favicon_svg_end},
    };
    for (size_t i = 0; i < sizeof (files) / sizeof (files[0]); i++)
        if (strcmp (path, files[i].path) == 0) {
            *ret = (struct page_file){files[i].path, files[i].type, files[i].bytes,
                                      (size_t)(files[i].end - files[i].bytes)};
            return true;
        }
    return false;
}

const char *page_report (size_t *ret_length)
{
    *ret_length = (size_t)(page_report_html_end - page_report_html);
    return (const char *)page_report_html;
}

#else

bool page_find (const char *path, struct page_file *ret)
{
    (void)path;
    (void)ret;
    return false;
}

const char *page_report (size_t *ret_length)
{
    *ret_length = 0;
    return NULL;
}

#endif

bool page_is_built (void)
{
    return PAGE_BUILT;
}

/* A gzip file ends with the CRC-32 and the length of its text, 4 bytes each, lowest first. */
struct page_tag page_tag (const struct page_file *file)
{
    struct page_tag tag;
    uint32_t numbers[2] = {0};
    for (int i = 7; i >= 0 && file->length >= 8; i--)
        numbers[i / 4] = numbers[i / 4] << 8 | file->bytes[file->length - 8 + (size_t)i];
    snprintf (tag.text, sizeof (tag.text), "\"%08x-%x\"", (unsigned)numbers[0],
              (unsigned)numbers[1]);
    return tag;
}

void api_page (struct api *api, struct http_request *request)
{
    struct page_file file;
    if (!page_is_built ()) {
        api_refuse (api, request, 404,
                    "this program was built without its page, because npm was missing; "
                    "pollux top shows the same in a terminal");
        return;
    }
    if (!page_find (http_path (request), &file)) {
        api_refuse (api, request, 404, "there is nothing at %s", http_path (request));
        return;
    }
    char weak[40];
    struct page_tag tag = page_tag (&file);
    /* Weak: the same for the compressed and the plain text. */
    snprintf (weak, sizeof (weak), "W/%s", tag.text);
    http_answer_header (request, "ETag", weak);
    http_answer_header (request, "Cache-Control", "no-cache");
    http_answer_header (request, "Referrer-Policy", "no-referrer");
    http_answer_header (
        request, "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    if (http_has_version (request, tag.text)) {
        api->status = 304;
        http_answer (request, 304, NULL, NULL, 0);
        return;
    }
    api->status = 200;
    http_answer_gzip (request, 200, file.type, file.bytes, file.length, FILE_LIMIT);
}

void api_asset (struct api *api, struct http_request *request)
{
    api_page (api, request);
}
