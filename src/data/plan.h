/*
 * plan: the launches of one call of a kernel on one batch, before anything runs.
 *
 * Occupancy, model and benchmark read the same plan.  Counts go by list width (topk + extra_topk),
 * not by topk_length, which is device data a plan must not depend on.
 */
#ifndef DATA_PLAN_H
#define DATA_PLAN_H

#include <stdbool.h>
#include <stdint.h>

enum plan_role { PLAN_MAIN, PLAN_COMBINE };
enum plan_unit { PLAN_FMA, PLAN_TENSOR }; /* which unit does the flops */

enum { PLAN_MAX_LAUNCHES = 2 };

struct plan_launch {
    enum plan_role role;
    const char *name; /* the device function, e.g. "smscope_split" */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t cluster;       /* blocks along z that share a cluster; 0 and 1: none */
    int registers;          /* a thread */
    bool registers_planned; /* from __launch_bounds__: no compiler report names this function */
    int barriers;           /* hardware barriers a block uses, at least 1 if it synchronises */
    bool overlaps; /* starts while the launch before it ends, and waits for its results itself */
    uint32_t smem_static_bytes, smem_dynamic_bytes;
    enum plan_unit unit;
    /* That the longest block walks, 32 list entries each; combine: parts it merges. */
    uint32_t tiles;
    /* Tiles whose loads are in flight while one is worked on: 1 = no overlap. */
    uint32_t blocks_ahead;
    uint64_t valid_entries; /* batch x (topk + extra_topk); 0 for combine */
    /* Compulsory: every entry once, q, indices, out, lse; scratch is not while it fits L2. */
    uint64_t dram_bytes;
    /* Between L2 and the SMs, both ways: re-reads, scratch, out and lse included. */
    uint64_t l2_bytes;
    uint64_t scratch_bytes; /* written by main or read by combine */
    /* 2 x heads x entries x (512 + 512); done ones, padding heads included, for main. */
    uint64_t flops;
};

struct plan {
    struct plan_launch launch[PLAN_MAX_LAUNCHES];
    int count;
    uint32_t nsplit;        /* parts the list is cut into; 1 if the kernel does not split */
    uint64_t scratch_bytes; /* device memory to hand to launch */
};

const char *plan_role_name(enum plan_role role); /* "main", "combine" */
uint64_t plan_blocks(const struct plan_launch *launch);
uint32_t plan_threads(const struct plan_launch *launch);

#endif
