/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view of pollux top:
 *
 *     polluxd 0.1.0   policy pollux   6 of 8 slots in use   next round in 20 s
 *     1 pending, 2 running
 *     nodes: spot 2 of 3 wanted   cost 51.33 so far, 19.60 per hour         only with groups
 *
 *     n0 aab.   n1 bbb.                            nodes, a letter for each slot
 *
 *       job      phase    repl  batch  goodput  effic.     ETA  rest  fail    age
 *     a resnet   running     2    128      930  93.0 %  22 min     1     0  8 min
 *     ...
 *     resnet: waits for ...                        about the selected job
 *     q quit  arrows move  sort: ...
 */
#include "cli/top_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/answer_text.h"

/* Colours that every ncurses has, without black and white. */
enum { COLOURS = 6 };

const char top_order_keys[TOP_ORDERS + 1] = "snrge";

static const struct screen_style plain = {0}, bold = {.bold = true};

/* ---- Letters ---------------------------------------------------------------------------------- */

static const char letters[TOP_KEYS + 1] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* -1: none. */
static int key_of (const struct top_keys *keys, const char *name)
{
    for (int i = 0; i < TOP_KEYS; i++) {
        if (keys->names[i][0] && strcmp (keys->names[i], name) == 0)
            return i;
    }
    return -1;
}

static bool is_among (const json_t *jobs, const char *name)
{
    json_t *job;
    size_t i;
    json_array_foreach ((json_t *)jobs, i, job)
    {
        if (strncmp (answer_text (job, "name"), name, 63) == 0)
            return true;
    }
    return false;
}

void top_keys_update (struct top_keys *keys, const json_t *jobs)
{
    json_t *job;
    size_t i;
    for (int k = 0; k < TOP_KEYS; k++) {
        if (keys->names[k][0] && !is_among (jobs, keys->names[k]))
            keys->names[k][0] = '\0';
    }
    /* Running jobs get letters first: the others have no slots yet. */
    for (int running = 1; running >= 0; running--) {
        int k = 0;
        json_array_foreach ((json_t *)jobs, i, job)
        {
            const char *name = answer_text (job, "name");
            if ((answer_number (job, "replicas") > 0) != running || key_of (keys, name) >= 0)
                continue;
            while (k < TOP_KEYS && keys->names[k][0])
                k++;
            if (k == TOP_KEYS)
                return;
            snprintf (keys->names[k], sizeof (keys->names[k]), "%s", name);
        }
    }
}

static char letter_of (int key)
{
    return key < 0 ? '*' : letters[key];
}

static struct screen_style style_of (int key)
{
    return (struct screen_style){.colour = key < 0 ? 0 : (uint8_t)(1 + key % COLOURS),
                                 .reverse = true};
}

/* ---- The head --------------------------------------------------------------------------------- */

static void draw_head (const struct top_state *state, struct screen_buffer *screen)
{
    const json_t *status = state->status;
    int column =
        screen_buffer_put (screen, 0, 0, bold, "polluxd %s", answer_text (status, "version"));
    if (status)
        screen_buffer_put (screen, 0, column + 3, plain,
                           "policy %s   %s of %s slots in use   next round in %s",
                           answer_text (status, "policy"),
                           answer_count (answer_number (status, "used_slots")).text,
                           answer_count (answer_number (status, "slots")).text,
                           answer_duration (answer_number (status, "next_round_at") -
                                            answer_number (status, "now_at"))
                               .text);
    if (state->failure[0] || state->silent_s >= 0) {
        struct screen_style loud = {.bold = true, .reverse = true};
        if (state->failure[0])
            screen_buffer_put (screen, 1, 0, loud, " %s ", state->failure);
        else
            screen_buffer_put (screen, 1, 0, loud, " no answer since %.0f s; is polluxd running? ",
                               state->silent_s);
        return;
    }
    screen_buffer_put (screen, 1, 0, plain, "jobs: %s",
                       answer_phases (json_object_get (status, "jobs")).text);
}

static bool has_groups (const struct top_state *state)
{
    return json_array_size (json_object_get (state->groups, "groups")) > 0;
}

/* Lines above the nodes. */
static int head_lines (const struct top_state *state)
{
    return has_groups (state) ? 4 : 3;
}

