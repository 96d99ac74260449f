#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "data/datadir.h"
#include "data/gpuspec.h"

/* A device that does not exist, every figure different. */
static const char *const lines[] = {
    "[gpu]",
    "name = Test GPU",
    "compute_capability = 12.1",
    "sm_count = 10",
    "max_warps_per_sm = 48",
    "max_blocks_per_sm = 24",
    "regs_per_sm = 65536",
    "smem_per_sm_bytes = 102400",
    "smem_per_block_optin_bytes = 101376",
    "smem_reserved_bytes = 1024",
    "barriers_per_sm = 16",
    "l2_mb = 126.5",
    "memory_gb = 96",
    "mem_bw_gbs = 1792",
    "boost_mhz = 2617",
    "bf16_dense_fp32acc_tflops = 503.8",
    "mma_sync_tflops = 400",
    "fp32_tflops = 126",
    "l2_gb_per_s = 6500",
    "dram_latency_ns = 700",
    "block_fixed_ns = 1500",
    "launch_gap_ns = 800",
    "assumed = l2_gb_per_s, boost_mhz",
    "[source]",
    "default = nowhere",
};

enum { LINES = sizeof lines / sizeof lines[0] };

/* The device file with line `at` (from 1) replaced; NULL leaves an empty line; at 0 changes
 * nothing. */
static int parse_with(struct gpuspec *spec, size_t at, const char *replacement)
{
    struct text text = TEXT_INIT;
    for (size_t i = 0; i < LINES; i++) {
        const char *line = i + 1 == at ? replacement : lines[i];
        text_addf(&text, "%s\n", line != NULL ? line : "");
    }
    int code = gpuspec_parse(spec, "d.ini", text.bytes, text.length);
    text_free(&text);
    return code;
}

static void refuses(size_t at, const char *replacement, const char *message)
{
    struct gpuspec spec;
    assert_int_equal(parse_with(&spec, at, replacement), FAIL_USAGE);
    assert_string_equal(fail_text(), message);
}

static void test_figures(void **state)
{
    (void)state;
    struct gpuspec spec;
    assert_int_equal(parse_with(&spec, 0, NULL), FAIL_OK);
    assert_string_equal(spec.name, "Test GPU");
    assert_int_equal(spec.cc_major, 12);
    assert_int_equal(spec.cc_minor, 1);
    assert_int_equal(spec.sm_count, 10);
    assert_int_equal(spec.max_warps_per_sm, 48);
    assert_int_equal(spec.max_blocks_per_sm, 24);
    assert_int_equal(spec.regs_per_sm, 65536);
    assert_int_equal(spec.smem_per_sm_bytes, 102400);
    assert_int_equal(spec.smem_per_block_optin_bytes, 101376);
    assert_int_equal(spec.smem_reserved_bytes, 1024);
    assert_int_equal(spec.barriers_per_sm, 16);
    assert_true(spec.l2_mb == 126.5);
    assert_true(spec.memory_gb == 96);
    assert_true(spec.mem_bw_gbs == 1792);
    assert_true(spec.boost_mhz == 2617);
    assert_true(spec.bf16_dense_fp32acc_tflops == 503.8);
    assert_true(spec.mma_sync_tflops == 400);
    assert_true(spec.fp32_tflops == 126);
    assert_true(spec.l2_gb_per_s == 6500);
    assert_true(spec.dram_latency_ns == 700);
    assert_true(spec.block_fixed_ns == 1500);
    assert_true(spec.launch_gap_ns == 800);
    assert_string_equal(spec.assumed, "l2_gb_per_s,boost_mhz");
}

