#include "bench/order.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "kernels/rng.h"

struct item {
    uint64_t block, point; /* hashes */
    size_t ord;
};

/* FNV-1a, mixed with the seed: its own low bits are poor. */
static uint64_t hash(const char *bytes, uint64_t seed)
{
    uint64_t sum = 0xcbf29ce484222325;

    for (; *bytes != '\0'; bytes++)
        sum = (sum ^ (unsigned char)*bytes) * 0x100000001b3;
    return rng_mix(sum ^ rng_mix(seed));
}

/* All values but those that are read side by side. */
static uint64_t block_hash(const struct point *point, uint64_t seed)
{
    struct text rest = TEXT_INIT;
    uint64_t sum;

    for (enum axis_id id = 0; id < AXIS_COUNT; id++) {
        if (id == AXIS_KERNEL || id == AXIS_VARIANT || id == AXIS_NSPLIT)
            continue;
        axis_add_text(&rest, &point->asked[id]);
        text_add(&rest, " ");
    }
    sum = hash(rest.bytes, seed);
    text_free(&rest);
    return sum;
}

static int compare(const void *a, const void *b)
{
    const struct item *left = a, *right = b;

    if (left->block != right->block)
        return left->block < right->block ? -1 : 1;
    if (left->point != right->point)
        return left->point < right->point ? -1 : 1;
    return (left->ord > right->ord) - (left->ord < right->ord);
}

size_t *order_make(const struct point_list *points, uint64_t seed)
{
    struct item *items = mem_new(points->count, sizeof *items);
    size_t *order = mem_new(points->count, sizeof *order);

    for (size_t i = 0; i < points->count; i++)
        items[i] = (struct item){.block = block_hash(&points->points[i], seed),
                                 .point = hash(points->points[i].key, seed),
                                 .ord = i};
    if (points->count > 0)
        qsort(items, points->count, sizeof *items, compare);
    for (size_t i = 0; i < points->count; i++)
        order[i] = items[i].ord;
    free(items);
    return order;
}
