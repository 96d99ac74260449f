#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/select.h"
#include "base/fail.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS = 6, MOST_OPTIONS = 2 };

/* key; kernel, concurrency, batch, topk, nsplit as used ("" does not apply) */
static const char *const made[POINTS][6] = {
    {"kernel=simt", "simt", "1", "1", "512", ""},
    {"kernel=simt concurrency=8 topk=128", "simt", "8", "8", "128", ""},
    {"kernel=simt concurrency=8 batch=8 topk=128", "simt", "8", "8", "128", ""},
    {"kernel=splitk", "splitk", "1", "1", "512", "16"},
    {"kernel=splitk concurrency=128 batch=8 nsplit=pow2", "splitk", "128", "8", "512", "16"},
    {"kernel=splitk concurrency=batch batch=16 nsplit=4", "splitk", "16", "16", "512", "4"},
};

static void make_file(struct store_file *file)
{
    static const enum axis_id axes[] = {AXIS_KERNEL, AXIS_CONCURRENCY, AXIS_BATCH, AXIS_TOPK,
                                        AXIS_NSPLIT};
    *file = (struct store_file){.points = mem_new(POINTS, sizeof *file->points), .count = POINTS};
    for (size_t i = 0; i < POINTS; i++) {
        file->points[i] =
            (struct store_point_read){.ord = (int64_t)i, .key = mem_strdup(made[i][0])};
        for (size_t a = 0; a < sizeof axes / sizeof *axes; a++)
            if (*made[i][a + 1])
                file->points[i].axis[axes[a]] = mem_strdup(made[i][a + 1]);
    }
}

/* The options and the points that they leave, as digits. */
static void test_which_points_stay(void **state)
{
    (void)state;
    static const struct {
        const char *options[MOST_OPTIONS], *left;
    } cases[] = {
        {{NULL}, "012345"},
        {{"kernel=simt"}, "012"},
        {{"kernel=all"}, "012345"},
        {{"kernel=mma,splitk"}, "345"},
        {{"topk=512"}, "0345"},
        {{"topk=128:512:x2"}, "012345"},
        {{"batch=8"}, "124"},    /* as used */
        {{"batch=auto"}, "013"}, /* as asked for */
        {{"concurrency=batch"}, "01235"},
        {{"concurrency=128", "batch=8"}, "4"},
        {{"nsplit=16"}, "34"},
        {{"nsplit=pow2"}, "4"},
        {{"nsplit=auto"}, "3"}, /* not those that do not split */
        {{"heads=64"}, ""},     /* no point of this file has heads */
        {{"topk=51"}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct store_file file;
        size_t options = cases[i].options[1] ? 2 : cases[i].options[0] ? 1 : 0;
        char left[POINTS + 1] = "";
        make_file(&file);
        int code = select_points(&file, cases[i].options, options);
        assert_int_equal(code, *cases[i].left ? FAIL_OK : FAIL_NOTHING);
        for (size_t p = 0; p < file.count; p++)
            left[p] = (char)('0' + file.points[p].ord);
        if (strcmp(left, cases[i].left) != 0)
            fail_msg("%s leaves %s, not %s", cases[i].options[0], left, cases[i].left);
        store_file_free(&file);
    }
}

static void test_bad_options_leave_the_file_alone(void **state)
{
    (void)state;
    static const char *const bad[] = {"topk", "nosuch=1", "topk=many", "topk=", "batch=0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct store_file file;
        const char *options[] = {"kernel=simt", bad[i]};
        make_file(&file);
        assert_int_equal(select_points(&file, options, 2), FAIL_USAGE);
        assert_int_equal(file.count, POINTS);
        store_file_free(&file);
    }
}

static void test_an_empty_run_stays_one(void **state)
{
    (void)state;
    struct store_file file = {0};
    const char *option = "topk=512";
    assert_int_equal(select_points(&file, &option, 1), FAIL_OK);
    assert_int_equal(file.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_which_points_stay),
        cmocka_unit_test(test_bad_options_leave_the_file_alone),
        cmocka_unit_test(test_an_empty_run_stays_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
