#include "kernels/cases.h"

#include "base/mem.h"
#include "kernels/rng.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct parts {
    size_t count;
    uint32_t nsplit[8];
};
static const struct parts usual_parts = {8, {1, 2, 3, 4, 5, 8, 12, 16}};
static const struct parts few_parts = {3, {1, 2, 3}};
static const struct parts many_parts = {7, {1, 2, 4, 8, 16, 32, 64}};
static const struct parts odd_parts = {6, {1, 3, 5, 7, 33, 64}};

/* The list being made. */
struct maker {
    struct check_case *cases;
    size_t count, room;
    uint64_t seed, number; /* number counts the sets that quick leaves out, too */
    bool quick;
};

static void add(struct maker *maker, const char *group, const struct synth_spec *spec,
                const struct parts *parts, bool small)
{
    uint64_t seed = rng_mix(maker->seed + rng_mix(maker->number++));
    struct check_case *added;

    if (maker->quick && !small)
        return;
    if (maker->count == maker->room) {
        maker->room = maker->room * 2 + 64;
        maker->cases = mem_resize(maker->cases, maker->room, sizeof *maker->cases);
    }
    added = &maker->cases[maker->count++];
    *added = (struct check_case){
        .group = group,
        .spec = *spec,
        .nsplit = parts->nsplit,
        .nsplit_count = parts->count,
        .exact = spec->kind == SYNTH_HARD,
    };
    added->spec.seed = seed;
}

static void add_product_of(struct maker *maker, struct synth_spec spec, bool with_extra)
{
    static const uint32_t batches[] = {1, 4, 16, 32};
    static const uint32_t topks[] = {33, 128, 512}, extra_topks[] = {70, 512, 128};
    static const uint32_t pages[] = {2, 64, 256}, extra_pages[] = {64, 256, 2};

    for (size_t b = 0; b < COUNT(batches); b++)
        for (size_t t = 0; t < COUNT(topks); t++)
            for (size_t p = 0; p < COUNT(pages); p++) {
                bool small = (b == 0 && t == 1 && p == 1 && spec.padded) ||
                             (b == 1 && t == 0 && p == 0 && !spec.padded);

                spec.batch = batches[b];
                spec.topk = topks[t];
                spec.extra_topk = with_extra ? extra_topks[t] : 0;
                spec.page_tokens = pages[p];
                spec.extra_page_tokens = extra_pages[p];
                add(maker, "product", &spec, &usual_parts, small);
            }
}

/* A sink wherever there are lengths or an extra list but not both. */
static void add_product(struct maker *maker)
{
    for (int kind = SYNTH_SOFT; kind <= SYNTH_STEEP; kind++)
        for (int choice = 0; choice < 8; choice++) {
            bool extra = choice & 1, mixed = choice & 2, padded = choice & 4;
            struct synth_spec spec = {
                .kind = (enum synth_kind)kind,
                .heads = 64,
                .padded = padded,
                .length = mixed ? SYNTH_MIXED : SYNTH_FULL,
                .extra_length = mixed ? SYNTH_MIXED : SYNTH_FULL,
                .sink = extra != mixed ? SYNTH_SINK : SYNTH_NO_SINK,
            };

            add_product_of(maker, spec, extra);
        }
}

/* What the special cases start from; two groups of 32 heads, the second with one. */
static struct synth_spec plain(enum synth_kind kind)
{
    return (struct synth_spec){
        .kind = kind,
        .heads = 33,
        .batch = 3,
        .topk = 100,
        .page_tokens = 64,
        .extra_page_tokens = 2,
        .padded = true,
    };
}

static void add_heads(struct maker *maker)
{
    static const uint32_t heads[] = {1, 7, 8, 16, 33, 127, 128};

    for (size_t i = 0; i < COUNT(heads); i++)
        for (int kind = SYNTH_SOFT; kind <= SYNTH_STEEP; kind++) {
            struct synth_spec spec = plain((enum synth_kind)kind);

            spec.heads = heads[i];
            spec.topk = 128;
            spec.extra_topk = 64;
            spec.extra_length = SYNTH_MIXED;
            spec.sink = SYNTH_SINK;
            add(maker, "heads", &spec, &few_parts, heads[i] < 64 || kind == SYNTH_SOFT);
        }
}

