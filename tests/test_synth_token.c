#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "kernels/layout.h"
#include "kernels/reference.h"
#include "kernels/rng.h"
#include "kernels/synth.h"
#include "tests/near.h"

static float values[LAYOUT_DIM];
static uint8_t row[LAYOUT_ROW_BYTES], scales[LAYOUT_SCALE_BYTES];

static void quantise(void)
{
    memset(row, 0x55, sizeof row);
    memset(scales, 0x55, sizeof scales);
    synth_quantise(values, row, scales);
}

/* amax of every group: below 448 x 2^k, exactly that, just above */
static void scale_rounds_up_only_above_a_power(void **state)
{
    (void)state;
    for (int k = -21; k <= 100; k++) {
        float edge = (float)ldexp(448, k);

        values[LAYOUT_GROUP * 3 + 17] = -edge;
        quantise();
        assert_int_equal(scales[3], 127 + k);
        assert_int_equal(row[LAYOUT_GROUP * 3 + 17], 0xfe);
        values[LAYOUT_GROUP * 3 + 17] = nextafterf(edge, 0);
        quantise();
        assert_int_equal(scales[3], 127 + k);
        values[LAYOUT_GROUP * 3 + 17] = nextafterf(edge, INFINITY);
        quantise();
        assert_int_equal(scales[3], 128 + k);
        assert_int_equal(row[LAYOUT_GROUP * 3 + 17], 0x76); /* 224 */
        values[LAYOUT_GROUP * 3 + 17] = 0;
    }
}

/* 1e-4 / 448 = 2^-22.1: no byte below 105 */
static void scale_has_a_floor(void **state)
{
    (void)state;
    memset(values, 0, sizeof values);
    values[1] = 1e-6f;
    values[2] = -0.0f;
    quantise();
    for (int group = 0; group < LAYOUT_GROUPS; group++)
        assert_int_equal(scales[group], 105);
    assert_int_equal(scales[7], 0xff); /* pad */
    assert_int_equal(row[0], 0);
    assert_near(reference_e4m3(row[1]), 4.0, 0.3); /* 1e-6 x 2^22 = 4.19 */
    assert_int_equal(row[2], 0x80);
}

/* Each value becomes the nearest code, the even one of two: found by looking at all of them. */
static void codes_are_the_nearest(void **state)
{
    struct rng rng = rng_stream(1, 1);

    (void)state;
    for (int turn = 0; turn < 200; turn++) {
        for (int i = 0; i < LAYOUT_DIM; i++) {
            int lower = (int)rng_below(&rng, 126); /* halfway between two codes, or anywhere */
            double half =
                (reference_e4m3((uint8_t)lower) + reference_e4m3((uint8_t)(lower + 1))) / 2;

            values[i] = (float)(turn % 2 == 0 ? half : half * (0.5 + rng_below(&rng, 500) / 1e3));
            if (rng_below(&rng, 2) == 0)
                values[i] = -values[i];
        }
        for (int group = 0; group < LAYOUT_GROUPS; group++)
            values[group * LAYOUT_GROUP] = 448;
        quantise();
        for (int i = 0; i < LAYOUT_NOPE; i++) {
            double chosen = fabs(reference_e4m3(row[i]) - (double)values[i]);

            assert_int_equal(scales[i / LAYOUT_GROUP], 127);
            assert_int_equal(row[i] >> 7, signbit(values[i]) != 0);
            for (int code = 0; code < 256; code++) {
                double other = fabs(reference_e4m3((uint8_t)code) - (double)values[i]);

                assert_false(other < chosen);
                assert_false(other == chosen && code % 2 == 0 && row[i] % 2 == 1);
            }
        }
    }
    memset(values, 0, sizeof values);
}

static void rope_is_rounded_to_bf16(void **state)
{
    static const struct {
        float value;
        uint16_t bits;
    } cases[] = {
        {1, 0x3f80},         {1 + 0x1p-8f, 0x3f80}, {1 + 0x3p-8f, 0x3f82}, {1 + 0x1.8p-8f, 0x3f81},
        {-0.0f, 0x8000},     {-3.140625f, 0xc049},  {0x1p-133f, 0x0001},   {0x1.8p-133f, 0x0002},
        {0x1.ffp0f, 0x4000},
    };

    (void)state;
    for (int i = 0; i < 9; i++)
        values[LAYOUT_NOPE + i] = cases[i].value;
    quantise();
    for (int i = 0; i < 9; i++)
        assert_int_equal(row[LAYOUT_NOPE + 2 * i] | row[LAYOUT_NOPE + 2 * i + 1] << 8,
                         cases[i].bits);
    memset(values, 0, sizeof values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scale_rounds_up_only_above_a_power),
        cmocka_unit_test(scale_has_a_floor),
        cmocka_unit_test(codes_are_the_nearest),
        cmocka_unit_test(rope_is_rounded_to_bf16),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
