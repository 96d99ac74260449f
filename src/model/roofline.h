/*
 * roofline: the floor of a point, and the model's time of a launch.
 *
 * Floor = max(bytes / read roof, flops / matrix peak): the time no kernel can beat.
 *
 * The model's time of a launch, meant to be right within a factor of two and to tell which kernel
 * starves and which is lost:
 *
 *   time     = sum over waves of (tiles x per_tile + fixed)
 *              a wave is SMs x resident blocks, the last one what is left
 *   fixed    = block_fixed_ns + ROOFLINE_FIXED_LOADS x load latency
 *   per_tile = the largest of
 *     DRAM     compulsory bytes of a tile x blocks of the wave / mem_bw_gbs
 *     L2       L2-to-SM bytes of a tile x blocks of the wave / l2_gb_per_s
 *     compute  a tile's work at one SM's full rates x blocks that an SM runs at once; the work is
 *                FMA:     decode slots / issue rate + flops / FMA rate (both take issue slots)
 *                tensor:  the larger of decode slots / issue rate and flops / tensor rate
 *     latency  one tile of one block alone: max(work, (load + work) / blocks_ahead) with
 *                load = ROOFLINE_TILE_LOADS x load latency
 *                work = chain + decode slots / attained issue rate + flops / attained rate
 *
 * Bytes and flops of a tile are those of the launch / (blocks x tiles): where parts of a list
 * differ in length they count by their mean, while the wave lasts as long as the longest.
 *
 * Rates of one SM:
 *   issue    4 schedulers x 32 lanes x boost_mhz
 *   FMA      fp32_tflops / SMs
 *   tensor   mma_sync_tflops / SMs
 * Attained by one block of W warps:
 *   issue and FMA: min(1, W / ROOFLINE_WARPS_TO_FILL) of the SM's
 *   tensor: at most W x ROOFLINE_MMA_FLOPS / ROOFLINE_MMA_CYCLES a cycle, as each warp has one
 *           chain of dependent mma.sync
 *
 * A combine launch reads scratch that its predecessor has just written, so its load latency is
 * L2's; a tile of it is one part, loaded in one step, without decoding or softmax chain.
 */
#ifndef MODEL_ROOFLINE_H
#define MODEL_ROOFLINE_H

#include <stdint.h>

#include "data/gpuspec.h"
#include "data/plan.h"

/* As in kernels/layout.h, which this layer may not include; a test holds them together. */
enum {
    ROOFLINE_DIM = 512,         /* values of a token: its key and its value at once */
    ROOFLINE_TOKEN_BYTES = 584, /* in the cache, scales included */
    ROOFLINE_TILE_ENTRIES = 32  /* list entries of a tile */
};

enum {
    /*
     * A scheduler issues one warp instruction a cycle, a dependent one can follow after about four
     * (published microbenchmarks of compute capability 7.0 to 9.0): four warps for each of the four
     * schedulers.
     */
    ROOFLINE_WARPS_TO_FILL = 16,
    ROOFLINE_ISSUE_LANES = 128, /* four schedulers x 32 lanes */

    /*
     * Issue slots to turn one e4m3 value of a tile into an operand: its share of the load, the
     * convert (pairs, on a pipe of a quarter to an eighth of the issue rate), widen, scale, round
     * and pack, store to and load from shared memory.  An estimate from counting instructions,
     * which a fit to measurements may replace.
     */
    ROOFLINE_VALUE_SLOTS = 8,

    /* One warp-wide mma.sync m16n8k16, and cycles until its result can be used (published
     * microbenchmarks of 8.0 to 9.0: 32 to 35). */
    ROOFLINE_MMA_FLOPS = 4096,
    ROOFLINE_MMA_CYCLES = 33,

    /* Softmax of a tile: five shuffle steps, an exchange through shared memory and about four block
     * barriers, 30 to 50 cycles each, one after the other.  Assumed. */
    ROOFLINE_CHAIN_CYCLES = 400,

    /* Dependent loads.  Of a tile: the list entry, then the token it names.  Of a block: length and
     * q before the first tile, the result's way out after the last. */
    ROOFLINE_TILE_LOADS = 2,
    ROOFLINE_FIXED_LOADS = 2
};

/* Latency of L2 / latency of DRAM: about 270 of 650 cycles and more in published pointer chases
 * on 8.0 and 9.0. */
#define ROOFLINE_L2_LATENCY_RATIO 0.4

struct roofline_ceilings {
    double read_bytes_per_s;
    double matrix_flops_per_s;
};

/* Datasheet ceilings of a device: DRAM bandwidth and dense bf16 with fp32 accumulation. */
struct roofline_ceilings roofline_from_spec(const struct gpuspec *spec);

/*
 * valid: entries that count over the step's requests; heads, requests: as asked, padding earns
 * nothing; index_entries: index list entries of the requests.  bytes = 584 an entry, q and out in
 * bf16, 4 an index; flops = 2 x heads x entries x (512 + 512).
 */
double roofline_floor_us(const struct roofline_ceilings *ceilings, uint64_t valid,
                         uint64_t requests, uint32_t heads, uint64_t index_entries);

enum roofline_bound { ROOFLINE_DRAM, ROOFLINE_L2, ROOFLINE_COMPUTE, ROOFLINE_LATENCY };

/* per_tile_us, bound: of a full wave, or of the only one. */
struct roofline_launch {
    double time_us;
    double per_tile_us;
    enum roofline_bound bound; /* which term of per_tile is the largest */
    double saturating_blocks;  /* blocks on an SM at which compute catches up with latency, at least
                                  1; more slow each other.  For blocksched_run(). */
};

/* Model time of one launch alone; resident_blocks >= 1, from occupancy_compute(). */
void roofline_launch(struct roofline_launch *result, const struct gpuspec *spec,
                     const struct plan_launch *launch, int resident_blocks);

#endif
