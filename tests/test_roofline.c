#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernels/layout.h"
#include "model/occupancy.h"
#include "model/roofline.h"
#include "tests/near.h"
#include "tests/specs.h"

#include <math.h>

static_assert((int)ROOFLINE_DIM == (int)LAYOUT_DIM, "one size of a token");
static_assert((int)ROOFLINE_TOKEN_BYTES == (int)LAYOUT_TOKEN_BYTES, "one size of a token");
static_assert((int)ROOFLINE_TILE_ENTRIES == (int)LAYOUT_TILE, "one size of a tile");

/* ---- floor ---- */

static void ceilings_are_the_datasheet(void **state)
{
    struct roofline_ceilings ceilings = roofline_from_spec(&spec_rtx_pro_6000);

    (void)state;
    assert_near(ceilings.read_bytes_per_s, 1.792e12, 1);
    assert_near(ceilings.matrix_flops_per_s, 5.038e14, 1);
}

/* Published floors of a study on one H200 (4.42 TB/s read, 780 TFLOP/s), 64 heads, three digits. */
static void floors_of_a_study(void **state)
{
    static const struct roofline_ceilings measured = {4.42e12, 780e12};
    static const struct {
        uint64_t batch, topk;
        double us;
    } floors[] = {{1, 128, 0.0467}, {1, 512, 0.0978}, {1, 2048, 0.344}, {16, 512, 1.56},
                  {64, 512, 6.26},  {128, 512, 12.5}, {128, 2048, 44.1}};

    (void)state;
    for (size_t i = 0; i < sizeof(floors) / sizeof(floors[0]); i++) {
        uint64_t entries = floors[i].batch * floors[i].topk;
        double us = roofline_floor_us(&measured, entries, floors[i].batch, 64, entries);

        assert_true(fabs(us / floors[i].us - 1) < 0.005);
    }
}

/* 10 entries, 2 requests, 3 heads, 12 indices: 5,840 + 2 x 6,144 + 48 bytes; 61,440 flops. */
static void floor_by_hand(void **state)
{
    static const struct roofline_ceilings slow_memory = {1e6, 1e15}, slow_matrix = {1e15, 1e6};

    (void)state;
    assert_near(roofline_floor_us(&slow_memory, 10, 2, 3, 12), 18176, 1e-6);
    assert_near(roofline_floor_us(&slow_matrix, 10, 2, 3, 12), 61440, 1e-6);
}

/* ---- the terms of a tile, on a GPU of round numbers ----
 * One SM: 128,000 slots, 1e5 FMA flops and 1e6 tensor flops a microsecond; decoding a tile takes
 * 16,384 x 8 slots = 1.024 us.
 */
static const struct gpuspec round_gpu = {
    .sm_count = 10,
    .mem_bw_gbs = 100,
    .boost_mhz = 1000,
    .bf16_dense_fp32acc_tflops = 20,
    .mma_sync_tflops = 10,
    .fp32_tflops = 1,
    .l2_gb_per_s = 200,
    .dram_latency_ns = 500,
    .block_fixed_ns = 2000,
};

/* Blocks of 4 tiles: 1 us fixed loads + 2 us fixed a block; 10,000 flops and next to no bytes a
 * tile. */
static struct plan_launch fma_launch(uint32_t blocks)
{
    return (struct plan_launch){.role = PLAN_MAIN,
                                .grid = {blocks, 1, 1},
                                .block = {128, 1, 1},
                                .unit = PLAN_FMA,
                                .tiles = 4,
                                .blocks_ahead = 1,
                                .flops = blocks * UINT64_C(40000)};
}

static void check(const struct plan_launch *launch, int resident, double time_us,
                  double per_tile_us, enum roofline_bound bound)
{
    struct roofline_launch got;

    roofline_launch(&got, &round_gpu, launch, resident);
    assert_near(got.per_tile_us, per_tile_us, 1e-9);
    assert_near(got.time_us, time_us, 1e-9);
    assert_int_equal(got.bound, bound);
}