static void test_assumed(void **state)
{
    (void)state;
    struct gpuspec spec;
    assert_int_equal(parse_with(&spec, 0, NULL), FAIL_OK);
    assert_true(gpuspec_is_assumed(&spec, "l2_gb_per_s"));
    assert_true(gpuspec_is_assumed(&spec, "boost_mhz"));
    assert_false(gpuspec_is_assumed(&spec, "l2_gb"));
    assert_false(gpuspec_is_assumed(&spec, "mhz"));
    assert_false(gpuspec_is_assumed(&spec, ""));
    assert_int_equal(parse_with(&spec, 23, "assumed ="), FAIL_OK);
    assert_string_equal(spec.assumed, "");
    assert_false(gpuspec_is_assumed(&spec, "boost_mhz"));
    refuses(23, "assumed = boost_mhz,boost",
            "d.ini:23: assumed: 'boost' is not the name of a figure");
    refuses(23, "assumed = boost_mhz,", "d.ini:23: assumed: '' is not the name of a figure");
    refuses(23, "assumed = name", "d.ini:23: assumed: 'name' is not the name of a figure");
}

/* Every key is required, and named with the line of [gpu] when it is missing. */
static void test_missing(void **state)
{
    (void)state;
    for (size_t at = 2; at <= 23; at++) {
        struct text message = TEXT_INIT;
        text_add(&message, "d.ini:1: [gpu] lacks '");
        text_add_bytes(&message, lines[at - 1], strcspn(lines[at - 1], " "));
        text_add(&message, "'");
        refuses(at, NULL, message.bytes);
        text_free(&message);
    }
    struct gpuspec spec;
    assert_int_equal(gpuspec_parse(&spec, "d.ini", "", 0), FAIL_USAGE);
    assert_string_equal(fail_text(), "d.ini:1: no section [gpu]");
    assert_int_equal(gpuspec_parse(&spec, "d.ini", "[source]\n", 9), FAIL_USAGE);
    assert_string_equal(fail_text(), "d.ini:1: no section [gpu]");
}

static void test_absurd(void **state)
{
    (void)state;
    refuses(4, "sm_count = 0", "d.ini:4: sm_count: '0'; accepted: a whole number from 1 to 4096");
    refuses(4, "sm_count = -1", "d.ini:4: sm_count: '-1'; accepted: a whole number from 1 to 4096");
    refuses(4, "sm_count = 188.5",
            "d.ini:4: sm_count: '188.5'; accepted: a whole number from 1 to 4096");
    refuses(4, "sm_count = 99999999999999999999",
            "d.ini:4: sm_count: '99999999999999999999'; accepted: a whole number from 1 to 4096");
    refuses(4, "sm_count = 4294967297",
            "d.ini:4: sm_count: '4294967297'; accepted: a whole number from 1 to 4096");
    refuses(14, "mem_bw_gbs = nan",
            "d.ini:14: mem_bw_gbs: 'nan'; accepted: a number from 10 to "
            "1e+06, or unknown");
    refuses(14, "mem_bw_gbs = 1.792",
            "d.ini:14: mem_bw_gbs: '1.792'; accepted: a number from 10 "
            "to 1e+06, or unknown");
    refuses(14, "mem_bw_gbs = 1,792",
            "d.ini:14: mem_bw_gbs: '1,792'; accepted: a number from 10 "
            "to 1e+06, or unknown");
    refuses(14, "mem_bw_gbs =",
            "d.ini:14: mem_bw_gbs: ''; accepted: a number from 10 to 1e+06, or unknown");
    refuses(3, "compute_capability = 12",
            "d.ini:3: compute_capability: '12'; accepted: MAJOR.MINOR such as 9.0");
    refuses(3, "compute_capability = 9.0a",
            "d.ini:3: compute_capability: '9.0a'; accepted: MAJOR.MINOR such as 9.0");
    refuses(3, "compute_capability = .0",
            "d.ini:3: compute_capability: '.0'; accepted: MAJOR.MINOR such as 9.0");
    refuses(3, "compute_capability =",
            "d.ini:3: compute_capability: ''; accepted: MAJOR.MINOR such as 9.0");
    refuses(2, "name =", "d.ini:2: name: ''; accepted: 1 to 95 bytes");
    refuses(9, "smem_per_block_optin_bytes = 102401",
            "d.ini:9: smem_per_block_optin_bytes is above smem_per_sm_bytes");
    refuses(17, "mma_sync_tflops = 503.9",
            "d.ini:17: mma_sync_tflops is above bf16_dense_fp32acc_tflops");
}

