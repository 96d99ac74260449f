/*
 * gpuspec: what a plan and the model need to know of a GPU, from devices/NAME.ini or from the
 * machine.
 *
 * A device file has a section [gpu] with one key for each member below (cc_major and cc_minor are
 * compute_capability = M.N; all are required, `assumed` may be empty) and a section [source] that
 * says in a few words where each figure is from: its keys are names of [gpu], several of them with
 * commas between, or `default` for those not named.  Figures that nobody measured or published for
 * that device are listed under `assumed` and are marked so wherever they are shown.  A real figure
 * that nobody can even guess is `unknown` in a file and NaN here; a GPU is measured without it, but
 * not modelled.
 */
#ifndef DATA_GPUSPEC_H
#define DATA_GPUSPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* What -d and the run file call a device that is modelled. */
#define GPUSPEC_MODEL_PREFIX "model:"
/* "h200" of "model:h200"; NULL for the name of a GPU. */
const char *gpuspec_model_name(const char *device);

struct gpuspec {
    char name[96];
    int cc_major, cc_minor;
    int sm_count;
    int max_warps_per_sm;
    int max_blocks_per_sm;
    int regs_per_sm; /* 32-bit registers */
    int smem_per_sm_bytes;
    int smem_per_block_optin_bytes;
    int smem_reserved_bytes; /* taken by the driver for every resident block */
    int barriers_per_sm;     /* hardware barriers shared by the resident blocks; 0: not a limit */
    double l2_mb;            /* MiB */
    double memory_gb;
    double mem_bw_gbs; /* 1e9 bytes/s, datasheet */
    double boost_mhz;
    double bf16_dense_fp32acc_tflops;
    /* What warp-level mma.sync reaches; less where only wgmma or tcgen05 reach the former. */
    double mma_sync_tflops;
    double fp32_tflops;
    double l2_gb_per_s;     /* L2 to SMs, all together */
    double dram_latency_ns; /* one dependent load that misses L2 */
    double block_fixed_ns;  /* start and end of a block that does no work */
    double launch_gap_ns;   /* between two dependent kernels of a graph */
    char assumed[256];      /* names of the figures above that are assumed, commas between */
};

/* Parses a device file's text; name is for errors.  FAIL_USAGE with file:line for unknown,
 * repeated, missing or absurd keys. */
int gpuspec_parse(struct gpuspec *spec, const char *name, const char *text, size_t length);

/* Reads devices/NAME.ini (or a path); *text (may be NULL) receives the file's
 * bytes for the run file. */
int gpuspec_read(struct gpuspec *spec, const char *name, struct text *text);

/*
 * The device file whose [gpu] name equals the given CUDA device name (as in cudaDeviceProp.name),
 * for the figures a machine cannot tell (peaks, latencies).  FAIL_NOTHING when no file names it; a
 * faulty device file met on the way is FAIL_USAGE.
 */
int gpuspec_by_device_name(struct gpuspec *spec, const char *device_name, struct text *text);

/* Appends the spec in the format of a device file, with one default source; gpuspec_parse() reads
 * it again (reals to 6 digits). */
void gpuspec_write(struct text *text, const struct gpuspec *spec);

/* FAIL_USAGE naming the first figure that is unknown: the model needs them all. */
int gpuspec_check_model(const struct gpuspec *spec);

bool gpuspec_is_assumed(const struct gpuspec *spec, const char *figure);

#endif
