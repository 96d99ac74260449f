#include "bench/replay.h"

#include "base/fail.h"
#include "bench/rig.h"

static int launch_steps(void *stream, void *user)
{
    const struct pass_context *context = user;
    int code = FAIL_OK;

    for (uint32_t step = 0; code == FAIL_OK && step < context->rig->steps; step++)
        code = rig_launch_step(context->rig, context, rig_set(context, step), stream);
    return code;
}

int replay_open(struct replay *replay, const struct pass_context *context)
{
    int code;

    *replay = (struct replay){0};
    code = graph_timer_new(&replay->timer);
    if (code == FAIL_OK && axis_is_word(&context->point->asked[AXIS_LAUNCH], "graph"))
        code = graph_capture(&replay->graph, context->rig->stream, launch_steps, (void *)context);
    return code;
}

void replay_close(struct replay *replay)
{
    graph_free(&replay->graph);
    graph_timer_free(&replay->timer);
}

int replay_run(struct replay *replay, const struct pass_context *context, double *ns)
{
    void *stream = context->rig->stream;
    int code = rig_flush(context->rig, context, stream);

    *ns = 0;
    if (code == FAIL_OK)
        code = graph_timer_begin(&replay->timer, stream);
    if (code == FAIL_OK)
        code = replay->graph.exec ? graph_launch(&replay->graph, stream)
                                  : launch_steps(stream, (void *)context);
    return code == FAIL_OK ? graph_timer_end(&replay->timer, stream, ns) : code;
}
