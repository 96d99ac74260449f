#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "data/ini.h"

/* Writes what it is told as "[section]@line" and "section.key=<value>@line", refuses the key "bad".
 */
static int note(void *user, const char *section, const char *key, const char *value, int line)
{
    struct text *seen = user;
    if (key == NULL) {
        assert_null(value);
        text_addf(seen, "[%s]@%d ", section, line);
        return FAIL_OK;
    }
    if (strcmp(key, "bad") == 0)
        return fail_set(FAIL_DATA, "refused %s", value);
    text_addf(seen, "%s.%s=<%s>@%d ", section, key, value, line);
    return FAIL_OK;
}

static void reads_bytes(const char *text, size_t length, const char *expected)
{
    struct text seen = TEXT_INIT;
    assert_int_equal(ini_read("f.ini", text, length, note, &seen), FAIL_OK);
    assert_string_equal(seen.bytes, expected);
    text_free(&seen);
}

static void reads(const char *text, const char *expected)
{
    reads_bytes(text, strlen(text), expected);
}

/* What was told before the failure is seen too. */
static void refuses_bytes(const char *text, size_t length, const char *expected,
                          const char *message)
{
    struct text seen = TEXT_INIT;
    assert_int_equal(ini_read("f.ini", text, length, note, &seen), FAIL_USAGE);
    assert_string_equal(seen.bytes, expected);
    assert_string_equal(fail_text(), message);
    text_free(&seen);
}

static void refuses(const char *text, const char *expected, const char *message)
{
    refuses_bytes(text, strlen(text), expected, message);
}

static void test_plain(void **state)
{
    (void)state;
    reads("[a]\nx = 1\ny=two words\n\n[b]\nx=3\n",
          "[a]@1 a.x=<1>@2 a.y=<two words>@3 [b]@5 b.x=<3>@6 ");
    reads("", "");
    reads("\n\n", "");
    reads("[a]", "[a]@1 ");
    reads("[a]\nx=1", "[a]@1 a.x=<1>@2 ");
    reads("[a]\nx=\n", "[a]@1 a.x=<>@2 ");
    reads("[a]\nx: 1:128:x2\n", "[a]@1 a.x=<1:128:x2>@2 ");
    reads("[a]\nx = 1=2\n", "[a]@1 a.x=<1=2>@2 ");
    reads("[a]\t \nx\t=\t1 \t\n", "[a]@1 a.x=<1>@2 ");
    reads("[a]\nx=1\n[b]\nX=2\nx=3\n", "[a]@1 a.x=<1>@2 [b]@3 b.X=<2>@4 b.x=<3>@5 ");
}

static void test_empty_sections(void **state)
{
    (void)state;
    reads("[a]\n[b]\n[c]\nx=1\n[d]\n", "[a]@1 [b]@2 [c]@3 c.x=<1>@4 [d]@5 ");
}

static void test_comments(void **state)
{
    (void)state;
    reads("# one\n; two\n[a]\n#x=1\n;y=2\n  # three\n\t; four\n   \nz=3\n", "[a]@3 a.z=<3>@9 ");
    reads("[a]\nx = 1 ; no comment\ny = 2 # nor this\nz = ; three\nu = a;b;;\nv =;\n",
          "[a]@1 a.x=<1 ; no comment>@2 a.y=<2 # nor this>@3 a.z=<; three>@4 a.u=<a;b;;>@5 "
          "a.v=<;>@6 ");
    reads("[a ;b]\nk ;l = 1\n", "[a ;b]@1 a ;b.k ;l=<1>@2 ");
}

static void test_bom_and_crlf(void **state)
{
    (void)state;
    reads("\xef\xbb\xbf[a]\r\nx=1\r\n\r\ny=2\r\n", "[a]@1 a.x=<1>@2 a.y=<2>@4 ");
    reads("\xef\xbb\xbf", "");
    reads("[a]\nx=\xc3\xa9\xe2\x82\xac\r", "[a]@1 a.x=<\xc3\xa9\xe2\x82\xac>@2 ");
}

static void test_long_lines(void **state)
{
    (void)state;
    /* "[a]\nx=" and q to the length wanted */
    char text[300] = "[a]\nx=";
    memset(text + 6, 'q', 200);
    struct text expected = TEXT_INIT;
    text_addf(&expected, "[a]@1 a.x=<%.197s>@2 a.y=<1>@3 ", text + 6);
    strcpy(text + 4 + 199, "\ny=1\n");
    reads(text, expected.bytes);
    strcpy(text + 4 + 199, "\r\ny=1\r\n");
    reads(text, expected.bytes);
    strcpy(text + 4 + 199, "q\ny=1\n");
    refuses(text, "[a]@1 ", "f.ini:2: a line of 200 bytes; 199 are the most");
    text[4] = '#';
    refuses(text, "[a]@1 ", "f.ini:2: a line of 200 bytes; 199 are the most");
    text_free(&expected);

    /* inih would cut this name at 49 bytes */
    reads("[aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff]\nx=1\n",
          "[aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff]@1 "
          "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff.x=<1>@2 ");
}

