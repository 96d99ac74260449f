#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/blocksched.h"
#include "tests/near.h"

#include <math.h>
#include <stdlib.h>

#define NEAR 1e-9

static void check(const struct blocksched *got, double waves, uint32_t sms_used, double busy_sms,
                  double tail_pct, double length)
{
    assert_near(got->waves, waves, NEAR);
    assert_int_equal(got->sms_used, sms_used);
    assert_near(got->busy_sms, busy_sms, NEAR);
    assert_near(got->tail_pct, tail_pct, NEAR);
    assert_near(got->length, length, NEAR);
}

/* One block at a time on an SM: SMs - 1, SMs, SMs + 1 and 2 SMs + 4 blocks. */
static void grids_around_the_sm_count(void **state)
{
    static const uint32_t sm_counts[] = {132, 188};

    (void)state;
    for (int i = 0; i < 2; i++) {
        uint32_t sms = sm_counts[i];
        struct blocksched got;

        blocksched_run(&got, sms, 1, sms - 1, NULL, 1);
        check(&got, (sms - 1.0) / sms, sms - 1, sms - 1, 0, 1);
        assert_near(got.fill_pct, 100 * (sms - 1.0) / sms, NEAR);
        assert_int_equal(got.blocks_max, 1);
        assert_int_equal(got.blocks_min, 0);
        blocksched_run(&got, sms, 1, sms, NULL, 1);
        check(&got, 1, sms, sms, 0, 1);
        assert_near(got.fill_pct, 100, NEAR);
        assert_int_equal(got.blocks_min, 1);
        blocksched_run(&got, sms, 1, sms + 1, NULL, 1);
        check(&got, (sms + 1.0) / sms, sms, (sms + 1) / 2.0, 50, 2);
        assert_int_equal(got.blocks_max, 2);
        assert_int_equal(got.blocks_min, 1);
        blocksched_run(&got, sms, 1, 2 * sms + 4, NULL, 1);
        check(&got, 2 + 4.0 / sms, sms, (2 * sms + 4) / 3.0, 100.0 / 3, 3);
        assert_near(got.fill_pct, 100 * (2 * sms + 4) / (3.0 * sms), NEAR);
        assert_near(got.achieved_pct_of_resident, 100, NEAR);
    }
}

/* The same work on SMs that hold two blocks takes the same SM time: the two share it. */
static void two_resident_blocks(void **state)
{
    struct blocksched got;

    (void)state;
    blocksched_run(&got, 188, 2, 189, NULL, 1);
    check(&got, 189.0 / 376, 188, 189 / 2.0, 50, 2);
    /* 187 SMs x 1 block x 1 time and one SM x 2 blocks x 2 times, of 189 busy times x 2 */
    assert_near(got.achieved_pct_of_resident, 100.0 * (187 + 4) / (2 * 189), NEAR);
    blocksched_run(&got, 188, 2, 376, NULL, 1);
    check(&got, 1, 188, 188, 0, 2);
    blocksched_run(&got, 188, 2, 380, NULL, 1);
    check(&got, 380.0 / 376, 188, 380 / 3.0, 100.0 / 3, 3);
    assert_int_equal(got.blocks_max, 3);
    assert_int_equal(got.blocks_min, 2);
}

/* Blocks of 8 warps on one H200, 8 to an SM, counted by hardware: grid and busy SMs. */
static void what_an_h200_counted(void **state)
{
    static const struct {
        uint64_t blocks;
        double busy_sms;
    } counted[] = {{1, 1.00},     {2, 2.00},     {8, 7.99},     {64, 63.93},
                   {132, 131.69}, {264, 131.47}, {1000, 126.37}};

    (void)state;
    for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
        struct blocksched got;

        blocksched_run(&got, 132, 8, counted[i].blocks, NULL, 1);
        assert_in_range((int)(1000 * fabs(got.busy_sms / counted[i].busy_sms - 1)), 0, 12);
    }
}

/* 1,000 blocks: 76 SMs get 8, 56 get 7, busy for as long. */
static void a_thousand_blocks(void **state)
{
    struct blocksched got;

    (void)state;
    blocksched_run(&got, 132, 8, 1000, NULL, 1);
    check(&got, 1000.0 / 1056, 132, 125, 12.5, 8);
    assert_int_equal(got.blocks_max, 8);
    assert_int_equal(got.blocks_min, 7);
    assert_near(got.achieved_pct_of_resident, 100.0 * (76 * 64 + 56 * 49) / (1000 * 8), NEAR);
}

/* Blocks that do not slow each other: a wave takes one time. */
static void unsaturated_sms(void **state)
{
    struct blocksched got;

    (void)state;
    blocksched_run(&got, 188, 4, 256, NULL, 4);
    check(&got, 256.0 / 752, 188, 188, 0, 1);
    assert_near(got.achieved_pct_of_resident, 100.0 * 256 / 752, NEAR);
    blocksched_run(&got, 188, 4, 756, NULL, INFINITY);
    check(&got, 756.0 / 752, 188, (188 + 4) / 2.0, 50, 2);
    /* three blocks on SMs that two fill: 1.5 times, beside SMs with two that take one */
    blocksched_run(&got, 10, 4, 21, NULL, 2);
    check(&got, 21.0 / 40, 10, (9 + 1.5) / 1.5, 100.0 / 3, 1.5);
}

