#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/text.h"
#include "data/datadir.h"
#include "data/workload.h"

static void parse(struct workload *workload, const char *text)
{
    int code = workload_parse(workload, "dir/w.ini", text, strlen(text));
    if (code != FAIL_OK)
        fail_msg("%s", fail_text());
}

static void refuses(const char *text, const char *message)
{
    struct workload workload;
    assert_int_equal(workload_parse(&workload, "dir/w.ini", text, strlen(text)), FAIL_USAGE);
    assert_string_equal(fail_text(), message);
    assert_null(workload.sections);
    assert_null(workload.name);
}

/* The items of a list, "-" for one that is not named. */
static void assert_items(const struct axis_list *list, const char *expected)
{
    struct text text = TEXT_INIT;
    text_add(&text, list->count == 0 ? "-" : "");
    for (size_t i = 0; i < list->count; i++) {
        text_add(&text, i > 0 ? "," : "");
        axis_add_text(&text, &list->values[i]);
    }
    assert_string_equal(text.bytes, expected);
    text_free(&text);
}

static void test_sections(void **state)
{
    (void)state;
    static const char text[] = "# two products\n"
                               "[first]\n"
                               "kernel = simt,mma\n"
                               "concurrency=1:4:x2\n"
                               "layers = 43\n"
                               "rest_us = 812.5\n"
                               "buckets = 1,8,32\n"
                               "[second]\n";
    struct workload workload;
    parse(&workload, text);
    assert_string_equal(workload.name, "w");
    assert_string_equal(workload.text, text);
    assert_int_equal(workload.count, 2);
    const struct workload_section *first = &workload.sections[0];
    assert_string_equal(first->name, "first");
    assert_items(&first->axes[AXIS_KERNEL], "simt,mma");
    assert_items(&first->axes[AXIS_CONCURRENCY], "1,2,4");
    assert_items(&first->axes[AXIS_TOPK], "-");
    assert_items(&first->buckets, "1,8,32");
    assert_true(first->layers == 43);
    assert_true(first->rest_us == 812.5);
    const struct workload_section *second = &workload.sections[1];
    assert_string_equal(second->name, "second");
    for (enum axis_id id = 0; id < AXIS_COUNT; id++)
        assert_items(&second->axes[id], "-");
    assert_items(&second->buckets, "1,2,4,8,16,32,64,128,256,512");
    assert_true(second->layers == 1);
    assert_true(second->rest_us == 0);
    workload_free(&workload);
    assert_null(workload.sections);
}

static void check_global(const char *text)
{
    struct workload workload;
    parse(&workload, text);
    assert_int_equal(workload.count, 2);
    const struct workload_section *a = &workload.sections[0];
    const struct workload_section *b = &workload.sections[1];
    assert_string_equal(a->name, "a");
    assert_items(&a->axes[AXIS_TOPK], "128");
    assert_items(&a->axes[AXIS_HEADS], "8,16");
    assert_items(&a->buckets, "4");
    assert_true(a->layers == 2);
    assert_true(a->rest_us == 7);
    assert_string_equal(b->name, "b");
    assert_items(&b->axes[AXIS_TOPK], "512");
    assert_items(&b->axes[AXIS_HEADS], "8,16");
    assert_items(&b->buckets, "2");
    assert_true(b->layers == 21);
    assert_true(b->rest_us == 0);
    workload_free(&workload);
}

static void test_global(void **state)
{
    (void)state;
    check_global("[global]\ntopk=512\nheads=8,16\nlayers=21\nrest_us=7\nbuckets=2\n"
                 "[a]\ntopk=128\nlayers=2\nbuckets=4\n[b]\nrest_us=0\n");
    check_global("[a]\ntopk=128\nlayers=2\nbuckets=4\n"
                 "[global]\ntopk=512\nheads=8,16\nlayers=21\nrest_us=7\nbuckets=2\n"
                 "[b]\nrest_us=0\n");
}

static void test_global_alone(void **state)
{
    (void)state;
    struct workload workload;
    parse(&workload, "[global]\ntopk=7\nlayers=3\n");
    assert_int_equal(workload.count, 1);
    assert_string_equal(workload.sections[0].name, "global");
    assert_items(&workload.sections[0].axes[AXIS_TOPK], "7");
    assert_true(workload.sections[0].layers == 3);
    workload_free(&workload);
}