/* "spot 2 of 3 wanted" while two of three wanted nodes are up; "spot 3" when all are. */
static void draw_groups (const struct top_state *state, struct screen_buffer *screen)
{
    json_t *group;
    size_t i;
    if (!has_groups (state))
        return;
    int column = screen_buffer_put (screen, 2, 0, plain, "nodes: ");
    json_array_foreach (json_object_get (state->groups, "groups"), i, group)
    {
        const json_t *states = json_object_get (group, "states");
        double up = answer_number (states, "up"), wanted = answer_number (group, "wanted");
        column = screen_buffer_put (screen, 2, column, plain, "%s%s %s", i > 0 ? ", " : "",
                                    answer_text (group, "name"), answer_count (up).text);
        if (up != wanted)
            column = screen_buffer_put (screen, 2, column, plain, " of %s wanted",
                                        answer_count (wanted).text);
    }
    if (answer_true (state->groups, "priced"))
        screen_buffer_put (screen, 2, column, plain, "   cost %s so far, %s per hour",
                           answer_money (answer_number (state->groups, "cost")).text,
                           answer_money (answer_number (state->groups, "price_per_hour")).text);
}

/* ---- Nodes ------------------------------------------------------------------------------------ */

/* Nodes are drawn in columns of equal width. */
struct node_grid {
    int name_width, slots, column_width, columns, lines;
};

/* Nodes with more slots show numbers instead of letters. */
enum { SLOTS_DRAWN = 64 };

static struct node_grid grid_of (const json_t *nodes, int width)
{
    struct node_grid grid = {.name_width = 2, .slots = 1};
    json_t *node;
    size_t i;
    json_array_foreach ((json_t *)nodes, i, node)
    {
        const char *name = answer_text (node, "name");
        int wide = (int)utf8_count (name, strlen (name));
        double slots = fmin (answer_number (node, "slots"), SLOTS_DRAWN);
        grid.name_width = wide > grid.name_width ? wide : grid.name_width;
        grid.slots = slots > grid.slots ? (int)slots : grid.slots;
    }
    int room = width / 2;
    grid.name_width = grid.name_width > room ? room : grid.name_width;
    grid.column_width = grid.name_width + 1 + grid.slots + 3;
    grid.columns = width / grid.column_width > 0 ? width / grid.column_width : 1;
    int count = (int)json_array_size (nodes);
    grid.lines = (count + grid.columns - 1) / grid.columns;
    return grid;
}

/* Draw each job's slots, then the free ones. */
static void draw_node (const struct top_state *state, const json_t *node, struct node_grid grid,
                       int line, int column, bool unicode, struct screen_buffer *screen)
{
    const char *name;
    json_t *count;
    double slots = answer_number (node, "slots"), used = 0;
    bool available = answer_true (node, "available");
    const char *node_name = answer_text (node, "name");
    size_t shown = utf8_skip (node_name, strlen (node_name), (size_t)grid.name_width);
    screen_buffer_put (screen, line, column, plain, "%.*s", (int)shown, node_name);
    column += grid.name_width + 1;
    bool numbers = !(slots <= SLOTS_DRAWN);
    json_object_foreach (json_object_get (node, "jobs"), name, count)
    {
        int key = key_of (&state->keys, name);
        double taken = json_number_value (count);
        if (numbers)
            column =
                screen_buffer_put (screen, line, column, style_of (key), "%c", letter_of (key));
        if (numbers)
            column = screen_buffer_put (screen, line, column, plain, "x%.0f ", taken);
        for (int i = 0; !numbers && i < taken && used + i < slots; i++)
            column =
                screen_buffer_put (screen, line, column, style_of (key), "%c", letter_of (key));
        used += taken;
    }
    const char *free_slot = !available ? "x" : unicode ? "·" : ".";
    if (numbers)
        screen_buffer_put (screen, line, column, plain, "%sx%.0f", free_slot,
                           fmax (slots - used, 0));
    for (double i = used; !numbers && i < slots; i++)
        column = screen_buffer_put (screen, line, column, plain, "%s", free_slot);
}

