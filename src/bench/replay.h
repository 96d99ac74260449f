/*
 * replay: K steps on K disjoint sets as one CUDA graph (launch=graph) or as plain launches
 * (launch=stream).
 *
 * The time of a replay is that of its K steps, between device events, with L2 flushed before the
 * first event.
 */
#ifndef BENCH_REPLAY_H
#define BENCH_REPLAY_H

#include <stdbool.h>

#include "bench/pass.h"
#include "gpu/graph.h"

struct replay {
    struct graph graph; /* exec NULL for launch=stream */
    struct graph_timer timer;
};

/* On failure close it all the same. */
int replay_open(struct replay *replay, const struct pass_context *context);
void replay_close(struct replay *replay);
int replay_run(struct replay *replay, const struct pass_context *context, double *ns);

#endif
