/*
 * nvtx: ranges that name run, point and phase for an outer profiler; nothing when built without
 * NVTX.
 */
#ifndef GPU_NVTX_H
#define GPU_NVTX_H

void nvtx_push(const char *name);
void nvtx_pop(void);

#endif
