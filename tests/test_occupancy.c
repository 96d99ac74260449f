#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/occupancy.h"
#include "tests/near.h"
#include "tests/specs.h"

/* A launch of blocks of `threads`, with one barrier unless the test says otherwise. */
static struct plan_launch a_launch(uint32_t threads, int registers, uint32_t smem_bytes)
{
    struct plan_launch launch = {.grid = {1, 1, 1}, .block = {threads, 1, 1}, .barriers = 1};

    launch.registers = registers;
    launch.smem_dynamic_bytes = smem_bytes;
    return launch;
}

/* Where a launch must stand on one GPU. */
struct expected {
    const struct gpuspec *spec;
    int warps, registers, smem; /* blocks by each */
    int resident;
    enum occupancy_limit limit;
    double pct;
};

static void check(const struct plan_launch *launch, const struct expected *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct expected *want = &expected[i];
        struct occupancy got;

        occupancy_compute(&got, want->spec, launch);
        assert_int_equal(got.blocks[OCCUPANCY_WARPS], want->warps);
        assert_int_equal(got.blocks[OCCUPANCY_BLOCKS], want->spec->max_blocks_per_sm);
        assert_int_equal(got.blocks[OCCUPANCY_REGISTERS], want->registers);
        assert_int_equal(got.blocks[OCCUPANCY_SMEM], want->smem);
        assert_int_equal(got.resident_blocks, want->resident);
        assert_int_equal(got.limit, want->limit);
        assert_near(got.theoretical_pct, want->pct, 1e-9);
    }
}

#define CHECK(launch, ...)                                               \
    do {                                                                 \
        const struct expected expected[] = {__VA_ARGS__};                \
        check(launch, expected, sizeof(expected) / sizeof(expected[0])); \
    } while (0)

/* 9 warps of 21 x 256 registers: 3 a sub-partition, 12 warps, one block; 91,136 + 1,024 bytes. */
static void nine_warps_with_89_kib(void **state)
{
    struct plan_launch launch = a_launch(288, 168, 89 * 1024);

    (void)state;
    CHECK(&launch, {&spec_rtx_pro_6000, 5, 1, 1, 1, OCCUPANCY_REGISTERS, 18.75},
          {&spec_h200, 7, 1, 2, 1, OCCUPANCY_REGISTERS, 14.0625},
          {&spec_a100, 7, 1, 1, 1, OCCUPANCY_REGISTERS, 14.0625});
}

/* 255 x 32 = 8,160 -> 8,192 registers a warp: 2 a sub-partition, 8 warps, two blocks. */
static void registers_at_their_maximum(void **state)
{
    struct plan_launch launch = a_launch(128, 255, 16 * 1024);

    (void)state;
    CHECK(&launch, {&spec_rtx_pro_6000, 12, 2, 5, 2, OCCUPANCY_REGISTERS, 100.0 * 8 / 48},
          {&spec_h200, 16, 2, 13, 2, OCCUPANCY_REGISTERS, 12.5},
          {&spec_b200, 16, 2, 13, 2, OCCUPANCY_REGISTERS, 12.5},
          {&spec_a100, 16, 2, 9, 2, OCCUPANCY_REGISTERS, 12.5});
}

/* 97,280 + 1,024 bytes fit twice only where an SM has 228 KiB; there 25 x 256 registers a warp are
 * the limit. */
static void tensor_core_block_of_95_kib(void **state)
{
    struct plan_launch launch = a_launch(256, 199, 95 * 1024);

    (void)state;
    CHECK(&launch, {&spec_rtx_pro_6000, 6, 1, 1, 1, OCCUPANCY_REGISTERS, 100.0 * 8 / 48},
          {&spec_h200, 8, 1, 2, 1, OCCUPANCY_REGISTERS, 12.5},
          {&spec_b200, 8, 1, 2, 1, OCCUPANCY_REGISTERS, 12.5},
          {&spec_a100, 8, 1, 1, 1, OCCUPANCY_REGISTERS, 12.5});
}

/* 48 warps go with 40 registers a thread and no more, 64 with 32. */
static void registers_for_a_full_sm(void **state)
{
    struct plan_launch r32 = a_launch(256, 32, 0), r33 = a_launch(256, 33, 0);
    struct plan_launch r40 = a_launch(256, 40, 0), r41 = a_launch(256, 41, 0);

    (void)state;
    CHECK(&r32, {&spec_h200, 8, 8, 228, 8, OCCUPANCY_WARPS, 100},
          {&spec_a100, 8, 8, 164, 8, OCCUPANCY_WARPS, 100});
    CHECK(&r33, {&spec_h200, 8, 6, 228, 6, OCCUPANCY_REGISTERS, 75});
    CHECK(&r40, {&spec_rtx_pro_6000, 6, 6, 100, 6, OCCUPANCY_WARPS, 100});
    CHECK(&r41, {&spec_rtx_pro_6000, 6, 5, 100, 5, OCCUPANCY_REGISTERS, 100.0 * 40 / 48});
}

/* 10 x 256 registers a warp: 25 warps by the whole register file, but 6 a sub-partition and so 24.
 */
static void registers_stay_in_their_sub_partition(void **state)
{
    struct plan_launch launch = a_launch(160, 80, 0);

    (void)state;
    CHECK(&launch, {&spec_h200, 12, 4, 228, 4, OCCUPANCY_REGISTERS, 100.0 * 20 / 64});
}

