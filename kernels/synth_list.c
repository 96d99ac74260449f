#include "kernels/synth_list.h"

#include <stdlib.h>

#include "base/fail.h"
#include "kernels/layout.h"
#include "kernels/rng.h"

enum { STREAM_MASKS = 1, STREAM_KEEP, STREAM_GARBAGE, STREAM_SPECIAL };
enum { FIRST_MASKED = 64 };

static const int32_t masks[] = {-1, -1, -1, -2, -123456, INT32_MIN};
static const int32_t garbage[] = {INT32_MAX, 2147480000, 1919810000, -7};

static int32_t draw_mask(struct rng *rng)
{
    return masks[rng_below(rng, sizeof masks / sizeof *masks)];
}

struct synth_list synth_list_plan(const struct synth_spec *spec, bool extra)
{
    struct synth_list list = {
        .batch = spec->batch,
        .topk = extra ? spec->extra_topk : spec->topk,
        .page_tokens = extra ? spec->extra_page_tokens : spec->page_tokens,
        .index_kind = extra ? spec->extra_index : spec->index,
        .length_kind = extra ? spec->extra_length : spec->length,
        .fixed_length = extra ? spec->extra_fixed_length : spec->fixed_length,
        .tokens_per_sequence = spec->tokens_per_sequence > 0 ? spec->tokens_per_sequence : 1,
        .seed = rng_mix(spec->seed * 2 + extra),
    };
    uint64_t entries = (uint64_t)list.batch * list.topk;

    if (list.topk == 0)
        return list;
    list.stride_bytes = spec->padded ? layout_stride_padded(list.page_tokens)
                                     : layout_stride_unpadded(list.page_tokens);
    /* a quarter more slots than entries, so that every page has unreferenced ones */
    list.pages = (entries + entries / 4) / list.page_tokens + 2;
    return list;
}

/* Mixed: three of the sequences are 0, 1 and topk for sure. */
static void draw_lengths(struct synth_list *list)
{
    uint32_t step = list->tokens_per_sequence, sequences = (list->batch + step - 1) / step;
    struct rng rng = rng_stream(list->seed, STREAM_SPECIAL);
    uint32_t first = rng_below(&rng, sequences);
    const int32_t special[] = {(int32_t)list->topk, 0, 1};

    if (list->length_kind == SYNTH_MIXED)
        synth_mixed_lengths(list->length, list->batch, list->topk, list->seed + 1);
    for (uint32_t i = 0; i < 3 && list->length_kind == SYNTH_MIXED && sequences >= 3; i++)
        list->length[(first + i) % sequences * step] = special[i];
    for (uint32_t row = 0; row < list->batch; row++) {
        if (list->length_kind == SYNTH_FIXED)
            list->length[row] = list->fixed_length;
        list->length[row] = list->length[row - row % step];
    }
}

/* Row `row` of the index list, whose entries already are distinct slots. */
static void draw_row(struct synth_list *list, uint32_t row)
{
    int32_t *index = list->index + (uint64_t)row * list->topk;
    struct rng rng = rng_stream(list->seed, (uint64_t)row << 8 | STREAM_MASKS);
    uint32_t few = list->topk / 4 + 1; /* so many slots are repeated */

    for (uint32_t i = 0; i < list->topk; i++) {
        if (list->index_kind == SYNTH_REPEATS)
            index[i] = index[i < list->topk - few ? list->topk - 1 - rng_below(&rng, few) : i];
        else if (list->index_kind == SYNTH_ALL_MASKED ||
                 (list->index_kind == SYNTH_HOLES && rng_below(&rng, 3) == 0))
            index[i] = draw_mask(&rng);
        else if (list->index_kind == SYNTH_FIRST_MASKED && i < FIRST_MASKED)
            index[i] = -1;
    }
}

int synth_list_draw(struct synth_list *list)
{
    uint64_t slots = list->pages * list->page_tokens;
    int32_t *permutation;

    if (list->topk == 0)
        return FAIL_OK;
    permutation = malloc(slots * sizeof *permutation);
    if (!permutation)
        return fail_set(FAIL_ENV, "not enough memory for a permutation of %llu slots",
                        (unsigned long long)slots);
    synth_permutation(permutation, (uint32_t)slots, list->seed);
    for (uint64_t i = 0; i < (uint64_t)list->batch * list->topk; i++)
        list->index[i] = permutation[i];
    free(permutation);
    if (list->length_kind != SYNTH_FULL)
        draw_lengths(list);
    for (uint32_t row = 0; row < list->batch; row++)
        draw_row(list, row);
    return FAIL_OK;
}

uint32_t synth_list_width(const struct synth_list *list, uint32_t row)
{
    int32_t length;

    if (list->topk == 0 || list->length_kind == SYNTH_FULL)
        return list->topk;
    length = list->length[row];
    if (length < 0)
        return 0;
    return (uint32_t)length < list->topk ? (uint32_t)length : list->topk;
}

bool synth_list_valid(const struct synth_list *list, uint32_t row, uint32_t position)
{
    return position < synth_list_width(list, row) &&
           list->index[(uint64_t)row * list->topk + position] >= 0;
}

void synth_list_keep(struct synth_list *list, uint32_t row, uint32_t position)
{
    struct rng rng = rng_stream(list->seed, (uint64_t)row << 8 | STREAM_KEEP);

    for (uint32_t i = 0; i < list->topk; i++)
        if (i != position)
            list->index[(uint64_t)row * list->topk + i] = draw_mask(&rng);
}

/* Half of the entries past a length keep their slot, which nobody references: it holds NaN bytes.
 */
static void add_garbage(struct synth_list *list, uint32_t row)
{
    struct rng rng = rng_stream(list->seed, (uint64_t)row << 8 | STREAM_GARBAGE);

    for (uint32_t i = synth_list_width(list, row); i < list->topk; i++)
        if (rng_below(&rng, 2) == 0)
            list->index[(uint64_t)row * list->topk + i] =
                garbage[rng_below(&rng, sizeof garbage / sizeof *garbage)];
}

/* What had the last slot gets the slot that it takes the place of. */
static void reference_last_slot(struct synth_list *list)
{
    int32_t last = (int32_t)(list->pages * list->page_tokens - 1);
    uint64_t entries = (uint64_t)list->batch * list->topk, taken = entries;

    for (uint64_t i = 0; i < entries; i++) {
        bool valid = synth_list_valid(list, (uint32_t)(i / list->topk), (uint32_t)(i % list->topk));

        if (valid && list->index[i] == last)
            return;
        if (valid)
            taken = i;
    }
    if (taken == entries)
        return;
    for (uint64_t i = 0; i < entries; i++)
        if (list->index[i] == last)
            list->index[i] = list->index[taken];
    list->index[taken] = last;
}

void synth_list_finish(struct synth_list *list)
{
    for (uint32_t row = 0; row < list->batch; row++)
        add_garbage(list, row);
    reference_last_slot(list);
}

struct kernel_cache synth_list_cache(const struct synth_list *list)
{
    if (list->topk == 0)
        return (struct kernel_cache){0};
    return (struct kernel_cache){
        .pool = list->pool,
        .index = list->index,
        .length = list->length_kind == SYNTH_FULL ? NULL : list->length,
        .topk = list->topk,
        .page_tokens = list->page_tokens,
        .page_stride_bytes = list->stride_bytes,
    };
}
