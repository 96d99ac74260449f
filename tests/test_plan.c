#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/fail.h"
#include "data/axis.h"
#include "data/plan.h"
#include "kernels/kernel.h"
#include "kernels/layout.h"
#include "kernels/mla.h"
#include "tests/specs.h"

static struct kernel_shape shape_of(uint32_t heads, uint32_t batch, uint32_t topk)
{
    return (struct kernel_shape){
        .heads = heads,
        .batch = batch,
        .topk = topk,
        .page_tokens = 64,
        .page_stride_bytes = 37440,
    };
}

static struct plan plan_of(const char *name, const struct kernel_shape *shape,
                           const struct gpuspec *spec)
{
    const struct kernel *kernel;
    struct plan plan;

    assert_int_equal(kernel_find(&kernel, name, "portable", shape, spec), FAIL_OK);
    kernel->plan(shape, spec, &plan);
    return plan;
}

static void assert_grid(const struct plan_launch *launch, uint32_t x, uint32_t y, uint32_t z)
{
    assert_int_equal(launch->grid[0], x);
    assert_int_equal(launch->grid[1], y);
    assert_int_equal(launch->grid[2], z);
}

static void registry(void **state)
{
    (void)state;
    assert_true(kernel_exists("simt"));
    assert_true(kernel_exists("mma"));
    assert_true(kernel_exists("splitk"));
    assert_false(kernel_exists("combine"));
    for (size_t i = 0; i < kernel_count; i++) {
        assert_true(kernel_table[i]->axes >> AXIS_BATCH & 1);
        assert_int_equal(kernel_table[i]->axes >> AXIS_NSPLIT & 1,
                         strcmp(kernel_table[i]->name, "splitk") == 0);
    }
}

