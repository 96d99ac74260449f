/*
 * The kernels' own device code on the CPU, one fiber a thread, against the reference; and proof
 * that a missing barrier does not go unseen.
 */
#include "fiber/prim.h"

#define simt_launch device_simt
#define mma_launch device_mma
#define splitk_launch device_splitk
#define combine_launch device_combine
#include "kernels/combine.cu"
#include "kernels/mma.cu"
#include "kernels/simt.cu"
#include "kernels/splitk.cu"

#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <vector>

extern "C" {
#include "base/fail.h"
#include "data/gpuspec.h"
#include "kernels/check.h"
#include "kernels/reference.h"
#include "kernels/synth.h"
}

static int tests_run, tests_failed;

static void verdict(bool passed, const std::string &name)
{
    tests_run++;
    tests_failed += !passed;
    printf("%sok %d - %s\n", passed ? "" : "not ", tests_run, name.c_str());
    fflush(stdout);
}

/* A call's data with the reference's answer. */
struct sample {
    struct synth synth = {};
    bool hard = false;
    std::vector<double> out, lse;

    explicit sample(const struct synth_spec &spec) : hard(spec.kind == SYNTH_HARD)
    {
        if (synth_make(&synth, &spec) != FAIL_OK) {
            printf("Bail out! %s\n", fail_text());
            exit(1);
        }
        out.resize((size_t)spec.batch * spec.heads * LAYOUT_DIM);
        lse.resize((size_t)spec.batch * spec.heads);
        reference_run(&synth.args, nullptr, out.data(), lse.data(), 1);
    }
    sample(const sample &) = delete;
    ~sample()
    {
        synth_free(&synth);
    }
};

typedef int (*launch_function)(const struct plan *, const struct kernel_args *, void *);

static struct gpuspec small_gpu()
{
    struct gpuspec spec = {};

    spec.cc_major = 8;
    spec.sm_count = 4;
    spec.smem_per_block_optin_bytes = 101376;
    return spec;
}

/* Runs a kernel on the sample; scratch starts as NaN. */
static bool agrees(const struct sample &sample, const struct kernel *kernel, launch_function launch,
                   uint32_t nsplit, struct check *check)
{
    struct gpuspec spec = small_gpu();
    struct kernel_shape shape = sample.synth.shape;
    struct kernel_args args = sample.synth.args;
    std::vector<uint16_t> out(sample.out.size(), CHECK_POISON);
    std::vector<float> lse(sample.lse.size(), NAN);
    struct plan plan;
    void *scratch = nullptr;
    int error;

    shape.nsplit = nsplit;
    if (kernel->supports(&shape, &spec) != FAIL_OK) {
        printf("# %s\n", fail_text());
        return false;
    }
    kernel->plan(&shape, &spec, &plan);
    if (plan.scratch_bytes > 0) {
        scratch = aligned_alloc(256, (plan.scratch_bytes + 255) / 256 * 256);
        if (!scratch)
            return false;
        memset(scratch, 0xff, plan.scratch_bytes);
    }
    args.out = out.data();
    args.lse = lse.data();
    args.scratch = scratch;
    error = launch(&plan, &args, nullptr);
    free(scratch);
    check_compare(check, out.data(), lse.data(), sample.out.data(), sample.lse.data(), lse.size());
    if (sample.hard)
        check_exact(check, out.data(), sample.out.data(), lse.size());
    return error == 0 && check->passed;
}

static void expect(const struct sample &sample, const std::string &what, const char *name,
                   const struct kernel *kernel, launch_function launch, uint32_t nsplit)
{
    struct check check = {};
    bool passed = agrees(sample, kernel, launch, nsplit, &check);

    printf("# rel_error %.2e lse_error %.2e\n", check.rel_error, check.lse_error);
    verdict(passed, what + ", " + name + (nsplit > 0 ? " in " + std::to_string(nsplit) : ""));
}

/* simt and mma, and split-K with each number of parts. */
static void expect_all(const struct synth_spec &spec, const std::string &what,
                       const std::vector<uint32_t> &parts)
{
    struct sample sample(spec);

    expect(sample, what, "simt", &simt_kernel, device_simt, 0);
    expect(sample, what, "mma", &mma_kernel, device_mma, 0);
    for (uint32_t nsplit : parts)
        expect(sample, what, "splitk", &splitk_kernel, device_splitk, nsplit);
}

