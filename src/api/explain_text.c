/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user is told: first what the job has, then what one more and one less would change, for
 * it and for the others, then the price and the limits, and what it waits for.
 */
#include "api/explain_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* Three digits that count, and no exponent for what is large. */
static struct figure_text figure (double value)
{
    struct figure_text ret;
    snprintf (ret.text, sizeof (ret.text), fabs (value) < 999.5 ? "%.3g" : "%.0f", value);
    return ret;
}

/* Four digits that count, and no exponent however large it is. */
static int decimals (double rate)
{
    return rate >= 1000 ? 0 : rate >= 100 ? 1 : rate >= 10 ? 2 : 3;
}

/* ---- Sentences ---------------------------------------------------------------------------- */

/* One sentence at work, and the array of those that are done. */
struct speech {
    json_t *sentences;
    char text[1024]; /* a few names of 63 bytes and many words; what is longer is cut */
    bool failed;
};

static void say (struct speech *speech, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
static void say (struct speech *speech, const char *format, ...)
{
    size_t used = strlen (speech->text);
    va_list arguments;
    va_start (arguments, format);
    vsnprintf (speech->text + used, sizeof (speech->text) - used, format, arguments);
    va_end (arguments);
}

/* The sentence is complete.  Names in it are UTF-8, and are cut only if all else is long. */
static void stop (struct speech *speech)
{
    json_t *text = json_string (speech->text);
    speech->failed |= json_array_append_new (speech->sentences, text) < 0;
    speech->text[0] = '\0';
}

/* "15 % faster", "3 times as fast", "as fast as now"; of a factor. */
static void say_factor (struct speech *speech, double factor)
{
    double percent = 100 * (factor - 1);
    if (factor >= 3)
        say (speech, "%s times as fast", figure (factor).text);
    else if (percent >= 0.05)
        say (speech, "%s %% faster", figure (percent).text);
    else if (percent > -0.05)
        say (speech, "as fast as now");
    else
        say (speech, "%.3g %% slower", -percent);
}

static void say_current (struct speech *speech, const struct explanation *all)
{
    const struct explain_point *current = &all->current;
    const char *name = all->job->spec.name;
    if (current->replicas == 0) {
        say (speech, "Job %s has no slots now.", name);
        stop (speech);
        return;
    }
    say (speech, "Job %s has %d replica%s", name, current->replicas, plural (current->replicas));
    if (current->goodput > 0) {
        say (speech, ": %.*f useful samples per second", decimals (current->goodput),
             current->goodput);
        if (fabs (current->speedup - 1) < 0.005)
            say (speech, ", as much as its fair share of %d slot%s would give it", all->fair,
                 plural (all->fair));
        else if (current->speedup > 0)
            say (speech, ", %s times what its fair share of %d slot%s would give it",
                 figure (current->speedup).text, all->fair, plural (all->fair));
    }
    say (speech, ".");
    stop (speech);
}

/* What another count does to the job itself. */
static void say_self (struct speech *speech, const struct explanation *all,
                      const struct explain_change *change)
{
    if (change->point.replicas == 0) {
        say (speech, "With fewer than %d it would have to stop", all->current.replicas);
        return;
    }
    say (speech, "With %d replica%s it would train", change->point.replicas,
         plural (change->point.replicas));
    if (!isnan (change->goodput)) {
        say (speech, " ");
        say_factor (speech, change->goodput);
    } else if (change->point.goodput > 0) {
        say (speech, " at %.*f useful samples per second", decimals (change->point.goodput),
             change->point.goodput);
    } else {
        say (speech, " at a speed that nobody knows yet");
    }
    if (!isnan (change->point.eta_s) && !isnan (all->current.eta_s))
        say (speech, " and end in %s instead of %s", duration_text (change->point.eta_s).text,
             duration_text (all->current.eta_s).text);
    else if (!isnan (change->point.eta_s))
        say (speech, " and end in %s", duration_text (change->point.eta_s).text);
}

static void say_other (struct speech *speech, const struct explain_other *other)
{
    say (speech, "job %s", other->name);
    if (other->to == 0)
        say (speech, " would have to stop");
    else if (other->from == 0)
        say (speech, " could start with %d replica%s", other->to, plural (other->to));
    else
        say (speech, " would go from %d to %d replica%s", other->from, other->to,
             plural (other->to));
    if (other->to > 0 && !isnan (other->goodput)) {
        say (speech, " (");
        say_factor (speech, other->goodput);
        say (speech, ")");
    }
}

static void say_others (struct speech *speech, const struct explain_change *change)
{
    enum { TOLD = 3 };
    for (int i = 0; i < change->other_count && i < TOLD; i++) {
        say (speech, "%s", i == 0 ? "; " : ", ");
        say_other (speech, &change->others[i]);
    }
    if (change->other_count > TOLD)
        say (speech, ", and %d jobs more", change->other_count - TOLD);
}

/* Is it good or bad for all of them? */
static void say_verdict (struct speech *speech, const struct explanation *all,
                         const struct explain_change *change)
{
    if (!(all->fitness > 0) || isnan (change->fitness))
        return;
    double percent = 100 * (change->fitness / all->fitness - 1);
    if (fabs (percent) < 0.05)
        say (speech, "; for all jobs together that is as good as now");
    else
        say (speech, "; for all jobs together that is %s %% %s, restarts included",
             figure (fabs (percent)).text, percent > 0 ? "better" : "worse");
}

static void say_more (struct speech *speech, const struct explanation *all)
{
    const struct explain_change *more = &all->more;
    if (!more->possible) {
        say (speech, "It cannot have more: %s.", more->why);
        stop (speech);
        return;
    }
    say_self (speech, all, more);
    if (more->other_count == 0)
        say (speech, "; there are enough free slots");
    say_others (speech, more);
    say_verdict (speech, all, more);
    say (speech, ".");
    stop (speech);
}

static void say_less (struct speech *speech, const struct explanation *all)
{
    const struct explain_change *less = &all->less;
    if (all->current.replicas == 0)
        return;
    if (!less->possible) {
        say (speech, "It cannot have fewer: %s.", less->why);
        stop (speech);
        return;
    }
    say_self (speech, all, less);
    if (less->other_count == 0)
        say (speech, "; no other job would gain by it");
    say_others (speech, less);
    say_verdict (speech, all, less);
    say (speech, ".");
    stop (speech);
}

static void say_price (struct speech *speech, const struct round_summary *full)
{
    if (!full)
        return;
    if (isnan (full->price)) {
        say (speech, "Policy %s has no price of a slot.", full->policy);
    } else if (!(full->price > 0)) {
        say (speech, "Slots were free of charge in the last full round: no job needed more.");
    } else {
        say (speech,
             "The price of a slot in the last full round was %.3g: so much one slot more "
             "would add to the fitness of all jobs",
             full->price);
        if (full->fitness > 0)
            say (speech, ", which was %.3g", full->fitness);
        say (speech, ".");
    }
    stop (speech);
}

static void say_waiting (struct speech *speech, const char *waits)
{
    say (speech, "It %s%s.",
         strncmp (waits, "no ", 3) == 0 || strncmp (waits, "too ", 4) == 0 ? "waits: " : "", waits);
    stop (speech);
}

static json_t *describe_sentences (const struct present *present, const struct explanation *all,
                                   const char *waits)
{
    struct speech speech = {.sentences = json_array ()};
    if (!speech.sentences)
        return NULL;
    say_current (&speech, all);
    if (waits)
        say_waiting (&speech, waits);
    say_more (&speech, all);
    say_less (&speech, all);
    say_price (&speech, round_history_last_full (present->rounds));
    for (int i = 0; i < all->limit_count; i++) {
        say (&speech, "%s", all->limits[i]);
        stop (&speech);
    }
    if (!speech.failed)
        return speech.sentences;
    json_decref (speech.sentences);
    return NULL;
}

/* ---- JSON --------------------------------------------------------------------------------- */

static json_t *describe_point (const struct explain_point *point)
{
    return json_pack ("{s:i, s:o, s:o, s:o, s:o}", "replicas", point->replicas, "goodput",
                      describe_number (point->goodput), "speedup", describe_number (point->speedup),
                      "eta_s", describe_number (point->eta_s), "batch",
                      describe_batch (point->batch, point->total_batch));
}

static json_t *describe_others (const struct explain_change *change)
{
    json_t *array = json_array ();
    for (int i = 0; array && i < change->other_count && i < EXPLAIN_OTHERS; i++) {
        const struct explain_other *other = &change->others[i];
        json_t *object =
            json_pack ("{s:s, s:i, s:i, s:o}", "name", other->name, "from", other->from, "to",
                       other->to, "goodput_factor", describe_number (other->goodput));
        if (json_array_append_new (array, object) < 0) {
            json_decref (array);
            return NULL;
        }
    }
    return array;
}

static json_t *describe_change (const struct explain_change *change)
{
    return json_pack ("{s:b, s:o, s:i, s:o, s:o, s:o, s:o, s:i, s:o, s:i, s:o}", "possible",
                      change->possible, "why",
                      change->possible ? json_null () : json_string (change->why), "replicas",
                      change->point.replicas, "goodput", describe_number (change->point.goodput),
                      "goodput_factor", describe_number (change->goodput), "eta_s",
                      describe_number (change->point.eta_s), "batch",
                      describe_batch (change->point.batch, change->point.total_batch), "free",
                      change->free, "others", describe_others (change), "others_count",
                      change->other_count, "fitness", describe_number (change->fitness));
}

static json_t *describe_curve (const struct explanation *all)
{
    json_t *array = json_array ();
    for (int i = 0; array && i < all->curve_count; i++)
        if (json_array_append_new (array, describe_point (&all->curve[i])) < 0) {
            json_decref (array);
            return NULL;
        }
    return array;
}

static json_t *describe_limits (const struct explanation *all)
{
    json_t *array = json_array ();
    for (int i = 0; array && i < all->limit_count; i++)
        if (json_array_append_new (array, json_string (all->limits[i])) < 0) {
            json_decref (array);
            return NULL;
        }
    return array;
}

json_t *describe_explanation (const struct present *present, int job, const struct explanation *all)
{
    char waits[WAIT_REASON_SIZE];
    bool waiting = wait_reason (present->cluster, present->room, present->cluster->jobs[job],
                                present->now_us, present->next_round_us, waits);
    const struct round_summary *full = round_history_last_full (present->rounds);
    return json_pack (
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o}", "job",
        describe_job (present, job), "round", full ? describe_round (full) : json_null (), "price",
        describe_number (full ? full->price : NAN), "curve", describe_curve (all), "current",
        describe_point (&all->current), "one_more", describe_change (&all->more), "one_less",
        describe_change (&all->less), "fair_share", all->fair, "fitness",
        describe_number (all->fitness), "limits", describe_limits (all), "waits_for",
        waiting ? json_string (waits) : json_null (), "sentences",
        describe_sentences (present, all, waiting ? waits : NULL));
}
