#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "gpu/activity.h"
#include "tests/fake_cupti.h"

static fake_cupti_kernel *fake_kernel;
static fake_cupti_buffers *fake_buffers;
static fake_cupti_clock *fake_clock;

static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);

    assert_non_null(symbol);
    memcpy(function, &symbol, sizeof symbol);
}

static int open_fake(void **state)
{
    const char *path = "tests/fake_cupti.so";
    void *library = dlopen(path, RTLD_NOW);

    (void)state;
    assert_non_null(library);
    find(library, "fake_kernel", &fake_kernel);
    find(library, "fake_buffers", &fake_buffers);
    find(library, "fake_clock", &fake_clock);
    return setenv("SMSCOPE_CUPTI", path, 1);
}

static int reset(void **state)
{
    (void)state;
    fake_buffers(0, 0);
    fake_clock(0);
    return unsetenv("FAKE_CUPTI");
}

static void records_come_whole_and_sorted(void **state)
{
    static const char name[] =
        "_ZN7smscope9mla_splitILi4EEEvNS_4argsE with, \"quotes\" and \xc3\xbc";
    struct activity_list list;
    const struct activity_record *record;
    char passing[sizeof name];

    (void)state;
    memcpy(passing, name, sizeof name);
    assert_int_equal(activity_start(), FAIL_OK);
    fake_kernel(5000, 5900, "combine", 9);
    fake_kernel(1000, 4000, passing, 8);
    assert_int_equal(activity_stop(&list), FAIL_OK);
    memset(passing, '?', sizeof passing); /* names are copies */
    assert_int_equal(list.count, 2);
    record = &list.records[0];
    assert_int_equal(record->start_ns, 1000);
    assert_int_equal(record->end_ns, 4000);
    assert_string_equal(record->name, name);
    assert_int_equal(record->grid[0], 3);
    assert_int_equal(record->grid[1], 5);
    assert_int_equal(record->grid[2], 7);
    assert_int_equal(record->block[0], 256);
    assert_int_equal(record->block[1], 2);
    assert_int_equal(record->block[2], 1);
    assert_int_equal(record->registers, 168);
    assert_int_equal(record->smem_static_bytes, 1024);
    assert_int_equal(record->smem_dynamic_bytes, 98304);
    assert_int_equal(record->graph_id, 11);
    assert_int_equal(record->node_id, ((uint64_t)11 << 32) + 8);
    assert_int_equal(record->correlation, 8);
    assert_string_equal(list.records[1].name, "combine");
    assert_int_equal(activity_lost(&list.losses), 0);
    activity_free(&list);
    assert_int_equal(list.count, 0);
}

static void broken_times_are_counted_by_cause(void **state)
{
    const uint64_t far = (uint64_t)1 << 63;
    struct activity_list list;

    (void)state;
    assert_int_equal(activity_start(), FAIL_OK);
    fake_kernel(0, 0, "k", 1);
    fake_kernel(0, 7, "k", 2);
    fake_kernel(7, 0, "k", 3); /* not ended when flushed */
    fake_kernel(5, 3, "k", 4);
    fake_kernel(6, 6, "k", 5);
    fake_kernel(far, 5, "k", 6);
    fake_kernel(5, far, "k", 7);
    fake_kernel(10, 12, "k", 8);
    assert_int_equal(activity_stop(&list), FAIL_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.records[0].correlation, 8);
    assert_int_equal(list.losses.zero, 3);
    assert_int_equal(list.losses.reversed, 2);
    assert_int_equal(list.losses.sentinel, 2);
    assert_int_equal(list.losses.dropped, 0);
    assert_int_equal(activity_lost(&list.losses), 7);
    activity_free(&list);
}

static void only_what_runs_between_start_and_stop_counts(void **state)
{
    struct activity_list list;

    (void)state;
    fake_kernel(1, 2, "before", 1);
    fake_buffers(0, 40); /* drops from before are not ours */
    assert_int_equal(activity_start(), FAIL_OK);
    fake_kernel(3, 4, "between", 2);
    assert_int_equal(activity_stop(&list), FAIL_OK);
    fake_kernel(5, 6, "after", 3);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.records[0].name, "between");
    assert_int_equal(list.losses.dropped, 0);
    activity_free(&list);

    assert_int_equal(activity_start(), FAIL_OK);
    assert_int_equal(activity_stop(&list), FAIL_OK);
    assert_int_equal(list.count, 0);
    activity_free(&list);
}

