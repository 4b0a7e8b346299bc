/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decision in its two forms: a table with the changes marked, and JSON.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cli/decide.h"
#include "cli/table.h"
#include "policy/explain_text.h"

/* Nodes of a placement that are listed; the rest is counted. */
enum { LISTED_NODES = 6 };

/* What a plan changes for a job. */
enum change { CHANGE_KEEP, CHANGE_MOVE, CHANGE_START, CHANGE_STOP, CHANGE_WAIT };

static const struct {
    const char *mark, *word;
} changes[] = {
    [CHANGE_KEEP] = {"=", "keep"}, [CHANGE_MOVE] = {"~", "move"}, [CHANGE_START] = {"+", "start"},
    [CHANGE_STOP] = {"-", "stop"}, [CHANGE_WAIT] = {".", "wait"},
};
_Static_assert(sizeof (changes) / sizeof (changes[0]) == CHANGE_WAIT + 1, "all have a word");

static enum change change_of (const struct decision *decision, int job)
{
    struct placement now = decision->view->jobs[job]->placement;
    struct placement next = plan_placement (&decision->plan, job);
    if (now.count == 0)
        return next.count > 0 ? CHANGE_START : CHANGE_WAIT;
    if (next.count == 0)
        return CHANGE_STOP;
    return placement_same (now, next) ? CHANGE_KEEP : CHANGE_MOVE;
}

/* ---- For people --------------------------------------------------------------------------- */

static void placement_cell (struct table *table, const struct view *view,
                            struct placement placement)
{
    char text[1024];
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < placement.count && i < LISTED_NODES; i++)
        used += (size_t)snprintf (text + used, sizeof (text) - used, "%s%s:%d", i > 0 ? " " : "",
                                  view->nodes[placement.shares[i].node].name,
                                  placement.shares[i].replicas);
    if (placement.count > LISTED_NODES)
        snprintf (text + used, sizeof (text) - used, " and %d nodes more",
                  placement.count - LISTED_NODES);
    table_cell (table, "%s", text);
}

static int print_plan (const struct decision *decision, struct terminal terminal, FILE *out,
                       struct pollux_error *err)
{
    static const char *const titles[] = {"<",       "<job", "GPUs", "before",
                                         "speedup", "m",    "s",    "<placement"};
    struct table table = TABLE_START (titles);
    for (int i = 0; i < decision->view->job_count; i++) {
        const struct job *job = decision->view->jobs[i];
        struct placement next = plan_placement (&decision->plan, i);
        const struct pollux_best *best = &decision->batches[i];
        table_cell (&table, "%s", changes[change_of (decision, i)].mark);
        table_cell (&table, "%s", job->spec.name);
        table_cell (&table, "%d", placement_replicas (next));
        table_cell (&table, "%d", placement_replicas (job->placement));
        if (isnan (decision->plan.speedups[i]))
            table_cell (&table, "-");
        else
            table_cell (&table, "%.2f", decision->plan.speedups[i]);
        for (int j = 0; j < 2; j++)
            if (best->goodput > 0)
                table_cell (&table, "%lld", (long long)(j == 0 ? best->batch.m : best->batch.s));
            else
                table_cell (&table, "-");
        placement_cell (&table, decision->view, next);
    }
    return table_end (&table, terminal, out, err);
}

