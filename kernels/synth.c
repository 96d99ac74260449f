#include "kernels/synth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "kernels/layout.h"
#include "kernels/parallel.h"
#include "kernels/reference.h"
#include "kernels/rng.h"
#include "kernels/synth_list.h"
#include "kernels/synth_token.h"

/* Random streams of a data set; tokens and queries have one each, numbered from theirs. */
enum { STREAM_SINK = 1, STREAM_DIRECTION, STREAM_HARD };
static const uint64_t stream_tokens = (uint64_t)1 << 40; /* x (1, extra 2) + slot */
static const uint64_t stream_queries = (uint64_t)1 << 48;

enum { ALIGN_BYTES = 256 };

struct maker {
    const struct synth_spec *spec;
    struct synth_list main, extra;
    uint16_t *q;
    float *sink;
    float direction[LAYOUT_DIM];
};

const char *synth_kind_name(enum synth_kind kind)
{
    static const char *const names[] = {"soft", "peaked", "steep", "hard"};

    return names[kind];
}

/* The next piece of memory; with base NULL only counted. */
static void *take(uint8_t *base, uint64_t *used, uint64_t bytes)
{
    uint64_t offset = *used;

    *used += (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    return base ? base + offset : NULL;
}

static void take_list(struct synth_list *list, uint8_t *base, uint64_t *used)
{
    list->index = take(base, used, (uint64_t)list->batch * list->topk * sizeof *list->index);
    list->length = take(base, used, list->batch * sizeof *list->length);
    list->pool = take(base, used, list->pages * list->stride_bytes);
}

static uint64_t take_all(struct maker *maker, uint8_t *base)
{
    uint64_t vectors = (uint64_t)maker->spec->batch * maker->spec->heads, used = 0;

    maker->q = take(base, &used, vectors * LAYOUT_DIM * sizeof *maker->q);
    maker->sink = take(base, &used, maker->spec->heads * sizeof *maker->sink);
    take_list(&maker->main, base, &used);
    take_list(&maker->extra, base, &used);
    return used;
}

/* One entry a row, anywhere in the two lists. */
static void keep_one_entry(struct maker *maker, uint32_t row)
{
    struct rng rng = rng_stream(maker->spec->seed, (uint64_t)row << 8 | STREAM_HARD);
    uint32_t width = synth_list_width(&maker->main, row);
    uint32_t both = width + synth_list_width(&maker->extra, row);
    uint32_t kept = rng_below(&rng, both);

    synth_list_keep(&maker->main, row, kept < width ? kept : maker->main.topk);
    synth_list_keep(&maker->extra, row, kept < width ? maker->extra.topk : kept - width);
}

static int draw_lists(struct maker *maker)
{
    int code = synth_list_draw(&maker->main);

    if (code == FAIL_OK)
        code = synth_list_draw(&maker->extra);
    if (code != FAIL_OK)
        return code;
    for (uint32_t row = 0; row < maker->spec->batch && maker->spec->kind == SYNTH_HARD; row++)
        keep_one_entry(maker, row);
    synth_list_finish(&maker->main);
    synth_list_finish(&maker->extra);
    return FAIL_OK;
}

static uint32_t count_valid(const struct synth_list *list, uint32_t row)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < list->topk; i++)
        count += synth_list_valid(list, row, i);
    return count;
}

/* Every other head looks along the direction of steep data, the rest away from it. */
static float steep_side(const struct maker *maker, uint32_t head)
{
    return (maker->spec->seed + head) % 2 == 0 ? 1 : -1;
}

/* Four levels along the row's valid entries, rising in even rows, falling in odd ones. */
static float steep_level(uint32_t row, uint32_t before, uint32_t count)
{
    uint32_t stage = 4 * before / count;

    return 7 + 2 * (float)(row % 2 == 0 ? stage : 3 - stage);
}

