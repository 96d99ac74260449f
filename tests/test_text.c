#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/fail.h"
#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/smscope-text.XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_entry(const char *path, const struct stat *status, int flag, struct FTW *place)
{
    (void)status;
    (void)flag;
    (void)place;
    return remove(path);
}

static int leave_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static int files_in_folder(void)
{
    int count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void grows(void **state)
{
    (void)state;
    struct text text = TEXT_INIT;
    assert_string_equal(text.bytes, "");
    text_add(&text, "");
    text_addf(&text, "%s", "");
    assert_string_equal(text.bytes, "");
    for (int i = 0; i < 1000; i++)
        text_addf(&text, "%d,", i % 10);
    text_add(&text, "end");
    assert_int_equal(text.length, 2003);
    assert_int_equal(strlen(text.bytes), 2003);
    assert_memory_equal(text.bytes, "0,1,2,3,", 8);
    assert_string_equal(text.bytes + 1996, "8,9,end");
    text_clear(&text);
    assert_string_equal(text.bytes, "");
    text_add_bytes(&text, "a\0b", 3);
    assert_int_equal(text.length, 3);
    assert_memory_equal(text.bytes, "a\0b", 4);
    text_free(&text);
    assert_string_equal(text.bytes, "");
    text_free(&text);
}

static void takes(void **state)
{
    (void)state;
    struct text text = TEXT_INIT;
    char *empty = text_take(&text);
    assert_string_equal(empty, "");
    text_add(&text, "word");
    char *word = text_take(&text);
    assert_string_equal(word, "word");
    assert_int_equal(text.length, 0);
    free(empty);
    free(word);
}

static void writes_and_reads(void **state)
{
    (void)state;
    const char *path = in_folder("file");
    char *large = malloc(100000);
    for (size_t i = 0; i < 100000; i++)
        large[i] = (char)(i * 7 % 256);
    struct text text = TEXT_INIT;
    text_add(&text, "old");
    assert_int_equal(text_write_file(path, large, 100000), FAIL_OK);
    assert_int_equal(text_read_file(&text, path), FAIL_OK);
    assert_int_equal(text.length, 100000);
    assert_memory_equal(text.bytes, large, 100000);
    assert_int_equal(text_write_file(path, "short", 5), FAIL_OK);
    assert_int_equal(text_read_file(&text, path), FAIL_OK);
    assert_string_equal(text.bytes, "short");
    assert_int_equal(text_write_file(path, "", 0), FAIL_OK);
    assert_int_equal(text_read_file(&text, path), FAIL_OK);
    assert_int_equal(text.length, 0);
    unlink(path);
    assert_int_equal(files_in_folder(), 0);
    text_free(&text);
    free(large);
}

static void heeds_the_umask(void **state)
{
    (void)state;
    struct stat status;
    mode_t before = umask(027);
    assert_int_equal(text_write_file(in_folder("mode"), "x", 1), FAIL_OK);
    umask(before);
    assert_int_equal(stat(in_folder("mode"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    unlink(in_folder("mode"));
}

static void names_what_it_cannot_do(void **state)
{
    (void)state;
    char expected[512];
    struct text text = TEXT_INIT;
    text_add(&text, "old");
    snprintf(expected, sizeof expected, "cannot read %s/none: No such file or directory", folder);
    assert_int_equal(text_read_file(&text, in_folder("none")), FAIL_DATA);
    assert_string_equal(fail_text(), expected);
    assert_string_equal(text.bytes, "");
    snprintf(expected, sizeof expected, "cannot read %s: Is a directory", folder);
    assert_int_equal(text_read_file(&text, folder), FAIL_DATA);
    assert_string_equal(fail_text(), expected);
    snprintf(expected, sizeof expected, "cannot write %s/no/f: No such file or directory", folder);
    assert_int_equal(text_write_file(in_folder("no/f"), "x", 1), FAIL_DATA);
    assert_string_equal(fail_text(), expected);
    snprintf(expected, sizeof expected, "cannot write %s: Is a directory", folder);
    assert_int_equal(text_write_file(folder, "x", 1), FAIL_DATA);
    assert_string_equal(fail_text(), expected);
    assert_int_equal(files_in_folder(), 0);
    text_free(&text);
}

static void full_disk_keeps_the_old_file(void **state)
{
    (void)state;
    static const char large[8192];
    struct rlimit before;
    struct rlimit small;
    struct text text = TEXT_INIT;
    assert_int_equal(text_write_file(in_folder("kept"), "old", 3), FAIL_OK);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    int result = text_write_file(in_folder("kept"), large, sizeof large);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(result, FAIL_DATA);
    assert_non_null(strstr(fail_text(), "/kept: File too large"));
    assert_int_equal(text_read_file(&text, in_folder("kept")), FAIL_OK);
    assert_string_equal(text.bytes, "old");
    assert_int_equal(files_in_folder(), 1);
    unlink(in_folder("kept"));
    text_free(&text);
}

static void writes_to_devices_and_links_in_place(void **state)
{
    (void)state;
    struct stat status;
    struct text text = TEXT_INIT;
    char link[256];
    snprintf(link, sizeof link, "%s", in_folder("link"));
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(text_write_file(link, "through", 7), FAIL_OK);
    assert_int_equal(text_read_file(&text, in_folder("target")), FAIL_OK);
    assert_string_equal(text.bytes, "through");
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    unlink(link);
    /* by way of a link, so that a broken version would not replace the device itself */
    assert_int_equal(symlink("/dev/full", link), 0);
    assert_int_equal(text_write_file(link, "x", 1), FAIL_DATA);
    assert_non_null(strstr(fail_text(), "/link: No space left on device"));
    unlink(link);
    unlink(in_folder("target"));
    text_free(&text);
}

static void check_real(double value, const char *expected)
{
    struct text text = TEXT_INIT;
    text_add_real(&text, value);
    assert_string_equal(text.bytes, expected);
    text_free(&text);
}

static void writes_reals(void **state)
{
    (void)state;
    check_real(0, "0");
    check_real(1.5, "1.5");
    check_real(0.1 + 0.2, "0.3");
    check_real(1234567, "1.23457e+06");
    check_real(1e-7, "1e-07");
    check_real(-2.0 / 3, "-0.666667");
    check_real(NAN, "");
    check_real(INFINITY, "inf");
    check_real(-INFINITY, "-inf");
    struct text text = TEXT_INIT;
    text_add_fixed(&text, 12.345678, 2);
    text_add_fixed(&text, NAN, 2);
    text_add(&text, " ");
    text_add_fixed(&text, 7, 0);
    text_addf(&text, " %.1f", 0.5);
    assert_string_equal(text.bytes, "12.35 7 0.5");
    text_free(&text);
}

static void check_int(const char *bytes, bool good, int64_t expected)
{
    int64_t value = 42;
    assert_int_equal(text_to_int(bytes, &value), good);
    assert_true(value == (good ? expected : 42));
}

static void reads_ints(void **state)
{
    (void)state;
    check_int("0", true, 0);
    check_int("-17", true, -17);
    check_int("+5", true, 5);
    check_int("010", true, 10);
    check_int("9223372036854775807", true, INT64_MAX);
    check_int("-9223372036854775808", true, INT64_MIN);
    const char *const bad[] = {"9223372036854775808", "-9223372036854775809", "", "-", "+", "--1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_int(bad[i], false, 0);
    const char *const odd[] = {" 1", "1 ", "1K", "0x10", "1.0", "1e3", "1\n"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        check_int(odd[i], false, 0);
}

static void check_to_real(const char *bytes, bool good, double expected)
{
    double value = 42;
    assert_int_equal(text_to_real(bytes, &value), good);
    assert_true(value == (good ? expected : 42));
}

static void reads_reals(void **state)
{
    (void)state;
    check_to_real("1.5", true, 1.5);
    check_to_real("-.25", true, -0.25);
    check_to_real("5.", true, 5);
    check_to_real("+2e3", true, 2000);
    check_to_real("1E-2", true, 0.01);
    check_to_real("4.9406564584124654e-324", true, 0x1p-1074);
    const char *const bad[] = {"",     "-",   ".",   "1e",    "1,5",   "1.5 ",
                               " 1.5", "nan", "inf", "1e999", "0x1p3", "1.2.3",
                               "1f",   "e5",  "1-",  "1\n",   "-inf",  "--1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_to_real(bad[i], false, 0);
}

static void write_plain(const char *name, const char *bytes)
{
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    fputs(bytes, file);
    assert_int_equal(fclose(file), 0);
}

/* Compiles a locale with a decimal comma.  localedef ends with 1 for all that the locale lacks. */
static void make_comma_locale(void)
{
    write_plain("charmap", "<code_set_name> ANSI_X3.4-1968\n<comment_char> %\n<escape_char> /\n"
                           "CHARMAP\n<U0000>..<U007F> /x00 x\nEND CHARMAP\n");
    write_plain("source", "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\n"
                          "END LC_NUMERIC\n");
    char *charmap = strdup(in_folder("charmap"));
    char *source = strdup(in_folder("source"));
    char *output = strdup(in_folder("comma"));
    char *const argv[] = {"localedef", "-c", "-f", charmap, "-i", source, output, NULL};
    posix_spawn_file_actions_t silent;
    posix_spawn_file_actions_init(&silent);
    posix_spawn_file_actions_addopen(&silent, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&silent, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child;
    assert_int_equal(posix_spawnp(&child, argv[0], &silent, NULL, argv, environ), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    posix_spawn_file_actions_destroy(&silent);
    free(charmap);
    free(source);
    free(output);
}

/* A program that embeds these functions may set its own locale; smscope itself never does. */
static void ignores_the_locale(void **state)
{
    make_comma_locale();
    setenv("LOCPATH", folder, 1);
    assert_non_null(setlocale(LC_NUMERIC, "comma"));
    char shown[16];
    snprintf(shown, sizeof shown, "%.1f", 1.5);
    assert_string_equal(shown, "1,5");
    writes_reals(state);
    reads_reals(state);
    snprintf(shown, sizeof shown, "%.1f", 1.5);
    assert_string_equal(shown, "1,5");
    setlocale(LC_NUMERIC, "C");
}

/* Lengths after RFC 3629: the first and last characters of each, and what comes just beyond. */
static void knows_utf8(void **state)
{
    (void)state;
    assert_int_equal(text_utf8_length("a"), 1);
    assert_int_equal(text_utf8_length("\xc2\x80"), 2);
    assert_int_equal(text_utf8_length("\xe0\xa0\x80"), 3);
    assert_int_equal(text_utf8_length("\xf4\x8f\xbf\xbf"), 4);
    static const char *const broken[] = {"\x80",         "\xc1\xbf", "\xc3", "\xe0\x9f\xbf",
                                         "\xed\xa0\x80", "\xe2\x82", "\xff", "\xf4\x90\x80\x80"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_int_equal(text_utf8_length(broken[i]), 0);
}

static void makes_plain(void **state)
{
    (void)state;
    struct text text = TEXT_INIT;
    text_add(&text, "a\tb\x1b[\xff \xc2\xb5\xe2\x82\x7f\xc3");
    text_make_plain(&text, '?');
    assert_string_equal(text.bytes, "a?b?[? \xc2\xb5????");
    text_free(&text);
    text_make_plain(&text, '?');
    assert_string_equal(text.bytes, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),
        cmocka_unit_test(takes),
        cmocka_unit_test(writes_and_reads),
        cmocka_unit_test(heeds_the_umask),
        cmocka_unit_test(names_what_it_cannot_do),
        cmocka_unit_test(full_disk_keeps_the_old_file),
        cmocka_unit_test(writes_to_devices_and_links_in_place),
        cmocka_unit_test(writes_reals),
        cmocka_unit_test(reads_ints),
        cmocka_unit_test(reads_reals),
        cmocka_unit_test(ignores_the_locale),
        cmocka_unit_test(knows_utf8),
        cmocka_unit_test(makes_plain),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
