/* A token is 584 bytes, its list entry 4, q of a head 1024. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/compulsory.h"

static void full_lists_count_by_width(void **state)
{
    struct rig rig = {.main.topk = 512};

    (void)state;
    assert_int_equal(compulsory_bytes(&rig, 64, 0, 3), 3 * (512 * 588 + 64 * 1024));
    rig.extra.topk = 100;
    assert_int_equal(compulsory_bytes(&rig, 16, 7, 2), 2 * (612 * 588 + 16 * 1024));
}

static void lengths_count_where_there_are_some(void **state)
{
    int32_t lengths[] = {10, 0, 3, 0}, extra[] = {0, 0, 2, 5};
    struct rig rig = {
        .main = {.topk = 512, .has_length = true, .host_length = lengths},
    };

    (void)state;
    assert_int_equal(compulsory_bytes(&rig, 64, 0, 2), 10 * 588 + 64 * 1024); /* padding is free */
    assert_int_equal(compulsory_bytes(&rig, 64, 1, 1), 0);
    assert_int_equal(compulsory_bytes(&rig, 64, 2, 2), 3 * 588 + 64 * 1024);
    rig.extra = (struct rig_cache){.topk = 64, .has_length = true, .host_length = extra};
    assert_int_equal(compulsory_bytes(&rig, 64, 0, 4), 20 * 588 + 3 * 64 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_lists_count_by_width),
        cmocka_unit_test(lengths_count_where_there_are_some),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