/* Writes the tokens of a row's valid entries; `before` of its `count` stand in the list before. */
static void write_tokens(const struct maker *maker, const struct synth_list *list, uint32_t row,
                         uint32_t before, uint32_t count)
{
    uint64_t stream = stream_tokens * (list == &maker->extra ? 2 : 1);

    for (uint32_t i = 0; i < list->topk; i++) {
        uint64_t slot;
        uint8_t *page, *to, *scales;
        struct synth_draw draw;

        if (!synth_list_valid(list, row, i))
            continue;
        slot = (uint64_t)list->index[(uint64_t)row * list->topk + i];
        page = list->pool + slot / list->page_tokens * list->stride_bytes;
        to = page + slot % list->page_tokens * LAYOUT_ROW_BYTES;
        scales = page + (uint64_t)list->page_tokens * LAYOUT_ROW_BYTES +
                 slot % list->page_tokens * LAYOUT_SCALE_BYTES;
        draw = (struct synth_draw){
            .rng = rng_stream(maker->spec->seed, stream + slot),
            .direction = maker->direction,
            .level = steep_level(row, before++, count),
            .group = row * LAYOUT_GROUPS,
        };
        if (maker->spec->kind == SYNTH_SOFT)
            synth_token_soft(&draw, to, scales);
        else if (maker->spec->kind == SYNTH_PEAKED)
            synth_token_peaked(&draw, to, scales);
        else if (maker->spec->kind == SYNTH_STEEP)
            synth_token_steep(&draw, to, scales);
        else
            synth_token_hard(&draw, to, scales);
    }
}

/* Dequantises the entries of a row that has at most SYNTH_FEW of them. */
static uint32_t read_entries(const struct synth_list *list, uint32_t row,
                             double (*values)[LAYOUT_DIM])
{
    struct kernel_cache cache = synth_list_cache(list);
    uint32_t count = 0;

    for (uint32_t i = 0; i < list->topk; i++)
        if (synth_list_valid(list, row, i))
            reference_token(&cache, (uint64_t)cache.index[(uint64_t)row * cache.topk + i],
                            values[count++]);
    return count;
}

/* Whether the best score is at least as large as 512 terms of random signs make it on average. */
static bool is_well_conditioned(const uint16_t *q, double (*values)[LAYOUT_DIM], uint32_t count)
{
    double best = -INFINITY, squares_of_best = 0;

    for (uint32_t entry = 0; entry < count; entry++) {
        double score = 0, squares = 0;

        for (int i = 0; i < LAYOUT_DIM; i++) {
            double term = reference_bf16(q[i]) * values[entry][i];

            score += term;
            squares += term * term;
        }
        if (score > best) {
            best = score;
            squares_of_best = squares;
        }
    }
    return best * best >= squares_of_best;
}

static void write_queries(const struct maker *maker, uint32_t row, uint32_t count)
{
    enum { TRIES = 100 };
    double values[SYNTH_FEW][LAYOUT_DIM];

    if (count <= SYNTH_FEW) {
        uint32_t of_main = read_entries(&maker->main, row, values);

        read_entries(&maker->extra, row, values + of_main);
    }
    for (uint32_t head = 0; head < maker->spec->heads; head++) {
        uint64_t number = (uint64_t)row * maker->spec->heads + head;
        struct rng rng = rng_stream(maker->spec->seed, stream_queries + number);
        uint16_t *q = maker->q + number * LAYOUT_DIM;

        if (maker->spec->kind == SYNTH_STEEP) {
            synth_token_steep_query(&rng, maker->direction, steep_side(maker, head), q);
            continue;
        }
        synth_token_query(&rng, q);
        for (int i = 0;
             i < TRIES && count > 0 && count <= SYNTH_FEW && !is_well_conditioned(q, values, count);
             i++)
            synth_token_query(&rng, q);
    }
}

