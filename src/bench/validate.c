#include "bench/validate.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "data/axis.h"
#include "data/plan.h"
#include "gpu/buffer.h"
#include "gpu/device.h"
#include "gpu/graph.h"
#include "kernels/cases.h"
#include "kernels/check.h"
#include "kernels/kernel.h"
#include "kernels/layout.h"
#include "kernels/reference.h"

enum { VALIDATE_KINDS = SYNTH_HARD + 1, VALIDATE_KERNELS = 8 };

/* Worst of what a data kind did to a kernel. */
struct tally {
    size_t lines, failed;
    double rel_error, lse_error;
};

/* A cache's device copies. */
struct device_cache {
    struct buffer pool, index, length;
};

struct stand {
    struct device device;
    void *stream;
    struct device_cache main, extra;
    struct buffer q, sink, out, lse, scratch;
    struct tally tally[VALIDATE_KERNELS][VALIDATE_KINDS];
    struct table *lines;
};

/* One data set with its reference and room for a result. */
struct data_set {
    const struct check_case *test;
    struct synth synth;
    size_t pairs; /* rows x heads */
    double *ref_out, *ref_lse;
    uint16_t *out;
    float *lse;
};

enum line_column {
    LINE_GROUP,
    LINE_DATA,
    LINE_KERNEL,
    LINE_VARIANT,
    LINE_BATCH,
    LINE_HEADS,
    LINE_TOPK,
    LINE_EXTRA_TOPK,
    LINE_PAGE,
    LINE_EXTRA_PAGE,
    LINE_STRIDE,
    LINE_LENGTH,
    LINE_NSPLIT,
    LINE_MAX,
    LINE_MEAN,
    LINE_REL,
    LINE_MAX_REL,
    LINE_LSE,
    LINE_VERDICT,
    LINE_COLUMNS
};

static const struct table_column line_columns[LINE_COLUMNS] = {
    [LINE_GROUP] = {"group", NULL, TABLE_WORD, 0},
    [LINE_DATA] = {"data", NULL, TABLE_WORD, 0},
    [LINE_KERNEL] = {"kernel", NULL, TABLE_WORD, 0},
    [LINE_VARIANT] = {"variant", NULL, TABLE_WORD, 0},
    [LINE_BATCH] = {"batch", NULL, TABLE_INT, 0},
    [LINE_HEADS] = {"heads", NULL, TABLE_INT, 0},
    [LINE_TOPK] = {"topk", NULL, TABLE_INT, 0},
    [LINE_EXTRA_TOPK] = {"extra_topk", NULL, TABLE_INT, 0},
    [LINE_PAGE] = {"page", NULL, TABLE_INT, 0},
    [LINE_EXTRA_PAGE] = {"extra_page", NULL, TABLE_INT, 0},
    [LINE_STRIDE] = {"stride", NULL, TABLE_WORD, 0},
    [LINE_LENGTH] = {"length", NULL, TABLE_WORD, 0},
    [LINE_NSPLIT] = {"nsplit", NULL, TABLE_INT, 0},
    [LINE_MAX] = {"max_abs", "max|d|", TABLE_REAL, -1},
    [LINE_MEAN] = {"mean_abs", "mean|d|", TABLE_REAL, -1},
    [LINE_REL] = {"rel_error", NULL, TABLE_REAL, -1},
    [LINE_MAX_REL] = {"max_rel", "max|d|/max|ref|", TABLE_REAL, -1},
    [LINE_LSE] = {"lse_error", NULL, TABLE_REAL, -1},
    [LINE_VERDICT] = {"verdict", NULL, TABLE_WORD, 0},
};

static int put(struct buffer *buffer, const void *from, uint64_t bytes)
{
    int code = buffer_reserve(buffer, bytes);

    return code == FAIL_OK && bytes > 0 ? buffer_upload(buffer, 0, from, bytes) : code;
}

static int upload_cache(struct device_cache *device, struct kernel_cache *args, uint64_t pool_bytes,
                        uint32_t batch)
{
    int code;

    if (args->topk == 0)
        return FAIL_OK;
    code = put(&device->pool, args->pool, pool_bytes);
    if (code == FAIL_OK)
        code = put(&device->index, args->index, (uint64_t)batch * args->topk * sizeof *args->index);
    if (code == FAIL_OK && args->length)
        code = put(&device->length, args->length, batch * sizeof *args->length);
    args->pool = device->pool.bytes;
    args->index = device->index.bytes;
    args->length = args->length ? device->length.bytes : NULL;
    return code;
}