static void cupti_tells_its_drops(void **state)
{
    struct activity_list list;

    (void)state;
    assert_int_equal(activity_start(), FAIL_OK);
    fake_kernel(3, 4, "k", 2);
    fake_buffers(0, 3);
    assert_int_equal(activity_stop(&list), FAIL_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.losses.dropped, 3);
    activity_free(&list);
}

/* 12 buffers in turn go through a pool of 8; 12 at once do not, and what has no room is counted. */
static void the_pool_is_bounded(void **state)
{
    struct activity_list list;

    (void)state;
    for (int hold = 0; hold < 2; hold++) {
        fake_buffers(2, 0);
        setenv("FAKE_CUPTI", hold ? "hold" : "", 1);
        assert_int_equal(activity_start(), FAIL_OK);
        for (uint32_t i = 0; i < 24; i++)
            fake_kernel(100 + i, 200 + i, "k", i + 1);
        assert_int_equal(activity_stop(&list), FAIL_OK);
        assert_int_equal(list.count, hold ? 16 : 24);
        assert_int_equal(list.name_count, 1);
        assert_int_equal(list.losses.dropped, hold ? 8 : 0);
        activity_free(&list);
    }
}

static void failures_name_the_cause(void **state)
{
    struct activity_list list;

    (void)state;
    setenv("FAKE_CUPTI", "cuptiActivityEnable=39", 1);
    assert_int_equal(activity_start(), FAIL_ENV);
    assert_non_null(
        strstr(fail_text(), "cuptiActivityEnable: FAKE_ERROR_39 (39): another profiler"));
    assert_non_null(strstr(fail_text(), "nsys"));

    setenv("FAKE_CUPTI", "", 1);
    assert_int_equal(activity_start(), FAIL_OK);
    fake_kernel(3, 4, "k", 2);
    setenv("FAKE_CUPTI", "cuptiActivityFlushAll=999", 1);
    assert_int_equal(activity_stop(&list), FAIL_ENV);
    assert_int_equal(list.count, 0);

    setenv("FAKE_CUPTI", "", 1); /* and the next trace is fresh again */
    assert_int_equal(activity_start(), FAIL_OK);
    fake_kernel(30, 40, "k", 3);
    assert_int_equal(activity_stop(&list), FAIL_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.records[0].correlation, 3);
    activity_free(&list);
}

static void a_launch_counts_once(void **state)
{
    struct activity_list list;

    (void)state;
    assert_int_equal(activity_start(), FAIL_OK);
    fake_kernel(500, 600, "k", 7);
    fake_kernel(300, 400, "k", 8);
    fake_kernel(100, 200, "k", 7); /* the same launch of the same node at another time */
    fake_kernel(300, 400, "k", 8);
    fake_kernel(300, 400, "k", 8);
    assert_int_equal(activity_stop(&list), FAIL_OK);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.records[0].start_ns, 100); /* in order of time, not of launch */
    assert_int_equal(list.records[0].correlation, 7);
    assert_int_equal(list.records[1].correlation, 8);
    assert_int_equal(list.losses.duplicate, 3);
    assert_int_equal(activity_lost(&list.losses), 3);
    activity_free(&list);
}

/* One launch of a graph has a record a node, all with one correlation. */
static void nodes_of_a_graph_are_told_apart(void **state)
{
    struct activity_list list;

    (void)state;
    setenv("FAKE_CUPTI", "correlation=5", 1);
    assert_int_equal(activity_start(), FAIL_OK);
    fake_kernel(100, 200, "k", 1);
    fake_kernel(300, 400, "k", 2);
    fake_kernel(500, 600, "k", 3);
    fake_kernel(700, 800, "k", 1); /* again */
    assert_int_equal(activity_stop(&list), FAIL_OK);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.records[2].correlation, 5);
    assert_int_equal(list.records[2].end_ns, 600);
    assert_int_equal(list.losses.duplicate, 1);
    activity_free(&list);
}

