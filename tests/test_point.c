#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "data/datadir.h"
#include "data/plan.h"
#include "data/point.h"

enum {
    READS_ALL = (1u << AXIS_COUNT) - 1,
    READS_NO_SPLIT = READS_ALL & ~(1u << AXIS_NSPLIT),
    READS_LITTLE = 1u << AXIS_HEADS | 1u << AXIS_TOPK | 1u << AXIS_EXTRA_PAGE
};

static const struct point_kernel kernels[] = {
    {"simt", READS_NO_SPLIT}, {"mma", READS_NO_SPLIT}, {"splitk", READS_ALL}};

static const struct point_kernel little = {"little", READS_LITTLE};

static int expand(struct point_list *list, const char *text, const struct point_kernel *given,
                  size_t count)
{
    struct workload workload;
    if (workload_parse(&workload, "w.ini", text, strlen(text)) != FAIL_OK)
        fail_msg("%s", fail_text());
    int code = point_expand(list, &workload, given, count);
    workload_free(&workload);
    return code;
}

/* The points of a workload with the three kernels; keys end with NULL. */
static void expands(struct point_list *list, const char *text, const char *const *keys)
{
    if (expand(list, text, kernels, 3) != FAIL_OK)
        fail_msg("%s", fail_text());
    size_t count = 0;
    for (; keys[count] != NULL && count < list->count; count++)
        assert_string_equal(list->points[count].key, keys[count]);
    assert_null(keys[count]);
    assert_int_equal(list->count, count);
}

static void refuses(const char *text, const char *message)
{
    struct point_list list;
    assert_int_equal(expand(&list, text, kernels, 3), FAIL_USAGE);
    assert_string_equal(fail_text(), message);
    assert_null(list.points);
    assert_int_equal(list.count, 0);
}

static void test_all_defaults(void **state)
{
    (void)state;
    struct point_list list;
    expands(&list, "[a]\n", (const char *[]){"kernel=simt", "kernel=mma", "kernel=splitk", NULL});
    const struct point *point = &list.points[2];
    assert_int_equal(point->concurrency, 1);
    assert_int_equal(point->batch, 1);
    assert_int_equal(point->calls, 1);
    assert_string_equal(point->section, "a");
    assert_true(point->layers == 1);
    assert_true(point->rest_us == 0);
    assert_int_equal(point_number(point, AXIS_HEADS, -1), 64);
    assert_int_equal(point_number(point, AXIS_TOPK, -1), 512);
    assert_int_equal(point_number(point, AXIS_NSPLIT, -1), -1);
    assert_true(axis_is_word(&point->asked[AXIS_KERNEL], "splitk"));
    assert_true(point->applies[AXIS_NSPLIT]);
    assert_false(list.points[0].applies[AXIS_NSPLIT]);
    point_free(&list);
    assert_null(list.points);
}

static void test_product_order(void **state)
{
    (void)state;
    struct point_list list;
    expands(&list, "[a]\nbatch=2,8\ntopk=512,128\nkernel=mma,simt\nconcurrency=4,1\n",
            (const char *[]){
                "kernel=mma concurrency=4 batch=2", "kernel=mma concurrency=4 batch=2 topk=128",
                "kernel=mma concurrency=4 batch=8", "kernel=mma concurrency=4 batch=8 topk=128",
                "kernel=mma batch=2", "kernel=mma batch=2 topk=128", "kernel=mma batch=8",
                "kernel=mma batch=8 topk=128", "kernel=simt concurrency=4 batch=2",
                "kernel=simt concurrency=4 batch=2 topk=128", "kernel=simt concurrency=4 batch=8",
                "kernel=simt concurrency=4 batch=8 topk=128", "kernel=simt batch=2",
                "kernel=simt batch=2 topk=128", "kernel=simt batch=8",
                "kernel=simt batch=8 topk=128", NULL});
    point_free(&list);
}

