#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/fail.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void starts_empty(void **state)
{
    (void)state;
    assert_string_equal(fail_text(), "");
}

static void records_and_returns(void **state)
{
    (void)state;
    assert_int_equal(fail_set(FAIL_DATA, "%s: row %d", "a.db", 7), FAIL_DATA);
    assert_string_equal(fail_text(), "a.db: row 7");
    assert_int_equal(fail_set(FAIL_USAGE, "second"), FAIL_USAGE);
    assert_string_equal(fail_text(), "second");
}

static void is_one_line(void **state)
{
    (void)state;
    fail_set(FAIL_ENV, "%s\n", "two\nlines\r\n\033[31mred\t\xc3\xa4");
    assert_string_equal(fail_text(), "two lines   [31mred \xc3\xa4");
}

static void takes_its_own_text(void **state)
{
    (void)state;
    fail_set(FAIL_DATA, "inner");
    fail_set(FAIL_ENV, "outer (%s)", fail_text());
    assert_string_equal(fail_text(), "outer (inner)");
}

static void prefixes(void **state)
{
    (void)state;
    fail_set(FAIL_UNSUPPORTED, "too wide");
    assert_int_equal(fail_prefix("kernel %s", "mma"), FAIL_UNSUPPORTED);
    assert_string_equal(fail_text(), "kernel mma: too wide");
}

static void survives_length(void **state)
{
    (void)state;
    char path[8000];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    fail_set(FAIL_DATA, "cannot read %s", path);
    size_t length = strlen(fail_text());
    assert_in_range(length, 500, sizeof path);
    assert_int_equal(fail_prefix("%s", path), FAIL_DATA);
    assert_in_range(strlen(fail_text()), length, sizeof path);
    assert_memory_equal(fail_text(), "xxxx", 4);
}

static void *fail_elsewhere(void *start)
{
    *(const char **)start = strdup(fail_text());
    fail_set(FAIL_DEVICE, "elsewhere");
    return NULL;
}

static void is_per_thread(void **state)
{
    (void)state;
    char *start = NULL;
    pthread_t thread;
    fail_set(FAIL_DATA, "here");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &start), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(fail_text(), "here");
    assert_string_equal(start, "");
    free(start);
}

static void exit_codes(void **state)
{
    (void)state;
    assert_int_equal(fail_exit_code(FAIL_OK), 0);
    assert_int_equal(fail_exit_code(FAIL_USAGE), 2);
    assert_int_equal(fail_exit_code(FAIL_ENV), 3);
    assert_int_equal(fail_exit_code(FAIL_DATA), 4);
    assert_int_equal(fail_exit_code(FAIL_WRONG), 5);
    assert_int_equal(fail_exit_code(FAIL_NOTHING), 6);
    assert_int_equal(fail_exit_code(FAIL_UNCLEAR), 7);
    assert_int_equal(fail_exit_code(FAIL_UNSUPPORTED), 6);
    assert_int_equal(fail_exit_code(FAIL_DEVICE), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_empty),  cmocka_unit_test(records_and_returns),
        cmocka_unit_test(is_one_line),   cmocka_unit_test(takes_its_own_text),
        cmocka_unit_test(prefixes),      cmocka_unit_test(survives_length),
        cmocka_unit_test(is_per_thread), cmocka_unit_test(exit_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
