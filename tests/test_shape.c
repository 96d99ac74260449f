#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/fail.h"
#include "bench/shape.h"

/* A point with everything a shape reads, as expansion leaves it. */
static struct point make_point(uint32_t concurrency, uint32_t batch, int64_t topk)
{
    struct point point = {
        .concurrency = concurrency, .batch = batch, .calls = (concurrency + batch - 1) / batch};

    point.asked[AXIS_HEADS].number = 64;
    point.asked[AXIS_TOPK].number = topk;
    point.asked[AXIS_PAGE].number = 64;
    point.asked[AXIS_EXTRA_PAGE].number = 2;
    point.asked[AXIS_LENGTH] = (struct axis_value){.word = "full"};
    point.asked[AXIS_EXTRA_LENGTH] = (struct axis_value){.word = "full"};
    point.asked[AXIS_NSPLIT] = (struct axis_value){.word = "auto"};
    point.asked[AXIS_STRIDE] = (struct axis_value){.word = "padded"};
    point.asked[AXIS_SINK] = (struct axis_value){.word = "off"};
    return point;
}

static void shape_takes_strides_from_the_page_sizes(void **state)
{
    struct point point = make_point(16, 16, 512);
    struct kernel_shape shape;

    (void)state;
    assert_int_equal(shape_from_point(&shape, &point), FAIL_OK);
    assert_int_equal(shape.page_stride_bytes, 37440); /* 64 tokens, padded to 576 */
    assert_int_equal(shape.extra_page_stride_bytes, 1728);
    assert_int_equal(shape.nsplit, 0);
    point.asked[AXIS_STRIDE] = (struct axis_value){.word = "unpadded"};
    assert_int_equal(shape_from_point(&shape, &point), FAIL_OK);
    assert_int_equal(shape.page_stride_bytes, 37376);
    assert_int_equal(shape.extra_page_stride_bytes, 1168);
}

static void a_length_above_topk_is_unsupported(void **state)
{
    struct point point = make_point(1, 1, 128);
    struct kernel_shape shape;

    (void)state;
    point.asked[AXIS_LENGTH] = (struct axis_value){.number = 128};
    assert_int_equal(shape_from_point(&shape, &point), FAIL_OK);
    point.asked[AXIS_LENGTH] = (struct axis_value){.number = 129};
    assert_int_equal(shape_from_point(&shape, &point), FAIL_UNSUPPORTED);
    assert_string_equal(fail_text(), "length 129 is more than the list's width 128");
}

static void padding_rows_have_length_0_and_count_nothing(void **state)
{
    struct point point = make_point(5, 4, 100); /* two calls of 4 rows, 3 of them padding */
    struct kernel_shape shape;
    struct shape_counts counts;
    int32_t lengths[16];

    (void)state;
    assert_int_equal(shape_from_point(&shape, &point), FAIL_OK);
    assert_true(shape_needs_length(&point, AXIS_LENGTH));
    shape_lengths(lengths, &point, AXIS_LENGTH, 100, 2, 7);
    for (int step = 0; step < 2; step++)
        for (int row = 0; row < 8; row++)
            assert_int_equal(lengths[step * 8 + row], row < 5 ? 100 : 0);
    shape_count(&counts, &point, &shape, 7);
    assert_int_equal(counts.valid_entries, 500);
    assert_int_equal(counts.index_entries, 500);
}

static void full_lists_without_padding_need_no_length(void **state)
{
    struct point point = make_point(8, 4, 100);

    (void)state;
    assert_false(shape_needs_length(&point, AXIS_LENGTH));
    point.asked[AXIS_LENGTH] = (struct axis_value){.number = 100};
    assert_true(shape_needs_length(&point, AXIS_LENGTH));
}

static void fixed_and_mixed_lengths_are_counted(void **state)
{
    struct point point = make_point(8, 8, 512);
    struct kernel_shape shape;
    struct shape_counts counts;
    int32_t lengths[8];
    uint64_t sum = 0;

    (void)state;
    point.asked[AXIS_LENGTH] = (struct axis_value){.number = 30};
    point.asked[AXIS_EXTRA_TOPK].number = 64;
    assert_int_equal(shape_from_point(&shape, &point), FAIL_OK);
    shape_count(&counts, &point, &shape, 1);
    assert_int_equal(counts.valid_entries, 8 * 30 + 8 * 64);
    assert_int_equal(counts.index_entries, 8 * (512 + 64));

    point.asked[AXIS_EXTRA_TOPK].number = 0;
    point.asked[AXIS_LENGTH] = (struct axis_value){.word = "mixed"};
    assert_int_equal(shape_from_point(&shape, &point), FAIL_OK);
    shape_lengths(lengths, &point, AXIS_LENGTH, 512, 1, 9);
    for (int row = 0; row < 8; row++) {
        assert_in_range(lengths[row], 0, 512);
        sum += (uint64_t)lengths[row];
    }
    shape_count(&counts, &point, &shape, 9);
    assert_int_equal(counts.valid_entries, sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shape_takes_strides_from_the_page_sizes),
        cmocka_unit_test(a_length_above_topk_is_unsupported),
        cmocka_unit_test(padding_rows_have_length_0_and_count_nothing),
        cmocka_unit_test(full_lists_without_padding_need_no_length),
        cmocka_unit_test(fixed_and_mixed_lengths_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