static void add_widths(struct maker *maker)
{
    static const uint32_t narrow[] = {1, 2, 31, 32, 63, 64, 65}, wide[] = {1152, 2048};

    for (int kind = SYNTH_SOFT; kind <= SYNTH_STEEP; kind++) {
        struct synth_spec spec = plain((enum synth_kind)kind);

        for (size_t i = 0; i < COUNT(narrow); i++) {
            spec.topk = narrow[i];
            add(maker, "narrow", &spec, i % 2 == 0 ? &odd_parts : &few_parts, kind != SYNTH_PEAKED);
        }
        for (size_t i = 0; i < 2 * COUNT(wide); i++) {
            spec.topk = wide[i / 2];
            spec.extra_topk = i % 2 == 0 ? 0 : 512;
            spec.heads = i == 0 ? 8 : 64;
            spec.batch = i == 0 ? 1 : 4;
            add(maker, "wide", &spec, &many_parts, i == 0);
        }
        spec = plain((enum synth_kind)kind);
        spec.topk = 512;
        spec.length = SYNTH_MIXED;
        add(maker, "many parts", &spec, &many_parts, kind == SYNTH_SOFT);
    }
}

static void add_pages(struct maker *maker)
{
    static const uint32_t padded[] = {1, 53, 61, 128}, unpadded[] = {6, 62, 576};
    struct synth_spec spec = plain(SYNTH_SOFT);

    spec.extra_topk = 40;
    for (size_t i = 0; i < COUNT(padded); i++) {
        spec.page_tokens = padded[i];
        spec.extra_page_tokens = padded[COUNT(padded) - 1 - i];
        add(maker, "pages", &spec, &few_parts, true);
    }
    spec.padded = false;
    for (size_t i = 0; i < COUNT(unpadded); i++) {
        spec.page_tokens = unpadded[i];
        spec.extra_page_tokens = unpadded[COUNT(unpadded) - 1 - i];
        add(maker, "pages", &spec, &few_parts, true);
    }
}

/* Negative indices among the valid ones; repeats. */
static void add_indices(struct maker *maker, enum synth_kind kind)
{
    struct synth_spec spec = plain(kind);

    spec.index = SYNTH_HOLES;
    add(maker, "holes", &spec, &few_parts, true);
    spec.extra_topk = 70;
    spec.extra_index = SYNTH_HOLES;
    spec.length = spec.extra_length = SYNTH_MIXED;
    spec.sink = SYNTH_SINK;
    add(maker, "holes", &spec, &few_parts, true);

    spec = plain(kind);
    spec.topk = 128;
    spec.index = SYNTH_FIRST_MASKED;
    add(maker, "first masked", &spec, &few_parts, true);
    spec.extra_topk = 100;
    spec.extra_index = SYNTH_FIRST_MASKED;
    add(maker, "first masked", &spec, &few_parts, true);

    spec = plain(kind);
    spec.index = SYNTH_REPEATS;
    add(maker, "repeats", &spec, &few_parts, true);

    spec = plain(kind);
    spec.sink = SYNTH_SINK;
    add(maker, "sink", &spec, &few_parts, true);
}

/* One list is empty in its way, first the main one beside a whole extra list. */
static void add_one_empty(struct maker *maker, enum synth_index index, enum synth_length length,
                          int32_t fixed_length)
{
    struct synth_spec spec = plain(SYNTH_SOFT);

    spec.extra_topk = 70;
    spec.index = index;
    spec.length = length;
    spec.fixed_length = fixed_length;
    add(maker, "one list empty", &spec, &few_parts, true);
    spec = plain(SYNTH_SOFT);
    spec.extra_topk = 70;
    spec.extra_index = index;
    spec.extra_length = length;
    spec.extra_fixed_length = fixed_length;
    spec.sink = SYNTH_SINK;
    add(maker, "one list empty", &spec, &few_parts, true);
}

