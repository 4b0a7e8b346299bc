/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time to read a million rows of measurements with five columns.  Step times have six digits, as
 * people write them, or all 17, as programs do.
 */
#include "bench.h"
#include "base/csv.h"
#include "base/rng.h"

enum { ROWS = 1000000 };

struct text {
    char *bytes;
    size_t length;
};

static struct text random_samples (int digits)
{
    struct text text;
    struct rng rng = rng_seed (1);
    FILE *out = open_memstream (&text.bytes, &text.length);
    if (!out)
        exit (1);
    fputs ("nodes,replicas,local_bsz,grad_s,step_s\n", out);
    for (int i = 0; i < ROWS; i++) {
        int nodes = 1 + (int)rng_below (&rng, 16);
        double grad_s = rng_uniform (&rng) + 1e-3, step_s = grad_s + rng_uniform (&rng);
        fprintf (out, "%d,%d,%d,%.*g,%.*g\n", nodes, 4 * nodes, 1 + (int)rng_below (&rng, 512),
                 digits, grad_s, digits, step_s);
    }
    if (fclose (out) != 0)
        exit (1);
    return text;
}

static struct csv *split (const struct text *text)
{
    struct csv *csv;
    if (csv_parse ("bench", text->bytes, text->length, &csv, NULL) < 0)
        exit (1);
    return csv;
}

static void split_only (void *arg)
{
    csv_free (split (arg));
}

static void split_and_read (void *arg)
{
    struct csv *csv = split (arg);
    double sum = 0;
    for (size_t row = 0; row < csv_rows (csv); row++) {
        int64_t nodes, replicas, local_bsz;
        double grad_s, step_s;
        if (csv_int64 (csv, row, 0, 1, 1 << 20, &nodes, NULL) < 0 ||
            csv_int64 (csv, row, 1, 1, 1 << 20, &replicas, NULL) < 0 ||
            csv_int64 (csv, row, 2, 1, 1 << 20, &local_bsz, NULL) < 0 ||
            csv_double (csv, row, 3, 1e-9, 1e9, &grad_s, NULL) < 0 ||
            csv_double (csv, row, 4, 1e-9, 1e9, &step_s, NULL) < 0)
            exit (1);
        sum += (double)(nodes + replicas + local_bsz) + grad_s + step_s;
    }
    bench_keep (sum);
    csv_free (csv);
}

int main (void)
{
    struct text text = random_samples (6);
    bench_print ("million-rows-split", 1e3 * bench_seconds (split_only, &text), "ms");
    double six_ms = 1e3 * bench_seconds (split_and_read, &text);
    free (text.bytes);
    text = random_samples (17);
    double all_ms = 1e3 * bench_seconds (split_and_read, &text);
    free (text.bytes);
    bench_print ("million-rows-6-digits", six_ms, "ms");
    bench_print ("million-rows-17-digits", all_ms, "ms");
    bench_target ("million-rows-17-digits", all_ms, 1000);
    return 0;
}
