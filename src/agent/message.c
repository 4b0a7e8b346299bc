/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write an agent's report as JSON.  A small object of numbers needs no JSON library.  Numbers that
 * the reader would refuse (model/ranges.h) are left out or scaled into range: otherwise one bad
 * number would make the reader refuse the whole report.
 */
#include "agent/message.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "model/ranges.h"

/* Text in a buffer of fixed size; full: something did not fit, the text is not used. */
struct text {
    char *at;
    size_t length, size;
    bool full;
};

static void put (struct text *text, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
static void put (struct text *text, const char *format, ...)
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

static void put_integer (struct text *text, const char *name, int64_t value)
{
    put (text, ", \"%s\": %lld", name, (long long)value);
}

/* The decimal point of a locale may be another character of several bytes: everything except digits, e, + and
 * - is replaced by one point. */
static void put_digits (struct text *text, int count, double value)
{
    char digits[64];
    snprintf (digits, sizeof (digits), "%.*g", count, value);
    bool point = false;
    for (const char *at = digits; *at; at++) {
        bool plain = (*at >= '0' && *at <= '9') || *at == 'e' || *at == '+' || *at == '-';
        if (plain)
            put (text, "%c", *at);
        else if (!point)
            put (text, ".");
        point = !plain;
    }
}

/* 17 digits restore every bit. */
static void put_value (struct text *text, double value)
{
    put_digits (text, 17, value);
}

/* A number that is only shown. */
static void put_short (struct text *text, const char *name, double value)
{
    put (text, ", \"%s\": ", name);
    put_digits (text, 6, value);
}

static void put_number (struct text *text, const char *name, double value)
{
    put (text, ", \"%s\": ", name);
    put_value (text, value);
}

static void put_model (struct text *text, const struct pollux_model *model)
{
    const struct {
        const char *name;
        double value;
    } others[] = {{"beta_grad", model->beta_grad},   {"alpha_node", model->alpha_node},
                  {"beta_node", model->beta_node},   {"alpha_local", model->alpha_local},
                  {"beta_local", model->beta_local}, {"gamma", model->gamma}};
    put (text, "\"model\": {\"alpha_grad\": ");
    put_value (text, model->alpha_grad);
    for (size_t i = 0; i < sizeof (others) / sizeof (others[0]); i++)
        put_number (text, others[i].name, others[i].value);
    put (text, "}");
}

static void put_grad (struct text *text, struct pollux_grad grad)
{
    put (text, ", \"grad\": {\"sqr\": ");
    put_value (text, grad.sqr);
    put_number (text, "var", grad.var);
    put (text, "}");
    if (grad.gain_max >= 1 && grad.gain_max <= MODEL_GAIN_LIMIT)
        put_number (text, "gain_max", grad.gain_max);
}

/* A type whose largest local batch is below the smallest one of this run, as after a change of the program, would make
 * the reader refuse the whole report. */
static bool is_known (const struct type_profile *item, int64_t min_local)
{
    return item->fitted && model_in_range (&item->model, item->max_local) &&
           item->max_local >= min_local;
}

/* The models of the types after `first`. */
static void put_other_models (struct text *text, const struct type_profiles *types, int first,
                              int64_t min_local)
{
    int count = 0;
    for (int i = first + 1; i < types->count; i++) {
        const struct type_profile *item = &types->items[i];
        if (!is_known (item, min_local))
            continue;
        put (text, "%s{\"type\": \"%s\", ", count++ == 0 ? ", \"models\": [" : ", ", item->type);
        put_model (text, &item->model);
        put_integer (text, "max_local", item->max_local);
        put_integer (text, "max_profiled_replicas", item->profile.max_replicas);
        put (text, "}");
    }
    if (count > 0)
        put (text, "]");
}

/* Scale both statistics down: only their ratio is used. */
static struct pollux_grad into_range (struct pollux_grad grad)
{
    double most = fmax (grad.sqr, grad.var);
    if (most > MODEL_GRAD_LIMIT) {
        grad.sqr = grad.sqr / most * MODEL_GRAD_LIMIT;
        grad.var = grad.var / most * MODEL_GRAD_LIMIT;
    }
    return grad;
}

/* The type whose model the report puts first: the present one, or as long as that has no model, the one that
 * the job was on last. */
static int first_type (const struct type_profiles *types, int64_t min_local)
{
    for (int i = 0; i < types->count; i++)
        if (is_known (&types->items[i], min_local))
            return i;
    return 0;
}

size_t message_write (const struct message *message, char ret[MESSAGE_SIZE])
{
    struct text text = {.at = ret, .size = MESSAGE_SIZE};
    const struct pollux_limits *limits = &message->limits;
    struct pollux_grad grad = message->grad;
    int first = first_type (message->types, limits->min_local);
    const struct type_profile *item = &message->types->items[first];
    bool known = is_known (item, limits->min_local) && isfinite (grad.sqr) && isfinite (grad.var) &&
                 grad.sqr >= 0 && grad.var >= 0;
    if (message->generation < 1)
        return 0;
    put (&text, "{\"version\": 1, \"generation\": %d", message->generation);
    if (item->type[0])
        put (&text, ", \"type\": \"%s\"", item->type);
    if (known) {
        put (&text, ", ");
        put_model (&text, &item->model);
        put_grad (&text, into_range (grad));
        put_other_models (&text, message->types, first, limits->min_local);
    }
    put_integer (&text, "init_batch", limits->init_batch);
    put_integer (&text, "max_batch", limits->max_batch);
    put_integer (&text, "min_local", limits->min_local);
    put_integer (&text, "max_local", first == 0 ? limits->max_local : item->max_local);
    put (&text, ", \"accumulation\": %s", limits->accumulation ? "true" : "false");
    put_integer (&text, "max_profiled_replicas", item->profile.max_replicas);
    if (message->progress >= 0 && message->progress <= MODEL_PROGRESS_LIMIT)
        put_number (&text, "progress", message->progress);
    if (message->total > 0 && message->total <= MODEL_PROGRESS_LIMIT)
        put_number (&text, "total", message->total);
    if (message->batch.m >= 1 && message->batch.s >= 0) {
        put_integer (&text, "m", message->batch.m);
        put_integer (&text, "s", message->batch.s);
    }
    if (message->step_s > 0 && message->step_s <= MODEL_TIME_LIMIT)
        put_short (&text, "step_s", message->step_s);
    if (message->rate_factor >= 0 && message->rate_factor <= MODEL_GAIN_LIMIT)
        put_short (&text, "rate_factor", message->rate_factor);
    put (&text, "}");
    return text.full ? 0 : text.length;
}
