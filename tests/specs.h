/*
 * specs: GPUs typed in by hand for tests, so that no test of the model rests on the device files.
 *
 * Public figures: SMs, limits, bandwidths and peaks of the datasheets and the CUDA toolkit's
 * cuda_occupancy.h. mma_sync_tflops on 9.0 is 62 % of the dense peak, as published microbenchmarks
 * of Hopper found; L2 bandwidth, latencies and block_fixed_ns are round assumptions.
 */
#ifndef TESTS_SPECS_H
#define TESTS_SPECS_H

#include "data/gpuspec.h"

static const struct gpuspec spec_h200 = {
    .name = "NVIDIA H200",
    .cc_major = 9,
    .cc_minor = 0,
    .sm_count = 132,
    .max_warps_per_sm = 64,
    .max_blocks_per_sm = 32,
    .regs_per_sm = 65536,
    .smem_per_sm_bytes = 233472,
    .smem_per_block_optin_bytes = 232448,
    .smem_reserved_bytes = 1024,
    .barriers_per_sm = 64,
    .l2_mb = 60,
    .memory_gb = 141,
    .mem_bw_gbs = 4800,
    .boost_mhz = 1980,
    .bf16_dense_fp32acc_tflops = 989.4,
    .mma_sync_tflops = 613,
    .fp32_tflops = 66.9,
    .l2_gb_per_s = 5500,
    .dram_latency_ns = 700,
    .block_fixed_ns = 1000,
    .launch_gap_ns = 660,
};

static const struct gpuspec spec_rtx_pro_6000 = {
    .name = "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
    .cc_major = 12,
    .cc_minor = 0,
    .sm_count = 188,
    .max_warps_per_sm = 48,
    .max_blocks_per_sm = 24,
    .regs_per_sm = 65536,
    .smem_per_sm_bytes = 102400,
    .smem_per_block_optin_bytes = 101376,
    .smem_reserved_bytes = 1024,
    .barriers_per_sm = 24,
    .l2_mb = 128,
    .memory_gb = 96,
    .mem_bw_gbs = 1792,
    .boost_mhz = 2617,
    .bf16_dense_fp32acc_tflops = 503.8,
    .mma_sync_tflops = 503.8,
    .fp32_tflops = 126,
    .l2_gb_per_s = 6000,
    .dram_latency_ns = 700,
    .block_fixed_ns = 1000,
    .launch_gap_ns = 660,
};

static const struct gpuspec spec_a100 = {
    .name = "NVIDIA A100-SXM4-80GB",
    .cc_major = 8,
    .cc_minor = 0,
    .sm_count = 108,
    .max_warps_per_sm = 64,
    .max_blocks_per_sm = 32,
    .regs_per_sm = 65536,
    .smem_per_sm_bytes = 167936,
    .smem_per_block_optin_bytes = 166912,
    .smem_reserved_bytes = 1024,
    .barriers_per_sm = 0,
    .l2_mb = 40,
    .memory_gb = 80,
    .mem_bw_gbs = 2039,
    .boost_mhz = 1410,
    .bf16_dense_fp32acc_tflops = 312,
    .mma_sync_tflops = 312,
    .fp32_tflops = 19.5,
    .l2_gb_per_s = 4500,
    .dram_latency_ns = 700,
    .block_fixed_ns = 1000,
    .launch_gap_ns = 660,
};

static const struct gpuspec spec_b200 = {
    .name = "NVIDIA B200",
    .cc_major = 10,
    .cc_minor = 0,
    .sm_count = 148,
    .max_warps_per_sm = 64,
    .max_blocks_per_sm = 32,
    .regs_per_sm = 65536,
    .smem_per_sm_bytes = 233472,
    .smem_per_block_optin_bytes = 232448,
    .smem_reserved_bytes = 1024,
    .barriers_per_sm = 64,
    .l2_mb = 126.5,
    .memory_gb = 180,
    .mem_bw_gbs = 8000,
    .boost_mhz = 1965,
    .bf16_dense_fp32acc_tflops = 2250,
    .mma_sync_tflops = 1100,
    .fp32_tflops = 74.5,
    .l2_gb_per_s = 8000,
    .dram_latency_ns = 800,
    .block_fixed_ns = 1000,
    .launch_gap_ns = 660,
};

#endif
