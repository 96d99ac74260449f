#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/stats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 1000000 };

/* A fixed sequence of 31-bit numbers, so that a failure comes again. */
static uint32_t draw(void)
{
    static uint64_t seed = 20240229;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

/* The numbers 1 to count, shuffled: a value is its own rank. */
static double *shuffled(size_t count)
{
    double *values = malloc((count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        size_t j = draw() % (i + 1);
        values[i] = values[j];
        values[j] = (double)(i + 1);
    }
    return values;
}

static void median_of_few(void **state)
{
    (void)state;
    const double values[] = {3, -1, 7, 2, 100};
    assert_true(isnan(stats_median(values, 0)));
    assert_true(isnan(stats_median(NULL, 0)));
    assert_true(stats_median(values, 1) == 3);
    assert_true(stats_median(values, 2) == 1);
    assert_true(stats_median(values, 3) == 3);
    assert_true(stats_median(values, 4) == 2.5);
    assert_true(stats_median(values, 5) == 3);
}

static void median_of_odd_values(void **state)
{
    (void)state;
    const double holed[] = {1, NAN, 3};
    const double infinite[] = {INFINITY, 1, INFINITY, 2};
    const double large[] = {DBL_MAX, DBL_MAX};
    assert_true(isnan(stats_median(holed, 3)));
    assert_true(stats_median(holed, 1) == 1);
    assert_true(isinf(stats_median(infinite, 4)));
    assert_true(stats_median(large, 2) == DBL_MAX);
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static void median_agrees_with_sorting(void **state)
{
    (void)state;
    double values[200], kept[200];
    for (size_t count = 1; count <= 200; count++) {
        for (size_t i = 0; i < count; i++)
            values[i] = draw() % (count < 100 ? 10 : 1000);
        memcpy(kept, values, sizeof kept);
        double median = stats_median(values, count);
        assert_memory_equal(values, kept, count * sizeof *values);
        qsort(kept, count, sizeof *kept, by_value);
        assert_true(median == (kept[(count - 1) / 2] + kept[count / 2]) / 2);
    }
}

/* Quadratic time would be 10^12 steps here and meet the alarm. */
static void takes_linear_time(void **state)
{
    (void)state;
    double *values = malloc(LARGE * sizeof *values);
    alarm(60);
    for (int i = 0; i < LARGE; i++)
        values[i] = i;
    assert_true(stats_median(values, LARGE) == (LARGE - 1) / 2.0);
    for (int i = 0; i < LARGE; i++)
        values[i] = LARGE - i;
    assert_true(stats_median(values, LARGE) == (LARGE + 1) / 2.0);
    for (int i = 0; i < LARGE; i++)
        values[i] = 5;
    assert_true(stats_median(values, LARGE) == 5);
    for (int i = 0; i < LARGE; i++)
        values[i] = i < LARGE / 2 ? i : LARGE - i;
    assert_true(stats_median(values, LARGE) == LARGE / 4);
    for (int i = 0; i < LARGE; i++)
        values[i] = i % 2;
    assert_true(stats_median(values, LARGE) == 0.5);
    alarm(0);
    free(values);
}

/* Ranks from exact integer sums of binomial coefficients; up to 100 they are also in printed
 * tables. */
static void interval_ranks(void **state)
{
    (void)state;
    static const struct {
        size_t count, low, high;
    } exact[] = {
        {6, 1, 6},        {7, 1, 7},          {8, 1, 8},
        {9, 2, 8},        {10, 2, 9},         {11, 2, 10},
        {12, 3, 10},      {15, 4, 12},        {16, 4, 13},
        {17, 5, 13},      {20, 6, 15},        {25, 8, 18},
        {30, 10, 21},     {50, 18, 33},       {100, 40, 61},
        {417, 188, 230},  {500, 228, 273},    {1000, 469, 532},
        {1075, 505, 571}, {5000, 2431, 2570}, {20000, 9861, 10140},
    };
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        double *values = shuffled(exact[i].count);
        struct stats_interval interval = stats_median_interval(values, exact[i].count);
        assert_true(interval.low == (double)exact[i].low);
        assert_true(interval.high == (double)exact[i].high);
        free(values);
    }
}

static void interval_of_too_little(void **state)
{
    (void)state;
    const double values[] = {1, 2, 3, 4, 5, NAN};
    for (size_t count = 0; count <= 6; count++) {
        struct stats_interval interval = stats_median_interval(values, count);
        assert_true(isnan(interval.low) && isnan(interval.high));
    }
}

static void geomean(void **state)
{
    (void)state;
    const double values[] = {1, 4, 2, 0};
    const double far[] = {1e200, 1e300, 1e-200, 1e-300};
    assert_true(fabs(stats_geomean(values, 3) - 2) < 1e-14);
    assert_true(fabs(stats_geomean(values, 2) - 2) < 1e-14);
    assert_true(fabs(stats_geomean(far, 4) - 1) < 1e-12);
    assert_true(isnan(stats_geomean(values, 4)));
    assert_true(isnan(stats_geomean(values, 0)));
    assert_true(isnan(stats_geomean((const double[]){-1, -1}, 2)));
    assert_true(isnan(stats_geomean((const double[]){1, NAN}, 2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_of_few),
        cmocka_unit_test(median_of_odd_values),
        cmocka_unit_test(median_agrees_with_sorting),
        cmocka_unit_test(takes_linear_time),
        cmocka_unit_test(interval_ranks),
        cmocka_unit_test(interval_of_too_little),
        cmocka_unit_test(geomean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
