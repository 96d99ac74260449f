#include "model/roofline.h"

#include <math.h>

enum { BF16_BYTES = 2, INDEX_BYTES = 4, WARP_THREADS = 32 };

/* What one tile of one block costs, in microseconds. */
struct tile {
    double dram_us, l2_us; /* with the whole device's bandwidth to itself */
    double compute_us;     /* at one SM's full rates */
    double latency_us;     /* alone on the device */
};

struct roofline_ceilings roofline_from_spec(const struct gpuspec *spec)
{
    return (struct roofline_ceilings){.read_bytes_per_s = spec->mem_bw_gbs * 1e9,
                                      .matrix_flops_per_s = spec->bf16_dense_fp32acc_tflops * 1e12};
}

double roofline_floor_us(const struct roofline_ceilings *ceilings, uint64_t valid,
                         uint64_t requests, uint32_t heads, uint64_t index_entries)
{
    double row_values = (double)requests * heads * ROOFLINE_DIM;
    double bytes = (double)valid * ROOFLINE_TOKEN_BYTES + 2 * row_values * BF16_BYTES +
                   (double)index_entries * INDEX_BYTES;
    double flops = 2.0 * heads * (double)valid * (ROOFLINE_DIM + ROOFLINE_DIM);

    return 1e6 * fmax(bytes / ceilings->read_bytes_per_s, flops / ceilings->matrix_flops_per_s);
}

static double load_latency_us(const struct gpuspec *spec, const struct plan_launch *launch)
{
    double ratio = launch->role == PLAN_COMBINE ? ROOFLINE_L2_LATENCY_RATIO : 1;

    return ratio * spec->dram_latency_ns / 1e3;
}

/* Decoding and arithmetic of a tile: at an SM's full rates, and at what the
 * warps of one block attain. */
static void work_of_tile(struct tile *tile, double *alone_us, const struct gpuspec *spec,
                         const struct plan_launch *launch, double flops)
{
    bool tensor = launch->unit == PLAN_TENSOR;
    double warps = ceil((double)plan_threads(launch) / WARP_THREADS);
    double share = fmin(1, warps / ROOFLINE_WARPS_TO_FILL);
    double values = launch->role == PLAN_MAIN ? ROOFLINE_TILE_ENTRIES * ROOFLINE_DIM : 0;
    double decode_us = values * ROOFLINE_VALUE_SLOTS / (ROOFLINE_ISSUE_LANES * spec->boost_mhz);
    double peak_tflops = tensor ? spec->mma_sync_tflops : spec->fp32_tflops;
    double sm_flops_per_us = peak_tflops * 1e6 / spec->sm_count;
    double block_flops_per_us = sm_flops_per_us * share;

    if (tensor)
        block_flops_per_us = fmin(sm_flops_per_us, warps * ROOFLINE_MMA_FLOPS /
                                                       ROOFLINE_MMA_CYCLES * spec->boost_mhz);
    tile->compute_us =
        tensor ? fmax(decode_us, flops / sm_flops_per_us) : decode_us + flops / sm_flops_per_us;
    *alone_us = decode_us / share + flops / block_flops_per_us;
}

static struct tile tile_cost(const struct gpuspec *spec, const struct plan_launch *launch)
{
    bool combine = launch->role == PLAN_COMBINE;
    double tiles = (double)plan_blocks(launch) * launch->tiles;
    double load_us = (combine ? 1 : ROOFLINE_TILE_LOADS) * load_latency_us(spec, launch);
    double chain_us = combine ? 0 : ROOFLINE_CHAIN_CYCLES / spec->boost_mhz;
    double work_us;
    struct tile tile;

    work_of_tile(&tile, &work_us, spec, launch, (double)launch->flops / tiles);
    work_us += chain_us;
    tile.dram_us = (double)launch->dram_bytes / tiles / (spec->mem_bw_gbs * 1e3);
    tile.l2_us = (double)launch->l2_bytes / tiles / (spec->l2_gb_per_s * 1e3);
    tile.latency_us = fmax(work_us, (load_us + work_us) / launch->blocks_ahead);
    return tile;
}

/* Time of a tile while `blocks` blocks run on the device. */
static double tile_in_wave_us(const struct tile *tile, int sm_count, double blocks,
                              enum roofline_bound *bound)
{
    double terms[] = {[ROOFLINE_DRAM] = tile->dram_us * blocks,
                      [ROOFLINE_L2] = tile->l2_us * blocks,
                      [ROOFLINE_COMPUTE] = tile->compute_us * ceil(blocks / sm_count),
                      [ROOFLINE_LATENCY] = tile->latency_us};

    *bound = ROOFLINE_LATENCY;
    for (int i = 0; i < ROOFLINE_LATENCY; i++)
        if (terms[i] > terms[*bound])
            *bound = (enum roofline_bound)i;
    return terms[*bound];
}

void roofline_launch(struct roofline_launch *result, const struct gpuspec *spec,
                     const struct plan_launch *launch, int resident_blocks)
{
    struct tile tile = tile_cost(spec, launch);
    uint64_t wave = (uint64_t)spec->sm_count * (uint64_t)resident_blocks;
    uint64_t full = plan_blocks(launch) / wave, rest = plan_blocks(launch) % wave;
    double fixed_us =
        spec->block_fixed_ns / 1e3 + ROOFLINE_FIXED_LOADS * load_latency_us(spec, launch);
    enum roofline_bound rest_bound;
    double rest_us = tile_in_wave_us(&tile, spec->sm_count, (double)rest, &rest_bound);

    result->per_tile_us = tile_in_wave_us(&tile, spec->sm_count, (double)wave, &result->bound);
    result->time_us = (double)full * (launch->tiles * result->per_tile_us + fixed_us);
    if (rest > 0)
        result->time_us += launch->tiles * rest_us + fixed_us;
    if (full == 0) {
        result->per_tile_us = rest_us;
        result->bound = rest_bound;
    }
    result->saturating_blocks = fmax(1, tile.latency_us / tile.compute_us);
}
