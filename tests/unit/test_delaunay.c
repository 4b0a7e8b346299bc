/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding points in a triangulation: mixtures give the point back, the scan with the grid finds
 * what the scan without it finds, and points that span no volume are refused.  Values of the
 * published measurements are in test_ground_truth.c; tests/soak/interpolation.sh compares with
 * scipy.
 */
#include "unit.h"

#include <errno.h>

#include "base/rng.h"
#include "sim/delaunay.h"

enum { MOST = 1000 };

struct cloud {
    double points[MOST][3];
    int count;
};

static struct delaunay *triangulate (const struct cloud *cloud)
{
    struct delaunay *delaunay = NULL;
    struct pollux_error err;
    int code = delaunay_new (cloud->points, cloud->count, &delaunay, &err);
    if (code < 0)
        fail_msg ("%s", err.text);
    return delaunay;
}

/* A lattice like that of measurements: nodes, replicas, and batches in steps of about 1.4. */
static void fill_lattice (struct cloud *cloud, int nodes, int per_node, int batches)
{
    cloud->count = 0;
    for (int n = 1; n <= nodes; n++)
        for (int k = n; k <= n * per_node; k++)
            for (int b = 0; b < batches; b++) {
                assert_true (cloud->count < MOST);
                double *point = cloud->points[cloud->count++];
                point[0] = n;
                point[1] = k;
                point[2] = ceil (4 * pow (1.41, b));
            }
}

static void fill_random (struct cloud *cloud, int count, struct rng *rng)
{
    cloud->count = count;
    for (int i = 0; i < count; i++)
        for (int axis = 0; axis < 3; axis++)
            cloud->points[i][axis] = rng_uniform (rng) * 100;
}

/* Half of the points have integer coordinates, where simplices touch. */
static void draw_point (struct rng *rng, const struct cloud *cloud, double ret[3])
{
    bool whole = rng_below (rng, 2);
    for (int axis = 0; axis < 3; axis++) {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < cloud->count; i++) {
            low = fmin (low, cloud->points[i][axis]);
            high = fmax (high, cloud->points[i][axis]);
        }
        ret[axis] = low - 1 + rng_uniform (rng) * (high - low + 2);
        if (whole)
            ret[axis] = round (ret[axis]);
    }
}

static void check_mixture (const struct cloud *cloud, const double point[3],
                           const struct mixture *mixture)
{
    double sum = 0, at[3] = {0, 0, 0};
    for (int i = 0; i < 4; i++) {
        double weight = mixture->weights[i];
        assert_true (weight >= -1e-7 && weight <= 1 + 1e-7);
        assert_in_range (mixture->vertices[i], 0, cloud->count - 1);
        sum += weight;
        for (int axis = 0; axis < 3; axis++)
            at[axis] += weight * cloud->points[mixture->vertices[i]][axis];
    }
    assert_true (fabs (sum - 1) < 1e-12);
    for (int axis = 0; axis < 3; axis++)
        assert_true (fabs (at[axis] - point[axis]) < 1e-9 * (1 + fabs (point[axis])));
}

/* Compare both scans at the cloud's own points and at random ones, and check the walk's mixture.
 * Returns how many points were inside. */
static int compare (const struct cloud *cloud, int tries, struct rng *rng)
{
    struct delaunay *delaunay = triangulate (cloud);
    int inside = 0;
    for (int i = 0; i < cloud->count + tries; i++) {
        struct mixture fast, plain, walked;
        double point[3];
        if (i < cloud->count)
            memcpy (point, cloud->points[i], sizeof point);
        else
            draw_point (rng, cloud, point);
        if (delaunay_locate (delaunay, point, &walked)) {
            inside++;
            check_mixture (cloud, point, &walked);
        }
        bool found = delaunay_scan (delaunay, point, &fast);
        assert_int_equal (found, delaunay_scan_plain (delaunay, point, &plain));
        if (!found)
            continue;
        assert_memory_equal (fast.vertices, plain.vertices, sizeof fast.vertices);
        assert_memory_equal (fast.weights, plain.weights, sizeof fast.weights);
        check_mixture (cloud, point, &fast);
    }
    delaunay_free (delaunay);
    return inside;
}

