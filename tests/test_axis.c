#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "data/axis.h"

/* The values of ITEMS with blanks between them, or "! " and the message. */
static const char *values(enum axis_id id, const char *items)
{
    static char shown[4096];
    struct axis_list list = {0};
    struct text text = TEXT_INIT;
    if (axis_parse(id, items, &list) != FAIL_OK) {
        assert_null(list.values);
        assert_int_equal(list.count, 0);
        text_addf(&text, "! %s", fail_text());
    }
    for (size_t i = 0; i < list.count; i++) {
        text_add(&text, i > 0 ? " " : "");
        axis_add_text(&text, &list.values[i]);
    }
    assert_true(text.length < sizeof shown);
    memcpy(shown, text.bytes, text.length + 1);
    text_free(&text);
    axis_free(&list);
    return shown;
}

/* The whole message is compared; accepted NULL: it ends after why. */
static void refused(enum axis_id id, const char *items, const char *why, const char *accepted)
{
    struct axis_list list = {0};
    assert_int_equal(axis_parse(id, items, &list), FAIL_USAGE);
    struct text start = TEXT_INIT;
    text_addf(&start, "axis %s: '%s': %s", axis_info(id)->name, items, why);
    if (accepted != NULL)
        text_addf(&start, "; accepted: %s", accepted);
    assert_string_equal(fail_text(), start.bytes);
    text_free(&start);
}

static const char topk_range[] = "a number from 1 to 65536";

static void test_values(void **state)
{
    (void)state;
    assert_string_equal(values(AXIS_TOPK, "512"), "512");
    assert_string_equal(values(AXIS_TOPK, "512,128,1"), "512 128 1");
    assert_string_equal(values(AXIS_TOPK, "1K,64K,2K"), "1024 65536 2048");
    assert_string_equal(values(AXIS_HEADS, "128"), "128");
    assert_string_equal(values(AXIS_EXTRA_TOPK, "0"), "0");
    assert_string_equal(values(AXIS_NSPLIT, "auto,pow2,1024"), "auto pow2 1024");
    assert_string_equal(values(AXIS_BATCH, "auto,8"), "auto 8");
    assert_string_equal(values(AXIS_CONCURRENCY, "batch"), "batch");
    assert_string_equal(values(AXIS_LENGTH, "full,mixed,0,7"), "full mixed 0 7");
    assert_string_equal(values(AXIS_STRIDE, "unpadded"), "unpadded");
    assert_string_equal(values(AXIS_KERNEL, "simt,my-kernel_2,all"), "simt my-kernel_2 all");
}

static void test_ranges(void **state)
{
    (void)state;
    assert_string_equal(values(AXIS_TOPK, "1:5"), "1 2 3 4 5");
    assert_string_equal(values(AXIS_TOPK, "1:10:3"), "1 4 7 10");
    assert_string_equal(values(AXIS_TOPK, "1:9:3"), "1 4 7");
    assert_string_equal(values(AXIS_TOPK, "1:100:x2"), "1 2 4 8 16 32 64");
    assert_string_equal(values(AXIS_TOPK, "8:128:x2"), "8 16 32 64 128");
    assert_string_equal(values(AXIS_TOPK, "3:300:x10"), "3 30 300");
    assert_string_equal(values(AXIS_TOPK, "1K:4K:1K"), "1024 2048 3072 4096");
    assert_string_equal(values(AXIS_TOPK, "16K:64K:x2"), "16384 32768 65536");
    assert_string_equal(values(AXIS_TOPK, "7:7"), "7");
    assert_string_equal(values(AXIS_TOPK, "7:7:x2"), "7");
    assert_string_equal(values(AXIS_EXTRA_TOPK, "0:0"), "0");
    assert_string_equal(values(AXIS_EXTRA_TOPK, "0:4:2"), "0 2 4");
    assert_string_equal(values(AXIS_EXTRA_TOPK, "0:512:512"), "0 512");
    assert_string_equal(values(AXIS_TOPK, "1:10:9223372036854775807"), "1");
    assert_string_equal(values(AXIS_TOPK, "2:10:x9223372036854775807"), "2");
    assert_string_equal(values(AXIS_TOPK, "65535:65536"), "65535 65536");
    assert_string_equal(values(AXIS_BATCH, "1:4:x2,auto,6"), "1 2 4 auto 6");
}

static void test_repeats(void **state)
{
    (void)state;
    assert_string_equal(values(AXIS_TOPK, "512,128,512,1:3,2,3"), "512 128 1 2 3");
    assert_string_equal(values(AXIS_NSPLIT, "pow2,4,auto,pow2,4"), "pow2 4 auto");
    assert_string_equal(values(AXIS_TOPK, "1K,1024"), "1024");
}

static void test_empty_items(void **state)
{
    (void)state;
    refused(AXIS_TOPK, "", "an empty item", topk_range);
    refused(AXIS_TOPK, ",", "an empty item", topk_range);
    refused(AXIS_TOPK, "128,", "an empty item", topk_range);
    refused(AXIS_TOPK, ",128", "an empty item", topk_range);
    refused(AXIS_TOPK, "128,,512", "an empty item", topk_range);
}