/* 4 of 16 warps: decode 4 x 1.024, FMA 4 x 0.1, chain 0.4, two loads 1. */
static void latency_of_a_block_alone(void **state)
{
    struct plan_launch launch = fma_launch(10);
    struct roofline_launch got;

    (void)state;
    check(&launch, 1, 4 * 5.896 + 3, 5.896, ROOFLINE_LATENCY);
    check(&launch, 8, 4 * 5.896 + 3, 5.896, ROOFLINE_LATENCY);
    launch.blocks_ahead = 2; /* the loads hide behind the work */
    check(&launch, 1, 4 * 4.896 + 3, 4.896, ROOFLINE_LATENCY);
    launch.blocks_ahead = 1;
    launch.block[0] = 512; /* 16 warps fill the SM */
    check(&launch, 1, 4 * 2.524 + 3, 2.524, ROOFLINE_LATENCY);
    launch.block[0] = 1024; /* and more are no faster */
    check(&launch, 1, 4 * 2.524 + 3, 2.524, ROOFLINE_LATENCY);
    roofline_launch(&got, &round_gpu, &launch, 1);
    assert_near(got.saturating_blocks, 2.524 / 1.124, 1e-9);
}

/* 8 blocks an SM at 1.124 us of its full rate each pass the 5.896 of one alone; a wave of 10 does
 * not. */
static void compute_of_a_full_sm(void **state)
{
    struct plan_launch launch = fma_launch(80);

    (void)state;
    check(&launch, 8, 4 * 8.992 + 3, 8.992, ROOFLINE_COMPUTE);
    launch = fma_launch(90);
    check(&launch, 8, 4 * 8.992 + 3 + 4 * 5.896 + 3, 8.992, ROOFLINE_COMPUTE);
    launch = fma_launch(71); /* one SM has eight */
    check(&launch, 8, 4 * 8.992 + 3, 8.992, ROOFLINE_COMPUTE);
    launch = fma_launch(11); /* a last wave of one block takes as long as one of ten */
    check(&launch, 1, 2 * (4 * 5.896 + 3), 5.896, ROOFLINE_LATENCY);
    launch = fma_launch(160);
    check(&launch, 8, 2 * (4 * 8.992 + 3), 8.992, ROOFLINE_COMPUTE);
}

/* 8 MB through 100 GB/s: 80 us, 20 a tile; 16.8 MB through 200 GB/s: 84 us. */
static void bandwidths(void **state)
{
    struct plan_launch launch = fma_launch(10);

    (void)state;
    launch.dram_bytes = 8000000;
    check(&launch, 1, 83, 20, ROOFLINE_DRAM);
    launch.l2_bytes = 16800000;
    check(&launch, 1, 87, 21, ROOFLINE_L2);
    /* half of the blocks in each of two waves: the device is as fast with them */
    launch = fma_launch(20);
    launch.dram_bytes = 8000000;
    check(&launch, 1, 86, 10, ROOFLINE_DRAM);
}

/* 8 warps: decode 2.048, 1e6 flops at 8 x 4096 / 33 a cycle, chain 0.4, loads 1; with 16 the SM's
 * rate is the limit. */
static void tensor_rate_of_a_block(void **state)
{
    struct plan_launch launch = fma_launch(10);
    double attained = 1e6 / (8 * 4096 / 33.0 * 1000);

    (void)state;
    launch.unit = PLAN_TENSOR;
    launch.flops = UINT64_C(40000000);
    launch.block[0] = 256;
    check(&launch, 1, 4 * (3.448 + attained) + 3, 3.448 + attained, ROOFLINE_LATENCY);
    launch.block[0] = 512;
    check(&launch, 1, 4 * 3.424 + 3, 3.424, ROOFLINE_LATENCY);
    /* decode 1.024 and tensor 1 overlap: four blocks take 4.096, not 8.096 */
    launch.grid[0] = 40;
    launch.flops = UINT64_C(160000000);
    check(&launch, 4, 4 * 4.096 + 3, 4.096, ROOFLINE_COMPUTE);
    launch.flops *= 2;
    check(&launch, 4, 4 * 8 + 3, 8, ROOFLINE_COMPUTE);
}

