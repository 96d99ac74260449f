/*
 * Roofs of a run: what is launched, for how long by a clock of our own, and what the run file says
 * then.  A stand-in takes the place of the device (ld --wrap), a library of our own that of cuBLAS.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/bound.h"
#include "base/fail.h"
#include "base/log.h"
#include "bench/ceilings.h"
#include "gpu/graph.h"
#include "tests/near.h"
#include "tests/specs.h"

static const uint64_t gib = (uint64_t)1 << 30;

/* --- in place of the device --- */

int __wrap_graph_flush(const void *buffer, uint64_t bytes, void *stream);
int __wrap_graph_timer_new(struct graph_timer *timer);
void __wrap_graph_timer_free(struct graph_timer *timer);
int __wrap_graph_timer_begin(struct graph_timer *timer, void *stream);
int __wrap_graph_timer_end(struct graph_timer *timer, void *stream, double *ns);
int __wrap_roof_read_launch(const void *buffer, uint64_t bytes, void *stream);
int __wrap_roof_copy_launch(void *to, const void *from, uint64_t bytes, void *stream);
int __wrap_buffer_reserve(struct buffer *buffer, uint64_t size);
void __wrap_buffer_free(struct buffer *buffer);
int __wrap_buffer_upload(struct buffer *buffer, uint64_t offset, const void *from, uint64_t size);
int __wrap_buffer_fill(struct buffer *buffer, uint64_t offset, int byte, uint64_t size);
int __wrap_buffer_repeat(struct buffer *buffer, uint64_t period, uint64_t size);

enum { PRODUCT_NS = 1600000 };

static int stream, flushed, held;
static double launch_ns; /* of what was launched last; 0: a product by cuBLAS */
static uint64_t timed;

int __wrap_graph_flush(const void *buffer, uint64_t bytes, void *on)
{
    assert_true(bytes == 256 << 20 && buffer && on == &stream);
    flushed++;
    return FAIL_OK;
}

int __wrap_graph_timer_new(struct graph_timer *timer)
{
    (void)timer;
    return FAIL_OK;
}

void __wrap_graph_timer_free(struct graph_timer *timer)
{
    (void)timer;
}

int __wrap_graph_timer_begin(struct graph_timer *timer, void *on)
{
    (void)timer, (void)on;
    launch_ns = 0;
    assert_int_equal(flushed--, 1); /* before the clock starts */
    return FAIL_OK;
}

/* The eleventh and each twentieth after it is as fast as the device can. */
int __wrap_graph_timer_end(struct graph_timer *timer, void *on, double *ns)
{
    (void)timer, (void)on;
    *ns = (launch_ns > 0 ? launch_ns : PRODUCT_NS) * (timed++ % 20 == 10 ? 1 : 1.25);
    return FAIL_OK;
}

/* 4 bytes a ns. */
int __wrap_roof_read_launch(const void *buffer, uint64_t bytes, void *on)
{
    assert_true(buffer && on == &stream);
    launch_ns = (double)bytes / 4;
    return 0;
}

/* 3 bytes a ns, counting both ways. */
int __wrap_roof_copy_launch(void *to, const void *from, uint64_t bytes, void *on)
{
    assert_true((const char *)to == (const char *)from + bytes && on == &stream);
    launch_ns = 2 * (double)bytes / 3;
    return 0;
}

int __wrap_buffer_reserve(struct buffer *buffer, uint64_t size)
{
    static char memory[16];

    held++;
    *buffer = (struct buffer){memory, size};
    return FAIL_OK;
}

void __wrap_buffer_free(struct buffer *buffer)
{
    if (buffer->size > 0)
        held--;
    *buffer = (struct buffer){0};
}

int __wrap_buffer_upload(struct buffer *buffer, uint64_t offset, const void *from, uint64_t size)
{
    assert_true(from && offset + size <= buffer->size);
    return FAIL_OK;
}

int __wrap_buffer_fill(struct buffer *buffer, uint64_t offset, int byte, uint64_t size)
{
    (void)byte;
    assert_true(offset == 0 && size == buffer->size);
    return FAIL_OK;
}

int __wrap_buffer_repeat(struct buffer *buffer, uint64_t period, uint64_t size)
{
    assert_true(period < size && size <= buffer->size);
    return FAIL_OK;
}

/* --- a run --- */

static char path[] = "/tmp/smscope-ceilings.XXXXXX";
static struct text spec_text = TEXT_INIT;