static void test_refusals(void **state)
{
    (void)state;
    refuses("", "dir/w.ini:1: no [section]; a workload has at least one");
    refuses("# nothing\n", "dir/w.ini:1: no [section]; a workload has at least one");
    refuses("topk=1\n", "dir/w.ini:1: 'topk=1' stands before the first [section]");
    refuses("[a]\n\ntopk=0\n", "dir/w.ini:3: axis topk: '0': out of range; accepted: a number from "
                               "1 to 65536");
    refuses("[a]\ntopk=\n",
            "dir/w.ini:2: axis topk: '': an empty item; accepted: a number from 1 to 65536");
    refuses("[a]\ntopk=1,2 ; two\n", "dir/w.ini:2: axis topk: '2 ; two': not a value of this axis; "
                                     "accepted: a number from 1 to 65536");
    refuses("[a]\nTopk=1\n", "dir/w.ini:2: unknown key 'Topk'; known are kernel, variant, heads, "
                             "concurrency, batch, topk, length, extra_topk, extra_length, nsplit, "
                             "page, extra_page, stride, sink, cache, launch, layers, rest_us, "
                             "buckets");
    refuses("[a]\ntopk=1\ntopk=1\n", "dir/w.ini:3: key 'topk' is there twice in [a]");
    refuses("[a]\n[a]\n", "dir/w.ini:2: section [a] is there twice");
    refuses("[global]\n[a]\n[global]\n", "dir/w.ini:3: section [global] is there twice");
    refuses("[a]\ntopk=1\n 2\n", "dir/w.ini:3: an indented line; sections and keys start in the "
                                 "first column");
}

static void test_section_keys_refused(void **state)
{
    (void)state;
    refuses("[a]\nlayers=0\n", "dir/w.ini:2: layers: '0'; accepted: a number above 0");
    refuses("[a]\nlayers=-1\n", "dir/w.ini:2: layers: '-1'; accepted: a number above 0");
    refuses("[a]\nlayers=nan\n", "dir/w.ini:2: layers: 'nan'; accepted: a number above 0");
    refuses("[a]\nlayers=\n", "dir/w.ini:2: layers: ''; accepted: a number above 0");
    refuses("[a]\nrest_us=-0.5\n",
            "dir/w.ini:2: rest_us: '-0.5'; accepted: microseconds, 0 or more");
    refuses("[a]\nrest_us=1 ms\n",
            "dir/w.ini:2: rest_us: '1 ms'; accepted: microseconds, 0 or more");
    refuses("[a]\nbuckets=1,auto\n", "dir/w.ini:2: buckets: 'auto'; accepted: numbers only");
    refuses("[a]\nbuckets=0\n", "dir/w.ini:2: buckets: axis batch: '0': out of range; accepted: "
                                "auto or a number from 1 to 65536");
}

static void test_from_axes(void **state)
{
    (void)state;
    struct workload workload;
    assert_int_equal(workload_from_axes(&workload), FAIL_OK);
    assert_string_equal(workload.name, "axes");
    assert_string_equal(workload.text, "");
    assert_int_equal(workload.count, 1);
    for (enum axis_id id = 0; id < AXIS_COUNT; id++)
        assert_items(&workload.sections[0].axes[id], "-");
    assert_items(&workload.sections[0].buckets, "1,2,4,8,16,32,64,128,256,512");
    assert_true(workload.sections[0].layers == 1);
    workload_free(&workload);
}

static void test_override(void **state)
{
    (void)state;
    struct workload workload;
    parse(&workload, "[a]\ntopk=128\n[b]\n");
    assert_int_equal(workload_override(&workload, "topk=1,2"), FAIL_OK);
    assert_items(&workload.sections[0].axes[AXIS_TOPK], "1,2");
    assert_items(&workload.sections[1].axes[AXIS_TOPK], "1,2");
    assert_int_equal(workload_override(&workload, "topk=64"), FAIL_OK);
    assert_items(&workload.sections[0].axes[AXIS_TOPK], "64");
    assert_int_equal(workload_override(&workload, "topk=0"), FAIL_USAGE);
    assert_int_equal(workload_override(&workload, "layers=2"), FAIL_USAGE);
    assert_int_equal(workload_override(&workload, "topk"), FAIL_USAGE);
    assert_items(&workload.sections[0].axes[AXIS_TOPK], "64");
    assert_items(&workload.sections[1].axes[AXIS_TOPK], "64");
    workload_free(&workload);
}

