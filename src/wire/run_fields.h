/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that the documents of a run share; for run.c, run_description.c and run_news.c. */
#ifndef WIRE_RUN_FIELDS_H
#define WIRE_RUN_FIELDS_H

#include "wire/json.h"
#include "wire/run.h"

/* 0 if the root is an object of a supported version. */
int run_version_decode (const struct wire_place *root, struct pollux_error *err);

/* A text of at most size - 1 bytes.  optional: it may be absent or empty, which gives "". */
int run_text_decode (const struct wire_place *object, const char *key, bool optional, char *ret,
                     size_t size, struct pollux_error *err);
/* NULL and "" are not written. */
int run_text_put (json_t *object, const char *key, const char *text, struct pollux_error *err);

/* Numbers from 0 to limit - 1; an absent list is empty. */
int run_list_decode (const struct wire_place *object, const char *key, int limit,
                     struct run_list *ret, struct pollux_error *err);
int run_list_put (json_t *object, const char *key, const int *items, int count,
                  struct pollux_error *err);

/* A status within another document.  On success *ret of run_status_object belongs to the caller. */
int run_status_fields (const struct wire_place *object, struct run_status *ret,
                       struct pollux_error *err);
int run_status_object (const struct run_status *status, json_t **ret, struct pollux_error *err);

/* A new object with the version. */
int run_object_new (json_t **ret, struct pollux_error *err);
/* Encode the object if code is 0, and free it in any case.  Returns code, or the failure. */
int run_object_text (json_t *object, int code, size_t limit, char **ret, size_t *ret_length,
                     struct pollux_error *err);

#endif