static void test_indented(void **state)
{
    (void)state;
    static const char why[] = "f.ini:3: an indented line; sections and keys start in the first "
                              "column";
    refuses("[a]\nx=1\n  more\n", "[a]@1 a.x=<1>@2 ", why);
    refuses("[a]\nx=1\n\ty=2\n", "[a]@1 a.x=<1>@2 ", why);
    refuses("[a]\nx=1\n [b]\n", "[a]@1 a.x=<1>@2 ", why);
}

static void test_wrong_lines(void **state)
{
    (void)state;
    refuses("x=1\n[a]\n", "", "f.ini:1: 'x=1' stands before the first [section]");
    refuses("\n#\nnonsense\n", "", "f.ini:3: 'nonsense' stands before the first [section]");
    refuses("[a]\n= 1\n", "[a]@1 ", "f.ini:2: a value without a key");
    refuses("[a]\nnovalue\nx=1\n", "[a]@1 ", "f.ini:2: neither [section] nor key = value");
    refuses("[a]\nx=1\nnovalue", "[a]@1 a.x=<1>@2 ", "f.ini:3: neither [section] nor key = value");
    refuses("[a]\nx ; = 1\ny\n", "[a]@1 a.x ;=<1>@2 ",
            "f.ini:3: neither [section] nor key = value");
    refuses("[a\nx=1\n", "", "f.ini:1: '[a': a section line is [name] and nothing else");
    refuses("[]\n", "", "f.ini:1: '[]': a section line is [name] and nothing else");
    refuses("[a] x=1\n", "", "f.ini:1: '[a] x=1': a section line is [name] and nothing else");
    refuses("[a]b]\n", "", "f.ini:1: '[a]b]': a section line is [name] and nothing else");
    refuses("[a] # c\n", "", "f.ini:1: '[a] # c': a section line is [name] and nothing else");
}

static void test_repeats(void **state)
{
    (void)state;
    refuses("[a]\nx=1\ny=2\nx=1\n", "[a]@1 a.x=<1>@2 a.y=<2>@3 ",
            "f.ini:4: key 'x' is there twice in [a]");
    refuses("[a]\nx=1\n[b]\n\n[a]\n", "[a]@1 a.x=<1>@2 [b]@3 ",
            "f.ini:5: section [a] is there twice");
}

static void test_control_bytes(void **state)
{
    (void)state;
    static const char nul[] = "[a]\nx=1\0y\nz=2\n";
    refuses_bytes(nul, sizeof nul - 1, "[a]@1 ", "f.ini:2: a control character, byte 0x00");
    refuses_bytes("\0", 1, "", "f.ini:1: a control character, byte 0x00");
    refuses("[a]\nx=\x01\n", "[a]@1 ", "f.ini:2: a control character, byte 0x01");
    refuses("# \x7f\n", "", "f.ini:1: a control character, byte 0x7f");
    refuses("[a]\rx=1\r", "", "f.ini:1: a control character, byte 0x0d");
}

/* The caller's refusal keeps its code, gets file and line, and ends the reading. */
static void test_callers_refusal(void **state)
{
    (void)state;
    struct text seen = TEXT_INIT;
    static const char text[] = "[a]\nx=1\n\nbad=2\ny=3\nnonsense\n";
    assert_int_equal(ini_read("dir/f.ini", text, strlen(text), note, &seen), FAIL_DATA);
    assert_string_equal(fail_text(), "dir/f.ini:4: refused 2");
    assert_string_equal(seen.bytes, "[a]@1 a.x=<1>@2 ");
    text_free(&seen);
    refuses("[a]\nnonsense\nbad=2\n", "[a]@1 ", "f.ini:2: neither [section] nor key = value");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),         cmocka_unit_test(test_empty_sections),
        cmocka_unit_test(test_comments),      cmocka_unit_test(test_bom_and_crlf),
        cmocka_unit_test(test_long_lines),    cmocka_unit_test(test_indented),
        cmocka_unit_test(test_wrong_lines),   cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_control_bytes), cmocka_unit_test(test_callers_refusal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