/* A part comes from L2 in 0.2 us; fixed 2 + 0.4. */
static void combine(void **state)
{
    struct plan_launch launch = fma_launch(10);

    (void)state;
    launch.role = PLAN_COMBINE;
    launch.tiles = 8;
    launch.flops = 0;
    check(&launch, 1, 8 * 0.2 + 2.4, 0.2, ROOFLINE_LATENCY);
    launch.blocks_ahead = 4;
    check(&launch, 1, 8 * 0.05 + 2.4, 0.05, ROOFLINE_LATENCY);
    launch.flops = 10 * 8 * 1000; /* 0.01 us of an SM each, 0.04 at a quarter of it */
    check(&launch, 1, 8 * 0.06 + 2.4, 0.06, ROOFLINE_LATENCY);
}

static void more_blocks_never_take_less(void **state)
{
    double before = 0;

    (void)state;
    for (uint32_t blocks = 1; blocks <= 400; blocks++) {
        struct plan_launch launch = fma_launch(blocks);
        struct roofline_launch got;

        launch.dram_bytes = blocks * UINT64_C(100000);
        roofline_launch(&got, &round_gpu, &launch, 8);
        assert_true(got.time_us >= before - 1e-9);
        before = got.time_us;
    }
}

/* ---- the three kernels, plans typed in by hand: 64 heads, lists of 512 ---- */

enum { HEADS = 64, TOPK = 512, TILES = 16 };

static struct plan_launch main_launch(uint32_t batch)
{
    uint64_t entries = (uint64_t)batch * TOPK;

    return (struct plan_launch){.role = PLAN_MAIN,
                                .barriers = 1,
                                .tiles = TILES,
                                .blocks_ahead = 1,
                                .valid_entries = entries,
                                .dram_bytes = entries * (584 + 4) + batch * (2048 + 4) * HEADS,
                                .flops = 2 * HEADS * entries * 1024};
}

/* A block a (row, head) reads every token for itself. */
static struct plan_launch simt(uint32_t batch)
{
    struct plan_launch launch = main_launch(batch);

    launch.grid[0] = batch;
    launch.grid[1] = HEADS;
    launch.grid[2] = 1;
    launch.block[0] = 128;
    launch.block[1] = launch.block[2] = 1;
    launch.registers = 128;
    launch.unit = PLAN_FMA;
    launch.l2_bytes = HEADS * launch.valid_entries * 584;
    return launch;
}

/* A block a (row, 32 heads, part). */
static struct plan_launch tensor(uint32_t batch, uint32_t parts)
{
    struct plan_launch launch = main_launch(batch);

    launch.grid[0] = batch;
    launch.grid[1] = HEADS / 32;
    launch.grid[2] = parts;
    launch.block[0] = 256;
    launch.block[1] = launch.block[2] = 1;
    launch.registers = 199;
    launch.smem_dynamic_bytes = 95 * 1024;
    launch.unit = PLAN_TENSOR;
    launch.tiles = TILES / parts;
    launch.l2_bytes = 2 * launch.valid_entries * 584;
    return launch;
}

static struct plan_launch combine_of(uint32_t batch, uint32_t parts)
{
    uint64_t scratch = (uint64_t)batch * HEADS * parts * (512 + 2) * 4;

    return (struct plan_launch){.role = PLAN_COMBINE,
                                .grid = {batch, HEADS, 1},
                                .block = {128, 1, 1},
                                .registers = 32,
                                .barriers = 1,
                                .unit = PLAN_FMA,
                                .tiles = parts,
                                .blocks_ahead = 1,
                                .dram_bytes = batch * HEADS * UINT64_C(1028),
                                .l2_bytes = scratch,
                                .scratch_bytes = scratch,
                                .flops = (uint64_t)batch * HEADS * parts * 1024};
}

static double time_of(const struct gpuspec *spec, struct plan_launch launch)
{
    struct occupancy occupancy;
    struct roofline_launch got;

    occupancy_compute(&occupancy, spec, &launch);
    roofline_launch(&got, spec, &launch, occupancy.resident_blocks);
    return got.time_us;
}

static double split_step(const struct gpuspec *spec, uint32_t batch, uint32_t parts)
{
    double us = time_of(spec, tensor(batch, parts));

    if (parts > 1)
        us += spec->launch_gap_ns / 1e3 + time_of(spec, combine_of(batch, parts));
    return us;
}

