#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/layout.h"
#include "kernels/reference.h"
#include "kernels/synth.h"
#include "tests/near.h"
#include "tests/textbook.h"

/* Encodings, worked by hand from their definitions. */

static void e4m3_codes(void **state)
{
    (void)state;
    assert_near(reference_e4m3(0x00), 0, 0);
    assert_false(signbit(reference_e4m3(0x00)));
    assert_near(reference_e4m3(0x80), 0, 0);
    assert_true(signbit(reference_e4m3(0x80)));
    assert_near(reference_e4m3(0x01), 0x1p-9, 0);
    assert_near(reference_e4m3(0x07), 7 * 0x1p-9, 0);
    assert_near(reference_e4m3(0x08), 0x1p-6, 0);
    assert_near(reference_e4m3(0x38), 1, 0);
    assert_near(reference_e4m3(0x3c), 1.5, 0);
    assert_near(reference_e4m3(0xc0), -2, 0);
    assert_near(reference_e4m3(0x70), 128, 0);
    assert_near(reference_e4m3(0x77), 240, 0);
    assert_near(reference_e4m3(0x7e), 448, 0);
    assert_near(reference_e4m3(0xfe), -448, 0);
    assert_true(isnan(reference_e4m3(0x7f)));
    assert_true(isnan(reference_e4m3(0xff)));
}

static void e8m0_bytes(void **state)
{
    (void)state;
    assert_near(reference_e8m0(0), 0x1p-127, 0);
    assert_near(reference_e8m0(92), 0x1p-35, 0);
    assert_near(reference_e8m0(127), 1, 0);
    assert_near(reference_e8m0(150), 8388608, 0);
    assert_near(reference_e8m0(254), 0x1p127, 0);
    assert_true(isnan(reference_e8m0(255)));
}

static void bf16_bits(void **state)
{
    (void)state;
    assert_near(reference_bf16(0x3f80), 1, 0);
    assert_near(reference_bf16(0xc049), -3.140625, 0);
    assert_near(reference_bf16(0x0001), 0x1p-133, 0);
    assert_true(reference_bf16(0x7f80) == INFINITY);
    assert_true(signbit(reference_bf16(0x8000)));
}

/* A small call by hand. */

enum {
    PAGE = 2,
    STRIDE = 1728, /* of two tokens, padded: 1168 used */
    SLOTS = 4,
    CODE_ONE = 0x38,
    BF16_HALF = 0x3f00,
    BF16_THREE = 0x4040
};

/*
 * Slot 0: value 0 is 1.  Slot 3: value 0 is 2, value 511 is 0.5.  Slots 1 and 2 are NaN throughout.
 * One query, value 0 is 3; scale 0.5: the scores are 1.5 and 3.
 */
static uint8_t pool[2 * STRIDE];
static uint16_t q[LAYOUT_DIM];
static int32_t indices[8];
static int32_t length;
static double out[2 * LAYOUT_DIM], lse[2];
static struct kernel_args args;

static const double weight_of_second = 0.8175744761936437; /* 1 / (1 + e^-1.5) */
static const double lse_of_both = 3.2014132779827524;      /* 3 + ln(1 + e^-1.5) */

static void clear_token(uint8_t *page, int token)
{
    memset(page + token * 576, 0, 576);
    memset(page + 1152 + token * 8, 127, 7);
}