static void test_full_key(void **state)
{
    (void)state;
    struct point_list list;
    expands(&list,
            "[a]\nkernel=splitk\nvariant=portable\nheads=8\nconcurrency=3\nbatch=2\ntopk=7\n"
            "length=mixed\nextra_topk=9\nextra_length=4\nnsplit=pow2\npage=128\nextra_page=2\n"
            "stride=unpadded\nsink=on\ncache=hot\nlaunch=stream\n",
            (const char *[]){"kernel=splitk variant=portable heads=8 concurrency=3 batch=2 topk=7 "
                             "length=mixed extra_topk=9 extra_length=4 nsplit=pow2 page=128 "
                             "extra_page=2 stride=unpadded sink=on cache=hot launch=stream",
                             NULL});
    for (enum axis_id id = 0; id < AXIS_COUNT; id++)
        assert_true(list.points[0].applies[id]);
    assert_int_equal(list.points[0].calls, 2);
    point_free(&list);
    /* the same with every axis written out at its default */
    expands(&list,
            "[a]\nkernel=splitk\nvariant=auto\nheads=64\nconcurrency=1\nbatch=auto\ntopk=512\n"
            "length=full\nextra_topk=0\nextra_length=full\nnsplit=auto\npage=64\nextra_page=64\n"
            "stride=padded\nsink=off\ncache=cold\nlaunch=graph\n",
            (const char *[]){"kernel=splitk", NULL});
    point_free(&list);
}

static void test_unread_axes(void **state)
{
    (void)state;
    struct point_list list;
    expands(&list, "[a]\nkernel=simt,splitk\nnsplit=auto,1,2\ntopk=128,512\n",
            (const char *[]){"kernel=simt topk=128", "kernel=simt", "kernel=splitk topk=128",
                             "kernel=splitk topk=128 nsplit=1", "kernel=splitk topk=128 nsplit=2",
                             "kernel=splitk", "kernel=splitk nsplit=1", "kernel=splitk nsplit=2",
                             NULL});
    point_free(&list);
}

/* extra_length and extra_page say nothing without an extra cache. */
static void test_extra_axes(void **state)
{
    (void)state;
    struct point_list list;
    expands(&list, "[a]\nkernel=mma\nextra_topk=0,64\nextra_length=full,1\nextra_page=2,64\n",
            (const char *[]){"kernel=mma", "kernel=mma extra_topk=64 extra_page=2",
                             "kernel=mma extra_topk=64",
                             "kernel=mma extra_topk=64 extra_length=1 extra_page=2",
                             "kernel=mma extra_topk=64 extra_length=1", NULL});
    assert_false(list.points[0].applies[AXIS_EXTRA_PAGE]);
    assert_false(list.points[0].applies[AXIS_EXTRA_LENGTH]);
    assert_true(list.points[0].applies[AXIS_EXTRA_TOPK]);
    assert_int_equal(point_number(&list.points[0], AXIS_EXTRA_PAGE, -1), 64);
    assert_true(list.points[1].applies[AXIS_EXTRA_PAGE]);
    assert_int_equal(point_number(&list.points[1], AXIS_EXTRA_PAGE, -1), 2);
    point_free(&list);
}

/* A kernel that reads little still has a concurrency, a batch, a cache and a launch. */
static void test_always_applying(void **state)
{
    (void)state;
    struct point_list list;
    assert_int_equal(expand(&list,
                            "[a]\nconcurrency=6\nbatch=4\ncache=hot\nlaunch=stream\nsink=on\n"
                            "extra_topk=64\nextra_page=2\npage=128\nvariant=portable\n",
                            &little, 1),
                     FAIL_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.points[0].key,
                        "kernel=little concurrency=6 batch=4 cache=hot launch=stream");
    assert_int_equal(list.points[0].calls, 2);
    assert_false(list.points[0].applies[AXIS_SINK]);
    assert_true(axis_is_word(&list.points[0].asked[AXIS_SINK], "off"));
    assert_int_equal(point_number(&list.points[0], AXIS_PAGE, -1), 64);
    point_free(&list);
}

