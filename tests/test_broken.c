#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/cases.h"
#include "kernels/check.h"
#include "kernels/layout.h"
#include "kernels/reference.h"
#include "tests/broken.h"

/* A quick case with its data and reference. */
struct set {
    const struct check_case *about;
    struct synth data;
    double *ref_out, *ref_lse;
};

static struct check_case *cases;
static struct set *sets;
static size_t set_count;

static uint64_t vectors(const struct set *set)
{
    return (uint64_t)set->about->spec.batch * set->about->spec.heads;
}

static int make_sets(void **state)
{
    (void)state;
    cases = cases_make(true, 1, &set_count);
    sets = mem_new(set_count, sizeof *sets);
    for (size_t i = 0; i < set_count; i++) {
        struct set *set = &sets[i];

        set->about = &cases[i];
        if (synth_make(&set->data, &cases[i].spec) != 0)
            return -1;
        set->ref_out = mem_new(vectors(set) * LAYOUT_DIM, sizeof *set->ref_out);
        set->ref_lse = mem_new(vectors(set), sizeof *set->ref_lse);
        reference_run(&set->data.args, NULL, set->ref_out, set->ref_lse, 0);
    }
    return 0;
}

static int free_sets(void **state)
{
    (void)state;
    for (size_t i = 0; i < set_count; i++) {
        synth_free(&sets[i].data);
        free(sets[i].ref_out);
        free(sets[i].ref_lse);
    }
    free(sets);
    free(cases);
    return 0;
}

/* The same steps as validate: poison, run, compare. */
static struct check run(const struct set *set, enum broken fault, uint32_t nsplit)
{
    uint64_t count = vectors(set);
    struct kernel_args args = set->data.args;
    struct check check;

    args.out = mem_new(count * LAYOUT_DIM, sizeof *args.out);
    args.lse = mem_new(count, sizeof *args.lse);
    for (uint64_t i = 0; i < count * LAYOUT_DIM; i++)
        args.out[i] = CHECK_POISON;
    memset(args.lse, 0xff, count * sizeof *args.lse);
    broken_run(fault, &args, nsplit);
    check_compare(&check, args.out, args.lse, set->ref_out, set->ref_lse, count);
    if (set->about->exact)
        check_exact(&check, args.out, set->ref_out, count);
    free(args.out);
    free(args.lse);
    return check;
}

static void describe(const struct set *set, uint32_t nsplit, const struct check *check)
{
    const struct synth_spec *spec = &set->about->spec;

    print_message("# %s %s batch %u heads %u topk %u+%u page %u nsplit %u: rel %.3g lse %.3g\n",
                  set->about->group, synth_kind_name(spec->kind), spec->batch, spec->heads,
                  spec->topk, spec->extra_topk, spec->page_tokens, nsplit, check->rel_error,
                  check->lse_error);
}

/* One part, the most, and one number between. */
static void whole_imitation_passes_every_case(void **state)
{
    size_t failed = 0;

    (void)state;
    for (size_t i = 0; i < set_count; i++) {
        size_t count = sets[i].about->nsplit_count;
        const size_t picked[] = {0, count / 2, count - 1};

        for (size_t k = 0; k < 3; k++) {
            uint32_t nsplit = sets[i].about->nsplit[picked[k]];
            struct check check = run(&sets[i], BROKEN_NOT, nsplit);

            if (!check.passed)
                describe(&sets[i], nsplit, &check);
            failed += !check.passed;
        }
    }
    assert_int_equal(failed, 0);
}

/* The cases that must fail a fault. */

static bool is_group(const struct check_case *about, const char *group)
{
    return strcmp(about->group, group) == 0;
}

/* Some row has an entry: drawn lengths make sure of that from 3 rows on. */
static bool has_entries(const struct check_case *about)
{
    bool drawn = about->spec.length == SYNTH_MIXED || about->spec.extra_length == SYNTH_MIXED;

    return !is_group(about, "no entries") && !(drawn && about->spec.batch < 3);
}

static uint32_t width(const struct check_case *about)
{
    return about->spec.topk + about->spec.extra_topk;
}

/* Every entry of every row counts. */
static bool is_full(const struct check_case *about)
{
    const struct synth_spec *spec = &about->spec;
    bool main_full = spec->length == SYNTH_FULL &&
                     (spec->index == SYNTH_DISTINCT || spec->index == SYNTH_REPEATS);
    bool extra_full = spec->extra_length == SYNTH_FULL &&
                      (spec->extra_index == SYNTH_DISTINCT || spec->extra_index == SYNTH_REPEATS);

    return spec->kind != SYNTH_HARD && (spec->topk == 0 || main_full) &&
           (spec->extra_topk == 0 || extra_full);
}

