#include "bench/ceilings.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/steady.h"
#include "gpu/cublas.h"
#include "gpu/graph.h"
#include "gpu/roof.h"
#include "kernels/synth.h"

/* What L2 may keep of a buffer of that size from one replay to the next hardly counts. */
static const uint64_t memory_bytes = (uint64_t)4 << 30;
static const uint64_t least_in_l2 = 16; /* times the size of L2 */
static const uint64_t matrix_values = (uint64_t)CEILINGS_MATRIX * CEILINGS_MATRIX;
static const uint64_t distinct_values = 1 << 20;

/* Clocks rise within some milliseconds of work. */
static const int least_replays = 20;
static const double least_s = 0.1;

struct ceiling {
    const struct rig *rig;
    struct buffer buffer;
    uint64_t bytes; /* of buffer that are used */
};

typedef int ceiling_launch(const struct ceiling *ceiling);

static int launch_read(const struct ceiling *ceiling)
{
    return device_check(
        roof_read_launch(ceiling->buffer.bytes, ceiling->bytes, ceiling->rig->stream),
        "smscope_roof_read");
}

static int launch_copy(const struct ceiling *ceiling)
{
    uint64_t half = ceiling->bytes / 2;

    return device_check(roof_copy_launch((char *)ceiling->buffer.bytes + half,
                                         ceiling->buffer.bytes, half, ceiling->rig->stream),
                        "smscope_roof_copy");
}

static int launch_product(const struct ceiling *ceiling)
{
    const uint16_t *values = ceiling->buffer.bytes;

    return cublas_multiply(values, values + matrix_values,
                           (uint16_t *)ceiling->buffer.bytes + 2 * matrix_values, CEILINGS_MATRIX);
}

static int replay(const struct ceiling *ceiling, ceiling_launch *launch, struct graph_timer *timer,
                  double *ns)
{
    const struct rig *rig = ceiling->rig;
    int code = graph_flush(rig->flush.bytes, rig->flush.size, rig->stream);

    if (code == FAIL_OK)
        code = graph_timer_begin(timer, rig->stream);
    if (code == FAIL_OK)
        code = launch(ceiling);
    return code == FAIL_OK ? graph_timer_end(timer, rig->stream, ns) : code;
}

static int find_best_ns(const struct ceiling *ceiling, ceiling_launch *launch, double *best_ns)
{
    struct graph_timer timer = {0};
    double begun_s = steady_now_s(), ns;
    int code = graph_timer_new(&timer);

    *best_ns = (double)INFINITY;
    for (int i = 0; code == FAIL_OK && (i < least_replays || steady_now_s() < begun_s + least_s);
         i++) {
        code = replay(ceiling, launch, &timer, &ns);
        if (code == FAIL_OK)
            *best_ns = fmin(*best_ns, ns);
    }
    graph_timer_free(&timer);
    return code;
}

static int fill_memory(struct ceiling *ceiling)
{
    uint64_t most = ceiling->rig->device.memory_free_bytes / 4;
    int code;

    ceiling->bytes = most < memory_bytes ? most : memory_bytes;
    if (ceiling->bytes < least_in_l2 * ceiling->rig->device.l2_bytes)
        return fail_set(FAIL_UNSUPPORTED, "not enough device memory for a buffer well above L2");
    code = buffer_reserve(&ceiling->buffer, ceiling->bytes);
    return code == FAIL_OK ? buffer_fill(&ceiling->buffer, 0, 0x5a, ceiling->bytes) : code;
}

static int measure_read(struct ceiling *ceiling, double *gb_per_s)
{
    double ns;
    int code = fill_memory(ceiling);

    if (code == FAIL_OK)
        code = find_best_ns(ceiling, launch_read, &ns);
    if (code == FAIL_OK)
        *gb_per_s = (double)ceiling->bytes / ns;
    return code;
}

static int measure_copy(struct ceiling *ceiling, double *gb_per_s)
{
    double ns;
    int code = fill_memory(ceiling);

    if (code == FAIL_OK)
        code = find_best_ns(ceiling, launch_copy, &ns);
    if (code == FAIL_OK)
        *gb_per_s = (double)ceiling->bytes / ns;
    return code;
}

static int fill_matrices(struct ceiling *ceiling)
{
    uint64_t bytes = 2 * matrix_values * sizeof(uint16_t);
    uint64_t period = distinct_values * sizeof(uint16_t);
    uint16_t *values;
    int code = buffer_reserve(&ceiling->buffer, bytes + bytes / 2); /* the product's too */

    if (code != FAIL_OK)
        return code;
    values = mem_new(distinct_values, sizeof *values);
    synth_fill_q(values, distinct_values, ceiling->rig->seed);
    code = buffer_upload(&ceiling->buffer, 0, values, period);
    if (code == FAIL_OK)
        code = buffer_repeat(&ceiling->buffer, period, bytes);
    free(values);
    return code;
}

static int measure_matrix(struct ceiling *ceiling, double *tflops)
{
    double n = CEILINGS_MATRIX, ns;
    int code = cublas_open(ceiling->rig->stream);

    if (code == FAIL_OK)
        code = fill_matrices(ceiling);
    if (code == FAIL_OK)
        code = find_best_ns(ceiling, launch_product, &ns);
    if (code == FAIL_OK)
        *tflops = 2 * n * n * n / ns / 1e3;
    cublas_close();
    return code;
}

static const struct {
    const char *metric, *what, *source;
    int (*measure)(struct ceiling *ceiling, double *value);
} ceilings[] = {
    {"read_roof_gb_per_s", "read roof", "event", measure_read},
    {"copy_roof_gb_per_s", "copy roof", "event", measure_copy},
    {"matrix_peak_tflops", "matrix peak", "cublas", measure_matrix},
};

int ceilings_measure(struct store *store, const struct rig *rig)
{
    int code = FAIL_OK;

    for (size_t i = 0; code == FAIL_OK && i < sizeof ceilings / sizeof *ceilings; i++) {
        struct ceiling ceiling = {.rig = rig};
        double value;

        code = store_get_run_metric(store, ceilings[i].metric, &value);
        if (code != FAIL_OK || !isnan(value))
            continue;
        if (ceilings[i].measure(&ceiling, &value) == FAIL_OK)
            code = store_put_run_metric(store, ceilings[i].metric, value, ceilings[i].source);
        else
            log_warn("%s not measured: %s", ceilings[i].what, fail_text());
        buffer_free(&ceiling.buffer);
    }
    return code;
}