static void test_unknown(void **state)
{
    (void)state;
    refuses(4, "sms = 10", "d.ini:4: unknown key 'sms' in [gpu]");
    refuses(4, "boost_mhz = 10",
            "d.ini:4: boost_mhz: '10'; accepted: a number from 100 to 10000, or unknown");
    refuses(4, "memory_gb = 96", "d.ini:13: key 'memory_gb' is there twice in [gpu]");
    refuses(25, "[notes]",
            "d.ini:25: unknown section [notes]; a device file has [gpu] and "
            "[source]");
}

static void test_sources(void **state)
{
    (void)state;
    refuses(25, "name = x", "d.ini:3: 'compute_capability' has no entry in [source]");
    refuses(25, "name, compute_capability, sm_count = x",
            "d.ini:5: 'max_warps_per_sm' has no entry in [source]");
    refuses(24, NULL, "d.ini:25: unknown key 'default' in [gpu]");
    refuses(25, NULL, "d.ini:2: 'name' has no entry in [source]");
    refuses(25, "default =", "d.ini:25: 'default' in [source] says nothing");
    refuses(25, "sm_count = x\nsms = y\ndefault = z", "d.ini:26: unknown key 'sms' in [source]");
    refuses(25, "assumed = x", "d.ini:25: unknown key 'assumed' in [source]");
    refuses(25, "sm_count, = x", "d.ini:25: unknown key '' in [source]");
    refuses(25, "sm_count = x\nl2_mb ,sm_count = y", "d.ini:26: 'sm_count' is in [source] twice");
    struct gpuspec spec;
    assert_int_equal(parse_with(&spec, 25,
                                "name, compute_capability, sm_count, max_warps_per_sm = a\n"
                                "max_blocks_per_sm,regs_per_sm,smem_per_sm_bytes = b\n"
                                "smem_per_block_optin_bytes , smem_reserved_bytes = c\n"
                                "barriers_per_sm, l2_mb, memory_gb, mem_bw_gbs, boost_mhz = d\n"
                                "bf16_dense_fp32acc_tflops, mma_sync_tflops, fp32_tflops = e\n"
                                "l2_gb_per_s, dram_latency_ns, block_fixed_ns = f\n"
                                "launch_gap_ns = g"),
                     FAIL_OK);
}

static void test_write(void **state)
{
    (void)state;
    struct gpuspec spec;
    struct gpuspec again;
    assert_int_equal(parse_with(&spec, 0, NULL), FAIL_OK);
    struct text text = TEXT_INIT;
    gpuspec_write(&text, &spec);
    assert_int_equal(gpuspec_parse(&again, "again", text.bytes, text.length), FAIL_OK);
    assert_string_equal(again.name, spec.name);
    assert_string_equal(again.assumed, spec.assumed);
    assert_int_equal(again.cc_minor, 1);
    assert_int_equal(again.sm_count, 10);
    assert_int_equal(again.barriers_per_sm, 16);
    assert_true(again.l2_mb == 126.5);
    assert_true(again.bf16_dense_fp32acc_tflops == 503.8);
    assert_true(again.launch_gap_ns == 800);
    assert_non_null(strstr(text.bytes, "\nmma_sync_tflops = 400\n"));
    text_free(&text);
}