static void print_summary (const struct decision *decision, FILE *out)
{
    const struct view *view = decision->view;
    const struct plan *plan = &decision->plan;
    int counts[sizeof (changes) / sizeof (changes[0])] = {0}, used = 0;
    for (int i = 0; i < view->job_count; i++) {
        counts[change_of (decision, i)]++;
        used += placement_replicas (plan_placement (plan, i));
    }
    fprintf (out,
             "%d keep (=), %d move (~), %d start (+), %d stop (-), %d wait (.); %d of %d GPUs\n",
             counts[CHANGE_KEEP], counts[CHANGE_MOVE], counts[CHANGE_START], counts[CHANGE_STOP],
             counts[CHANGE_WAIT], used, view_slots (view));
    double gap = decide_gap (plan->fitness, plan->bound);
    if (isfinite (gap))
        fprintf (out, "Fitness %.6f; no plan has more than %.6f (gap %.3f %%).\n", plan->fitness,
                 plan->bound, 100 * gap);
    else if (plan->bound <= 0) /* no slots: the gap is 0 / 0 */
        fprintf (out, "Fitness %.6f; no plan has more.\n", plan->fitness);
    else if (!isnan (plan->fitness)) /* no bound: pollux-ga, or an overflow */
        fprintf (out, "Fitness %.6f.\n", plan->fitness);
    if (isfinite (plan->price))
        fprintf (out, "One GPU more would be worth about %.6f.\n", plan->price);
    fprintf (out, "Decided by %s in %.3f ms.\n", decision->policy->name, 1e3 * decision->seconds);
}

static void change_cells (struct table *table, const struct decision *decision, double now,
                          const struct explain_change *change)
{
    if (!change->possible) {
        for (int i = 0; i < 3; i++)
            table_cell (table, "-");
        return;
    }
    table_cell (table, "%d", change->point.replicas);
    if (isfinite (change->speedup - now))
        table_cell (table, "%+.2f", change->speedup - now);
    else
        table_cell (table, "-"); /* a policy without an objective */
    /* Not known if the plan's fitness is 0. */
    table_cell (table, "%s", change_text (change->fitness / decision->plan.fitness, 3).text);
}

static int print_explanations (const struct decision *decision,
                               const struct explanation *explanations, int count,
                               struct terminal terminal, FILE *out, struct pollux_error *err)
{
    static const char *const titles[] = {"<job",    "GPUs",  "more",    "speedup",
                                         "fitness", "fewer", "speedup", "fitness"};
    struct table table = TABLE_START (titles);
    for (int i = 0; i < count; i++) {
        const struct explanation *all = &explanations[i];
        double now = decision->plan.speedups[all->index];
        table_cell (&table, "%s", all->job->spec.name);
        table_cell (&table, "%d", all->current.replicas);
        change_cells (&table, decision, now, &all->more);
        change_cells (&table, decision, now, &all->less);
    }
    fputs ("\nIf a job had one step more or fewer, taken from the jobs that lose least or given to "
           "the\njob that gains most:\n\n",
           out);
    return table_end (&table, terminal, out, err);
}

/* The jobs on other types, in sentences. */
static void print_types (const struct explanation *explanations, int count, FILE *out)
{
    struct explain_text text; /* 22 KiB */
    const char *before = "\n";
    for (int i = 0; i < count; i++) {
        explain_text_types (&explanations[i], &text);
        for (int j = 0; j < text.count; j++) {
            fprintf (out, "%s%s: %s\n", before, explanations[i].job->spec.name, text.sentences[j]);
            before = "";
        }
    }
}

int decide_print (const struct decision *decision, const struct explanation *explanations,
                  int count, FILE *out, struct pollux_error *err)
{
    struct terminal terminal = terminal_of (out);
    int rc = 0;
    if (decision->view->job_count > 0)
        rc = print_plan (decision, terminal, out, err);
    if (rc == 0) {
        fputc ('\n', out);
        print_summary (decision, out);
    }
    if (rc == 0 && count > 0)
        rc = print_explanations (decision, explanations, count, terminal, out, err);
    if (rc == 0)
        print_types (explanations, count, out);
    return rc;
}

/* ---- For programs ------------------------------------------------------------------------- */

/* A number, or null for one that is not known. */
static json_t *number (double value)
{
    return isfinite (value) ? json_real (value) : json_null ();
}

