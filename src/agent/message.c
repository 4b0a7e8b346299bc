/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent's report as text.  The library has no JSON library, and needs none for one flat object of
 * numbers.  What the reader would refuse (ranges of docs/formats.md) is left out or brought into
 * range here, so that one strange number does not silence a job.
 */
#include "agent/message.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static const double progress_most = 1e18, grad_most = 1e300, time_most = 1e12, gamma_most = 1000;

/* Text that grows up to a limit; one that did not fit is no text. */
struct text {
    char *at;
    size_t length, size;
    bool full;
};

static void say (struct text *text, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
static void say (struct text *text, const char *format, ...)
{
    va_list arguments;
    size_t room = text->size - text->length;
    va_start (arguments, format);
    int length = vsnprintf (text->at + text->length, room, format, arguments);
    va_end (arguments);
    if (text->full || length < 0 || (size_t)length >= room)
        text->full = true;
    else
        text->length += (size_t)length;
}

static void say_integer (struct text *text, const char *name, int64_t value)
{
    say (text, ", \"%s\": %lld", name, (long long)value);
}

/* 17 digits come back bit by bit.  A locale may have another decimal point, of several bytes:
 * whatever is none of a number's other characters is the point. */
static void say_value (struct text *text, double value)
{
    char digits[64];
    snprintf (digits, sizeof (digits), "%.17g", value);
    bool point = false;
    for (const char *at = digits; *at; at++) {
        bool plain = (*at >= '0' && *at <= '9') || *at == 'e' || *at == '+' || *at == '-';
        if (plain)
            say (text, "%c", *at);
        else if (!point)
            say (text, ".");
        point = !plain;
    }
}

static void say_number (struct text *text, const char *name, double value)
{
    say (text, ", \"%s\": ", name);
    say_value (text, value);
}

static bool is_sayable (const struct pollux_model *model)
{
    const double times_s[] = {model->alpha_grad, model->beta_grad,   model->alpha_node,
                              model->beta_node,  model->alpha_local, model->beta_local};
    for (size_t i = 0; i < sizeof (times_s) / sizeof (times_s[0]); i++)
        if (!(times_s[i] >= 0 && times_s[i] <= time_most))
            return false;
    return model->alpha_grad + model->beta_grad > 0 && model->gamma >= 1 &&
           model->gamma <= gamma_most;
}

static void say_model (struct text *text, const struct pollux_model *model, struct pollux_grad grad)
{
    const struct {
        const char *name;
        double value;
    } rest[] = {{"beta_grad", model->beta_grad},   {"alpha_node", model->alpha_node},
                {"beta_node", model->beta_node},   {"alpha_local", model->alpha_local},
                {"beta_local", model->beta_local}, {"gamma", model->gamma}};
    say (text, ", \"model\": {\"alpha_grad\": ");
    say_value (text, model->alpha_grad);
    for (size_t i = 0; i < sizeof (rest) / sizeof (rest[0]); i++)
        say_number (text, rest[i].name, rest[i].value);
    say (text, "}, \"grad\": {\"sqr\": ");
    say_value (text, grad.sqr);
    say_number (text, "var", grad.var);
    say (text, "}");
}

/* Only the ratio of the statistics matters to anybody. */
static struct pollux_grad into_range (struct pollux_grad grad)
{
    double most = fmax (grad.sqr, grad.var);
    if (most > grad_most) {
        grad.sqr = grad.sqr / most * grad_most;
        grad.var = grad.var / most * grad_most;
    }
    return grad;
}

size_t message_write (const struct message *message, char ret[MESSAGE_SIZE])
{
    struct text text = {.at = ret, .size = MESSAGE_SIZE};
    const struct pollux_limits *limits = &message->limits;
    struct pollux_grad grad = message->grad;
    bool known = message->model && is_sayable (message->model) && isfinite (grad.sqr) &&
                 isfinite (grad.var) && grad.sqr >= 0 && grad.var >= 0;
    if (message->generation < 1)
        return 0;
    say (&text, "{\"version\": 1, \"generation\": %d", message->generation);
    if (known)
        say_model (&text, message->model, into_range (grad));
    say_integer (&text, "init_batch", limits->init_batch);
    say_integer (&text, "max_batch", limits->max_batch);
    say_integer (&text, "min_local", limits->min_local);
    say_integer (&text, "max_local", limits->max_local);
    say (&text, ", \"accumulation\": %s", limits->accumulation ? "true" : "false");
    say_integer (&text, "max_profiled_replicas", message->max_profiled_replicas);
    if (message->progress >= 0 && message->progress <= progress_most)
        say_number (&text, "progress", message->progress);
    if (message->total > 0 && message->total <= progress_most)
        say_number (&text, "total", message->total);
    if (message->batch.m >= 1 && message->batch.s >= 0) {
        say_integer (&text, "m", message->batch.m);
        say_integer (&text, "s", message->batch.s);
    }
    say (&text, "}");
    return text.full ? 0 : text.length;
}
