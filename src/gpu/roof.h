/*
 * roof: kernels that do nothing but move memory, to see how fast the device can.
 */
#ifndef GPU_ROOF_H
#define GPU_ROOF_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Enqueue smscope_roof_read, which reads bytes of buffer, and smscope_roof_copy, which copies bytes
 * from one place to another that does not overlap it.  Addresses are aligned to 16 bytes, bytes are
 * rounded down to whole blocks of 16 KiB.  Return a cudaError_t.
 */
int roof_read_launch(const void *buffer, uint64_t bytes, void *stream);
int roof_copy_launch(void *to, const void *from, uint64_t bytes, void *stream);

#ifdef __cplusplus
}
#endif

#endif
