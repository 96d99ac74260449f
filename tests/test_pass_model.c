#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "bench/pass.h"
#include "tests/near.h"
#include "tests/specs.h"

static const struct pass_settings settings = {.samples_least = 6};

/*
 * Plans of our own, so that the kernels' may change.  64 heads, topk 512: a row's entries with
 * their indices are 512 x 588 = 301056 bytes, its q 64 x 1024 = 65536, its out and lse 64 x 1028 =
 * 65792, four parts of it 4 x 64 x 514 x 4 = 526336.
 */
enum { ENTRIES = 301056, Q = 65536, OUT = 65792, PARTS = 526336 };

struct setting {
    struct point point;
    struct record record;
    struct pass_context context;
};

/* One kernel that reads the entries `readers` times; parts: a second one merges them. */
static void set_up(struct setting *setting, uint32_t batch, uint32_t calls, uint32_t readers,
                   bool parts)
{
    const struct plan_launch main = {
        .role = PLAN_MAIN,
        .name = "first",
        .grid = {batch, 2, parts ? 4 : 1},
        .block = {256, 1, 1},
        .registers = 168,
        .barriers = 1,
        .smem_dynamic_bytes = 120000,
        .unit = PLAN_TENSOR,
        .tiles = parts ? 4 : 16,
        .blocks_ahead = 2,
        .dram_bytes = (uint64_t)batch * (ENTRIES + Q),
        .l2_bytes = batch * ((uint64_t)readers * ENTRIES + Q + (parts ? PARTS : OUT)),
        .scratch_bytes = parts ? (uint64_t)batch * PARTS : 0,
        .flops = (uint64_t)batch * 64 * 512 * 2048,
    };
    const struct plan_launch combine = {
        .role = PLAN_COMBINE,
        .name = "second",
        .grid = {64, batch, 1},
        .block = {128, 1, 1},
        .registers = 32,
        .barriers = 1,
        .unit = PLAN_FMA,
        .tiles = 4,
        .blocks_ahead = 1,
        .dram_bytes = (uint64_t)batch * OUT,
        .l2_bytes = (uint64_t)batch * (PARTS + OUT),
        .scratch_bytes = (uint64_t)batch * PARTS,
        .flops = (uint64_t)batch * 64 * 512 * 8,
    };

    *setting = (struct setting){.point = {.calls = calls}};
    record_start(&setting->record);
    setting->context = (struct pass_context){
        .point = &setting->point,
        .spec = &spec_h200,
        .shape = {.heads = 64, .batch = batch, .topk = 512},
        .plan = {.launch = {main, combine}, .count = parts ? 2 : 1, .nsplit = parts ? 4 : 1},
        .settings = &settings,
        .record = &setting->record,
        .step_us = (double)NAN,
    };
}

/* Fails when the metric is missing or not labelled as modelled. */
static double metric(const struct setting *setting, int64_t launch, const char *name)
{
    const struct store_result *result = &setting->record.result;

    for (size_t i = 0; i < result->metric_count; i++)
        if (result->metrics[i].launch_ord == launch && strcmp(result->metrics[i].name, name) == 0) {
            assert_string_equal(result->metrics[i].source, "model");
            return result->metrics[i].value;
        }
    fail_msg("no metric %s of launch %d", name, (int)launch);
    return (double)NAN;
}

/* What a launch writes (out and lse, or its parts) goes the other way. */
static void only_what_the_sms_read_counts_as_reread(void **state)
{
    struct setting s;

    (void)state;
    set_up(&s, 3, 1, 64, false);
    assert_int_equal(pass_model(&s.context), FAIL_OK);
    assert_near(metric(&s, 0, "l2_to_sm_bytes"), 3.0 * (64 * ENTRIES + Q), 0.5);
    record_free(&s.record);

    set_up(&s, 3, 1, 2, true);
    assert_int_equal(pass_model(&s.context), FAIL_OK);
    assert_near(metric(&s, 0, "l2_to_sm_bytes"), 3.0 * (2 * ENTRIES + Q), 0.5);
    assert_near(metric(&s, 1, "l2_to_sm_bytes"), 3.0 * PARTS, 0.5);
    record_free(&s.record);
}

static void a_step_is_its_launches_and_the_gaps_between_them(void **state)
{
    struct setting s;
    double main_us, combine_us;

    (void)state;
    set_up(&s, 2, 5, 2, true);
    assert_int_equal(pass_launches(&s.context), FAIL_OK);
    assert_int_equal(pass_model(&s.context), FAIL_OK);
    assert_int_equal(s.record.result.launch_count, 2);
    assert_int_equal(s.record.result.launches[0].count, 5);
    main_us = metric(&s, 0, "gpu_us");
    combine_us = metric(&s, 1, "gpu_us");
    assert_true(main_us > 0 && combine_us > 0);
    assert_near(metric(&s, -1, "main_us"), 5 * main_us, 1e-9);
    assert_near(metric(&s, -1, "combine_us"), 5 * combine_us, 1e-9);
    assert_near(metric(&s, -1, "gpu_us"), 5 * (main_us + combine_us), 1e-9);
    assert_near(metric(&s, -1, "step_us"),
                5 * (main_us + combine_us) + 10 * spec_h200.launch_gap_ns / 1e3, 1e-9);
    /* 2 rows x 2 head groups x 4 parts, a block an SM */
    assert_near(metric(&s, 0, "busy_sms"), 16, 1e-9);
    assert_near(metric(&s, 0, "sms_used"), 16, 0);
    assert_near(metric(&s, 0, "fill_active_us"), main_us * 16 / 132, 1e-9);
    record_free(&s.record);
}

/* Neither pass relies on the other to notice it. */
static void a_block_that_does_not_fit_is_unsupported(void **state)
{
    struct setting s;

    (void)state;
    set_up(&s, 1, 1, 2, true);
    s.context.plan.launch[1].registers = 256;
    assert_int_equal(pass_model(&s.context), FAIL_UNSUPPORTED);
    assert_string_equal(fail_text(),
                        "a block of second does not fit on an SM: limited by registers");
    assert_int_equal(pass_launches(&s.context), FAIL_UNSUPPORTED);
    record_free(&s.record);
}

/* A launch whose registers are only what its bounds allow says so. */
static void planned_registers_are_marked(void **state)
{
    struct setting s;

    (void)state;
    set_up(&s, 1, 1, 2, true);
    s.context.plan.launch[0].registers_planned = true;
    assert_int_equal(pass_launches(&s.context), FAIL_OK);
    assert_near(metric(&s, 0, "registers_planned"), 1, 0);
    for (size_t i = 0; i < s.record.result.metric_count; i++)
        assert_false(s.record.result.metrics[i].launch_ord == 1 &&
                     strcmp(s.record.result.metrics[i].name, "registers_planned") == 0);
    record_free(&s.record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_the_sms_read_counts_as_reread),
        cmocka_unit_test(a_step_is_its_launches_and_the_gaps_between_them),
        cmocka_unit_test(a_block_that_does_not_fit_is_unsupported),
        cmocka_unit_test(planned_registers_are_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
