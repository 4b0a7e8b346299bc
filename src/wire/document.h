/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents in JSON, or in the subset of YAML that has the same values (wire/yaml.h).  Readers use
 * the getters of wire/json.h and do not depend on the syntax.
 */
#ifndef WIRE_DOCUMENT_H
#define WIRE_DOCUMENT_H

#include <stddef.h>

#include "pollux/pollux.h"
#include "wire/diagnostics.h"

/* A document and its text.  It does not change. */
struct wire_document;

enum wire_syntax { WIRE_JSON, WIRE_YAML };

/* JSON for paths that end in ".json", YAML for all others. */
enum wire_syntax wire_syntax_of_path (const char *path);

/* Read a file of at most limit bytes ("-" is the standard input), or text from memory, which is
 * copied; messages use name in place of the path.  A byte-order mark is skipped; an object with
 * the same key twice is refused.  On success the caller owns *ret (wire_document_free).
 * Failures: -EINVAL for the contents, -EFBIG for the size, -ENOMEM, or the error of open(2) or
 * read(2).
 *
 * diagnostics may be NULL; otherwise they must outlive the document: every refusal, now or by a
 * getter later, is added to them. */
int wire_document_open (const char *path, size_t limit, enum wire_syntax syntax,
                        struct wire_diagnostics *diagnostics, struct wire_document **ret,
                        struct pollux_error *err);
int wire_document_open_text (const char *name, const char *text, size_t length, size_t limit,
                             enum wire_syntax syntax, struct wire_diagnostics *diagnostics,
                             struct wire_document **ret, struct pollux_error *err);
void wire_document_free (struct wire_document *document);

/* The same for JSON, without diagnostics: the first error only. */
int wire_document_read (const char *path, size_t limit, struct wire_document **ret,
                        struct pollux_error *err);
int wire_document_parse (const char *name, const char *text, size_t length, size_t limit,
                         struct wire_document **ret, struct pollux_error *err);

struct wire_place;
/* Parse text as JSON and decode it; the document is freed.  decode gets its root, and writes to ret. */
int wire_document_decode (const char *name, const char *text, size_t length, size_t limit,
                          int (*decode) (const struct wire_place *root, void *ret,
                                         struct pollux_error *err),
                          void *ret, struct pollux_error *err);

#endif