/* A GPU without a device file: what the machine does not tell is unknown, and readers get NaN. */
static void test_unknown_figures(void **state)
{
    (void)state;
    struct gpuspec spec;
    assert_int_equal(parse_with(&spec, 0, NULL), FAIL_OK);
    assert_int_equal(gpuspec_check_model(&spec), FAIL_OK);
    spec.bf16_dense_fp32acc_tflops = spec.mma_sync_tflops = spec.l2_gb_per_s = (double)NAN;
    spec.mem_bw_gbs = spec.boost_mhz = spec.fp32_tflops = (double)NAN;
    spec.dram_latency_ns = spec.block_fixed_ns = spec.launch_gap_ns = (double)NAN;
    spec.l2_mb = spec.memory_gb = (double)NAN;
    spec.assumed[0] = '\0';
    struct text text = TEXT_INIT;
    gpuspec_write(&text, &spec);
    struct gpuspec again;
    if (gpuspec_parse(&again, "again", text.bytes, text.length) != FAIL_OK)
        fail_msg("%s", fail_text());
    assert_true(isnan(again.bf16_dense_fp32acc_tflops) && isnan(again.mma_sync_tflops));
    assert_true(isnan(again.l2_gb_per_s) && isnan(again.mem_bw_gbs) && isnan(again.boost_mhz));
    assert_true(isnan(again.fp32_tflops) && isnan(again.dram_latency_ns));
    assert_true(isnan(again.block_fixed_ns) && isnan(again.launch_gap_ns));
    assert_true(isnan(again.l2_mb) && isnan(again.memory_gb));
    assert_int_equal(again.sm_count, 10);
    assert_int_equal(gpuspec_check_model(&again), FAIL_USAGE);
    assert_string_equal(fail_text(), "Test GPU cannot be modelled: its l2_mb is unknown");
    text_free(&text);

    assert_int_equal(parse_with(&spec, 17, "mma_sync_tflops = unknown"), FAIL_OK);
    assert_int_equal(gpuspec_check_model(&spec), FAIL_USAGE);
    assert_string_equal(fail_text(), "Test GPU cannot be modelled: its mma_sync_tflops is unknown");
    refuses(4, "sm_count = unknown",
            "d.ini:4: sm_count: 'unknown'; accepted: a whole number from 1 to 4096");
}

static void test_reading(void **state)
{
    (void)state;
    struct gpuspec spec;
    struct text text = TEXT_INIT;
    assert_int_equal(gpuspec_read(&spec, "rtx-pro-6000", &text), FAIL_OK);
    assert_string_equal(spec.name, "NVIDIA RTX PRO 6000 Blackwell Workstation Edition");
    assert_int_equal(spec.sm_count, 188);
    assert_non_null(strstr(text.bytes, "\nsm_count = 188\n"));
    assert_string_equal(gpuspec_model_name("model:h200"), "h200");
    assert_null(gpuspec_model_name("NVIDIA H200"));
    assert_null(gpuspec_model_name("0"));
    assert_int_equal(gpuspec_read(&spec, "rtx-9999", NULL), FAIL_USAGE);
    assert_non_null(strstr(fail_text(), "there is no 'rtx-9999.ini' in "));

    assert_int_equal(gpuspec_by_device_name(&spec, "NVIDIA H200", &text), FAIL_OK);
    assert_int_equal(spec.sm_count, 132);
    assert_true(spec.mem_bw_gbs == 4800);
    assert_non_null(strstr(text.bytes, "\nname = NVIDIA H200\n"));
    assert_int_equal(gpuspec_by_device_name(&spec, "NVIDIA H20", &text), FAIL_NOTHING);
    assert_string_equal(fail_text(), "no file in devices/ has the name 'NVIDIA H20'");
    assert_string_equal(text.bytes, "");
    assert_string_equal(spec.name, "");
    assert_int_equal(gpuspec_by_device_name(&spec, "nvidia h200", NULL), FAIL_NOTHING);
    text_free(&text);
}

struct known {
    const char *file;
    int cc_major, cc_minor, sm_count, warps, blocks, smem_kb, barriers;
    double mem_bw_gbs, bf16, mma_of_bf16;
};

