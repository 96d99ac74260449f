#include "gpu/flush.h"

#include <cuda_runtime.h>

static const unsigned int THREADS = 256;
static const uint32_t BLOCKS = 1024;

__device__ unsigned int smscope_flush_sink;

extern "C" __global__ void __launch_bounds__(THREADS)
    smscope_flush(const uint4 *buffer, uint64_t count)
{
    const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
    unsigned int sum = 0;

    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        const uint4 word = __ldcg(buffer + i);
        sum += word.x ^ word.y ^ word.z ^ word.w;
    }
    /* The compiler cannot know that this hardly ever holds, so it has to load everything. */
    if (sum == 0x5ca1ab1eU)
        smscope_flush_sink = sum;
}

extern "C" int flush_launch(const void *buffer, uint64_t bytes, uint32_t blocks, void *stream)
{
    smscope_flush<<<blocks ? blocks : BLOCKS, THREADS, 0, static_cast<cudaStream_t>(stream)>>>(
        static_cast<const uint4 *>(buffer), bytes / sizeof(uint4));
    return static_cast<int>(cudaGetLastError());
}