static void test_default_file(void **state)
{
    (void)state;
    struct workload workload;
    assert_int_equal(workload_read(&workload, "default"), FAIL_OK);
    assert_string_equal(workload.name, "default");
    assert_int_equal(workload.text[0], '#');
    assert_int_equal(workload.count, 2);
    const struct workload_section *section = &workload.sections[0];
    assert_string_equal(section->name, "concurrency");
    assert_items(&section->axes[AXIS_KERNEL], "simt,mma,splitk");
    assert_items(&section->axes[AXIS_HEADS], "64");
    assert_items(&section->axes[AXIS_TOPK], "128,512");
    assert_items(&section->axes[AXIS_CONCURRENCY], "1,2,4,8,16,32,64,128");
    assert_items(&section->axes[AXIS_BATCH], "auto");
    section = &workload.sections[1];
    assert_string_equal(section->name, "batch");
    assert_items(&section->axes[AXIS_KERNEL], "simt,mma,splitk");
    assert_items(&section->axes[AXIS_HEADS], "64");
    assert_items(&section->axes[AXIS_TOPK], "128,512");
    assert_items(&section->axes[AXIS_CONCURRENCY], "128");
    assert_items(&section->axes[AXIS_BATCH], "8,16,32,64,128");
    workload_free(&workload);
}

/* 43 layers: 21 with 512 of the tokens compressed 4 to 1, 20 with all compressed 128 to 1, 2 plain.
 */
static void test_v4_flash_file(void **state)
{
    (void)state;
    struct workload workload;
    assert_int_equal(workload_read(&workload, "v4-flash"), FAIL_OK);
    double layers = 0;
    for (size_t i = 0; i < workload.count; i++) {
        const struct workload_section *section = &workload.sections[i];
        layers += section->layers;
        assert_items(&section->axes[AXIS_TOPK], "128");
        assert_items(&section->axes[AXIS_SINK], "on");
        assert_items(&section->axes[AXIS_HEADS], "64");
        if (strcmp(section->name, "c4") == 0) {
            assert_true(section->layers == 21);
            assert_items(&section->axes[AXIS_EXTRA_TOPK], "512");
        }
        if (strcmp(section->name, "c128") == 0) {
            assert_true(section->layers == 20);
            assert_items(&section->axes[AXIS_EXTRA_PAGE], "2");
        }
    }
    assert_int_equal(workload.count, 3);
    assert_true(layers == 43);
    workload_free(&workload);
}

static void test_reading(void **state)
{
    (void)state;
    struct workload workload;
    assert_int_equal(workload_read(&workload, "no-such-workload"), FAIL_USAGE);
    assert_non_null(strstr(fail_text(), "there is no 'no-such-workload.ini' in "));
    assert_non_null(strstr(fail_text(), "/workloads"));
    workload_free(&workload);

    char path[] = "/tmp/smscope-workload.XXXXXX.ini";
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(text_write_file(path, "[a]\ntopk=x\n", 11), FAIL_OK);
    assert_int_equal(workload_read(&workload, path), FAIL_USAGE);
    struct text message = TEXT_INIT;
    text_addf(&message, "%s:2: axis topk: 'x'", path);
    assert_memory_equal(fail_text(), message.bytes, message.length);
    text_free(&message);
    assert_int_equal(text_write_file(path, "[a]\ntopk=9\n", 11), FAIL_OK);
    assert_int_equal(workload_read(&workload, path), FAIL_OK);
    assert_items(&workload.sections[0].axes[AXIS_TOPK], "9");
    assert_memory_equal(workload.name, path + 5, strlen(path) - 9);
    assert_int_equal(strlen(workload.name), strlen(path) - 9);
    workload_free(&workload);
    unlink(path);
    assert_int_equal(workload_read(&workload, "/tmp/"), FAIL_DATA); /* a folder */
    workload_free(&workload);
}

int main(void)
{
    const char *top = getenv("srcdir");
    datadir_set(top != NULL ? top : ".");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_global),
        cmocka_unit_test(test_global_alone),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_section_keys_refused),
        cmocka_unit_test(test_from_axes),
        cmocka_unit_test(test_override),
        cmocka_unit_test(test_default_file),
        cmocka_unit_test(test_v4_flash_file),
        cmocka_unit_test(test_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
