#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "bench/order.h"
#include "bench/sweep.h"

static void expand(struct point_list *points, const char *text)
{
    struct workload workload;
    size_t count;
    struct point_kernel *kernels = sweep_kernels(&count);

    assert_int_equal(workload_parse(&workload, "w.ini", text, strlen(text)), FAIL_OK);
    assert_int_equal(point_expand(points, &workload, kernels, count), FAIL_OK);
    workload_free(&workload);
    free(kernels);
}

/* 100 blocks of a simt, an mma and two splitk points; in the list, kernels are the slowest. */
static const char grid[] =
    "[a]\nkernel=simt,mma,splitk\nnsplit=2,4\nbatch=1:10\nconcurrency=batch\ntopk=64:640:64\n";
enum { BLOCKS = 100, BLOCK = 4, POINTS = BLOCKS * BLOCK };

static void every_point_runs_once(void **state)
{
    struct point_list points;
    bool seen[POINTS] = {false};
    size_t *order;

    (void)state;
    expand(&points, grid);
    assert_int_equal(points.count, POINTS);
    order = order_make(&points, 1);
    for (size_t i = 0; i < POINTS; i++) {
        assert_true(order[i] < POINTS && !seen[order[i]]);
        seen[order[i]] = true;
    }
    free(order);
    point_free(&points);
}

static void what_is_read_side_by_side_runs_as_one(void **state)
{
    struct point_list points;
    size_t *order, simt_first = 0;

    (void)state;
    expand(&points, grid);
    order = order_make(&points, 1);
    for (size_t i = 0; i < POINTS; i++) {
        const struct point *point = &points.points[order[i]];
        const struct point *first = &points.points[order[i - i % BLOCK]];

        assert_int_equal(point->batch, first->batch);
        assert_true(axis_equal(&point->asked[AXIS_TOPK], &first->asked[AXIS_TOPK]));
        simt_first += i % BLOCK == 0 && axis_is_word(&point->asked[AXIS_KERNEL], "simt");
    }
    /* a quarter of the blocks; binomial(100, 1/4) is outside of this once in 30,000 */
    assert_in_range(simt_first, 8, 44);
    free(order);
    point_free(&points);
}

/* Pairs of neighbours among the blocks that stand in the order asked for: half of them, give or
 * take five standard deviations of a random order's (sqrt(101 / 12)). */
static void blocks_are_shuffled(void **state)
{
    struct point_list points;
    size_t *order, rising = 0;

    (void)state;
    expand(&points, grid);
    order = order_make(&points, 1);
    for (size_t block = 1; block < BLOCKS; block++)
        rising += order[block * BLOCK] % BLOCKS > order[(block - 1) * BLOCK] % BLOCKS;
    assert_in_range(rising, 35, 64);
    free(order);
    point_free(&points);
}

static void the_seed_decides(void **state)
{
    struct point_list points;
    size_t *one, *again, *other;

    (void)state;
    expand(&points, grid);
    one = order_make(&points, 1);
    again = order_make(&points, 1);
    other = order_make(&points, 2);
    assert_memory_equal(one, again, POINTS * sizeof *one);
    assert_memory_not_equal(one, other, POINTS * sizeof *one);
    free(one);
    free(again);
    free(other);
    point_free(&points);
}

static void added_points_change_nothing_for_the_others(void **state)
{
    struct point_list points;
    size_t *few, *many, next = 0;

    (void)state;
    expand(&points, grid);
    many = order_make(&points, 1);
    points.count = POINTS / 2;
    few = order_make(&points, 1);
    for (size_t i = 0; i < POINTS; i++)
        if (many[i] < POINTS / 2)
            assert_int_equal(many[i], few[next++]);
    assert_int_equal(next, POINTS / 2);
    free(few);
    free(many);
    points.count = POINTS;
    point_free(&points);
}

static void no_points_have_an_order_too(void **state)
{
    const struct point_list none = {0};

    (void)state;
    free(order_make(&none, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_point_runs_once),
        cmocka_unit_test(what_is_read_side_by_side_runs_as_one),
        cmocka_unit_test(blocks_are_shuffled),
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(added_points_change_nothing_for_the_others),
        cmocka_unit_test(no_points_have_an_order_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
