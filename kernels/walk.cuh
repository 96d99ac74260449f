/*
 * walk: the list tiles of a block, LAYOUT_TILE entries each: its part of the main list's, then of
 * the extra list's, those that hold anything below the row's lengths.
 */
#ifndef KERNELS_WALK_CUH
#define KERNELS_WALK_CUH

#include "kernels/call.cuh"

struct walk {
    uint32_t row, main_length, extra_length;
    uint32_t main_first, main_count, extra_first, count;
};

PRIM_DEVICE uint32_t walk_clip(uint32_t end, uint32_t first)
{
    return end > first ? end - first : 0;
}

/* Part i of N holds tiles [i*T/N, (i+1)*T/N) of the T that the lists' widths make. */
PRIM_DEVICE struct walk walk_of(const struct call &call, uint32_t row, uint32_t part)
{
    uint32_t main_tiles = (call.main.topk + LAYOUT_TILE - 1) / LAYOUT_TILE;
    uint32_t tiles = main_tiles + (call.extra.topk + LAYOUT_TILE - 1) / LAYOUT_TILE;
    uint32_t first = (uint32_t)((uint64_t)part * tiles / call.nsplit);
    uint32_t end = (uint32_t)((uint64_t)(part + 1) * tiles / call.nsplit);
    struct walk walk;
    uint32_t main_end, extra_end;

    walk.row = row;
    walk.main_length = call_length(call.main, row);
    walk.extra_length = call_length(call.extra, row);
    main_end = (walk.main_length + LAYOUT_TILE - 1) / LAYOUT_TILE;
    extra_end = main_tiles + (walk.extra_length + LAYOUT_TILE - 1) / LAYOUT_TILE;
    walk.main_first = first;
    walk.main_count = walk_clip(main_end < end ? main_end : end, first);
    walk.extra_first = walk_clip(first, main_tiles);
    walk.count =
        walk.main_count +
        walk_clip(walk_clip(extra_end < end ? extra_end : end, main_tiles), walk.extra_first);
    return walk;
}

/* The list that tile i of the walk belongs to. */
PRIM_DEVICE struct call_list walk_list(const struct call &call, const struct walk &walk, uint32_t i)
{
    return i >= walk.main_count ? call.extra : call.main;
}

/* Where the slot of an entry of the walk's tile i stands; null: there is no such tile or entry. */
PRIM_DEVICE const int32_t *walk_index(const struct call &call, const struct walk &walk, uint32_t i,
                                      uint32_t entry)
{
    bool extra = i >= walk.main_count;
    struct call_list list = extra ? call.extra : call.main;
    uint32_t tile = extra ? walk.extra_first + i - walk.main_count : walk.main_first + i;

    entry += tile * LAYOUT_TILE;
    if (i >= walk.count || entry >= (extra ? walk.extra_length : walk.main_length))
        return nullptr;
    return list.index + (uint64_t)walk.row * list.topk + entry;
}

/* The slot itself; negative: masked, or there is no such entry. */
PRIM_DEVICE int32_t walk_slot(const struct call &call, const struct walk &walk, uint32_t i,
                              uint32_t entry)
{
    const int32_t *index = walk_index(call, walk, i, entry);

    return index != nullptr ? *index : -1;
}

#endif
