/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's log: one line per message, with named values.
 *
 *     say (logger, LOG_INFO, "job started", LOG_TEXT ("job", "resnet"), LOG_INT ("generation", 3));
 *
 *     2026-11-15T09:30:00.125Z info job started job=resnet generation=3
 *
 * LOG_JOURNALD: the line starts with a syslog priority, <6>, instead of time and level.  LOG_JSON: one
 * object per line.
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
    enum log_level level; /* messages of this level and of more severe ones are written */
    enum log_format format;
};

/* A logger to standard error; in journald's format if standard error is connected to journald. */
struct logger logger_stderr (enum log_level level);

/* A named value: text, or the number if text is NULL. */
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

/* Write one line with one write(2).  Errors are ignored: there is no other place to report them. */
void logger_write (const struct logger *logger, enum log_level level, const char *message,
                   const struct log_field *fields, int count);

/* With at least one field. */
#define say(logger, level, message, ...)                                                           \
    logger_write (                                                                                 \
        (logger), (level), (message), (const struct log_field[]){__VA_ARGS__},                     \
        (int)(sizeof ((const struct log_field[]){__VA_ARGS__}) / sizeof (struct log_field)))

#endif