/* The fixture, and the edges of "at or under twice the SMs". */
static void pow2_rule(void **state)
{
    static const struct {
        const struct gpuspec *spec;
        uint32_t batch, topk, parts;
    } rows[] = {
        {&spec_rtx_pro_6000, 1, 512, 16},
        {&spec_rtx_pro_6000, 16, 512, 8},
        {&spec_rtx_pro_6000, 32, 512, 4},
        {&spec_rtx_pro_6000, 94, 512, 2},
        {&spec_rtx_pro_6000, 95, 512, 1},
        {&spec_rtx_pro_6000, 128, 512, 1},
        {&spec_rtx_pro_6000, 1024, 512, 1},
        {&spec_h200, 1, 2048, 64},
        {&spec_h200, 1, 4096, 128},
        {&spec_h200, 66, 512, 2},
        {&spec_h200, 67, 512, 1},
        {&spec_h200, 1, 1, 1},
        {&spec_h200, 1, 33, 2},
        {&spec_h200, 1, 96, 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct kernel_shape shape = shape_of(64, rows[i].batch, rows[i].topk);

        assert_int_equal(mla_pow2(&shape, rows[i].spec, mla_head_groups(&shape)), rows[i].parts);
    }
}

/* Groups of heads count as blocks; both lists' tiles count: 2 + 3. */
static void pow2_rule_heads_and_lists(void **state)
{
    struct kernel_shape shape = shape_of(33, 66, 512);

    (void)state;
    assert_int_equal(mla_pow2(&shape, &spec_h200, mla_head_groups(&shape)), 2);
    shape.heads = 32;
    assert_int_equal(mla_pow2(&shape, &spec_h200, mla_head_groups(&shape)), 4);
    shape = shape_of(64, 1, 33);
    shape.extra_topk = 65;
    assert_int_equal(mla_pow2(&shape, &spec_h200, mla_head_groups(&shape)), 4);
    shape.topk = 0;
    assert_int_equal(mla_pow2(&shape, &spec_h200, mla_head_groups(&shape)), 2);
}

/* 3 rows x 33 heads x 33 entries: 99 entries of 584 + 4 bytes, 99 outputs; q is 1,024 bytes, out
 * 1,024 + 4 of lse. */
static void mma_counts(void **state)
{
    struct kernel_shape shape = shape_of(33, 3, 33);
    struct plan plan = plan_of("mma", &shape, &spec_h200);
    const struct plan_launch *launch = &plan.launch[0];

    (void)state;
    assert_int_equal(plan.count, 1);
    assert_int_equal(plan.nsplit, 1);
    assert_int_equal(plan.scratch_bytes, 0);
    assert_string_equal(launch->name, "smscope_mma");
    assert_int_equal(launch->role, PLAN_MAIN);
    assert_int_equal(launch->unit, PLAN_TENSOR);
    assert_grid(launch, 3, 2, 1);
    assert_int_equal(plan_threads(launch), 256);
    assert_true(launch->smem_dynamic_bytes <= 101376);
    assert_int_equal(launch->tiles, 2);
    assert_int_equal(launch->valid_entries, 99);
    assert_int_equal(launch->dram_bytes, 99 * 588 + 99 * 2052);
    assert_int_equal(launch->l2_bytes, 2 * 99 * 588 + 99 * 2052);
    assert_int_equal(launch->flops, 3ull * 64 * 64 * 2 * 1024);
}

static void simt_counts(void **state)
{
    struct kernel_shape shape = shape_of(33, 3, 33);
    struct plan plan = plan_of("simt", &shape, &spec_h200);
    const struct plan_launch *launch = &plan.launch[0];

    (void)state;
    assert_int_equal(plan.count, 1);
    assert_string_equal(launch->name, "smscope_simt");
    assert_int_equal(launch->unit, PLAN_FMA);
    assert_grid(launch, 33, 3, 1);
    assert_int_equal(launch->tiles, 2);
    assert_int_equal(launch->dram_bytes, 99 * 588 + 99 * 2052);
    assert_int_equal(launch->l2_bytes, 33 * 99 * 588 + 99 * 2052);
    assert_int_equal(launch->flops, 33ull * 99 * 2 * 1024);
}

/* More parts than tiles is allowed; 99 x 3 parts of 512 sums, a maximum and a sum. */
static void splitk_counts(void **state)
{
    struct kernel_shape shape = shape_of(33, 3, 33);
    struct plan plan;

    (void)state;
    shape.nsplit = 3;
    plan = plan_of("splitk", &shape, &spec_h200);
    assert_int_equal(plan.count, 2);
    assert_int_equal(plan.nsplit, 3);
    assert_int_equal(plan.scratch_bytes, 99 * 3 * 514 * 4);
    assert_string_equal(plan.launch[0].name, "smscope_split");
    assert_grid(&plan.launch[0], 3, 2, 3);
    assert_int_equal(plan.launch[0].tiles, 1);
    assert_int_equal(plan.launch[0].valid_entries, 99);
    assert_int_equal(plan.launch[0].dram_bytes, 99 * 588 + 99 * 1024);
    assert_int_equal(plan.launch[0].l2_bytes, 2 * 99 * 588 + 99 * 1024 + plan.scratch_bytes);
    assert_int_equal(plan.launch[0].scratch_bytes, plan.scratch_bytes);
    assert_string_equal(plan.launch[1].name, "smscope_combine_few"); /* 99 warps idle SMs */
    assert_int_equal(plan.launch[1].role, PLAN_COMBINE);
    assert_int_equal(plan.launch[1].unit, PLAN_FMA);
    assert_grid(&plan.launch[1], 99, 1, 1); /* four warps a row and head, four a block */
    assert_true(plan.launch[1].overlaps);
    assert_int_equal(plan.launch[1].tiles, 3);
    assert_int_equal(plan.launch[1].valid_entries, 0);
    assert_int_equal(plan.launch[1].dram_bytes, 99 * 1028);
    assert_int_equal(plan.launch[1].scratch_bytes, plan.scratch_bytes);
    assert_int_equal(plan.launch[1].flops, 2 * 99 * 512 * 3);
}

static void splitk_default_and_one(void **state)
{
    struct kernel_shape shape = shape_of(64, 32, 512);
    struct plan plan = plan_of("splitk", &shape, &spec_rtx_pro_6000);

    (void)state;
    assert_int_equal(plan.nsplit, 4);
    assert_int_equal(plan.launch[0].tiles, 4);
    shape.nsplit = 1;
    plan = plan_of("splitk", &shape, &spec_rtx_pro_6000);
    assert_int_equal(plan.count, 1);
    assert_int_equal(plan.scratch_bytes, 0);
    assert_grid(&plan.launch[0], 32, 2, 1);
    assert_int_equal(plan.launch[0].dram_bytes,
                     plan_of("mma", &shape, &spec_h200).launch[0].dram_bytes);
}

static const char *splitk_variant(uint32_t nsplit, uint32_t batch)
{
    struct kernel_shape shape = shape_of(64, batch, 512);
    const struct kernel *kernel;

    shape.nsplit = nsplit;
    assert_int_equal(kernel_find(&kernel, "splitk", KERNEL_AUTO, &shape, &spec_h200), FAIL_OK);
    return kernel->variant;
}

/* Two parts merge in their cluster, more in a second kernel, also where they are asked for. */
static void cluster_for_two_parts(void **state)
{
    struct kernel_shape shape = shape_of(64, 64, 512);
    const struct kernel *kernel;
    struct plan plan;

    (void)state;
    if (kernel_find(&kernel, "mma", "hopper", &shape, &spec_h200) != FAIL_OK) {
        assert_string_equal(fail_text(), "this build has no code for sm_90a");
        return;
    }
    assert_string_equal(splitk_variant(0, 64), "cluster");
    assert_string_equal(splitk_variant(2, 1), "cluster");
    assert_string_equal(splitk_variant(0, 1), "hopper");
    assert_string_equal(splitk_variant(1, 1), "hopper");
    assert_string_equal(splitk_variant(3, 1), "hopper");
    assert_string_equal(splitk_variant(16, 1), "hopper");
    shape.nsplit = 2;
    assert_int_equal(kernel_find(&kernel, "splitk", "cluster", &shape, &spec_h200), FAIL_OK);
    kernel->plan(&shape, &spec_h200, &plan);
    assert_int_equal(plan.count, 1);
    assert_int_equal(plan.scratch_bytes, 0);
    assert_int_equal(plan.launch[0].cluster, 2);
    assert_grid(&plan.launch[0], 64, 1, 2);
    shape.nsplit = 4;
    assert_int_equal(kernel_find(&kernel, "splitk", "cluster", &shape, &spec_h200),
                     FAIL_UNSUPPORTED);
    assert_string_equal(fail_text(), "a cluster merges 2 parts, not 4");
}

static void assert_refused(const struct kernel_shape *shape, const struct gpuspec *spec,
                           const char *reason)
{
    for (size_t i = 0; i < kernel_count; i++) {
        bool hopper = strcmp(kernel_table[i]->variant, "portable") != 0;

        assert_int_equal(kernel_table[i]->supports(shape, spec), FAIL_UNSUPPORTED);
        if (hopper && spec->cc_major == 8)
            continue; /* refused for the GPU, whatever the shape */
        if (!strstr(fail_text(), reason))
            fail_msg("\"%s\" does not say \"%s\"", fail_text(), reason);
    }
}

static void refused(void **state)
{
    struct kernel_shape shape = shape_of(129, 1, 512);
    struct gpuspec old = spec_a100;

    (void)state;
    assert_refused(&shape, &spec_h200, "129 heads");
    shape.heads = 0;
    assert_refused(&shape, &spec_h200, "0 heads");
    shape = shape_of(64, 65536, 512);
    assert_refused(&shape, &spec_h200, "batch 65536");
    shape = shape_of(64, 1, 0);
    assert_refused(&shape, &spec_h200, "width 0");
    shape = shape_of(64, 1, 512);
    shape.nsplit = 65536;
    assert_refused(&shape, &spec_h200, "65536 parts");
    shape = shape_of(64, 1, 512);
    shape.page_stride_bytes += 8;
    assert_refused(&shape, &spec_h200, "main page stride of 37448");
    shape.page_stride_bytes = 37360;
    assert_refused(&shape, &spec_h200, "less than 64 tokens");
    shape.page_tokens = 0;
    assert_refused(&shape, &spec_h200, "pages of 0 tokens");
    shape = shape_of(64, 1, 512);
    shape.extra_topk = 1;
    shape.extra_page_tokens = 3;
    shape.extra_page_stride_bytes = layout_stride_unpadded(3);
    assert_refused(&shape, &spec_h200, "extra page stride of 1752");
    shape = shape_of(64, 1, 512);
    old.cc_major = 7;
    old.cc_minor = 5;
    assert_refused(&shape, &old, "7.5");
    old = spec_a100;
    old.smem_per_block_optin_bytes = 16 * 1024;
    assert_refused(&shape, &old, "shared memory");
}

/* Every shape of the issue that public kernels refuse, on every architecture. */
static void accepted(void **state)
{
    static const struct gpuspec *const specs[] = {&spec_a100, &spec_h200, &spec_b200,
                                                  &spec_rtx_pro_6000};
    static const uint32_t heads[] = {1, 7, 8, 16, 33, 64, 127, 128};
    static const uint32_t topk[] = {1, 33, 512, 1152, 2048};

    (void)state;
    for (size_t s = 0; s < sizeof specs / sizeof specs[0]; s++)
        for (size_t h = 0; h < sizeof heads / sizeof heads[0]; h++)
            for (size_t t = 0; t < sizeof topk / sizeof topk[0]; t++)
                for (size_t k = 0; k < kernel_count; k++) {
                    struct kernel_shape shape = shape_of(heads[h], 4, topk[t]);

                    const struct kernel *kernel;

                    assert_int_equal(
                        kernel_find(&kernel, kernel_table[k]->name, KERNEL_AUTO, &shape, specs[s]),
                        FAIL_OK);
                    assert_string_equal(kernel->name, kernel_table[k]->name);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registry),
        cmocka_unit_test(pow2_rule),
        cmocka_unit_test(pow2_rule_heads_and_lists),
        cmocka_unit_test(mma_counts),
        cmocka_unit_test(simt_counts),
        cmocka_unit_test(splitk_counts),
        cmocka_unit_test(splitk_default_and_one),
        cmocka_unit_test(cluster_for_two_parts),
        cmocka_unit_test(refused),
        cmocka_unit_test(accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
