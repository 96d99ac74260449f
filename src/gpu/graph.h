/*
 * graph: a stream, captured CUDA graphs, and their time by device events.
 */
#ifndef GPU_GRAPH_H
#define GPU_GRAPH_H

#include <stdint.h>

struct graph {
    void *exec; /* cudaGraphExec_t */
};

/* Enqueues work on stream; returns FAIL_OK or a fail code. */
typedef int graph_body(void *stream, void *user);

int graph_stream_new(void **stream);
void graph_stream_free(void *stream);
/* Waits for all work on stream; failures of that work surface here, named by what. */
int graph_wait(void *stream, const char *what);
int graph_capture(struct graph *graph, void *stream, graph_body *body, void *user);
int graph_launch(const struct graph *graph, void *stream);
void graph_free(struct graph *graph);

/* Reads bytes of buffer through L2 and so evicts what was there (a kernel named smscope_flush). */
int graph_flush(const void *buffer, uint64_t bytes, void *stream);

/* Two device events, and the time between them: of what was enqueued on stream in between. */
struct graph_timer {
    void *begin, *end; /* cudaEvent_t */
};
int graph_timer_new(struct graph_timer *timer);
void graph_timer_free(struct graph_timer *timer);
int graph_timer_begin(struct graph_timer *timer, void *stream);
int graph_timer_end(struct graph_timer *timer, void *stream, double *ns); /* waits */

#endif