static void make_run(void)
{
    struct store_run run = {.started_at = "2026-12-01T00:00:00Z",
                            .command = "",
                            .workload = "",
                            .version = "",
                            .kernels_hash = "",
                            .device = "NVIDIA H200",
                            .uuid = "",
                            .cc = "9.0",
                            .sm_count = 132,
                            .driver = "",
                            .cuda = "",
                            .cupti = ""};
    const struct point_list none = {0};
    struct store *store;

    text_clear(&spec_text);
    gpuspec_write(&spec_text, &spec_h200);
    run.spec = spec_text.bytes;
    unlink(path);
    assert_int_equal(store_create(&store, path, &run, &none), FAIL_OK);
    store_close(store);
}

/* What the run holds after its roofs were measured on a device with so much free memory, by a
 * process of its own, since a library is opened once in one. */
static void measure(struct store_file *file, uint64_t free_bytes, const char *cublas)
{
    static char memory[16];
    struct rig rig = {.stream = &stream, .flush = {memory, 256 << 20}};
    struct store *store;
    int status = -1;
    pid_t child = fork();

    rig.device.memory_free_bytes = free_bytes;
    rig.device.l2_bytes = 50 << 20;
    if (child == 0) {
        log_set_quiet(true);
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
        setenv("SMSCOPE_CUBLAS", cublas, 1);
        _exit(store_resume(&store, path) != FAIL_OK || ceilings_measure(store, &rig) != FAIL_OK ||
              held != 0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    assert_int_equal(store_read(file, path), FAIL_OK);
}

static void check_metric(const struct store_file *file, const char *name, double value,
                         const char *source)
{
    const char *told = NULL;
    double found = store_find_run_metric(file, name, &told);

    if (isnan(value)) {
        assert_true(isnan(found));
        return;
    }
    assert_near(found, value, 1e-9);
    assert_string_equal(told, source);
}

static void the_best_replay_is_the_roof(void **state)
{
    struct store_file file;
    struct bound_roofs roofs;

    (void)state;
    make_run();
    measure(&file, 140 * gib, "tests/fake_cublas.so");
    check_metric(&file, "read_roof_gb_per_s", 4, "event"); /* bytes a ns are GB/s */
    check_metric(&file, "copy_roof_gb_per_s", 3, "event");
    /* 2 x 8192^3 flops in 1.6 ms */
    check_metric(&file, "matrix_peak_tflops", 687.19476736, "cublas");
    bound_find_roofs(&roofs, &file);
    assert_near(roofs.ceilings.read_bytes_per_s, 4e9, 1e-3);
    assert_near(roofs.ceilings.matrix_flops_per_s, 687.19476736e12, 1e3);
    store_file_free(&file);
}

/* Another child of the same run leaves them as they are. */
static void they_are_measured_once(void **state)
{
    struct store_file file;
    struct store *store;

    (void)state;
    make_run();
    assert_int_equal(store_resume(&store, path), FAIL_OK);
    assert_int_equal(store_put_run_metric(store, "read_roof_gb_per_s", 17, "event"), FAIL_OK);
    store_close(store);
    measure(&file, 140 * gib, "tests/fake_cublas.so");
    check_metric(&file, "read_roof_gb_per_s", 17, "event");
    check_metric(&file, "copy_roof_gb_per_s", 3, "event");
    store_file_free(&file);
}

static void what_cannot_be_measured_is_missing(void **state)
{
    struct store_file file;
    struct bound_roofs roofs;

    (void)state;
    make_run();
    measure(&file, 140 * gib, "/nowhere/libcublas.so");
    check_metric(&file, "read_roof_gb_per_s", 4, "event");
    check_metric(&file, "matrix_peak_tflops", (double)NAN, NULL);
    bound_find_roofs(&roofs, &file);
    assert_near(roofs.ceilings.matrix_flops_per_s, spec_h200.bf16_dense_fp32acc_tflops * 1e12, 1);
    store_file_free(&file);
    make_run();
    setenv("FAKE_CUBLAS", "no-create", 1);
    measure(&file, 3 * gib, "tests/fake_cublas.so"); /* a quarter is no 16 times L2 */
    unsetenv("FAKE_CUBLAS");
    check_metric(&file, "read_roof_gb_per_s", (double)NAN, NULL);
    check_metric(&file, "matrix_peak_tflops", (double)NAN, NULL);
    bound_find_roofs(&roofs, &file);
    assert_near(roofs.ceilings.read_bytes_per_s, spec_h200.mem_bw_gbs * 1e9, 1);
    store_file_free(&file);
}

static int make_path(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    text_free(&spec_text);
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_replay_is_the_roof),
        cmocka_unit_test(they_are_measured_once),
        cmocka_unit_test(what_cannot_be_measured_is_missing),
    };

    return cmocka_run_group_tests(tests, make_path, remove_path);
}