static void assert_within_twice(double modelled, double measured)
{
    if (modelled < measured / 2 || modelled > measured * 2)
        fail_msg("modelled %.1f us, measured %.1f us", modelled, measured);
}

/* Microseconds that a first version of the three kernels took on one H200. */
static void within_twice_of_an_h200(void **state)
{
    static const struct {
        uint32_t batch, parts;
        double simt, mma, split;
    } measured[] = {{1, 16, 90, 56, 15.8},
                    {16, 8, 197, 55, 27},
                    {64, 2, 739, 56, 64},
                    {128, 1, 1598, 111, 111}};

    (void)state;
    for (int i = 0; i < 4; i++) {
        uint32_t batch = measured[i].batch;

        assert_within_twice(time_of(&spec_h200, simt(batch)), measured[i].simt);
        assert_within_twice(time_of(&spec_h200, tensor(batch, 1)), measured[i].mma);
        assert_within_twice(split_step(&spec_h200, batch, measured[i].parts), measured[i].split);
    }
    /* of the 15.8: split 8.1, combine 7.7; at 64 two parts lose to one, they make two waves of half
     * the tiles */
    assert_within_twice(time_of(&spec_h200, tensor(1, 16)), 8.1);
    assert_within_twice(time_of(&spec_h200, combine_of(1, 16)), 7.7);
    assert_true(split_step(&spec_h200, 64, 2) > time_of(&spec_h200, tensor(64, 1)));
}

/* With one row the tensor-core kernel has two blocks and is hardly ahead of a kernel that does 64
 * times the reads. */
static void starved_at_batch_1(void **state)
{
    static const struct gpuspec *const specs[] = {&spec_rtx_pro_6000, &spec_h200};

    (void)state;
    for (int i = 0; i < 2; i++) {
        double mma = time_of(specs[i], tensor(1, 1));

        assert_true(mma > 0.6 * time_of(specs[i], simt(1)));
        assert_near(mma, time_of(specs[i], tensor(32, 1)), 1e-9); /* 64 blocks for the price of 2 */
        assert_true(split_step(specs[i], 1, 16) < mma / 2);
    }
}

/* With 128 rows the re-reading kernel is several times slower. */
static void lost_when_full(void **state)
{
    double simt_us = time_of(&spec_rtx_pro_6000, simt(128));
    double mma_us = time_of(&spec_rtx_pro_6000, tensor(128, 1));

    (void)state;
    assert_true(simt_us > 4 * mma_us);
    assert_true(simt_us < 20 * mma_us);
}

/* No model time may beat the floor of the same GPU. */
static void never_below_the_floor(void **state)
{
    static const struct gpuspec *const specs[] = {&spec_rtx_pro_6000, &spec_h200, &spec_a100,
                                                  &spec_b200};

    (void)state;
    for (int i = 0; i < 4; i++)
        for (uint32_t batch = 1; batch <= 512; batch *= 2) {
            struct roofline_ceilings ceilings = roofline_from_spec(specs[i]);
            uint64_t entries = (uint64_t)batch * TOPK;
            double floor_us = roofline_floor_us(&ceilings, entries, batch, HEADS, entries);

            assert_true(time_of(specs[i], simt(batch)) > floor_us);
            assert_true(time_of(specs[i], tensor(batch, 1)) > floor_us);
            assert_true(split_step(specs[i], batch, 4) > floor_us);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ceilings_are_the_datasheet),
        cmocka_unit_test(floors_of_a_study),
        cmocka_unit_test(floor_by_hand),
        cmocka_unit_test(latency_of_a_block_alone),
        cmocka_unit_test(compute_of_a_full_sm),
        cmocka_unit_test(bandwidths),
        cmocka_unit_test(tensor_rate_of_a_block),
        cmocka_unit_test(combine),
        cmocka_unit_test(more_blocks_never_take_less),
        cmocka_unit_test(within_twice_of_an_h200),
        cmocka_unit_test(starved_at_batch_1),
        cmocka_unit_test(lost_when_full),
        cmocka_unit_test(never_below_the_floor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