static int make_call(void **state)
{
    (void)state;
    memset(pool, 0xff, sizeof pool);
    memset(q, 0, sizeof q);
    clear_token(pool, 0);
    pool[0] = CODE_ONE;
    clear_token(pool + STRIDE, 1);
    pool[STRIDE + 576] = CODE_ONE;
    pool[STRIDE + 1152 + 8] = 128; /* x 2 */
    pool[STRIDE + 576 + 448 + 126] = BF16_HALF & 0xff;
    pool[STRIDE + 576 + 448 + 127] = BF16_HALF >> 8;
    q[0] = BF16_THREE;
    for (int i = 0; i < 8; i++)
        indices[i] = INT32_MAX;
    indices[0] = 0;
    indices[1] = 3;
    args = (struct kernel_args){
        .q = q,
        .main = {.pool = pool,
                 .index = indices,
                 .topk = 2,
                 .page_tokens = PAGE,
                 .page_stride_bytes = STRIDE},
        .scale = 0.5f,
        .heads = 1,
        .batch = 1,
    };
    for (int i = 0; i < LAYOUT_DIM; i++)
        out[i] = NAN;
    lse[0] = NAN;
    return 0;
}

static void run(void)
{
    reference_run(&args, NULL, out, lse, 1);
}

static void assert_both(void)
{
    run();
    assert_near(lse[0], lse_of_both, 1e-15);
    assert_near(out[0], 1 + weight_of_second, 1e-15);
    assert_near(out[511], weight_of_second / 2, 1e-15);
    for (int i = 1; i < 511; i++)
        assert_near(out[i], 0, 0);
}

static void assert_first_alone(void)
{
    run();
    assert_near(lse[0], 1.5, 0);
    assert_near(out[0], 1, 0);
    assert_near(out[511], 0, 0);
}

static void assert_empty(void)
{
    run();
    assert_true(lse[0] == INFINITY);
    for (int i = 0; i < LAYOUT_DIM; i++)
        assert_true(out[i] == 0 && !signbit(out[i]));
}

static void token_stands_where_the_layout_says(void **state)
{
    double values[LAYOUT_DIM];

    (void)state;
    pool[STRIDE + 576 + 447] = CODE_ONE; /* the last one under the seventh scale */
    pool[STRIDE + 1152 + 14] = 124;
    reference_token(&args.main, 3, values);
    assert_near(values[0], 2, 0);
    assert_near(values[447], 0.125, 0);
    assert_near(values[511], 0.5, 0);
    for (int i = 1; i < 511; i++)
        if (i != 447)
            assert_near(values[i], 0, 0);
    reference_token(&args.main, 0, values);
    assert_near(values[0], 1, 0);
    reference_token(&args.main, 1, values);
    assert_true(isnan(values[0]));
}

static void two_tokens(void **state)
{
    (void)state;
    assert_both();
}

static void negative_indices_do_not_count(void **state)
{
    static const int32_t masked[] = {-1, 0, INT32_MIN, 3, -123456};

    (void)state;
    memcpy(indices, masked, sizeof masked);
    args.main.topk = 5;
    assert_both();
    indices[3] = -2;
    assert_first_alone();
    indices[1] = -1;
    assert_empty();
}

static void length_is_clamped_to_the_list(void **state)
{
    (void)state;
    args.main.topk = 4; /* two more that hold garbage */
    args.main.length = &length;
    length = 2;
    assert_both();
    length = 1;
    assert_first_alone();
    length = 0;
    assert_empty();
    length = -7;
    assert_empty();
    length = INT32_MIN;
    assert_empty();
    args.main.topk = 2;
    length = INT32_MAX;
    assert_both();
}

/* twice the second: weights 1/(1 + 2 e^1.5) and the rest */
static void repeats_count_each_time(void **state)
{
    double first = 1 / (1 + 2 * exp(1.5));

    (void)state;
    indices[2] = 3;
    args.main.topk = 3;
    run();
    assert_near(out[0], first + 2 * (1 - first), 1e-15);
    assert_near(lse[0], log(exp(1.5) + 2 * exp(3)), 1e-15);
}