/* Every entry counts and has some weight. */
static bool is_even(const struct check_case *about)
{
    return is_full(about) && about->spec.kind != SYNTH_STEEP;
}

static bool all(const struct check_case *about, uint32_t nsplit)
{
    (void)about;
    return nsplit == 1;
}

static bool several_rows(const struct check_case *about, uint32_t nsplit)
{
    return nsplit == 1 && about->spec.batch >= 2;
}

static bool entries(const struct check_case *about, uint32_t nsplit)
{
    return nsplit == 1 && has_entries(about);
}

static bool even_and_split(const struct check_case *about, uint32_t nsplit)
{
    return nsplit == 3 && is_even(about);
}

/* The second tile is large enough to raise the maximum of some of the heads. */
static bool full_and_wide(const struct check_case *about, uint32_t nsplit)
{
    return nsplit == 1 && is_full(about) && width(about) >= 63;
}

static bool steep(const struct check_case *about, uint32_t nsplit)
{
    return nsplit <= 2 && about->spec.kind == SYNTH_STEEP && has_entries(about);
}

static bool soft_with_sink(const struct check_case *about, uint32_t nsplit)
{
    return nsplit == 2 && about->spec.kind == SYNTH_SOFT && is_full(about) &&
           about->spec.sink == SYNTH_SINK;
}

static bool even(const struct check_case *about, uint32_t nsplit)
{
    return nsplit <= 2 && is_even(about);
}

/* A fault, the cases that must fail it, and groups that must be among them. */
struct row {
    enum broken fault;
    bool (*must_fail)(const struct check_case *about, uint32_t nsplit);
    const char *groups[8];
};

static const struct row does_nothing = {
    BROKEN_DOES_NOTHING, all, {"product", "no entries", "hard", "holes", "length 1"}};
static const struct row writes_nan = {
    BROKEN_WRITES_NAN, all, {"product", "no entries", "hard", "holes", "length 1"}};
static const struct row half_the_rows = {
    BROKEN_HALF_THE_ROWS, several_rows, {"product", "no entries", "hard", "query tokens"}};
static const struct row row_off = {
    BROKEN_ROW_OFF, entries, {"product", "heads", "hard", "holes", "length 1", "sink"}};
static const struct row split_dropped = {
    BROKEN_SPLIT_DROPPED, even_and_split, {"product", "narrow", "extra only", "pages", "sink"}};
static const struct row no_rescale = {
    BROKEN_NO_RESCALE, full_and_wide, {"product", "wide", "sink", "repeats", "pages"}};
static const struct row no_max = {
    BROKEN_NO_MAX, steep, {"product", "heads", "narrow", "first masked", "length 1"}};
static const struct row sink_per_split = {
    BROKEN_SINK_PER_SPLIT, soft_with_sink, {"product", "sink"}};
static const struct row last_tile_lost = {
    BROKEN_LAST_TILE_LOST, even, {"product", "narrow", "extra only", "pages", "repeats"}};

static bool names_group(const struct row *row, const char *group)
{
    for (size_t i = 0; i < set_count; i++)
        for (size_t k = 0; k < sets[i].about->nsplit_count; k++)
            if (is_group(sets[i].about, group) &&
                row->must_fail(sets[i].about, sets[i].about->nsplit[k]))
                return true;
    return false;
}

static void fails_every_case(void **state)
{
    const struct row *row = *state;
    size_t passed = 0;

    for (size_t i = 0; i < 8 && row->groups[i]; i++)
        if (!names_group(row, row->groups[i]))
            fail_msg("no case of group %s", row->groups[i]);
    for (size_t i = 0; i < set_count; i++)
        for (size_t k = 0; k < sets[i].about->nsplit_count; k++) {
            uint32_t nsplit = sets[i].about->nsplit[k];
            struct check check;

            if (!row->must_fail(sets[i].about, nsplit))
                continue;
            check = run(&sets[i], row->fault, nsplit);
            if (check.passed)
                describe(&sets[i], nsplit, &check);
            passed += check.passed;
        }
    assert_int_equal(passed, 0);
}

#define FAULT(row)                                                      \
    {                                                                   \
#row, fails_every_case, NULL, NULL, (void *)(uintptr_t) & (row) \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_imitation_passes_every_case),
        FAULT(does_nothing),
        FAULT(writes_nan),
        FAULT(half_the_rows),
        FAULT(row_off),
        FAULT(split_dropped),
        FAULT(no_rescale),
        FAULT(no_max),
        FAULT(sink_per_split),
        FAULT(last_tile_lost),
    };

    return cmocka_run_group_tests(tests, make_sets, free_sets);
}