static struct synth_spec spec_of(enum synth_kind kind, uint32_t heads, uint32_t batch,
                                 uint32_t topk, uint32_t extra_topk)
{
    struct synth_spec spec = {};

    spec.kind = kind;
    spec.seed = 1;
    spec.heads = heads;
    spec.batch = batch;
    spec.topk = topk;
    spec.extra_topk = extra_topk;
    spec.page_tokens = 64;
    spec.extra_page_tokens = 2;
    spec.padded = true;
    return spec;
}

static void shapes()
{
    struct synth_spec spec = spec_of(SYNTH_SOFT, 33, 2, 33, 0);

    expect_all(spec, "33 heads, odd topk", {1, 2, 5});
    spec = spec_of(SYNTH_SOFT, 7, 3, 40, 65);
    spec.length = spec.extra_length = SYNTH_MIXED;
    spec.sink = SYNTH_SINK;
    spec.padded = false;
    expect_all(spec, "two lists, lengths, sink, pages unpadded", {1, 3, 9});
    spec = spec_of(SYNTH_SOFT, 1, 1, 0, 70);
    spec.extra_page_tokens = 6;
    expect_all(spec, "extra list alone, pages of 6", {2});
}

static void maxima()
{
    struct synth_spec spec = spec_of(SYNTH_STEEP, 9, 1, 161, 0);

    expect_all(spec, "steep scores", {1, 2, 3});
    spec = spec_of(SYNTH_PEAKED, 8, 1, 96, 0);
    spec.page_tokens = 256;
    expect_all(spec, "peaked scores", {3});
}

static void decoding()
{
    struct synth_spec spec = spec_of(SYNTH_HARD, 8, 24, 1, 0);

    expect_all(spec, "hard data, topk 1", {1});
    spec.topk = 64;
    spec.length = SYNTH_FIXED;
    spec.fixed_length = 1;
    spec.batch = 6;
    expect_all(spec, "hard data, length 1 of 64", {2});
}

static void masks()
{
    struct synth_spec spec = spec_of(SYNTH_SOFT, 3, 2, 100, 40);

    spec.index = spec.extra_index = SYNTH_HOLES;
    spec.sink = SYNTH_SINK;
    expect_all(spec, "masked entries", {2});
    spec.index = SYNTH_FIRST_MASKED;
    spec.extra_index = SYNTH_REPEATS;
    expect_all(spec, "first 64 masked, repeats", {4});
    spec.index = spec.extra_index = SYNTH_ALL_MASKED;
    expect_all(spec, "everything masked", {1, 2});
    spec.index = SYNTH_DISTINCT;
    spec.length = SYNTH_FIXED;
    spec.fixed_length = 0;
    expect_all(spec, "length 0, extra masked", {2});
}

/* A fault that shows in one order of warps may hide in the other. */
static bool seen_without(const struct sample &sample, const struct kernel *kernel,
                         launch_function launch, int barrier)
{
    bool seen = false;

    fiber_options.skip_barrier = barrier;
    for (int descending = 0; descending < 2; descending++) {
        struct check check = {};

        fiber_options.descending = descending != 0;
        seen |= !agrees(sample, kernel, launch, 1, &check);
    }
    fiber_options = {};
    return seen;
}

static void barriers()
{
    struct sample sample(spec_of(SYNTH_SOFT, 32, 1, 128, 0));
    enum { MMA_BARRIERS = 1 + 2 * 4 + 1 };

    for (int i = 1; i <= MMA_BARRIERS; i++)
        verdict(seen_without(sample, &mma_kernel, device_mma, i),
                "mma without its barrier " + std::to_string(i) + " fails");
    verdict(seen_without(sample, &simt_kernel, device_simt, 1), "simt without its barrier fails");
}

int main()
{
    for (int descending = 0; descending < 2; descending++) {
        fiber_options.descending = descending != 0;
        shapes();
        maxima();
        decoding();
        masks();
    }
    fiber_options = {};
    barriers();
    printf("1..%d\n", tests_run);
    return tests_failed > 0;
}
