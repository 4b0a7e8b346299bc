/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations in words: first what the job has, then what it waits for, what one more and one less
 * would change for it and for the other jobs, then the price and the limits.
 */
#include "policy/explain_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/explain_private.h"

struct duration_text duration_text (double seconds)
{
    struct duration_text ret;
    double minutes = round (seconds / 60);
    if (!(seconds >= 0))
        snprintf (ret.text, sizeof (ret.text), "an unknown time");
    else if (seconds < 99.5)
        snprintf (ret.text, sizeof (ret.text), "%.0f s", seconds);
    else if (minutes < 120)
        snprintf (ret.text, sizeof (ret.text), "%.0f min", minutes);
    else if (minutes < 48 * 60)
        snprintf (ret.text, sizeof (ret.text), "%.0f h %.0f min", floor (minutes / 60),
                  fmod (minutes, 60));
    else
        snprintf (ret.text, sizeof (ret.text), "%.4g days", round (minutes / 1440));
    return ret;
}

struct figure_text {
    char text[32];
};

/* Three digits that count.  An exponent only from 10^15 on: so many digits cannot be read. */
static struct figure_text figure (double value)
{
    struct figure_text ret;
    bool plain = fabs (value) >= 999.5 && fabs (value) < 1e15;
    snprintf (ret.text, sizeof (ret.text), plain ? "%.0f" : "%.3g", value);
    return ret;
}

struct change_text change_text (double factor, int digits)
{
    struct change_text ret = {"-"};
    double percent = 100 * (factor - 1);
    if (factor >= FACTOR_LEAST && isfinite (factor))
        snprintf (ret.text, sizeof (ret.text), "%s times", figure (factor).text);
    else if (fabs (percent) < 0.5 * pow (10, -digits)) /* without a sign, also below 0 */
        snprintf (ret.text, sizeof (ret.text), "%.*f %%", digits, 0.0);
    else if (isfinite (percent))
        snprintf (ret.text, sizeof (ret.text), "%+.*f %%", digits, percent);
    return ret;
}

/* Four digits that count, and no exponent however large it is. */
static int decimals (double rate)
{
    return rate >= 1000 ? 0 : rate >= 100 ? 1 : rate >= 10 ? 2 : 3;
}

/* ---- Sentences ---------------------------------------------------------------------------- */

