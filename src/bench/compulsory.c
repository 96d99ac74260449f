#include "bench/compulsory.h"

#include "kernels/layout.h"

static uint64_t valid_entries(const struct rig_cache *cache, uint64_t row)
{
    if (cache->topk == 0)
        return 0;
    return cache->has_length ? (uint64_t)cache->host_length[row] : cache->topk;
}

uint64_t compulsory_bytes(const struct rig *rig, uint32_t heads, uint64_t first_row, uint64_t rows)
{
    uint64_t entries = 0, reading_rows = 0;

    for (uint64_t row = first_row; row < first_row + rows; row++) {
        uint64_t valid = valid_entries(&rig->main, row) + valid_entries(&rig->extra, row);

        entries += valid;
        reading_rows += valid > 0;
    }
    return entries * (LAYOUT_TOKEN_BYTES + sizeof(int32_t)) +
           reading_rows * heads * LAYOUT_DIM * sizeof(uint16_t);
}
