#include "model/occupancy.h"

#include "base/fail.h"

enum {
    WARP_THREADS = 32,
    MAX_WARPS_PER_BLOCK = 32,
    MAX_REGISTERS_PER_THREAD = 255,
    REGISTER_UNIT = 256,
    SUB_PARTITIONS = 4,
    SMEM_UNIT_BYTES = 128
};

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static int blocks_by_registers(const struct gpuspec *spec, int registers, int warps)
{
    int per_warp = (int)round_up((uint64_t)registers * WARP_THREADS, REGISTER_UNIT);

    if (per_warp == 0)
        return spec->max_blocks_per_sm;
    if (registers > MAX_REGISTERS_PER_THREAD)
        return 0;
    return spec->regs_per_sm / SUB_PARTITIONS / per_warp * SUB_PARTITIONS / warps;
}

static int blocks_by_smem(const struct gpuspec *spec, const struct plan_launch *launch)
{
    uint64_t asked = (uint64_t)launch->smem_static_bytes + launch->smem_dynamic_bytes;
    uint64_t taken = round_up(asked + (uint64_t)spec->smem_reserved_bytes, SMEM_UNIT_BYTES);

    if (asked > (uint64_t)spec->smem_per_block_optin_bytes)
        return 0;
    if (taken == 0)
        return spec->max_blocks_per_sm;
    return (int)((uint64_t)spec->smem_per_sm_bytes / taken);
}

static int blocks_by_barriers(const struct gpuspec *spec, int barriers)
{
    if (barriers == 0 || spec->barriers_per_sm == 0)
        return spec->max_blocks_per_sm;
    return spec->barriers_per_sm / barriers;
}

int occupancy_compute(struct occupancy *occupancy, const struct gpuspec *spec,
                      const struct plan_launch *launch)
{
    uint32_t threads = plan_threads(launch);
    bool launchable = threads > 0 && threads <= MAX_WARPS_PER_BLOCK * WARP_THREADS;
    int warps = launchable ? (int)(round_up(threads, WARP_THREADS) / WARP_THREADS) : 1;

    occupancy->blocks[OCCUPANCY_WARPS] = launchable ? spec->max_warps_per_sm / warps : 0;
    occupancy->blocks[OCCUPANCY_BLOCKS] = spec->max_blocks_per_sm;
    occupancy->blocks[OCCUPANCY_REGISTERS] = blocks_by_registers(spec, launch->registers, warps);
    occupancy->blocks[OCCUPANCY_SMEM] = blocks_by_smem(spec, launch);
    occupancy->blocks[OCCUPANCY_BARRIERS] = blocks_by_barriers(spec, launch->barriers);

    occupancy->limit = OCCUPANCY_WARPS;
    for (int i = 0; i < OCCUPANCY_LIMITS; i++)
        if (occupancy->blocks[i] < occupancy->blocks[occupancy->limit])
            occupancy->limit = (enum occupancy_limit)i;
    occupancy->resident_blocks = occupancy->blocks[occupancy->limit];
    occupancy->theoretical_pct =
        100.0 * occupancy->resident_blocks * warps / spec->max_warps_per_sm;
    if (occupancy->resident_blocks > 0)
        return FAIL_OK;
    return fail_set(FAIL_UNSUPPORTED, "a block of %s does not fit on an SM: limited by %s",
                    launch->name, occupancy_limit_name(occupancy->limit));
}

const char *occupancy_limit_name(enum occupancy_limit limit)
{
    static const char *const names[OCCUPANCY_LIMITS] = {
        [OCCUPANCY_WARPS] = "warps",         [OCCUPANCY_BLOCKS] = "blocks",
        [OCCUPANCY_REGISTERS] = "registers", [OCCUPANCY_SMEM] = "shared memory",
        [OCCUPANCY_BARRIERS] = "barriers",
    };

    return names[limit];
}