/* Draw the nodes in at most `most` lines.  Returns the number of lines used. */
static int draw_nodes (const struct top_state *state, int line, int lines, bool unicode,
                       struct screen_buffer *screen)
{
    struct node_grid grid = grid_of (state->nodes, screen->width);
    int count = (int)json_array_size (state->nodes);
    bool all = grid.lines <= lines;
    int drawn = all ? grid.lines : lines - 1;
    for (int i = 0; i < count && i / grid.columns < drawn; i++)
        draw_node (state, json_array_get (state->nodes, (size_t)i), grid, line + i / grid.columns,
                   i % grid.columns * grid.column_width, unicode, screen);
    if (!all && lines > 0)
        screen_buffer_put (screen, line + drawn, 0, plain, "and %d nodes more",
                           count - drawn * grid.columns);
    return all ? grid.lines : lines;
}

/* ---- Jobs ------------------------------------------------------------------------------------- */

/* Unknown numbers come last. */
static int compare_numbers (const json_t *a, const json_t *b, const char *key, int sign)
{
    double x = answer_number (a, key), y = answer_number (b, key);
    if (isnan (x) || isnan (y))
        return isnan (x) - isnan (y);
    return sign * ((x > y) - (x < y));
}

static int by_name (const void *a, const void *b)
{
    return strcmp (answer_text (*(json_t *const *)a, "name"),
                   answer_text (*(json_t *const *)b, "name"));
}

static int by_replicas (const void *a, const void *b)
{
    int order = compare_numbers (*(json_t *const *)a, *(json_t *const *)b, "replicas", -1);
    return order ? order : by_name (a, b);
}

static int by_goodput (const void *a, const void *b)
{
    int order = compare_numbers (*(json_t *const *)a, *(json_t *const *)b, "goodput", -1);
    return order ? order : by_name (a, b);
}

static int by_eta (const void *a, const void *b)
{
    int order = compare_numbers (*(json_t *const *)a, *(json_t *const *)b, "eta_s", 1);
    return order ? order : by_name (a, b);
}

/* The jobs in the chosen order, as borrowed references in an array to be freed; NULL: no memory. */
static json_t **sorted (const json_t *jobs, enum top_order order)
{
    static int (*const compare[TOP_ORDERS]) (const void *, const void *) = {
        NULL, by_name, by_replicas, by_goodput, by_eta};
    size_t count = json_array_size (jobs);
    json_t **list = calloc (count + 1, sizeof (list[0]));
    for (size_t i = 0; list && i < count; i++)
        list[i] = json_array_get (jobs, i);
    if (list && compare[order])
        qsort (list, count, sizeof (list[0]), compare[order]);
    return list;
}

/* The width of the longest name, limited by the room beside the numbers. */
static int name_width_of (const json_t *jobs, int width)
{
    int widest = 12, room = width - 71;
    json_t *job;
    size_t i;
    json_array_foreach ((json_t *)jobs, i, job)
    {
        int length = (int)strlen (answer_text (job, "name"));
        widest = length > widest ? length : widest;
    }
    widest = widest > room ? room : widest;
    return widest < 10 ? 10 : widest;
}

static void draw_job (const struct top_state *state, const json_t *job, int line, int name_width,
                      bool selected, struct screen_buffer *screen)
{
    int key = key_of (&state->keys, answer_text (job, "name"));
    struct screen_style style = {.reverse = selected};
    if (selected)
        screen_buffer_style_line (screen, line, style);
    screen_buffer_put (screen, line, 0, style_of (key), "%c", letter_of (key));
    screen_buffer_put (screen, line, 2, style, "%-*.*s %-10.10s %4s %7s %8s %7s %7s %4s %4s %7s",
                       name_width, name_width, answer_text (job, "name"),
                       answer_text (job, "phase"),
                       answer_count (answer_number (job, "replicas")).text, answer_batch (job).text,
                       answer_rate (answer_number (job, "goodput")).text,
                       answer_share (answer_number (job, "efficiency")).text,
                       answer_duration (answer_number (job, "eta_s")).text,
                       answer_count (answer_number (job, "restarts")).text,
                       answer_count (answer_number (job, "failures")).text,
                       answer_duration (answer_number (job, "age_s")).text);
}