static json_t *encode_allocation (const struct view *view, struct placement placement)
{
    json_t *object = json_object ();
    for (int i = 0; i < placement.count && object; i++)
        if (json_object_set_new (object, view->nodes[placement.shares[i].node].name,
                                 json_integer (placement.shares[i].replicas)) < 0) {
            json_decref (object);
            return NULL;
        }
    return object;
}

static json_t *encode_job (const struct decision *decision, int job)
{
    const struct pollux_best *best = &decision->batches[job];
    bool known = best->goodput > 0;
    return json_pack ("{s:o, s:o, s:o, s:i, s:s}", "speedup", number (decision->plan.speedups[job]),
                      "m", known ? json_integer (best->batch.m) : json_null (), "s",
                      known ? json_integer (best->batch.s) : json_null (), "replicas",
                      placement_replicas (plan_placement (&decision->plan, job)), "change",
                      changes[change_of (decision, job)].word);
}

/* The bound of the decision also holds for the changed plan: a gap below 0 is a rounding error.
 * Without a bound the gap is NaN, which becomes null. */
static json_t *encode_change (const struct decision *decision, int job,
                              const struct explain_change *change)
{
    const struct plan *plan = &decision->plan;
    double gap = decide_gap (change->fitness, plan->bound);
    if (!change->possible)
        return json_null ();
    return json_pack ("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "replicas", change->point.replicas,
                      "speedup", number (change->speedup), "speedup_change",
                      number (change->speedup - plan->speedups[job]), "fitness",
                      number (change->fitness), "fitness_change",
                      number (change->fitness - plan->fitness), "bound", number (plan->bound),
                      "gap", number (gap < 0 ? 0 : gap));
}

static json_t *encode_types (const struct explanation *all)
{
    json_t *object = json_object ();
    for (int i = 0; i < all->type_count && object; i++) {
        const struct explain_type *other = &all->types[i];
        json_t *entry =
            json_pack ("{s:b, s:b, s:i, s:o}", "known", other->known, "predicted", other->predicted,
                       "replicas", other->replicas, "goodput_factor", number (other->goodput));
        if (json_object_set_new (object, other->type, entry) < 0) {
            json_decref (object);
            return NULL;
        }
    }
    return object;
}

json_t *decide_encode (const struct decision *decision, const struct explanation *explanations,
                       int count)
{
    const struct view *view = decision->view;
    const struct plan *plan = &decision->plan;
    json_t *allocations = json_object (), *jobs = json_object (), *explained = json_object ();
    int failed = !allocations || !jobs || !explained;
    for (int i = 0; i < view->job_count && !failed; i++) {
        const char *name = view->jobs[i]->spec.name;
        failed |= json_object_set_new (allocations, name,
                                       encode_allocation (view, plan_placement (plan, i)));
        failed |= json_object_set_new (jobs, name, encode_job (decision, i));
    }
    for (int i = 0; i < count && !failed; i++) {
        const struct explanation *all = &explanations[i];
        json_t *object =
            json_pack ("{s:o, s:o}", "more", encode_change (decision, all->index, &all->more),
                       "fewer", encode_change (decision, all->index, &all->less));
        if (object && all->type_count > 0)
            failed |= json_object_set_new (object, "types", encode_types (all));
        failed |= json_object_set_new (explained, all->job->spec.name, object);
    }
    json_t *root = NULL;
    if (!failed)
        root = json_pack ("{s:s, s:O, s:o, s:o, s:o, s:o, s:f, s:O}", "policy",
                          decision->policy->name, "allocations", allocations, "fitness",
                          number (plan->fitness), "bound", number (plan->bound), "gap",
                          number (decide_gap (plan->fitness, plan->bound)), "price",
                          number (plan->price), "seconds", decision->seconds, "jobs", jobs);
    if (root && count > 0 && json_object_set (root, "explain", explained) < 0) {
        json_decref (root);
        root = NULL;
    }
    json_decref (allocations);
    json_decref (jobs);
    json_decref (explained);
    return root;
}
