/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents: JSON, or the subset of YAML that has the same values (wire/yaml.h).  Once read they
 * are the same to all readers; wire/json.h has the getters.
 */
#ifndef WIRE_DOCUMENT_H
#define WIRE_DOCUMENT_H

#include <stddef.h>

#include "pollux/pollux.h"
#include "wire/diagnostics.h"

/* A document and its text.  Constant once made. */
struct wire_document;

enum wire_syntax { WIRE_JSON, WIRE_YAML };

/* By the end of a path: JSON for ".json", YAML for all others. */
enum wire_syntax wire_syntax_of_path (const char *path);

/* Read a file of at most limit bytes ("-" is the standard input), or text from memory, which is
 * copied; name stands for the file in messages.  A byte-order mark is skipped; an object with
 * the same key twice is refused.  On success *ret belongs to the caller (wire_document_free).
 * On failure *ret is untouched: -EINVAL for what it says, -EFBIG for its size, -ENOMEM, or the
 * errno value of open(2) and read(2).
 *
 * problems, which may be NULL, must outlive the document: all that is refused in it, now or by a
 * getter later, is added to them. */
int wire_document_open (const char *path, size_t limit, enum wire_syntax syntax,
                        struct wire_diagnostics *problems, struct wire_document **ret,
                        struct pollux_error *err);
int wire_document_open_text (const char *name, const char *text, size_t length, size_t limit,
                             enum wire_syntax syntax, struct wire_diagnostics *problems,
                             struct wire_document **ret, struct pollux_error *err);
void wire_document_free (struct wire_document *document);

/* The same for JSON and one sentence. */
int wire_document_read (const char *path, size_t limit, struct wire_document **ret,
                        struct pollux_error *err);
int wire_document_parse (const char *name, const char *text, size_t length, size_t limit,
                         struct wire_document **ret, struct pollux_error *err);

#endif
