/*
 * worker: the child's side of a sweep: opens device and run file, and runs every point that is
 * still pending.
 *
 * It talks to its parent in lines on a pipe:
 *   O PATH        the run file is open (made, if this is the first child)
 *   K             an up-to-date run was found and kept
 *   B ORD         point ORD begins       E ORD    it is in the file
 *   D             all points are done, the first one is timed again
 *   F CODE TEXT   nothing more can be done; fail_set() in the parent
 */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include <stdbool.h>

#include "bench/sweep.h"

/* Exit code of a child whose CUDA context is lost; the point is already in the file. */
enum { WORKER_LOST = 75 };

/* Runs in the child; resume: the run file is there already.  Returns the exit
 * code of the process. */
int worker_run(const struct sweep *sweep, bool resume, int pipe);

/* Handler of the signal by which the parent ends the child after the point in flight. */
void worker_stop(int number);

#endif