/* 1,000 + 1,024 bytes take 16 units of 128. */
static void shared_memory_goes_in_units(void **state)
{
    struct plan_launch launch = a_launch(32, 16, 900);
    struct plan_launch more = a_launch(32, 16, 30 * 1024);

    (void)state;
    launch.smem_static_bytes = 100;
    CHECK(&launch, {&spec_rtx_pro_6000, 48, 128, 50, 24, OCCUPANCY_BLOCKS, 50},
          {&spec_h200, 64, 128, 114, 32, OCCUPANCY_BLOCKS, 50},
          {&spec_a100, 64, 128, 82, 32, OCCUPANCY_BLOCKS, 50});
    CHECK(&more, {&spec_rtx_pro_6000, 48, 128, 3, 3, OCCUPANCY_SMEM, 6.25},
          {&spec_h200, 64, 128, 7, 7, OCCUPANCY_SMEM, 100.0 * 7 / 64},
          {&spec_a100, 64, 128, 5, 5, OCCUPANCY_SMEM, 100.0 * 5 / 64});
}

static void barriers_of_a_block(void **state)
{
    struct plan_launch launch = a_launch(32, 32, 0);
    struct occupancy got;

    (void)state;
    launch.barriers = 6;
    occupancy_compute(&got, &spec_rtx_pro_6000, &launch);
    assert_int_equal(got.blocks[OCCUPANCY_BARRIERS], 4);
    assert_int_equal(got.resident_blocks, 4);
    assert_int_equal(got.limit, OCCUPANCY_BARRIERS);
    occupancy_compute(&got, &spec_h200, &launch);
    assert_int_equal(got.blocks[OCCUPANCY_BARRIERS], 10);
    assert_int_equal(got.resident_blocks, 10);
    occupancy_compute(&got, &spec_b200, &launch);
    assert_int_equal(got.resident_blocks, 10);
    occupancy_compute(&got, &spec_a100, &launch);
    assert_int_equal(got.resident_blocks, 32);
    assert_int_equal(got.limit, OCCUPANCY_BLOCKS);
    launch.barriers = 0;
    occupancy_compute(&got, &spec_rtx_pro_6000, &launch);
    assert_int_equal(got.blocks[OCCUPANCY_BARRIERS], 24);
    assert_int_equal(got.limit, OCCUPANCY_BLOCKS);
}

static void a_partial_warp_is_a_warp(void **state)
{
    struct plan_launch launch = a_launch(33, 32, 0);
    struct plan_launch cube = a_launch(4, 32, 0);

    (void)state;
    CHECK(&launch, {&spec_rtx_pro_6000, 24, 32, 100, 24, OCCUPANCY_WARPS, 100});
    cube.block[1] = 8;
    cube.block[2] = 4;
    CHECK(&cube, {&spec_rtx_pro_6000, 12, 16, 100, 12, OCCUPANCY_WARPS, 100});
}

static void cannot_launch(void **state)
{
    struct plan_launch registers = a_launch(1024, 65, 0), fits = a_launch(1024, 64, 0);
    struct plan_launch threads = a_launch(1025, 16, 0), none = a_launch(0, 16, 0);
    struct plan_launch smem = a_launch(128, 32, 101377), widest = a_launch(128, 32, 101376);
    struct plan_launch r256 = a_launch(32, 256, 0);

    (void)state;
    CHECK(&registers, {&spec_h200, 2, 0, 228, 0, OCCUPANCY_REGISTERS, 0});
    CHECK(&fits, {&spec_h200, 2, 1, 228, 1, OCCUPANCY_REGISTERS, 50});
    CHECK(&threads, {&spec_h200, 0, 128, 228, 0, OCCUPANCY_WARPS, 0});
    CHECK(&none, {&spec_h200, 0, 128, 228, 0, OCCUPANCY_WARPS, 0});
    CHECK(&smem, {&spec_rtx_pro_6000, 12, 16, 0, 0, OCCUPANCY_SMEM, 0});
    CHECK(&widest, {&spec_rtx_pro_6000, 12, 16, 1, 1, OCCUPANCY_SMEM, 100.0 * 4 / 48});
    CHECK(&r256, {&spec_h200, 64, 0, 228, 0, OCCUPANCY_REGISTERS, 0});
}

static void limits_have_names(void **state)
{
    (void)state;
    assert_string_equal(occupancy_limit_name(OCCUPANCY_WARPS), "warps");
    assert_string_equal(occupancy_limit_name(OCCUPANCY_BLOCKS), "blocks");
    assert_string_equal(occupancy_limit_name(OCCUPANCY_REGISTERS), "registers");
    assert_string_equal(occupancy_limit_name(OCCUPANCY_SMEM), "shared memory");
    assert_string_equal(occupancy_limit_name(OCCUPANCY_BARRIERS), "barriers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nine_warps_with_89_kib),
        cmocka_unit_test(registers_at_their_maximum),
        cmocka_unit_test(tensor_core_block_of_95_kib),
        cmocka_unit_test(registers_for_a_full_sm),
        cmocka_unit_test(registers_stay_in_their_sub_partition),
        cmocka_unit_test(shared_memory_goes_in_units),
        cmocka_unit_test(barriers_of_a_block),
        cmocka_unit_test(a_partial_warp_is_a_warp),
        cmocka_unit_test(cannot_launch),
        cmocka_unit_test(limits_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