static void say (struct explain_text *text, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
/* Add words to the current sentence, which follows the finished ones. */
static void say (struct explain_text *text, const char *format, ...)
{
    if (text->count == EXPLAIN_SENTENCES)
        return;
    char *sentence = text->sentences[text->count];
    size_t used = strlen (sentence);
    va_list arguments;
    va_start (arguments, format);
    vsnprintf (sentence + used, EXPLAIN_TEXT_SIZE - used, format, arguments);
    va_end (arguments);
}

static void end_sentence (struct explain_text *text)
{
    if (text->count < EXPLAIN_SENTENCES)
        text->count++;
}

/* "15 % faster", "3.2 times as fast", "as fast as now"; of a factor. */
static void say_factor (struct explain_text *text, double factor)
{
    double percent = 100 * (factor - 1);
    if (factor >= FACTOR_LEAST)
        say (text, "%s times as fast", figure (factor).text);
    else if (percent >= 0.05)
        say (text, "%s %% faster", figure (percent).text);
    else if (percent > -0.05)
        say (text, "as fast as now");
    else
        say (text, "%s %% slower", figure (-percent).text);
}

static void say_current (struct explain_text *text, const struct explanation *all)
{
    const struct explain_point *current = &all->current;
    const char *name = all->job->spec.name;
    if (current->replicas == 0) {
        say (text, "Job %s has no slots now.", name);
        end_sentence (text);
        return;
    }
    say (text, "Job %s has %d replica%s", name, current->replicas,
         explain_plural (current->replicas));
    if (current->goodput > 0) {
        say (text, ": %.*f useful samples per second", decimals (current->goodput),
             current->goodput);
        if (fabs (current->speedup - 1) < 0.005)
            say (text, ", as much as its fair share of %d slot%s would give it", all->fair,
                 explain_plural (all->fair));
        else if (current->speedup > 0)
            say (text, ", %s times what its fair share of %d slot%s would give it",
                 figure (current->speedup).text, all->fair, explain_plural (all->fair));
    }
    say (text, ".");
    end_sentence (text);
}

/* What another count does to the job itself. */
static void say_self (struct explain_text *text, const struct explanation *all,
                      const struct explain_change *change)
{
    if (change->point.replicas == 0) {
        say (text, "With fewer than %d it would have to stop", all->current.replicas);
        return;
    }
    say (text, "With %d replica%s it would train", change->point.replicas,
         explain_plural (change->point.replicas));
    if (!isnan (change->goodput)) {
        say (text, " ");
        say_factor (text, change->goodput);
    } else if (change->point.goodput > 0) {
        say (text, " at %.*f useful samples per second", decimals (change->point.goodput),
             change->point.goodput);
    } else {
        say (text, " at a speed that is not measured yet");
    }
    if (!isnan (change->point.eta_s) && !isnan (all->current.eta_s))
        say (text, " and end in %s instead of %s", duration_text (change->point.eta_s).text,
             duration_text (all->current.eta_s).text);
    else if (!isnan (change->point.eta_s))
        say (text, " and end in %s", duration_text (change->point.eta_s).text);
}

static void say_other (struct explain_text *text, const struct explain_other *other)
{
    say (text, "job %s", other->name);
    if (other->to == 0)
        say (text, " would have to stop");
    else if (other->from == 0)
        say (text, " could start with %d replica%s", other->to, explain_plural (other->to));
    else
        say (text, " would go from %d to %d replica%s", other->from, other->to,
             explain_plural (other->to));
    if (other->to > 0 && !isnan (other->goodput)) {
        say (text, " (");
        say_factor (text, other->goodput);
        say (text, ")");
    }
}

static void say_others (struct explain_text *text, const struct explain_change *change)
{
    enum { LISTED = 3 };
    for (int i = 0; i < change->other_count && i < LISTED; i++) {
        say (text, "%s", i == 0 ? "; " : ", ");
        say_other (text, &change->others[i]);
    }
    if (change->other_count > LISTED)
        say (text, ", and %d jobs more", change->other_count - LISTED);
}

/* What the change does to all jobs together. */
static void say_fitness (struct explain_text *text, const struct explanation *all,
                         const struct explain_change *change)
{
    if (!(all->fitness > 0) || isnan (change->fitness))
        return;
    double factor = change->fitness / all->fitness, percent = 100 * (factor - 1);
    if (factor >= FACTOR_LEAST)
        say (text, "; for all jobs together that is %s times as good, restarts included",
             figure (factor).text);
    else if (fabs (percent) < 0.05)
        say (text, "; for all jobs together that is as good as now");
    else
        say (text, "; for all jobs together that is %s %% %s, restarts included",
             figure (fabs (percent)).text, percent > 0 ? "better" : "worse");
}

/* One more or one less; no_others is said where no other job changes. */
static void say_change (struct explain_text *text, const struct explanation *all,
                        const struct explain_change *change, const char *count,
                        const char *no_others)
{
    if (change->possible) {
        say_self (text, all, change);
        if (change->other_count == 0)
            say (text, "%s", no_others);
        say_others (text, change);
        say_fitness (text, all, change);
        say (text, ".");
    } else {
        say (text, "It cannot have %s: %s.", count, change->why);
    }
    end_sentence (text);
}

/* "1.4 times as fast as", "15 % faster than"; of a factor. */
static void say_comparison (struct explain_text *text, double factor)
{
    double percent = 100 * (factor - 1);
    if (fabs (percent) < 0.05)
        say (text, "as fast as");
    else if (factor >= FACTOR_LEAST)
        say (text, "%s times as fast as", figure (factor).text);
    else
        say (text, "%s %% %s than", figure (fabs (percent)).text,
             percent > 0 ? "faster" : "slower");
}

/* "On 2 a100 it would train 1.4 times as fast as on its 4 t4." */
static void say_type (struct explain_text *text, const struct explanation *all,
                      const struct explain_type *other)
{
    bool same = strcmp (other->type, all->type) == 0; /* other revocations */
    const char *untyped = same ? "slots" : "nodes without a type";
    const char *type = other->type[0] ? other->type : untyped;
    if (!other->known) {
        say (text, "How fast it would be on %s is not known: %s.", type,
             all->has_model ? "no job has reported a model of both types"
                            : "the job has not reported a model yet");
    } else if (other->replicas > 0 && other->goodput > 0) {
        say (text, "On %d %s%s it would train ", other->replicas, type,
             other->revocable ? " of nodes that may be taken back" : "");
        say_comparison (text, other->goodput);
        say (text, " on its %d %s%s%s.", all->current.replicas, all->type[0] ? all->type : untyped,
             all->revocable ? " of nodes that may be taken back" : "",
             other->predicted ? " (predicted)" : "");
    } else {
        return;
    }
    end_sentence (text);
}

static void say_types (struct explain_text *text, const struct explanation *all)
{
    for (int i = 0; i < all->type_count; i++)
        say_type (text, all, &all->types[i]);
    if (all->more_types == 0)
        return;
    say (text, "%d more type%s not compared here.", all->more_types,
         all->more_types == 1 ? " is" : "s are");
    end_sentence (text);
}

static void say_price (struct explain_text *text, const struct round_summary *full)
{
    if (!full)
        return;
    if (isnan (full->price)) {
        say (text, "Policy %s has no price of a slot.", full->policy);
    } else if (!(full->price > 0)) {
        say (text, "Slots were free of charge in the last full round: no job needed more.");
    } else {
        say (text,
             "The price of a slot in the last full round was %s: one slot more would add that "
             "much to the fitness of all jobs",
             figure (full->price).text);
        if (full->fitness > 0)
            say (text, ", which was %s", figure (full->fitness).text);
        say (text, ".");
    }
    end_sentence (text);
}

static void say_waiting (struct explain_text *text, const char *waits)
{
    say (text, "It %s%s.",
         strncmp (waits, "no ", 3) == 0 || strncmp (waits, "too ", 4) == 0 ? "waits: " : "", waits);
    end_sentence (text);
}

static void say_objective (struct explain_text *text, const struct explanation *all)
{
    if (all->has_objective)
        return;
    say (text,
         "Policy %s has no objective: what a change would be worth to all jobs together is not "
         "known.",
         all->policy);
    end_sentence (text);
}

void explain_text_make (const struct explanation *all, const struct round_summary *full,
                        const char *waits, struct explain_text *ret)
{
    memset (ret, 0, sizeof (*ret));
    say_current (ret, all);
    if (waits)
        say_waiting (ret, waits);
    say_change (ret, all, &all->more, "more", "; there are enough free slots");
    if (all->current.replicas > 0)
        say_change (ret, all, &all->less, "fewer",
                    all->has_objective ? "; no other job would gain by it" : "");
    say_types (ret, all);
    say_objective (ret, all);
    say_price (ret, full);
    for (int i = 0; i < all->limit_count; i++) {
        say (ret, "%s", all->limits[i]);
        end_sentence (ret);
    }
}

void explain_text_types (const struct explanation *all, struct explain_text *ret)
{
    memset (ret, 0, sizeof (*ret));
    say_types (ret, all);
}
