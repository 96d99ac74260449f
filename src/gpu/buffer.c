#include "gpu/buffer.h"

#include <cuda_runtime.h>

#include "base/fail.h"
#include "gpu/device.h"

int buffer_reserve(struct buffer *buffer, uint64_t size)
{
    cudaError_t code;

    if (size <= buffer->size)
        return FAIL_OK;
    buffer_free(buffer);
    code = cudaMalloc(&buffer->bytes, size);
    if (code == cudaErrorMemoryAllocation) {
        buffer->bytes = NULL;
        (void)cudaGetLastError(); /* an allocation that failed is not sticky */
        return fail_set(FAIL_UNSUPPORTED, "not enough device memory: %.1f MB more needed",
                        (double)size / 1e6);
    }
    if (code != cudaSuccess)
        return device_check((int)code, "cudaMalloc");
    buffer->size = size;
    return FAIL_OK;
}

void buffer_free(struct buffer *buffer)
{
    if (buffer->bytes)
        (void)cudaFree(buffer->bytes);
    buffer->bytes = NULL;
    buffer->size = 0;
}

/*
 * The default stream's work is not ordered against the non-blocking streams that kernels run on,
 * and a copy may return before it has arrived, so every transfer here waits for its end.
 */
static int finish(cudaError_t code, const char *what)
{
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(NULL);
    return device_check((int)code, what);
}

int buffer_upload(struct buffer *buffer, uint64_t offset, const void *from, uint64_t size)
{
    return finish(cudaMemcpy((char *)buffer->bytes + offset, from, size, cudaMemcpyHostToDevice),
                  "copy to the device");
}

int buffer_download(const struct buffer *buffer, uint64_t offset, void *to, uint64_t size)
{
    return finish(
        cudaMemcpy(to, (const char *)buffer->bytes + offset, size, cudaMemcpyDeviceToHost),
        "copy from the device");
}

int buffer_fill(struct buffer *buffer, uint64_t offset, int byte, uint64_t size)
{
    return finish(cudaMemset((char *)buffer->bytes + offset, byte, size), "cudaMemset");
}

int buffer_repeat(struct buffer *buffer, uint64_t period, uint64_t size)
{
    uint64_t done = period;
    int code = FAIL_OK;

    while (code == FAIL_OK && done < size) { /* done is a multiple of the period until the end */
        uint64_t part = done < size - done ? done : size - done;

        code = finish(
            cudaMemcpy((char *)buffer->bytes + done, buffer->bytes, part, cudaMemcpyDeviceToDevice),
            "copy on the device");
        done += part;
    }
    return code;
}