/* Copies a data set to the device; args are its device pointers. */
static int upload(struct stand *stand, const struct data_set *set, struct kernel_args *args)
{
    uint64_t value_bytes = set->pairs * LAYOUT_DIM * sizeof *set->out;
    int code;

    *args = set->synth.args;
    code = upload_cache(&stand->main, &args->main, set->synth.pool_bytes, args->batch);
    if (code == FAIL_OK)
        code = upload_cache(&stand->extra, &args->extra, set->synth.extra_pool_bytes, args->batch);
    if (code == FAIL_OK)
        code = put(&stand->q, args->q, value_bytes);
    if (code == FAIL_OK && args->sink)
        code = put(&stand->sink, args->sink, args->heads * sizeof *args->sink);
    if (code == FAIL_OK)
        code = buffer_reserve(&stand->out, value_bytes);
    if (code == FAIL_OK)
        code = buffer_reserve(&stand->lse, set->pairs * sizeof *set->lse);
    args->q = stand->q.bytes;
    args->sink = args->sink ? stand->sink.bytes : NULL;
    args->out = stand->out.bytes;
    args->lse = stand->lse.bytes;
    return code;
}

/* Scratch is poisoned too: combine must not read what an empty part did not write. */
static int run_kernel(struct stand *stand, const struct data_set *set, const struct kernel *kernel,
                      const struct plan *plan, struct kernel_args *args)
{
    uint64_t value_bytes = set->pairs * LAYOUT_DIM * sizeof *set->out;
    uint64_t lse_bytes = set->pairs * sizeof *set->lse;
    int code = buffer_reserve(&stand->scratch, plan->scratch_bytes);

    args->scratch = plan->scratch_bytes > 0 ? stand->scratch.bytes : NULL;
    if (code == FAIL_OK && plan->scratch_bytes > 0)
        code = buffer_fill(&stand->scratch, 0, 0xff, plan->scratch_bytes);
    if (code == FAIL_OK)
        code = buffer_fill(&stand->out, 0, 0xff, value_bytes); /* NaN in bf16 and fp32 */
    if (code == FAIL_OK)
        code = buffer_fill(&stand->lse, 0, 0xff, lse_bytes);
    if (code == FAIL_OK)
        code = device_check(kernel->launch(plan, args, stand->stream), kernel->name);
    if (code == FAIL_OK)
        code = graph_wait(stand->stream, kernel->name);
    if (code == FAIL_OK)
        code = buffer_download(&stand->out, 0, set->out, value_bytes);
    if (code == FAIL_OK)
        code = buffer_download(&stand->lse, 0, set->lse, lse_bytes);
    return code;
}

static void add_line(struct table *table, const struct data_set *set, const struct kernel *kernel,
                     bool splits, uint32_t nsplit, const struct check *check)
{
    const struct synth_spec *spec = &set->test->spec;

    table_row(table);
    table_word(table, LINE_GROUP, set->test->group);
    table_word(table, LINE_DATA, synth_kind_name(spec->kind));
    table_word(table, LINE_KERNEL, kernel->name);
    table_word(table, LINE_VARIANT, kernel->variant);
    table_int(table, LINE_BATCH, spec->batch);
    table_int(table, LINE_HEADS, spec->heads);
    table_int(table, LINE_TOPK, spec->topk);
    table_int(table, LINE_EXTRA_TOPK, spec->extra_topk);
    table_int(table, LINE_PAGE, spec->page_tokens);
    if (spec->extra_topk > 0)
        table_int(table, LINE_EXTRA_PAGE, spec->extra_page_tokens);
    table_word(table, LINE_STRIDE, spec->padded ? "padded" : "unpadded");
    table_word(table, LINE_LENGTH, set->synth.args.main.length ? "yes" : "no");
    if (splits)
        table_int(table, LINE_NSPLIT, nsplit);
    table_real(table, LINE_MAX, check->max_abs);
    table_real(table, LINE_MEAN, check->mean_abs);
    table_real(table, LINE_REL, check->rel_error);
    table_real(table, LINE_MAX_REL, check->max_rel);
    table_real(table, LINE_LSE, check->lse_error);
    table_word(table, LINE_VERDICT, check->passed ? "pass" : "FAIL");
}

/* NaN counts as worst. */
static double worse(double a, double b)
{
    return a >= b || a != a ? a : b;
}

static int one_run(struct validate *validate, struct stand *stand, struct data_set *set, size_t k,
                   uint32_t nsplit, struct kernel_args *args)
{
    const struct kernel *kernel = kernel_table[k];
    struct tally *tally = &stand->tally[k][set->test->spec.kind];
    bool splits = kernel->axes & (1u << AXIS_NSPLIT);
    struct kernel_shape shape = set->synth.shape;
    struct check check;
    struct plan plan;
    int code;

    shape.nsplit = nsplit;
    code = kernel->supports(&shape, &stand->device.spec);
    if (code == FAIL_UNSUPPORTED) {
        validate->unsupported++;
        return FAIL_OK;
    }
    kernel->plan(&shape, &stand->device.spec, &plan);
    code = run_kernel(stand, set, kernel, &plan, args);
    if (code != FAIL_OK)
        return code;
    check_compare(&check, set->out, set->lse, set->ref_out, set->ref_lse, set->pairs);
    if (set->test->exact)
        (void)check_exact(&check, set->out, set->ref_out, set->pairs);
    *(check.passed ? &validate->passed : &validate->failed) += 1;
    tally->lines++;
    tally->failed += !check.passed;
    tally->rel_error = worse(check.rel_error, tally->rel_error);
    tally->lse_error = worse(check.lse_error, tally->lse_error);
    if (stand->lines)
        add_line(stand->lines, set, kernel, splits, nsplit, &check);
    return FAIL_OK;
}

