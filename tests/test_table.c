#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/fail.h"
#include "base/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct table_column columns[] = {
    {"kernel", NULL, TABLE_WORD, 0},
    {"batch", "batch", TABLE_INT, 0},
    {"step_us", "step (\xc2\xb5s)", TABLE_REAL, 2},
    {"rel_error", "rel. error", TABLE_REAL, -1},
    {"reason", "reason", TABLE_WORD, 0},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static char *written(const struct table *table, enum table_format format)
{
    char *bytes = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&bytes, &length);
    assert_int_equal(table_write(table, format, out), FAIL_OK);
    fclose(out);
    return bytes;
}

static void check_written(const struct table *table, enum table_format format, const char *expected)
{
    char *bytes = written(table, format);
    assert_string_equal(bytes, expected);
    free(bytes);
}

static struct table *two_rows(void)
{
    struct table *table = table_new(columns, COLUMNS);
    table_row(table);
    table_word(table, 0, "simt");
    table_int(table, 1, 128);
    table_real(table, 2, 1234.5);
    table_real(table, 3, 1.5e-7);
    table_row(table);
    table_word(table, 0, "splitk");
    table_int(table, 1, -1);
    table_real(table, 2, NAN);
    table_real(table, 3, 0);
    table_word(table, 4, "h\xc3\xa4ngt");
    return table;
}

static void writes_text(void **state)
{
    (void)state;
    struct table *table = two_rows();
    check_written(table, TABLE_TEXT,
                  "kernel  batch  step (\xc2\xb5s)  rel. error  reason\n"
                  "simt      128    1234.50     1.5e-07\n"
                  "splitk     -1                      0  h\xc3\xa4ngt\n");
    table_free(table);
}

static void writes_csv(void **state)
{
    (void)state;
    struct table *table = two_rows();
    check_written(table, TABLE_CSV,
                  "kernel,batch,step_us,rel_error,reason\n"
                  "simt,128,1234.5,1.5e-07,\n"
                  "splitk,-1,,0,h\xc3\xa4ngt\n");
    table_free(table);
}

static void writes_json(void **state)
{
    (void)state;
    struct table *table = two_rows();
    check_written(table, TABLE_JSON,
                  "[\n{\"kernel\": \"simt\", \"batch\": 128, \"step_us\": 1234.5, "
                  "\"rel_error\": 1.5e-07, \"reason\": null},\n"
                  "{\"kernel\": \"splitk\", \"batch\": -1, \"step_us\": null, "
                  "\"rel_error\": 0, \"reason\": \"h\xc3\xa4ngt\"}\n]\n");
    table_free(table);
}

static void writes_markdown(void **state)
{
    (void)state;
    struct table *table = two_rows();
    check_written(table, TABLE_MARKDOWN,
                  "| kernel | batch | step (\xc2\xb5s) | rel. error | reason |\n"
                  "| ------ | ----: | --------: | ---------: | ------ |\n"
                  "| simt   |   128 |   1234.50 |    1.5e-07 |        |\n"
                  "| splitk |    -1 |           |          0 | h\xc3\xa4ngt  |\n");
    table_free(table);
}

static void writes_no_rows(void **state)
{
    (void)state;
    struct table *table = table_new(columns, 2);
    check_written(table, TABLE_TEXT, "kernel  batch\n");
    check_written(table, TABLE_CSV, "kernel,batch\n");
    check_written(table, TABLE_JSON, "[\n]\n");
    check_written(table, TABLE_MARKDOWN, "| kernel | batch |\n| ------ | ----: |\n");
    table_free(table);
    table_free(NULL);
}

static void check_word(enum table_format format, const char *word, const char *expected)
{
    static const struct table_column only = {"a", NULL, TABLE_WORD, 0};
    struct table *table = table_new(&only, 1);
    table_row(table);
    table_word(table, 0, word);
    check_written(table, format, expected);
    table_free(table);
}

static void quotes_csv(void **state)
{
    (void)state;
    check_word(TABLE_CSV, "plain; x y", "a\nplain; x y\n");
    check_word(TABLE_CSV, "say \"no\"", "a\n\"say \"\"no\"\"\"\n");
    check_word(TABLE_CSV, "a,b", "a\n\"a,b\"\n");
    check_word(TABLE_CSV, "two\nlines", "a\n\"two\nlines\"\n");
    check_word(TABLE_CSV, "cr\r", "a\n\"cr\r\"\n");
}