static void draw_titles (int line, int name_width, struct screen_buffer *screen)
{
    screen_buffer_style_line (screen, line, bold);
    screen_buffer_put (screen, line, 2, bold, "%-*s %-10s %4s %7s %8s %7s %7s %4s %4s %7s",
                       name_width, "job", "phase", "repl", "batch", "goodput", "effic.", "ETA",
                       "rest", "fail", "age");
}

/* The list scrolls with the selection. */
static void scroll (struct top_choice *choice, int count, int lines)
{
    choice->selected = choice->selected >= count ? count - 1 : choice->selected;
    if (choice->selected >= 0 && choice->selected < choice->first)
        choice->first = choice->selected;
    if (choice->selected >= choice->first + lines)
        choice->first = choice->selected - lines + 1;
    choice->first = choice->first > count - lines ? count - lines : choice->first;
    choice->first = choice->first < 0 ? 0 : choice->first;
}

static void draw_about (const json_t *job, int line, struct screen_buffer *screen)
{
    const char *wait_reason = answer_text (job, "waits_for"), *detail = answer_text (job, "detail");
    int column = screen_buffer_put (screen, line, 0, bold, "%s", answer_text (job, "name"));
    column = screen_buffer_put (screen, line, column, plain, ": on %s, limits %s",
                                answer_placement (json_object_get (job, "placement"), 40).text,
                                answer_limits (job).text);
    if (*wait_reason || *detail)
        screen_buffer_put (screen, line, column, plain, "; %s",
                           *wait_reason ? wait_reason : detail);
}

/* Draw from a line to the end of the buffer. */
static int draw_jobs (const struct top_state *state, struct top_choice *choice, int line,
                      struct screen_buffer *screen, struct pollux_error *err)
{
    int count = (int)json_array_size (state->jobs), lines = screen->height - line - 1;
    json_t **jobs = sorted (state->jobs, choice->order);
    if (!jobs)
        return fail (err, -ENOMEM, "not enough memory for the jobs");
    lines -= choice->keys; /* the line of keys */
    if (choice->selected >= 0)
        lines--; /* the line about the selected job */
    lines = lines < 0 ? 0 : lines;
    scroll (choice, count, lines);
    int name_width = name_width_of (state->jobs, screen->width);
    draw_titles (line++, name_width, screen);
    for (int i = choice->first; i < count && i < choice->first + lines; i++)
        draw_job (state, jobs[i], line++, name_width, i == choice->selected, screen);
    if (choice->selected >= 0 && choice->selected < count)
        draw_about (jobs[choice->selected], screen->height - 1 - choice->keys, screen);
    free (jobs);
    return 0;
}

static void draw_keys (const struct top_choice *choice, const struct top_state *state,
                       struct screen_buffer *screen)
{
    static const char *const names[TOP_ORDERS] = {"submitted", "name", "replicas", "goodput",
                                                  "ETA"};
    int line = screen->height - 1;
    int column = screen_buffer_put (screen, line, 0, plain, "q quit  arrows move  sort by");
    for (int i = 0; i < TOP_ORDERS; i++)
        column = screen_buffer_put (screen, line, column + 1,
                                    (struct screen_style){.reverse = i == (int)choice->order},
                                    "%c %s", top_order_keys[i], names[i]);
    if (state->more)
        screen_buffer_put (screen, line, column + 1, plain, "  (the first %zu jobs)",
                           json_array_size (state->jobs));
}

int top_draw (const struct top_state *state, struct top_choice *choice,
              struct screen_buffer *screen, struct pollux_error *err)
{
    int line = head_lines (state), room = (screen->height - line) / 2;
    draw_head (state, screen);
    draw_groups (state, screen);
    line += draw_nodes (state, line, room > 1 ? room : 1, choice->unicode, screen) + 1;
    int rc = draw_jobs (state, choice, line, screen, err);
    if (choice->keys)
        draw_keys (choice, state, screen);
    return rc;
}

int top_lines (const struct top_state *state, int width)
{
    int nodes = grid_of (state->nodes, width).lines, jobs = (int)json_array_size (state->jobs);
    int below = jobs + 3, half = nodes > below ? nodes : below;
    return head_lines (state) + 2 * (half + 1);
}