static int all_runs(struct validate *validate, struct stand *stand, struct data_set *set)
{
    struct kernel_args args;
    int code = upload(stand, set, &args);

    for (size_t k = 0; code == FAIL_OK && k < kernel_count; k++) {
        bool splits = kernel_table[k]->axes & (1u << AXIS_NSPLIT);
        size_t runs = splits ? set->test->nsplit_count : 1;

        if (validate->kernel && strcmp(validate->kernel, kernel_table[k]->name) != 0)
            continue;
        for (size_t i = 0; code == FAIL_OK && i < runs; i++)
            code = one_run(validate, stand, set, k, set->test->nsplit[i], &args);
    }
    return code;
}

static int one_set(struct validate *validate, struct stand *stand, const struct check_case *test)
{
    struct data_set set = {.test = test, .pairs = (size_t)test->spec.batch * test->spec.heads};
    int code = synth_make(&set.synth, &test->spec);

    if (code != FAIL_OK)
        return code;
    set.ref_out = mem_new(set.pairs * LAYOUT_DIM, sizeof *set.ref_out);
    set.ref_lse = mem_new(set.pairs, sizeof *set.ref_lse);
    set.out = mem_new(set.pairs * LAYOUT_DIM, sizeof *set.out);
    set.lse = mem_new(set.pairs, sizeof *set.lse);
    reference_run(&set.synth.args, NULL, set.ref_out, set.ref_lse, 0);
    code = all_runs(validate, stand, &set);
    free(set.ref_out);
    free(set.ref_lse);
    free(set.out);
    free(set.lse);
    synth_free(&set.synth);
    return code;
}

static int print_summary(const struct stand *stand, FILE *out)
{
    static const struct table_column columns[] = {
        {"kernel", NULL, TABLE_WORD, 0},     {"variant", NULL, TABLE_WORD, 0},
        {"data", NULL, TABLE_WORD, 0},       {"lines", NULL, TABLE_INT, 0},
        {"failed", NULL, TABLE_INT, 0},      {"rel_error", NULL, TABLE_REAL, -1},
        {"lse_error", NULL, TABLE_REAL, -1}, {"verdict", NULL, TABLE_WORD, 0},
    };
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    int code;

    for (size_t k = 0; k < kernel_count; k++)
        for (int kind = 0; kind < VALIDATE_KINDS; kind++) {
            const struct tally *tally = &stand->tally[k][kind];

            if (tally->lines == 0)
                continue;
            table_row(table);
            table_word(table, 0, kernel_table[k]->name);
            table_word(table, 1, kernel_table[k]->variant);
            table_word(table, 2, synth_kind_name((enum synth_kind)kind));
            table_int(table, 3, (int64_t)tally->lines);
            table_int(table, 4, (int64_t)tally->failed);
            table_real(table, 5, tally->rel_error);
            table_real(table, 6, tally->lse_error);
            table_word(table, 7, tally->failed == 0 ? "pass" : "FAIL");
        }
    code = table_write(table, TABLE_TEXT, out);
    table_free(table);
    return code;
}

static void close_stand(struct stand *stand)
{
    struct buffer *buffers[] = {&stand->main.pool,  &stand->main.index,  &stand->main.length,
                                &stand->extra.pool, &stand->extra.index, &stand->extra.length,
                                &stand->q,          &stand->sink,        &stand->out,
                                &stand->lse,        &stand->scratch};

    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        buffer_free(buffers[i]);
    graph_stream_free(stand->stream);
    device_close(&stand->device);
    table_free(stand->lines);
}

int validate_run(struct validate *validate)
{
    struct stand stand = {0};
    struct check_case *cases = NULL;
    size_t count = 0;
    int code = device_open(&stand.device, validate->ordinal);

    if (code != FAIL_OK)
        return code;
    code = graph_stream_new(&stand.stream);
    if (validate->lines)
        stand.lines = table_new(line_columns, LINE_COLUMNS);
    if (code == FAIL_OK)
        cases = cases_make(validate->quick, 1, &count);
    for (size_t i = 0; code == FAIL_OK && i < count; i++)
        code = one_set(validate, &stand, &cases[i]);
    if (stand.lines) { /* also what was done before a failure */
        int written = table_write(stand.lines, TABLE_TEXT, validate->lines);

        code = code == FAIL_OK ? written : code;
    }
    if (code == FAIL_OK)
        code = print_summary(&stand, validate->summary);
    free(cases);
    close_stand(&stand);
    if (code == FAIL_OK && validate->failed > 0)
        code = fail_set(FAIL_WRONG, "%zu of %zu results differ from the reference",
                        validate->failed, validate->passed + validate->failed);
    return code;
}