static void test_wrong_values(void **state)
{
    (void)state;
    refused(AXIS_TOPK, "many", "not a value of this axis", topk_range);
    refused(AXIS_TOPK, "0", "out of range", topk_range);
    refused(AXIS_TOPK, "-5", "out of range", topk_range);
    refused(AXIS_TOPK, "65537", "out of range", topk_range);
    refused(AXIS_TOPK, "65K", "out of range", topk_range);
    refused(AXIS_TOPK, "99999999999999999999", "out of range", topk_range);
    refused(AXIS_TOPK, "9223372036854775807K", "out of range", topk_range);
    refused(AXIS_TOPK, "-9223372036854775807M", "out of range", topk_range);
    refused(AXIS_TOPK, "18014398509481985K", "out of range", topk_range); /* 2^64 + 1024 */
    refused(AXIS_TOPK, "1.5", "not a value of this axis", topk_range);
    refused(AXIS_TOPK, "1G", "not a value of this axis", topk_range);
    refused(AXIS_TOPK, "1k", "not a value of this axis", topk_range);
    refused(AXIS_TOPK, "K", "not a value of this axis", topk_range);
    refused(AXIS_TOPK, " 512", "not a value of this axis", topk_range);
    refused(AXIS_TOPK, "0x10", "not a value of this axis", topk_range);
    refused(AXIS_TOPK, "auto", "not a value of this axis", topk_range);
    refused(AXIS_HEADS, "129", "out of range", "a number from 1 to 128");
    refused(AXIS_BATCH, "pow2", "not a value of this axis", "auto or a number from 1 to 65536");
    refused(AXIS_NSPLIT, "1025", "out of range", "auto, pow2 or a number from 1 to 1024");
    refused(AXIS_LENGTH, "half", "not a value of this axis",
            "full, mixed or a number from 0 to 65536");
    refused(AXIS_SINK, "yes", "not a value of this axis", "off or on");
    refused(AXIS_SINK, "1", "not a value of this axis", "off or on");
    refused(AXIS_SINK, "of", "not a value of this axis", "off or on");
    refused(AXIS_VARIANT, "wgmma", "not a value of this axis", "auto, portable, hopper or cluster");
    refused(AXIS_LAUNCH, "graph|stream", "not a value of this axis", "graph or stream");
    refused(AXIS_KERNEL, "a b", "not a value of this axis",
            "names of at most 39 letters, digits, '_' and '-'");
    refused(AXIS_KERNEL, "abcdefghijklmnopqrstuvwxyzabcdefghijklmn", "not a value of this axis",
            "names of at most 39 letters, digits, '_' and '-'");
}

static void test_wrong_ranges(void **state)
{
    (void)state;
    refused(AXIS_TOPK, "9:1", "END is below START", topk_range);
    refused(AXIS_TOPK, "1:9:0", "the step must be at least 1", topk_range);
    refused(AXIS_TOPK, "1:9:-1", "the step must be at least 1", topk_range);
    refused(AXIS_TOPK, "1:9:x1", "the factor must be at least x2", topk_range);
    refused(AXIS_TOPK, "1:9:x0", "the factor must be at least x2", topk_range);
    refused(AXIS_TOPK, "1:9:x-2", "the factor must be at least x2", topk_range);
    refused(AXIS_TOPK, "1:9:", "a step is N (add) or xN (multiply)", topk_range);
    refused(AXIS_TOPK, "1:9:x", "a step is N (add) or xN (multiply)", topk_range);
    refused(AXIS_TOPK, "1:9:+2", "a step is N (add) or xN (multiply)", topk_range);
    refused(AXIS_TOPK, "1:9:2:3", "a step is N (add) or xN (multiply)", topk_range);
    refused(AXIS_TOPK, "1:", "a range is START:END[:STEP] with whole numbers", topk_range);
    refused(AXIS_TOPK, ":9", "a range is START:END[:STEP] with whole numbers", topk_range);
    refused(AXIS_TOPK, "a:9", "a range is START:END[:STEP] with whole numbers", topk_range);
    refused(AXIS_TOPK, "-1:9", "out of range", topk_range);
    refused(AXIS_TOPK, "0:9", "out of range", topk_range);
    refused(AXIS_TOPK, "1:65537", "out of range", topk_range);
    refused(AXIS_TOPK, "1:99999999999999999999", "out of range", topk_range);
    refused(AXIS_TOPK, "1:99999999999999999999:x2", "out of range", topk_range);
    refused(AXIS_EXTRA_TOPK, "0:512:x2", "a factor leads nowhere from 0",
            "a number from 0 to 65536");
    refused(AXIS_STRIDE, "1:4", "this axis has no ranges", "padded or unpadded");
}