static void test_scan_with_grid (void **state)
{
    (void)state;
    struct rng rng = rng_seed (11);
    struct cloud cloud;
    int tries = soak_count (20000);
    fill_lattice (&cloud, 4, 4, 10);
    assert_true (compare (&cloud, tries, &rng) > tries / 20);
    fill_lattice (&cloud, 9, 3, 5);
    assert_true (compare (&cloud, tries, &rng) > tries / 20);
    fill_random (&cloud, 300, &rng);
    assert_true (compare (&cloud, tries, &rng) > tries / 20);
    for (int i = 0; i < cloud.count; i++) /* wider than the grid: several integers per cell */
        cloud.points[i][1] *= 1000;
    assert_true (compare (&cloud, tries, &rng) > tries / 20);
}

/* A lattice has flat simplices; its points must be found nevertheless. */
static void test_flat_simplices (void **state)
{
    (void)state;
    struct cloud cloud;
    fill_lattice (&cloud, 4, 4, 8);
    struct delaunay *delaunay = triangulate (&cloud);
    assert_true (delaunay_flat_count (delaunay) > 0);
    assert_true (delaunay_flat_count (delaunay) < delaunay_count (delaunay));
    for (int i = 0; i < cloud.count; i++) {
        struct mixture mixture;
        assert_true (delaunay_locate (delaunay, cloud.points[i], &mixture));
        check_mixture (&cloud, cloud.points[i], &mixture);
    }
    delaunay_free (delaunay);
}

static void test_corners_and_outside (void **state)
{
    (void)state;
    static const struct {
        double point[3];
        bool inside;
    } cases[] = {
        {{1, 1, 1}, true},        {{2, 2, 2}, true},          {{1.5, 1.5, 1.5}, true},
        {{1, 1.25, 2}, true},     {{0.999, 1.5, 1.5}, false}, {{1.5, 2.001, 1.5}, false},
        {{1.5, 1.5, 2.1}, false}, {{NAN, 1.5, 1.5}, false},   {{1.5, INFINITY, 1.5}, false},
        {{1.5, 1.5, NAN}, false}, {{-1e300, 1.5, 1}, false},  {{1.5, 1.5, 1e300}, false},
        {{1e18, 1e18, 0}, false},
    };
    struct cloud cloud = {.count = 9};
    for (int i = 0; i < 8; i++) /* a cube and its centre */
        for (int axis = 0; axis < 3; axis++)
            cloud.points[i][axis] = 1 + (i >> axis & 1);
    for (int axis = 0; axis < 3; axis++)
        cloud.points[8][axis] = 1.5;
    struct delaunay *delaunay = triangulate (&cloud);
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct mixture mixture;
        if (delaunay_locate (delaunay, cases[i].point, &mixture) != cases[i].inside)
            fail_msg ("case %zu: expected %d", i, cases[i].inside);
        if (cases[i].inside)
            check_mixture (&cloud, cases[i].point, &mixture);
    }
    delaunay_free (delaunay);
}

static void test_no_space (void **state)
{
    (void)state;
    struct cloud cloud = {.count = 100};
    struct pollux_error err;
    struct delaunay *delaunay = NULL;
    for (int i = 0; i < cloud.count; i++) { /* a plane */
        cloud.points[i][0] = 1;
        cloud.points[i][1] = i % 10;
        cloud.points[i][2] = i / 10;
    }
    assert_int_equal (delaunay_new (cloud.points, 100, &delaunay, &err), -EDOM);
    assert_non_null (strstr (err.text, "no triangulation"));
    assert_int_equal (delaunay_new (cloud.points, 4, &delaunay, &err), -EDOM);
    for (int i = 0; i < cloud.count; i++) /* one point */
        cloud.points[i][1] = cloud.points[i][2] = 3;
    assert_int_equal (delaunay_new (cloud.points, 100, &delaunay, NULL), -EDOM);
    assert_null (delaunay);
    delaunay_free (NULL);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_scan_with_grid),
        cmocka_unit_test (test_flat_simplices),
        cmocka_unit_test (test_corners_and_outside),
        cmocka_unit_test (test_no_space),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