static void test_repeats_across_sections(void **state)
{
    (void)state;
    struct point_list list;
    expands(&list,
            "[a]\nkernel=mma\ntopk=128,256\nlayers=2\n"
            "[b]\nkernel=mma,simt\ntopk=256\nlayers=3\nrest_us=5\n",
            (const char *[]){"kernel=mma topk=128", "kernel=mma topk=256", "kernel=simt topk=256",
                             NULL});
    assert_string_equal(list.points[1].section, "a");
    assert_true(list.points[1].layers == 2);
    assert_true(list.points[1].rest_us == 0);
    assert_string_equal(list.points[2].section, "b");
    assert_true(list.points[2].layers == 3);
    assert_true(list.points[2].rest_us == 5);
    point_free(&list);
}

static void test_kernel_all(void **state)
{
    (void)state;
    struct point_list list;
    expands(&list, "[a]\nkernel=splitk,all,mma\n",
            (const char *[]){"kernel=splitk", "kernel=simt", "kernel=mma", NULL});
    point_free(&list);
    assert_int_equal(expand(&list, "[a]\n", kernels, 0), FAIL_OK);
    assert_int_equal(list.count, 0);
    point_free(&list);
}

static void test_concurrency_of_batch(void **state)
{
    (void)state;
    struct point_list list;
    expands(&list, "[a]\nkernel=mma\nconcurrency=batch\nbatch=1,16\n",
            (const char *[]){"kernel=mma concurrency=batch batch=1",
                             "kernel=mma concurrency=batch batch=16", NULL});
    assert_int_equal(list.points[1].concurrency, 16);
    assert_int_equal(list.points[1].batch, 16);
    assert_int_equal(list.points[1].calls, 1);
    assert_int_equal(point_number(&list.points[1], AXIS_CONCURRENCY, -1), -1);
    point_free(&list);
    static const char why[] = "section [a]: concurrency=batch needs numbers in the batch axis, not "
                              "auto";
    refuses("[a]\nconcurrency=batch\n", why);
    refuses("[a]\nconcurrency=4,batch\nbatch=8,auto\n", why);
}

struct bucket_case {
    uint32_t concurrency, batch, calls;
};

static void check_buckets(const char *text, const struct bucket_case *cases)
{
    struct point_list list;
    if (expand(&list, text, kernels, 1) != FAIL_OK)
        fail_msg("%s", fail_text());
    for (size_t i = 0; i < list.count; i++) {
        assert_int_equal(list.points[i].concurrency, cases[i].concurrency);
        assert_int_equal(list.points[i].batch, cases[i].batch);
        assert_int_equal(list.points[i].calls, cases[i].calls);
    }
    assert_int_equal(cases[list.count].concurrency, 0);
    point_free(&list);
}

static void test_batch_auto(void **state)
{
    (void)state;
    check_buckets("[a]\nconcurrency=1,2,3,5,128,129,512,513,1024,1025,65536\n",
                  (const struct bucket_case[]){{1, 1, 1},
                                               {2, 2, 1},
                                               {3, 4, 1},
                                               {5, 8, 1},
                                               {128, 128, 1},
                                               {129, 256, 1},
                                               {512, 512, 1},
                                               {513, 512, 2},
                                               {1024, 512, 2},
                                               {1025, 512, 3},
                                               {65536, 512, 128},
                                               {0, 0, 0}});
    check_buckets("[a]\nbuckets=48,8,24\nconcurrency=1,8,9,24,25,48,49,97\n",
                  (const struct bucket_case[]){{1, 8, 1},
                                               {8, 8, 1},
                                               {9, 24, 1},
                                               {24, 24, 1},
                                               {25, 48, 1},
                                               {48, 48, 1},
                                               {49, 48, 2},
                                               {97, 48, 3},
                                               {0, 0, 0}});
}

static void test_calls(void **state)
{
    (void)state;
    check_buckets("[a]\nconcurrency=100\nbatch=1,8,50,99,100,128\n",
                  (const struct bucket_case[]){{100, 1, 100},
                                               {100, 8, 13},
                                               {100, 50, 2},
                                               {100, 99, 2},
                                               {100, 100, 1},
                                               {100, 128, 1},
                                               {0, 0, 0}});
}

