/*
 * flush: the one kernel of smscope's own that is not under test.
 */
#ifndef GPU_FLUSH_H
#define GPU_FLUSH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Enqueues smscope_flush, which reads bytes (rounded down to a multiple of 16) of buffer, 16-byte
 * aligned, through L2. blocks 0: as many as fill the GPU.  Returns a cudaError_t.
 */
int flush_launch(const void *buffer, uint64_t bytes, uint32_t blocks, void *stream);

#ifdef __cplusplus
}
#endif

#endif