static void escapes_json(void **state)
{
    (void)state;
    check_word(TABLE_JSON, "q\" b\\ /", "[\n{\"a\": \"q\\\" b\\\\ /\"}\n]\n");
    check_word(TABLE_JSON, "\001\t\n\x1f\x7f",
               "[\n{\"a\": \"\\u0001\\u0009\\u000a\\u001f\x7f\"}\n]\n");
    check_word(TABLE_JSON, "\xf0\x9f\x98\x80", "[\n{\"a\": \"\xf0\x9f\x98\x80\"}\n]\n");
    check_word(TABLE_JSON, "\x80z\xc3", "[\n{\"a\": \"\xef\xbf\xbdz\xef\xbf\xbd\"}\n]\n");
    /* overlong slash, a surrogate, beyond U+10FFFF: every byte is one of no character */
    check_word(TABLE_JSON, "\xc0\xaf", "[\n{\"a\": \"\xef\xbf\xbd\xef\xbf\xbd\"}\n]\n");
    check_word(TABLE_JSON, "\xed\xa0\x80",
               "[\n{\"a\": \"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}\n]\n");
    check_word(TABLE_JSON, "\xf4\x90\x80\x80",
               "[\n{\"a\": \"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}\n]\n");
    check_word(TABLE_JSON, NULL, "[\n{\"a\": null}\n]\n");
    check_word(TABLE_JSON, "", "[\n{\"a\": \"\"}\n]\n");
}

static void escapes_for_people(void **state)
{
    (void)state;
    check_word(TABLE_TEXT, "\033[31m\nx\xc2\x9b\xff|", "a\n?[31m?x??|\n");
    check_word(TABLE_MARKDOWN, "a|b<i>\r\nc\033",
               "| a              |\n"
               "| -------------- |\n"
               "| a\\|b\\<i><br>c? |\n");
}

static void keeps_json_numbers_valid(void **state)
{
    (void)state;
    static const struct table_column reals[] = {{"x", NULL, TABLE_REAL, 1},
                                                {"n", NULL, TABLE_INT, 0}};
    struct table *table = table_new(reals, 2);
    table_row(table);
    table_real(table, 0, INFINITY);
    table_int(table, 1, INT64_MIN);
    table_row(table);
    table_real(table, 0, 1e300);
    check_written(table, TABLE_JSON,
                  "[\n{\"x\": null, \"n\": -9223372036854775808},\n"
                  "{\"x\": 1e+300, \"n\": null}\n]\n");
    check_written(table, TABLE_CSV, "x,n\ninf,-9223372036854775808\n1e+300,\n");
    table_free(table);
}

static void sets_again_and_grows(void **state)
{
    (void)state;
    struct table *table = table_new(columns, 2);
    for (int i = 0; i < 100; i++) {
        table_row(table);
        table_word(table, 0, "first");
        table_word(table, 0, i == 57 ? "x" : NULL);
        table_int(table, 1, i);
    }
    char *bytes = written(table, TABLE_CSV);
    const char *line = bytes;
    for (int i = -1; i < 100; i++) {
        char expected[32];
        int length = snprintf(expected, sizeof expected, "%s,%d\n", i == 57 ? "x" : "", i);
        if (i < 0)
            length = snprintf(expected, sizeof expected, "kernel,batch\n");
        assert_memory_equal(line, expected, (size_t)length);
        line += length;
    }
    assert_string_equal(line, "");
    free(bytes);
    table_free(table);
}

static void notices_a_full_disk(void **state)
{
    (void)state;
    struct table *table = two_rows();
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    for (int format = TABLE_TEXT; format <= TABLE_MARKDOWN; format++) {
        assert_int_equal(table_write(table, (enum table_format)format, full), FAIL_DATA);
        assert_string_equal(fail_text(), "cannot write the table: No space left on device");
    }
    fclose(full);
    table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_text),
        cmocka_unit_test(writes_csv),
        cmocka_unit_test(writes_json),
        cmocka_unit_test(writes_markdown),
        cmocka_unit_test(writes_no_rows),
        cmocka_unit_test(quotes_csv),
        cmocka_unit_test(escapes_json),
        cmocka_unit_test(escapes_for_people),
        cmocka_unit_test(keeps_json_numbers_valid),
        cmocka_unit_test(sets_again_and_grows),
        cmocka_unit_test(notices_a_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