static void what_ran_in_another_phase_is_foreign(void **state)
{
    const uint64_t ms = 1000000, start = 1000 * ms, end = 1020 * ms;
    struct activity_list list;

    (void)state;
    fake_clock(start);
    assert_int_equal(activity_start(), FAIL_OK);
    fake_kernel(start - 2 * ms, start - ms - 1, "warm_up", 1);
    fake_kernel(start, start + 10, "first", 2);
    fake_kernel(end - 10, end, "last", 3);
    fake_kernel(end, end + 2 * ms, "later", 4);
    fake_clock(end);
    assert_int_equal(activity_stop(&list), FAIL_OK);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.records[0].name, "first");
    assert_string_equal(list.records[1].name, "last");
    assert_int_equal(list.losses.foreign, 2);
    activity_free(&list);
}

/* 1,228,800 records through buffers of 8 MB: kept up to the limit, and the rest is told. */
static void memory_is_bounded_and_losses_are_stated(void **state)
{
    enum { QUEUED = 4096, FLOOD = 300 };
    struct activity_list list;

    (void)state;
    setenv("FAKE_CUPTI", "flood=300", 1);
    assert_int_equal(activity_start(), FAIL_OK);
    for (uint32_t i = 0; i < QUEUED; i++)
        fake_kernel(100 + i, 200 + i, "k", i + 1);
    assert_int_equal(activity_stop(&list), FAIL_OK);
    assert_int_equal(list.count, ACTIVITY_RECORDS_MAX);
    assert_int_equal(list.losses.overflow, QUEUED * FLOOD - ACTIVITY_RECORDS_MAX);
    assert_int_equal(list.losses.duplicate + list.losses.dropped, 0);
    activity_free(&list);
}

/* 24 records in 12 buffers of 2, all of them held at once; twice. */
static int trace_with_an_old_cupti(void)
{
    struct activity_list list;

    fake_buffers(2, 0);
    setenv("FAKE_CUPTI", "version=24,hold", 1);
    for (int again = 0; again < 2; again++) {
        if (activity_start() != FAIL_OK)
            return 1;
        for (uint32_t i = 0; i < 24; i++)
            fake_kernel(100 + i, 200 + i, "k", i + 1);
        if (activity_stop(&list) != FAIL_OK || list.count != 24 || activity_lost(&list.losses) > 0)
            return 2;
        activity_free(&list);
    }
    return 0;
}

/* It would crash when it is refused a buffer, so it never is.  In a process of its own, because the
 * version is asked for once in one. */
static void an_old_cupti_is_never_refused(void **state)
{
    int status = -1;
    pid_t child = fork();

    (void)state;
    if (child == 0)
        _exit(trace_with_an_old_cupti());
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
}

/* Names of templates run to thousands of characters. */
static void long_names_stay_whole(void **state)
{
    enum { LENGTH = 5000 };
    char name[LENGTH + 1];
    struct activity_list list;

    (void)state;
    for (int i = 0; i < LENGTH; i++)
        name[i] = ",\"\n'a<>;|\t"[i % 10];
    name[LENGTH] = '\0';
    assert_int_equal(activity_start(), FAIL_OK);
    fake_kernel(1, 2, name, 1);
    assert_int_equal(activity_stop(&list), FAIL_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.records[0].name, name);
    activity_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_old_cupti_is_never_refused, reset), /* before it is opened here */
        cmocka_unit_test_setup(records_come_whole_and_sorted, reset),
        cmocka_unit_test_setup(broken_times_are_counted_by_cause, reset),
        cmocka_unit_test_setup(only_what_runs_between_start_and_stop_counts, reset),
        cmocka_unit_test_setup(cupti_tells_its_drops, reset),
        cmocka_unit_test_setup(the_pool_is_bounded, reset),
        cmocka_unit_test_setup(a_launch_counts_once, reset),
        cmocka_unit_test_setup(nodes_of_a_graph_are_told_apart, reset),
        cmocka_unit_test_setup(what_ran_in_another_phase_is_foreign, reset),
        cmocka_unit_test_setup(memory_is_bounded_and_losses_are_stated, reset),
        cmocka_unit_test_setup(long_names_stay_whole, reset),
        cmocka_unit_test_setup(failures_name_the_cause, reset),
    };

    return cmocka_run_group_tests(tests, open_fake, NULL);
}