/* Both lists are, without and with a sink: out 0, lse +inf. */
static void add_both_empty(struct maker *maker, enum synth_index index, enum synth_length length,
                           int32_t fixed_length)
{
    struct synth_spec spec = plain(SYNTH_SOFT);

    spec.index = spec.extra_index = index;
    spec.length = spec.extra_length = length;
    spec.fixed_length = spec.extra_fixed_length = fixed_length;
    add(maker, "no entries", &spec, &few_parts, true);
    spec.extra_topk = 70;
    spec.sink = SYNTH_SINK;
    add(maker, "no entries", &spec, &few_parts, true);
}

static void add_empty(struct maker *maker)
{
    add_one_empty(maker, SYNTH_ALL_MASKED, SYNTH_FULL, 0);
    add_one_empty(maker, SYNTH_ALL_MASKED, SYNTH_FIXED, 1); /* how serving marks a short context */
    add_one_empty(maker, SYNTH_DISTINCT, SYNTH_FIXED, 0);
    add_one_empty(maker, SYNTH_DISTINCT, SYNTH_FIXED, -5);
    add_both_empty(maker, SYNTH_ALL_MASKED, SYNTH_FULL, 0);
    add_both_empty(maker, SYNTH_ALL_MASKED, SYNTH_FIXED, 1);
    add_both_empty(maker, SYNTH_DISTINCT, SYNTH_FIXED, 0);
    add_both_empty(maker, SYNTH_DISTINCT, SYNTH_FIXED, INT32_MIN);
}

static void add_lengths(struct maker *maker, enum synth_kind kind)
{
    static const int32_t lengths[] = {1, 32, 99, 100, 101, INT32_MAX};
    struct synth_spec spec = plain(kind);

    spec.length = SYNTH_FIXED;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        spec.fixed_length = lengths[i];
        add(maker, lengths[i] == 1 ? "length 1" : "lengths", &spec, &few_parts, true);
    }
    spec.extra_topk = 70;
    spec.extra_length = SYNTH_FIXED;
    spec.fixed_length = spec.extra_fixed_length = 1;
    add(maker, "length 1", &spec, &few_parts, true);

    spec = plain(kind);
    spec.topk = 0;
    spec.extra_topk = 100;
    add(maker, "extra only", &spec, &few_parts, true);
    for (uint32_t tokens = 2; tokens <= 3; tokens++) {
        spec = plain(kind);
        spec.batch = 4 * tokens;
        spec.extra_topk = 70;
        spec.length = spec.extra_length = SYNTH_MIXED;
        spec.tokens_per_sequence = tokens;
        add(maker, "query tokens", &spec, &few_parts, true);
    }
}

/* One entry a row: a list of one, the others masked, past the length, or in the other list. */
static void add_hard(struct maker *maker)
{
    struct synth_spec spec = plain(SYNTH_HARD);

    spec.batch = 36; /* every code with every scale byte */
    spec.topk = 1;
    add(maker, "hard", &spec, &few_parts, true);
    spec.topk = 100;
    add(maker, "hard", &spec, &few_parts, true);
    spec.length = SYNTH_FIXED;
    spec.fixed_length = 1;
    add(maker, "hard", &spec, &few_parts, true);
    spec.topk = 70;
    spec.extra_topk = 40;
    spec.length = spec.extra_length = SYNTH_MIXED;
    spec.padded = false;
    add(maker, "hard", &spec, &few_parts, true);
    spec.heads = 64;
    spec.batch = 32;
    spec.topk = 512;
    spec.extra_topk = 128;
    spec.page_tokens = 256;
    spec.length = spec.extra_length = SYNTH_FULL;
    add(maker, "hard", &spec, &usual_parts, false);
    spec.heads = 128;
    spec.batch = 4;
    add(maker, "hard", &spec, &many_parts, false);
}

struct check_case *cases_make(bool quick, uint64_t seed, size_t *count)
{
    struct maker maker = {.quick = quick, .seed = seed};

    add_product(&maker);
    add_heads(&maker);
    add_widths(&maker);
    add_pages(&maker);
    for (int kind = SYNTH_SOFT; kind <= SYNTH_STEEP; kind++) {
        add_indices(&maker, (enum synth_kind)kind);
        add_lengths(&maker, (enum synth_kind)kind);
    }
    add_empty(&maker);
    add_hard(&maker);
    *count = maker.count;
    return maker.cases;
}
