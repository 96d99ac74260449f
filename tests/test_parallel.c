#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>

#include "kernels/parallel.h"

enum { ITEMS = 10000 };

static atomic_int calls[ITEMS + 1];

static void count_call(void *context, uint64_t item)
{
    atomic_fetch_add((atomic_int *)context + item, 1);
}

static void every_item_runs_once(void **state)
{
    static const unsigned threads[] = {0, 1, 2, 7, 1000};

    (void)state;
    for (int i = 0; i < 5; i++) {
        for (int item = 0; item <= ITEMS; item++)
            atomic_store(&calls[item], 0);
        parallel_for(ITEMS, threads[i], count_call, calls);
        for (int item = 0; item < ITEMS; item++)
            assert_int_equal(atomic_load(&calls[item]), 1);
        assert_int_equal(atomic_load(&calls[ITEMS]), 0);
    }
}

static void no_items_is_no_call(void **state)
{
    (void)state;
    atomic_store(&calls[0], 0);
    parallel_for(0, 4, count_call, calls);
    assert_int_equal(atomic_load(&calls[0]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_runs_once),
        cmocka_unit_test(no_items_is_no_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
