#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "gpu/activity.h"
#include "tests/fake_cupti.h"

static fake_cupti_kernel *fake_kernel;
static fake_cupti_buffers *fake_buffers;

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
    return setenv("SMSCOPE_CUPTI", path, 1);
}

static int reset(void **state)
{
    (void)state;
    fake_buffers(0, 0);
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
    assert_int_equal(list.records[list.count - 1].correlation, 3);
    activity_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(records_come_whole_and_sorted, reset),
        cmocka_unit_test_setup(broken_times_are_counted_by_cause, reset),
        cmocka_unit_test_setup(only_what_runs_between_start_and_stop_counts, reset),
        cmocka_unit_test_setup(cupti_tells_its_drops, reset),
        cmocka_unit_test_setup(the_pool_is_bounded, reset),
        cmocka_unit_test_setup(failures_name_the_cause, reset),
    };

    return cmocka_run_group_tests(tests, open_fake, NULL);
}
