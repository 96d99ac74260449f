/*
 * buffer: grow-only device memory.
 */
#ifndef GPU_BUFFER_H
#define GPU_BUFFER_H

#include <stdint.h>

struct buffer {
    void *bytes; /* device pointer, NULL while size is 0 */
    uint64_t size;
};

/*
 * Makes room for at least size bytes; contents are lost when it has to grow.  FAIL_UNSUPPORTED when
 * the device has not enough memory (the point is skipped), else as device_check().
 */
int buffer_reserve(struct buffer *buffer, uint64_t size);
void buffer_free(struct buffer *buffer);

/* Synchronous copies; offsets and sizes in bytes. */
int buffer_upload(struct buffer *buffer, uint64_t offset, const void *from, uint64_t size);
int buffer_download(const struct buffer *buffer, uint64_t offset, void *to, uint64_t size);
int buffer_fill(struct buffer *buffer, uint64_t offset, int byte, uint64_t size);
/* Repeats the first `period` bytes until `size` bytes are written. */
int buffer_repeat(struct buffer *buffer, uint64_t period, uint64_t size);

#endif