/* (e^1.5 + e^3) / (e^1.5 + 2 e^3) of the output stays beside a sink of 3 */
static void sink_takes_its_share(void **state)
{
    static const double kept = 0.5501837823417258;
    float sink = 3;

    (void)state;
    args.sink = &sink;
    run();
    assert_near(lse[0], lse_of_both, 1e-15);
    assert_near(out[0], kept * (1 + weight_of_second), 1e-15);
    assert_near(out[511], kept * weight_of_second / 2, 1e-15);
    sink = -INFINITY;
    assert_both();
    sink = INFINITY;
    run();
    assert_near(lse[0], lse_of_both, 1e-15);
    assert_near(out[0], 0, 0);
    for (int i = 0; i < 3; i++) {
        sink = i == 0 ? 3 : i == 1 ? INFINITY : -INFINITY;
        args.main.length = &length;
        length = 0;
        assert_empty();
    }
}

/* The second token from a cache with pages of one token, in the extra list. */
static void extra_list_joins_the_main_one(void **state)
{
    static uint8_t extra_pool[2 * 1152];
    static const int32_t extra_indices[] = {-1, 1};

    (void)state;
    memset(extra_pool, 0xff, sizeof extra_pool);
    memcpy(extra_pool + 1152, pool + STRIDE + 576, 576);
    memcpy(extra_pool + 1152 + 576, pool + STRIDE + 1152 + 8, 8);
    args.main.topk = 1;
    args.extra = (struct kernel_cache){.pool = extra_pool,
                                       .index = extra_indices,
                                       .topk = 2,
                                       .page_tokens = 1,
                                       .page_stride_bytes = 1152};
    assert_both();
    args.extra.length = &length;
    length = 1;
    assert_first_alone();
    args.main = (struct kernel_cache){0};
    assert_empty();
    length = 2;
    run();
    assert_near(lse[0], 3, 0);
    assert_near(out[511], 0.5, 0);
}

/* Row of one entry: bit for bit, the sign of zeros and subnormals with it. */
static void one_entry_comes_out_as_it_is(void **state)
{
    double values[LAYOUT_DIM];

    (void)state;
    pool[3] = 0x80;
    pool[LAYOUT_NOPE] = 1;
    reference_token(&args.main, 0, values);
    args.main.topk = 1;
    run();
    assert_true(signbit(values[3]));
    assert_near(values[LAYOUT_NOPE], 0x1p-133, 0);
    assert_memory_equal(out, values, sizeof values);
}

/* Heads differ in q and sink; the part picks head 1 twice. */
static void part_picks_heads(void **state)
{
    static const uint32_t heads[] = {1, 1};
    struct reference_part part = {.heads = heads, .head_count = 2};
    uint16_t two_heads[2 * LAYOUT_DIM] = {0};
    float sinks[] = {INFINITY, 3};

    (void)state;
    memcpy(two_heads + LAYOUT_DIM, q, sizeof q);
    args.q = two_heads;
    args.heads = 2;
    args.sink = sinks;
    reference_run(&args, &part, out, lse, 1);
    for (int i = 0; i < 2; i++) {
        assert_near(lse[i], lse_of_both, 1e-15);
        assert_near(out[i * LAYOUT_DIM + 511], 0.5501837823417258 * weight_of_second / 2, 1e-15);
    }
}

/* Slot 7 of a pool that repeats every 4 slots is slot 3. */
static void period_folds_the_pool(void **state)
{
    struct reference_part part = {.period_slots = SLOTS};

    (void)state;
    indices[0] = 4 * 1000;
    indices[1] = 7;
    reference_run(&args, &part, out, lse, 1);
    assert_near(lse[0], lse_of_both, 1e-15);
    assert_near(out[511], weight_of_second / 2, 1e-15);
}

/* Against another way of computing the same. */

static void assert_textbook(const struct synth_spec *spec)
{
    uint64_t vectors = (uint64_t)spec->batch * spec->heads;
    double *outs = mem_new(vectors * LAYOUT_DIM, sizeof *outs),
           *lses = mem_new(vectors, sizeof *lses);
    struct synth synth;

    assert_int_equal(synth_make(&synth, spec), 0);
    reference_run(&synth.args, NULL, outs, lses, 0);
    for (uint32_t row = 0; row < spec->batch; row++)
        assert_near(textbook_difference(&synth.args, row, outs + row * spec->heads * LAYOUT_DIM,
                                        lses + row * spec->heads),
                    0, 1e-12);
    free(outs);
    free(lses);
    synth_free(&synth);
}

