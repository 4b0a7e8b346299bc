/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon tells its operator: one line per message, a sentence and named values.
 *
 *     say (logger, LOG_INFO, "job started", LOG_TEXT ("job", "resnet"), LOG_INT ("generation", 3));
 *
 *     2026-11-15T09:30:00.125Z info job started job=resnet generation=3
 *
 * On journald's stream the line starts with its priority instead of the time.  LOG_JSON writes the
 * same as an object per line.
 */
#ifndef DAEMON_LOGGER_H
#define DAEMON_LOGGER_H

#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
enum { LOG_LEVELS = LOG_DEBUG + 1 };
extern const char *const log_level_names[LOG_LEVELS];

enum log_format { LOG_PLAIN, LOG_JOURNALD, LOG_JSON };

struct logger {
    int fd;
    enum log_level level; /* and all that are graver */
    enum log_format format;
};

/* Standard error, in journald's format if that is where it ends. */
struct logger logger_stderr (enum log_level level);

/* A named value: a text, or with none a number. */
struct log_field {
    const char *name, *text;
    double number;
};
#define LOG_TEXT(key, value)                                                                       \
    {                                                                                              \
        .name = (key), .text = (value)                                                             \
    }
#define LOG_INT(key, value)                                                                        \
    {                                                                                              \
        .name = (key), .number = (double)(value)                                                   \
    }
#define LOG_NUMBER(key, value)                                                                     \
    {                                                                                              \
        .name = (key), .number = (value)                                                           \
    }

/* Write the line whole or not at all; nobody waits for a reader that does not read. */
void logger_write (const struct logger *logger, enum log_level level, const char *message,
                   const struct log_field *fields, int count);

/* With at least one field. */
#define say(logger, level, message, ...)                                                           \
    logger_write (                                                                                 \
        (logger), (level), (message), (const struct log_field[]){__VA_ARGS__},                     \
        (int)(sizeof ((const struct log_field[]){__VA_ARGS__}) / sizeof (struct log_field)))

#endif
