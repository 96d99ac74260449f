#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/groups.h"

#include <string.h>

enum { MOST = 6 };

/* Points of a table: key; concurrency, batch, topk, nsplit as used. */
struct made {
    char *key, *concurrency, *batch, *topk, *nsplit;
};

static struct store_point_read points[MOST];
static struct row rows[MOST];

static void make_rows(const struct made *made, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        points[i] = (struct store_point_read){.key = made[i].key,
                                              .axis = {[AXIS_CONCURRENCY] = made[i].concurrency,
                                                       [AXIS_BATCH] = made[i].batch,
                                                       [AXIS_TOPK] = made[i].topk,
                                                       [AXIS_NSPLIT] = made[i].nsplit}};
        int64_t concurrency = 0, batch = 0;
        assert_true(text_to_int(made[i].concurrency, &concurrency));
        assert_true(text_to_int(made[i].batch, &batch));
        rows[i] = (struct row){.point = &points[i],
                               .key = made[i].key,
                               .concurrency = (double)concurrency,
                               .batch = (double)batch};
    }
}

static void shows(const struct groups *groups, size_t group, const char *const *values)
{
    struct text value = TEXT_INIT;
    for (size_t a = 0; a < groups->axis_count; a++) {
        groups_show_axis(groups->first[group], groups->axes[a], &value);
        assert_string_equal(value.bytes, values[a]);
    }
    text_free(&value);
}

static void test_kernels_share_a_group(void **state)
{
    (void)state;
    static const struct made made[] = {
        {"kernel=simt", "1", "1", "512", NULL},
        {"kernel=simt concurrency=8 topk=128", "8", "8", "128", NULL},
        {"kernel=splitk", "1", "1", "512", "16"},
        {"kernel=splitk concurrency=8 topk=128", "8", "8", "128", "4"},
    };
    struct groups groups;
    make_rows(made, 4);
    groups_find(&groups, rows, 4);
    assert_int_equal(groups.count, 2);
    assert_ptr_equal(groups.first[0], &rows[0]);
    assert_ptr_equal(groups.first[1], &rows[1]);
    assert_string_equal(groups_name(&rows[3]), "concurrency=8 topk=128");
    assert_string_equal(groups_name(&rows[0]), "");
    /* concurrency is the batch everywhere, nsplit was not asked for */
    assert_int_equal(groups.axis_count, 2);
    assert_int_equal(groups.axes[0], AXIS_BATCH);
    assert_int_equal(groups.axes[1], AXIS_TOPK);
    shows(&groups, 0, (const char *const[]){"1", "512"});
    shows(&groups, 1, (const char *const[]){"8", "128"});
    groups_free(&groups);
}

static void test_concurrency_and_what_was_asked_for(void **state)
{
    (void)state;
    static const struct made made[] = {
        {"kernel=splitk concurrency=8", "8", "8", "512", "16"},
        {"kernel=splitk concurrency=64 batch=8 nsplit=pow2", "64", "8", "512", "16"},
        {"kernel=splitk concurrency=batch batch=16 nsplit=4", "16", "16", "512", "4"},
    };
    struct groups groups;
    make_rows(made, 3);
    groups_find(&groups, rows, 3);
    assert_int_equal(groups.count, 3);
    assert_int_equal(groups.axis_count, 3);
    assert_int_equal(groups.axes[0], AXIS_CONCURRENCY);
    assert_int_equal(groups.axes[1], AXIS_BATCH);
    assert_int_equal(groups.axes[2], AXIS_NSPLIT);
    shows(&groups, 0, (const char *const[]){"8", "8", "16"});
    shows(&groups, 1, (const char *const[]){"64", "8", "pow2"});
    shows(&groups, 2, (const char *const[]){"16", "16", "4"});
    groups_free(&groups);
}

static void test_one_group_and_none(void **state)
{
    (void)state;
    static const struct made made[] = {{"kernel=mma topk=64", "1", "1", "64", NULL}};
    struct groups groups;
    make_rows(made, 1);
    groups_find(&groups, rows, 1);
    assert_int_equal(groups.count, 1);
    assert_int_equal(groups.axis_count, 1);
    shows(&groups, 0, (const char *const[]){"1"});
    groups_free(&groups);
    groups_find(&groups, rows, 0);
    assert_int_equal(groups.count, 0);
    groups_free(&groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_share_a_group),
        cmocka_unit_test(test_concurrency_and_what_was_asked_for),
        cmocka_unit_test(test_one_group_and_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