/* From NVIDIA's tables, typed in a second time. */
static const struct known known[] = {
    {"a100", 8, 0, 108, 64, 32, 164, 0, 2039, 312, 1},
    {"b200", 10, 0, 148, 64, 32, 228, 64, 8000, 2250, 0.5},
    {"gb10", 12, 1, 48, 48, 24, 100, 24, 273, 62.5, 1},
    {"h100", 9, 0, 132, 64, 32, 228, 64, 3352, 989.4, 0.63},
    {"h200", 9, 0, 132, 64, 32, 228, 64, 4800, 989.4, 0.63},
    {"l40s", 8, 9, 142, 48, 24, 100, 0, 864, 362.05, 1},
    {"rtx-4090", 8, 9, 128, 48, 24, 100, 0, 1008, 165.2, 1},
    {"rtx-5090", 12, 0, 170, 48, 24, 100, 24, 1792, 209.5, 1},
    {"rtx-pro-6000", 12, 0, 188, 48, 24, 100, 24, 1792, 503.8, 1},
    {"rtx-pro-6000-max-q", 12, 0, 188, 48, 24, 100, 24, 1792, 440, 1},
    {"rtx-pro-6000-server", 12, 0, 188, 48, 24, 100, 24, 1597, 480, 1},
};

static void check_known(const struct known *expected)
{
    struct gpuspec spec;
    if (gpuspec_read(&spec, expected->file, NULL) != FAIL_OK)
        fail_msg("%s", fail_text());
    assert_memory_equal(spec.name, "NVIDIA ", 7);
    assert_int_equal(spec.cc_major, expected->cc_major);
    assert_int_equal(spec.cc_minor, expected->cc_minor);
    assert_int_equal(spec.sm_count, expected->sm_count);
    assert_int_equal(spec.max_warps_per_sm, expected->warps);
    assert_int_equal(spec.max_blocks_per_sm, expected->blocks);
    assert_int_equal(spec.regs_per_sm, 65536);
    assert_int_equal(spec.smem_per_sm_bytes, expected->smem_kb * 1024);
    assert_int_equal(spec.smem_per_block_optin_bytes, (expected->smem_kb - 1) * 1024);
    assert_int_equal(spec.smem_reserved_bytes, 1024);
    assert_int_equal(spec.barriers_per_sm, expected->barriers);
    assert_true(spec.mem_bw_gbs == expected->mem_bw_gbs);
    assert_true(spec.bf16_dense_fp32acc_tflops == expected->bf16);
    double share = spec.mma_sync_tflops / expected->bf16;
    assert_true(share > expected->mma_of_bf16 - 0.001 && share < expected->mma_of_bf16 + 0.001);
    /* fp32: 128 lanes an SM (64 on compute capability 8.0), 2 flops each */
    double lanes = expected->cc_major == 8 && expected->cc_minor == 0 ? 64 : 128;
    double fp32 = expected->sm_count * lanes * 2 * spec.boost_mhz * 1e-6;
    assert_true(spec.fp32_tflops > 0.98 * fp32 && spec.fp32_tflops < 1.02 * fp32);
    /* L2: faster than DRAM, whose bytes come through it, below 64 bytes a clock and SM */
    assert_true(spec.l2_gb_per_s > spec.mem_bw_gbs);
    assert_true(spec.l2_gb_per_s < expected->sm_count * 64 * spec.boost_mhz * 1e-3);
    assert_true(gpuspec_is_assumed(&spec, "l2_gb_per_s"));
    assert_true(gpuspec_is_assumed(&spec, "dram_latency_ns"));
    assert_true(gpuspec_is_assumed(&spec, "block_fixed_ns"));
    assert_true(gpuspec_is_assumed(&spec, "launch_gap_ns"));
    assert_true(expected->mma_of_bf16 == 1 || gpuspec_is_assumed(&spec, "mma_sync_tflops"));
}

static void test_device_files(void **state)
{
    (void)state;
    char **names;
    size_t count;
    assert_int_equal(datadir_list("devices", ".ini", &names, &count), FAIL_OK);
    assert_int_equal(count, sizeof known / sizeof known[0]);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(names[i], known[i].file);
        check_known(&known[i]);
        free(names[i]);
    }
    free(names);
}

int main(void)
{
    const char *top = getenv("srcdir");
    datadir_set(top != NULL ? top : ".");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),      cmocka_unit_test(test_assumed),
        cmocka_unit_test(test_missing),      cmocka_unit_test(test_absurd),
        cmocka_unit_test(test_unknown),      cmocka_unit_test(test_sources),
        cmocka_unit_test(test_write),        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_device_files), cmocka_unit_test(test_unknown_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
