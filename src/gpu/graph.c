#include "gpu/graph.h"

#include <string.h>

#include <cuda_runtime_api.h>

#include "base/fail.h"
#include "gpu/device.h"
#include "gpu/flush.h"

int graph_stream_new(void **stream)
{
    cudaStream_t made = NULL;
    int code = device_check((int)cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking),
                            "cudaStreamCreate");

    *stream = made;
    return code;
}

void graph_stream_free(void *stream)
{
    if (stream)
        (void)cudaStreamDestroy((cudaStream_t)stream);
}

int graph_wait(void *stream, const char *what)
{
    return device_check((int)cudaStreamSynchronize((cudaStream_t)stream), what);
}

static int instantiate(struct graph *graph, cudaGraph_t captured)
{
    cudaGraphExec_t exec = NULL;
    int code = device_check((int)cudaGraphInstantiateWithFlags(&exec, captured, 0),
                            "cudaGraphInstantiate");

    graph->exec = exec;
    return code;
}

int graph_capture(struct graph *graph, void *stream, graph_body *body, void *user)
{
    cudaGraph_t captured = NULL;
    int code, ended;

    memset(graph, 0, sizeof *graph);
    code = device_check(
        (int)cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
    if (code != FAIL_OK)
        return code;
    code = body(stream, user);
    /* Always, or the stream stays in capture; the body's own failure tells more. */
    ended = (int)cudaStreamEndCapture((cudaStream_t)stream, &captured);
    if (code == FAIL_OK)
        code = device_check(ended, "cudaStreamEndCapture");
    else
        (void)cudaGetLastError();
    if (code == FAIL_OK)
        code = instantiate(graph, captured);
    if (captured)
        (void)cudaGraphDestroy(captured);
    return code;
}

int graph_launch(const struct graph *graph, void *stream)
{
    return device_check((int)cudaGraphLaunch((cudaGraphExec_t)graph->exec, (cudaStream_t)stream),
                        "cudaGraphLaunch");
}

void graph_free(struct graph *graph)
{
    if (graph->exec)
        (void)cudaGraphExecDestroy((cudaGraphExec_t)graph->exec);
    memset(graph, 0, sizeof *graph);
}

int graph_flush(const void *buffer, uint64_t bytes, void *stream)
{
    return device_check(flush_launch(buffer, bytes, 0, stream), "smscope_flush");
}

int graph_timer_new(struct graph_timer *timer)
{
    cudaEvent_t begin = NULL, end = NULL;
    int code = device_check((int)cudaEventCreate(&begin), "cudaEventCreate");

    if (code == FAIL_OK)
        code = device_check((int)cudaEventCreate(&end), "cudaEventCreate");
    timer->begin = begin;
    timer->end = end;
    return code;
}

void graph_timer_free(struct graph_timer *timer)
{
    if (timer->begin)
        (void)cudaEventDestroy((cudaEvent_t)timer->begin);
    if (timer->end)
        (void)cudaEventDestroy((cudaEvent_t)timer->end);
    memset(timer, 0, sizeof *timer);
}

int graph_timer_begin(struct graph_timer *timer, void *stream)
{
    return device_check((int)cudaEventRecord((cudaEvent_t)timer->begin, (cudaStream_t)stream),
                        "cudaEventRecord");
}

int graph_timer_end(struct graph_timer *timer, void *stream, double *ns)
{
    float ms = 0;
    int code = device_check((int)cudaEventRecord((cudaEvent_t)timer->end, (cudaStream_t)stream),
                            "cudaEventRecord");

    if (code == FAIL_OK)
        code = device_check((int)cudaEventSynchronize((cudaEvent_t)timer->end),
                            "cudaEventSynchronize");
    if (code == FAIL_OK)
        code = device_check(
            (int)cudaEventElapsedTime(&ms, (cudaEvent_t)timer->begin, (cudaEvent_t)timer->end),
            "cudaEventElapsedTime");
    *ns = (double)ms * 1e6;
    return code;
}