static void test_unknown_kernel(void **state)
{
    (void)state;
    refuses("[ok]\n[a]\nkernel=simt,wgmma\n",
            "section [a]: there is no kernel 'wgmma'; accepted: simt, mma, splitk, all");
}

static void test_too_many(void **state)
{
    (void)state;
    refuses("[a]\nkernel=mma\ntopk=1:1001\npage=1:1000\n",
            "section [a]: more than 1000000 points in all");
    refuses("[one]\nkernel=mma\n[a]\nkernel=mma\ntopk=1:1000\npage=1:1000\n",
            "section [a]: more than 1000000 points in all");
    refuses("[a]\ntopk=1:65536\npage=1:65536\nextra_topk=0:65536\nlength=0:65536\nheads=1:128\n"
            "concurrency=1:65536\nbatch=1:65536\n",
            "section [a]: more than 1000000 points in all");
}

static void expand_file(struct point_list *list, const char *name)
{
    struct workload workload;
    if (workload_read(&workload, name) != FAIL_OK ||
        point_expand(list, &workload, kernels, 3) != FAIL_OK)
        fail_msg("%s", fail_text());
    workload_free(&workload);
}

static void test_default_workload(void **state)
{
    (void)state;
    struct point_list list;
    expand_file(&list, "default");
    assert_int_equal(list.count, 3 * 8 * 2 + 3 * 5 * 2);
    assert_string_equal(list.points[0].key, "kernel=simt topk=128");
    assert_string_equal(list.points[1].key, "kernel=simt");
    assert_string_equal(list.points[2].key, "kernel=simt concurrency=2 topk=128");
    assert_string_equal(list.points[47].key, "kernel=splitk concurrency=128");
    assert_string_equal(list.points[48].key, "kernel=simt concurrency=128 batch=8 topk=128");
    assert_int_equal(list.points[48].calls, 16);
    assert_string_equal(list.points[77].key, "kernel=splitk concurrency=128 batch=128");
    point_free(&list);
}

static void test_other_workloads(void **state)
{
    (void)state;
    struct point_list list;
    expand_file(&list, "short");
    static const char *const keys[] = {
        "kernel=simt concurrency=batch batch=1",    "kernel=simt concurrency=batch batch=16",
        "kernel=simt concurrency=batch batch=128",  "kernel=mma concurrency=batch batch=1",
        "kernel=mma concurrency=batch batch=16",    "kernel=mma concurrency=batch batch=128",
        "kernel=splitk concurrency=batch batch=1",  "kernel=splitk concurrency=batch batch=16",
        "kernel=splitk concurrency=batch batch=128"};
    assert_int_equal(list.count, 9);
    for (size_t i = 0; i < list.count; i++)
        assert_string_equal(list.points[i].key, keys[i]);
    point_free(&list);

    expand_file(&list, "v4-flash");
    assert_int_equal(list.count, 3 * 8 + 3 * 8 * 3 + 3 * 8);
    assert_string_equal(list.points[0].key, "kernel=simt topk=128 extra_topk=512 page=128 sink=on");
    assert_string_equal(list.points[24].key,
                        "kernel=simt topk=128 extra_topk=64 page=128 extra_page=2 sink=on");
    assert_string_equal(list.points[24 + 72].key, "kernel=simt topk=128 page=128 sink=on");
    assert_true(list.points[0].layers == 21);
    assert_true(list.points[24].layers == 20);
    assert_true(list.points[24 + 72].layers == 2);
    point_free(&list);
}

/* The plan of a launch has no more to test without kernels than its counts. */
static void test_plan_counts(void **state)
{
    (void)state;
    struct plan_launch launch = {.grid = {65536, 65536, 3}, .block = {32, 4, 2}};
    assert_true(plan_blocks(&launch) == 12884901888u); /* 3 x 2^32 */
    assert_int_equal(plan_threads(&launch), 256);
    assert_string_equal(plan_role_name(PLAN_MAIN), "main");
    assert_string_equal(plan_role_name(PLAN_COMBINE), "combine");
}