/* Slots of a row are its own, so rows do not touch each other's memory. */
static void make_row(void *context, uint64_t row)
{
    const struct maker *maker = context;
    uint32_t of_main = count_valid(&maker->main, (uint32_t)row);
    uint32_t count = of_main + count_valid(&maker->extra, (uint32_t)row);

    write_tokens(maker, &maker->main, (uint32_t)row, 0, count);
    write_tokens(maker, &maker->extra, (uint32_t)row, of_main, count);
    write_queries(maker, (uint32_t)row, count);
}

static void draw_direction(struct maker *maker)
{
    struct rng rng = rng_stream(maker->spec->seed, STREAM_DIRECTION);

    for (int i = 0; i < LAYOUT_DIM; i++)
        maker->direction[i] = rng_below(&rng, 2) == 0 ? 1 : -1;
}

/*
 * About as strong as all entries of soft data together.  Steep: as those of the lowest scores that
 * a head may have, so that no output becomes smaller than bf16 can hold.
 */
static void draw_sink(struct maker *maker)
{
    struct rng rng = rng_stream(maker->spec->seed, STREAM_SINK);
    float log_of_width = 0;

    for (uint32_t width = maker->main.topk + maker->extra.topk; width > 1; width /= 2)
        log_of_width += 0.6931472f;
    for (uint32_t head = 0; head < maker->spec->heads; head++) {
        float sink = log_of_width + rng_normal(&rng);

        if (maker->spec->kind == SYNTH_STEEP)
            sink += steep_side(maker, head) > 0 ? 126 : -235;
        if (head % 8 == 3)
            sink = INFINITY;
        if (head % 8 == 5)
            sink = -INFINITY;
        maker->sink[head] = sink;
    }
}

static void hand_over(const struct maker *maker, struct synth *synth)
{
    const struct synth_spec *spec = maker->spec;

    synth->args = (struct kernel_args){
        .q = maker->q,
        .main = synth_list_cache(&maker->main),
        .extra = synth_list_cache(&maker->extra),
        .sink = spec->sink == SYNTH_SINK ? maker->sink : NULL,
        .scale = 0.044194174f, /* 512^-1/2 */
        .heads = spec->heads,
        .batch = spec->batch,
    };
    synth->shape = (struct kernel_shape){
        .heads = spec->heads,
        .batch = spec->batch,
        .topk = spec->topk,
        .extra_topk = spec->extra_topk,
        .page_tokens = synth->args.main.page_tokens,
        .extra_page_tokens = synth->args.extra.page_tokens,
        .page_stride_bytes = maker->main.stride_bytes,
        .extra_page_stride_bytes = maker->extra.stride_bytes,
        .has_sink = spec->sink == SYNTH_SINK,
    };
    synth->pool_bytes = maker->main.pages * maker->main.stride_bytes;
    synth->extra_pool_bytes = maker->extra.pages * maker->extra.stride_bytes;
}

int synth_make(struct synth *synth, const struct synth_spec *spec)
{
    struct maker maker = {
        .spec = spec,
        .main = synth_list_plan(spec, false),
        .extra = synth_list_plan(spec, true),
    };
    uint64_t bytes = take_all(&maker, NULL);
    int code;

    *synth = (struct synth){.memory = aligned_alloc(ALIGN_BYTES, bytes)};
    if (!synth->memory)
        return fail_set(FAIL_ENV, "not enough memory for %llu bytes of test data",
                        (unsigned long long)bytes);
    memset(synth->memory, 0xff, bytes);
    take_all(&maker, synth->memory);
    code = draw_lists(&maker);
    if (code != FAIL_OK) {
        synth_free(synth);
        return code;
    }
    draw_direction(&maker);
    draw_sink(&maker);
    parallel_for(spec->batch, 0, make_row, &maker);
    hand_over(&maker, synth);
    return FAIL_OK;
}

void synth_free(struct synth *synth)
{
    free(synth->memory);
    *synth = (struct synth){0};
}