static void agrees_with_the_textbook(void **state)
{
    (void)state;
    for (int kind = SYNTH_SOFT; kind <= SYNTH_STEEP; kind++)
        for (int sink = 0; sink <= 1; sink++) {
            struct synth_spec spec = {
                .kind = (enum synth_kind)kind,
                .seed = 11,
                .heads = 9,
                .batch = 4,
                .topk = 70,
                .extra_topk = 37,
                .page_tokens = 2,
                .extra_page_tokens = 64,
                .padded = sink == 0,
                .index = SYNTH_HOLES,
                .extra_length = SYNTH_MIXED,
                .sink = (enum synth_sink)sink,
            };

            assert_textbook(&spec);
        }
}

static void agrees_with_the_textbook_on_every_code(void **state)
{
    struct synth_spec spec = {
        .kind = SYNTH_HARD, .seed = 3, .heads = 2, .batch = 34, .topk = 5, .page_tokens = 64};

    (void)state;
    assert_textbook(&spec);
}

/* Selection and threads on a larger call. */

static void threads_and_parts_change_no_bit(void **state)
{
    static const uint32_t rows[] = {4, 0}, heads[] = {32, 7, 8};
    struct synth_spec spec = {.seed = 5, .heads = 33, .batch = 5, .topk = 40, .page_tokens = 64};
    struct reference_part part = {.rows = rows, .row_count = 2, .heads = heads, .head_count = 3};
    size_t bytes = 5 * 33 * LAYOUT_DIM * sizeof(double);
    double *one = malloc(bytes), *many = malloc(bytes), lses[2][5 * 33];
    struct synth synth;

    (void)state;
    assert_int_equal(synth_make(&synth, &spec), 0);
    reference_run(&synth.args, NULL, one, lses[0], 1);
    reference_run(&synth.args, NULL, many, lses[1], 7);
    assert_memory_equal(one, many, bytes);
    assert_memory_equal(lses[0], lses[1], sizeof lses[0]);
    reference_run(&synth.args, &part, many, lses[1], 0);
    for (int r = 0; r < 2; r++)
        for (int h = 0; h < 3; h++) {
            uint32_t from = rows[r] * 33 + heads[h];

            assert_true(lses[1][r * 3 + h] == lses[0][from]);
            assert_memory_equal(many + (r * 3 + h) * LAYOUT_DIM, one + from * LAYOUT_DIM,
                                LAYOUT_DIM * sizeof *one);
        }
    free(one);
    free(many);
    synth_free(&synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(e4m3_codes),
        cmocka_unit_test(e8m0_bytes),
        cmocka_unit_test(bf16_bits),
        cmocka_unit_test_setup(token_stands_where_the_layout_says, make_call),
        cmocka_unit_test_setup(two_tokens, make_call),
        cmocka_unit_test_setup(negative_indices_do_not_count, make_call),
        cmocka_unit_test_setup(length_is_clamped_to_the_list, make_call),
        cmocka_unit_test_setup(repeats_count_each_time, make_call),
        cmocka_unit_test_setup(sink_takes_its_share, make_call),
        cmocka_unit_test_setup(extra_list_joins_the_main_one, make_call),
        cmocka_unit_test_setup(one_entry_comes_out_as_it_is, make_call),
        cmocka_unit_test_setup(part_picks_heads, make_call),
        cmocka_unit_test_setup(period_folds_the_pool, make_call),
        cmocka_unit_test(agrees_with_the_textbook),
        cmocka_unit_test(agrees_with_the_textbook_on_every_code),
        cmocka_unit_test(threads_and_parts_change_no_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