static void test_values_in_a_key(void **state)
{
    (void)state;
    static const char key[] = "kernel=splitk concurrency=batch batch=16 extra_topk=8 nsplit=4";
    struct text value = TEXT_INIT;
    text_add(&value, "before");
    assert_true(point_find_in_key(key, AXIS_KERNEL, &value));
    assert_string_equal(value.bytes, "splitk");
    assert_true(point_find_in_key(key, AXIS_CONCURRENCY, &value));
    assert_string_equal(value.bytes, "batch");
    assert_true(point_find_in_key(key, AXIS_NSPLIT, &value));
    assert_string_equal(value.bytes, "4");
    assert_false(point_find_in_key(key, AXIS_TOPK, &value)); /* extra_topk is another */
    assert_string_equal(value.bytes, "");
    assert_false(point_find_in_key("", AXIS_KERNEL, &value));
    text_free(&value);
}

static void assert_comes_back(const struct point *point)
{
    struct point read;
    if (point_read_key(&read, point->key, point->batch, kernels, 3) != FAIL_OK)
        fail_msg("%s", fail_text());
    assert_string_equal(read.key, point->key);
    assert_int_equal(read.concurrency, point->concurrency);
    assert_int_equal(read.batch, point->batch);
    assert_int_equal(read.calls, point->calls);
    for (int id = 0; id < AXIS_COUNT; id++) {
        assert_int_equal(read.applies[id], point->applies[id]);
        assert_true(axis_equal(&read.asked[id], &point->asked[id]));
    }
    assert_null(read.section);
    free(read.key);
}

static void test_points_come_back_from_their_keys(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[a]\n",
        "[a]\nbatch=1:64:x2\nconcurrency=batch\ntopk=128,2048\n",
        "[a]\nconcurrency=1,3,100,900\nbuckets=1,48,512\n", /* what auto came to is not in the key
                                                             */
        "[a]\nvariant=portable\nheads=8\nconcurrency=3\nbatch=2\ntopk=7\nlength=mixed\n"
        "extra_topk=0,9\nextra_length=4\nnsplit=pow2,3\npage=128\nextra_page=2\nstride=unpadded\n"
        "sink=on\ncache=hot\nlaunch=stream\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct point_list list;
        assert_int_equal(expand(&list, texts[i], kernels, 3), FAIL_OK);
        for (size_t p = 0; p < list.count; p++)
            assert_comes_back(&list.points[p]);
        point_free(&list);
    }
}

static void test_keys_that_are_none(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "",
        "topk=64",             /* no kernel */
        "kernel=nosuch",       /* nor that one */
        "kernel=all",          /* one point has one kernel */
        "kernel=mma nosuch=1", /* an axis of another smscope */
        "kernel=mma topk=0:9", /* more than one value */
        "kernel=mma topk=512", /* left out when it is the default */
        "kernel=mma  topk=64",
        "kernel=mma nsplit=2", /* not read by the kernel */
        "kernel=mma batch=4",  /* another batch than was used */
        "kernel=mma concurrency=batch",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct point read;
        assert_int_equal(point_read_key(&read, keys[i], 1, kernels, 3), FAIL_DATA);
        assert_null(read.key);
        assert_non_null(strstr(fail_text(), keys[i]));
    }
}

int main(void)
{
    const char *top = getenv("srcdir");
    datadir_set(top != NULL ? top : ".");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_defaults),
        cmocka_unit_test(test_product_order),
        cmocka_unit_test(test_full_key),
        cmocka_unit_test(test_unread_axes),
        cmocka_unit_test(test_extra_axes),
        cmocka_unit_test(test_always_applying),
        cmocka_unit_test(test_repeats_across_sections),
        cmocka_unit_test(test_kernel_all),
        cmocka_unit_test(test_concurrency_of_batch),
        cmocka_unit_test(test_batch_auto),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_unknown_kernel),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_default_workload),
        cmocka_unit_test(test_other_workloads),
        cmocka_unit_test(test_plan_counts),
        cmocka_unit_test(test_values_in_a_key),
        cmocka_unit_test(test_points_come_back_from_their_keys),
        cmocka_unit_test(test_keys_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
