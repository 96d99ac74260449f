#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "kernels/check.h"
#include "kernels/layout.h"
#include "tests/near.h"

enum { ONE = 0x3f80, TWO = 0x4000, MINUS_ONE = 0xbf80, NOT_A_NUMBER = CHECK_POISON, INF = 0x7f80 };

/* Two vectors: kernel output and reference, equal to begin with: 1, 0, 0, ... and 0, 2, 0, ... */
static uint16_t out[2][LAYOUT_DIM];
static double ref[2][LAYOUT_DIM];
static float lse[2];
static double ref_lse[2];

static int set_equal(void **state)
{
    (void)state;
    memset(out, 0, sizeof out);
    memset(ref, 0, sizeof ref);
    out[0][0] = ONE;
    ref[0][0] = 1;
    out[1][1] = TWO;
    ref[1][1] = 2;
    lse[0] = 0.5f;
    ref_lse[0] = 0.5;
    lse[1] = -200;
    ref_lse[1] = -200;
    return 0;
}

static struct check compare(void)
{
    struct check check;

    check_compare(&check, out[0], lse, ref[0], ref_lse, 2);
    return check;
}

static void equal_passes_with_zero_errors(void **state)
{
    struct check check = compare();

    (void)state;
    assert_true(check.passed);
    assert_near(check.max_abs, 0, 0);
    assert_near(check.mean_abs, 0, 0);
    assert_near(check.rel_error, 0, 0);
    assert_near(check.max_rel, 0, 0);
    assert_near(check.lse_error, 0, 0);
}

/* |d| = 1 and 0.5: 1/1 in the first vector, 0.5/2 in the second; 1.5 over 1024 values; 1 of at most
 * 2 */
static void errors_are_those_worked_by_hand(void **state)
{
    struct check check;

    (void)state;
    out[0][0] = TWO;
    ref[1][1] = 2.5;
    check = compare();
    assert_false(check.passed);
    assert_near(check.max_abs, 1, 0);
    assert_near(check.mean_abs, 1.5 / 1024, 1e-18);
    assert_near(check.rel_error, 1, 1e-15);
    assert_near(check.max_rel, 1 / 2.5, 1e-15);
}

/* d = (3, 4) beside ref = (0, 0, 10): 5 / 10 */
static void rel_error_is_of_norms(void **state)
{
    (void)state;
    out[0][0] = 0x4040; /* 3 */
    out[0][1] = 0x4080; /* 4 */
    out[0][2] = 0x4120; /* 10 */
    memset(ref[0], 0, sizeof ref[0]);
    ref[0][2] = 10;
    assert_near(compare().rel_error, 0.5, 1e-15);
}

/* 1 against 1 / (1 - limit) and a hair on both sides */
static void rel_limit_is_where_it_is_said(void **state)
{
    (void)state;
    ref[0][0] = 1 / (1 - 4.49e-3);
    assert_true(compare().passed);
    ref[0][0] = 1 / (1 - 4.51e-3);
    assert_false(compare().passed);
}

static void zero_reference(void **state)
{
    (void)state;
    out[0][0] = 0;
    ref[0][0] = 0;
    assert_true(compare().passed);
    out[0][0] = 0x0001; /* the smallest number there is */
    assert_true(isinf(compare().rel_error));
    assert_false(compare().passed);
}

static void nan_never_passes(void **state)
{
    struct check check;

    (void)state;
    out[0][5] = NOT_A_NUMBER; /* and a finite vector after it */
    check = compare();
    assert_true(isnan(check.rel_error));
    assert_true(isnan(check.max_abs));
    assert_true(isnan(check.mean_abs));
    assert_true(isnan(check.max_rel));
    assert_false(check.passed);
    set_equal(NULL);
    lse[0] = NAN;
    check = compare();
    assert_true(isnan(check.lse_error));
    assert_false(check.passed);
    set_equal(NULL);
    out[1][0] = INF;
    check = compare();
    assert_true(isinf(check.rel_error));
    assert_false(check.passed);
}

/* small ones by their difference, large ones in proportion */
static void lse_error(void **state)
{
    (void)state;
    ref_lse[0] = 0.25;
    assert_near(compare().lse_error, 0.25, 1e-15);
    assert_false(compare().passed);
    ref_lse[0] = 0.5;
    ref_lse[1] = -200.001;
    assert_near(compare().lse_error, 0.001 / 200.001, 1e-12);
    assert_true(compare().passed);
    ref_lse[1] = -200.003;
    assert_false(compare().passed);
}

static void lse_infinities(void **state)
{
    (void)state;
    lse[0] = INFINITY;
    assert_true(isinf(compare().lse_error));
    assert_false(compare().passed);
    ref_lse[0] = -INFINITY;
    assert_true(isinf(compare().lse_error));
    ref_lse[0] = INFINITY;
    assert_near(compare().lse_error, 0, 0);
    assert_true(compare().passed);
    lse[0] = 0.5f;
    assert_true(isinf(compare().lse_error));
}

static uint64_t exact(struct check *check)
{
    *check = compare();
    return check_exact(check, out[0], ref[0], 2);
}

static void exact_counts_every_other_bit(void **state)
{
    struct check check;

    (void)state;
    assert_int_equal(exact(&check), 0);
    assert_true(check.passed);
    out[0][0] = ONE + 1; /* 0.8 %: would not pass anyway */
    out[1][1] = TWO - 1;
    assert_int_equal(exact(&check), 2);
    assert_false(check.passed);
    set_equal(NULL);
    ref[0][1] = 0x1p-130; /* lost beside 1, but not exact */
    assert_int_equal(exact(&check), 1);
    assert_near(check.rel_error, 0, 1e-30);
    assert_false(check.passed);
    out[0][1] = 0x0008; /* a bf16 subnormal: 8 x 2^-133 */
    assert_int_equal(exact(&check), 0);
    ref[0][1] = 1 + 0x1p-20; /* no bf16 at all */
    assert_int_equal(exact(&check), 1);
}

static void exact_zeros(void **state)
{
    struct check check;

    (void)state;
    ref[0][1] = -0.0;
    assert_int_equal(exact(&check), 0); /* +0 for -0 */
    out[0][1] = 0x8000;
    assert_int_equal(exact(&check), 0);
    ref[0][1] = 0.0;
    assert_int_equal(exact(&check), 1); /* -0 for +0 */
    assert_false(check.passed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(equal_passes_with_zero_errors, set_equal),
        cmocka_unit_test_setup(errors_are_those_worked_by_hand, set_equal),
        cmocka_unit_test_setup(rel_error_is_of_norms, set_equal),
        cmocka_unit_test_setup(rel_limit_is_where_it_is_said, set_equal),
        cmocka_unit_test_setup(zero_reference, set_equal),
        cmocka_unit_test_setup(nan_never_passes, set_equal),
        cmocka_unit_test_setup(lse_error, set_equal),
        cmocka_unit_test_setup(lse_infinities, set_equal),
        cmocka_unit_test_setup(exact_counts_every_other_bit, set_equal),
        cmocka_unit_test_setup(exact_zeros, set_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