/* SM 0: 3 then 2; SM 1: 1, 1, 1.  At 3 both have room and the fifth block goes to the first. */
static void weights_by_hand(void **state)
{
    static const float weights[] = {3, 1, 1, 1, 2};
    struct blocksched got;

    (void)state;
    blocksched_run(&got, 2, 1, 5, weights, 1);
    check(&got, 2.5, 2, 8 / 5.0, 40, 5);
    assert_near(got.fill_pct, 80, NEAR);
    assert_int_equal(got.blocks_max, 3);
    assert_int_equal(got.blocks_min, 2);
    blocksched_run(&got, 9, 1, 5, weights, 1);
    check(&got, 5.0 / 9, 5, 8 / 3.0, 100.0 * 2 / 3, 3);
    assert_int_equal(got.blocks_min, 0);
}

/* 1 and 3 on one SM: at half speed until the short one is done at 2, then alone until 4; unslowed:
 * until 3. */
static void weights_that_share(void **state)
{
    static const float weights[] = {1, 3, 4};
    struct blocksched got;

    (void)state;
    blocksched_run(&got, 1, 2, 2, weights, 1);
    check(&got, 1, 1, 1, 0, 4);
    assert_near(got.achieved_pct_of_resident, 100.0 * (2 * 2 + 2) / (4 * 2), NEAR);
    blocksched_run(&got, 1, 2, 2, weights, 2);
    check(&got, 1, 1, 1, 0, 3);
    assert_near(got.achieved_pct_of_resident, 100.0 * (2 + 2) / (3 * 2), NEAR);
    /* the third comes at 2: both have 2 + 2 until 6, then 2 are left of it until 8 */
    blocksched_run(&got, 1, 2, 3, weights, 1);
    check(&got, 1.5, 1, 1, 0, 8);
    assert_near(got.achieved_pct_of_resident, 100.0 * (2 * 6 + 2) / (8 * 2), NEAR);
}

/* The simulation with equal weights and the closed form are separate code. */
static void equal_weights_agree_with_the_closed_form(void **state)
{
    enum { MOST = 300 };
    static const double saturating[] = {1, 1.5, 2, 3, 100};
    float ones[MOST];

    (void)state;
    for (int i = 0; i < MOST; i++)
        ones[i] = 1;
    for (uint32_t sms = 1; sms <= 13; sms += 3)
        for (int resident = 1; resident <= 5; resident++)
            for (uint64_t blocks = 1; blocks <= MOST; blocks += 7)
                for (int i = 0; i < 5; i++) {
                    struct blocksched closed, simulated;

                    blocksched_run(&closed, sms, resident, blocks, NULL, saturating[i]);
                    blocksched_run(&simulated, sms, resident, blocks, ones, saturating[i]);
                    check(&simulated, closed.waves, closed.sms_used, closed.busy_sms,
                          closed.tail_pct, closed.length);
                    assert_int_equal(simulated.blocks_max, closed.blocks_max);
                    assert_int_equal(simulated.blocks_min, closed.blocks_min);
                    assert_near(simulated.achieved_pct_of_resident, closed.achieved_pct_of_resident,
                                1e-7);
                }
}

/* One resident block: plain list scheduling, the next block to the SM that is free first. */
static void random_weights_agree_with_list_scheduling(void **state)
{
    enum { SMS = 7, BLOCKS = 500 };
    float weights[BLOCKS];
    double end[SMS] = {0}, first = INFINITY, last = 0, sum = 0;
    uint32_t random = 12345;
    struct blocksched got;

    (void)state;
    for (int i = 0; i < BLOCKS; i++) {
        int free_first = 0;

        random = random * 1664525u + 1013904223u;
        weights[i] = 0.5f + (float)(random >> 8) / 16777216.0f;
        for (int sm = 1; sm < SMS; sm++)
            if (end[sm] < end[free_first])
                free_first = sm;
        end[free_first] += (double)weights[i];
        sum += (double)weights[i];
    }
    for (int sm = 0; sm < SMS; sm++) {
        first = fmin(first, end[sm]);
        last = fmax(last, end[sm]);
    }
    blocksched_run(&got, SMS, 1, BLOCKS, weights, 1);
    check(&got, (double)BLOCKS / SMS, SMS, sum / last, 100 * (last - first) / last, last);
    assert_near(got.achieved_pct_of_resident, 100, 1e-6);
}

/* SMs that share are busy for the work they were given, whatever the number of resident blocks. */
static void sharing_conserves_work(void **state)
{
    enum { BLOCKS = 100000 };
    float *weights = malloc(BLOCKS * sizeof(*weights));
    double sum = 0;

    (void)state;
    assert_non_null(weights);
    for (int i = 0; i < BLOCKS; i++) {
        weights[i] = (float)(1 + i % 17);
        sum += (double)weights[i];
    }
    for (int resident = 1; resident <= 8; resident += 7) {
        struct blocksched got;

        blocksched_run(&got, 132, resident, BLOCKS, weights, 1);
        assert_near(got.busy_sms * got.length / sum, 1, 1e-9);
        assert_true(got.achieved_pct_of_resident > 97 && got.achieved_pct_of_resident < 100.0001);
    }
    free(weights);
}

static void a_million_blocks(void **state)
{
    struct blocksched got;

    (void)state;
    blocksched_run(&got, 188, 4, 1000000, NULL, 1);
    /* 5319 x 188 = 999,972, and 28 more */
    check(&got, 1000000.0 / 752, 188, 1000000.0 / 5320, 100.0 / 5320, 5320);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids_around_the_sm_count),
        cmocka_unit_test(two_resident_blocks),
        cmocka_unit_test(what_an_h200_counted),
        cmocka_unit_test(a_thousand_blocks),
        cmocka_unit_test(unsaturated_sms),
        cmocka_unit_test(weights_by_hand),
        cmocka_unit_test(weights_that_share),
        cmocka_unit_test(equal_weights_agree_with_the_closed_form),
        cmocka_unit_test(random_weights_agree_with_list_scheduling),
        cmocka_unit_test(sharing_conserves_work),
        cmocka_unit_test(a_million_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
