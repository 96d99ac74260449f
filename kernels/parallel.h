/*
 * parallel: a loop of independent items over threads.
 */
#ifndef KERNELS_PARALLEL_H
#define KERNELS_PARALLEL_H

#include <stdint.h>

/*
 * Calls function(context, item) once for each item below count, in any order, on up to `threads`
 * threads (0: one for each CPU this process may use), the caller's among them.  Threads that cannot
 * be started are done without.
 */
void parallel_for(uint64_t count, unsigned threads, void (*function)(void *context, uint64_t item),
                  void *context);

#endif