/* The message names the item at fault, not the whole list. */
static void test_item_named(void **state)
{
    (void)state;
    assert_string_equal(values(AXIS_TOPK, "128,0,512"),
                        "! axis topk: '0': out of range; accepted: a number from 1 to 65536");
    assert_string_equal(values(AXIS_TOPK, "128,4:2"),
                        "! axis topk: '4:2': END is below START; accepted: a number from 1 to "
                        "65536");
}

static void test_too_many(void **state)
{
    (void)state;
    struct axis_list list = {0};
    assert_int_equal(axis_parse(AXIS_TOPK, "1:65536,1:34464", &list), FAIL_OK); /* 100000 */
    assert_int_equal(list.count, 65536);
    assert_int_equal(list.values[65535].number, 65536);
    assert_int_equal(axis_parse(AXIS_TOPK, "1:65536,1:34465", &list), FAIL_USAGE);
    assert_string_equal(fail_text(), "axis topk: '1:34465': more than 100000 values");
    assert_null(list.values);
}

static void test_parse_replaces(void **state)
{
    (void)state;
    struct axis_list list = {0};
    assert_int_equal(axis_parse(AXIS_TOPK, "1:3", &list), FAIL_OK);
    assert_int_equal(axis_parse(AXIS_TOPK, "9", &list), FAIL_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.values[0].number, 9);
    axis_free(&list);
    assert_null(list.values);
}

static void test_defaults(void **state)
{
    (void)state;
    static const char *const expected[AXIS_COUNT] = {
        "all",  "auto", "64", "1",  "auto",   "512", "full", "0",
        "full", "auto", "64", "64", "padded", "off", "cold", "graph"};
    for (enum axis_id id = 0; id < AXIS_COUNT; id++) {
        struct axis_list list = {0};
        assert_int_equal(axis_parse(id, axis_info(id)->fallback, &list), FAIL_OK);
        assert_string_equal(axis_info(id)->fallback, expected[id]);
        assert_int_equal(list.count, 1);
        assert_true(axis_is_default(id, &list.values[0]));
        axis_free(&list);
    }
    struct axis_value value = {.number = 128};
    assert_false(axis_is_default(AXIS_HEADS, &value));
    assert_false(axis_is_default(AXIS_BATCH, &value));
    strcpy(value.word, "batch");
    assert_false(axis_is_default(AXIS_CONCURRENCY, &value));
}

static void test_names(void **state)
{
    (void)state;
    static const char *const order[AXIS_COUNT] = {
        "kernel",       "variant", "heads", "concurrency", "batch",  "topk", "length", "extra_topk",
        "extra_length", "nsplit",  "page",  "extra_page",  "stride", "sink", "cache",  "launch"};
    for (enum axis_id id = 0; id < AXIS_COUNT; id++) {
        assert_string_equal(axis_info(id)->name, order[id]);
        assert_int_equal(axis_by_name(order[id]), id);
    }
    assert_int_equal(axis_by_name("extra"), AXIS_COUNT);
    assert_int_equal(axis_by_name(""), AXIS_COUNT);
    assert_int_equal(axis_by_name("Topk"), AXIS_COUNT);
}

static void test_split(void **state)
{
    (void)state;
    enum axis_id id;
    const char *items;
    assert_int_equal(axis_split("extra_topk=1:4", &id, &items), FAIL_OK);
    assert_int_equal(id, AXIS_EXTRA_TOPK);
    assert_string_equal(items, "1:4");
    assert_int_equal(axis_split("topk=", &id, &items), FAIL_OK);
    assert_string_equal(items, "");
    assert_int_equal(axis_split("topk", &id, &items), FAIL_USAGE);
    assert_string_equal(fail_text(), "axis 'topk': expected NAME=ITEMS, such as topk=128,512");
    assert_int_equal(axis_split("extra=1", &id, &items), FAIL_USAGE);
    assert_string_equal(fail_text(),
                        "'extra=1': there is no such axis; the axes are kernel, variant, heads, "
                        "concurrency, batch, topk, length, extra_topk, extra_length, nsplit, page, "
                        "extra_page, stride, sink, cache, launch");
    assert_int_equal(axis_split("=1", &id, &items), FAIL_USAGE);
}

static void test_comparing(void **state)
{
    (void)state;
    struct axis_value seven = {.number = 7};
    struct axis_value eight = {.number = 8};
    struct axis_value word = {.number = 7, .word = "auto"};
    struct axis_value same = {.number = 9, .word = "auto"};
    assert_true(axis_equal(&seven, &seven));
    assert_false(axis_equal(&seven, &eight));
    assert_false(axis_equal(&seven, &word));
    assert_true(axis_equal(&word, &same));
    assert_true(axis_is_word(&word, NULL));
    assert_true(axis_is_word(&word, "auto"));
    assert_false(axis_is_word(&word, "full"));
    assert_false(axis_is_word(&seven, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),         cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_repeats),        cmocka_unit_test(test_empty_items),
        cmocka_unit_test(test_wrong_values),   cmocka_unit_test(test_wrong_ranges),
        cmocka_unit_test(test_item_named),     cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_parse_replaces), cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_names),          cmocka_unit_test(test_split),
        cmocka_unit_test(test_comparing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
