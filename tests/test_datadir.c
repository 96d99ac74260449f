#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/text.h"
#include "data/datadir.h"

/*
 * A tree with data folders in it.  What is found without an option depends on where the program is,
 * so copies of this test are put there and run with "find".
 */
static char tree[] = "/tmp/smscope-datadir.XXXXXX";
static char one[sizeof tree + 4]; /* datadir_set() keeps the pointer */
static char two[sizeof tree + 4];

static const char *at(const char *path)
{
    static char shown[4][256];
    static size_t next;
    char *slot = shown[next++ % 4];
    snprintf(slot, sizeof shown[0], "%s/%s", tree, path);
    return slot;
}

static void make_folder(const char *path)
{
    assert_int_equal(mkdir(at(path), 0700), 0);
}

static void make_file(const char *path)
{
    assert_int_equal(text_write_file(at(path), "x", 1), FAIL_OK);
}

static void make_program(const char *path)
{
    struct text bytes = TEXT_INIT;
    assert_int_equal(text_read_file(&bytes, "/proc/self/exe"), FAIL_OK);
    assert_int_equal(text_write_file(at(path), bytes.bytes, bytes.length), FAIL_OK);
    assert_int_equal(chmod(at(path), 0700), 0);
    text_free(&bytes);
}

static int make_tree(void **state)
{
    (void)state;
    if (mkdtemp(tree) == NULL)
        return -1;
    snprintf(one, sizeof one, "%s/one", tree);
    snprintf(two, sizeof two, "%s/two", tree);
    static const char *const folders[] = {"one",           "one/workloads",
                                          "one/devices",   "one/plots",
                                          "two",           "two/workloads",
                                          "inst",          "inst/bin",
                                          "inst/share",    "inst/share/smscope",
                                          "src",           "src/build",
                                          "src/workloads", "inst/share/smscope/workloads",
                                          "bare",          "bare/build"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        make_folder(folders[i]);
    static const char *const files[] = {
        "one/workloads/w.ini",   "one/workloads/b.ini",
        "one/workloads/a.b.ini", "one/workloads/notes",
        "one/workloads/.x.ini",  "one/workloads/only-one.ini",
        "one/devices/w.ini",     "one/plots/w.gp",
        "two/workloads/w.ini",   "inst/share/smscope/workloads/w.ini",
        "src/workloads/w.ini"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        make_file(files[i]);
    make_program("inst/bin/prog");
    make_program("src/build/prog");
    make_program("bare/build/prog");
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int flag, struct FTW *place)
{
    (void)status;
    (void)flag;
    (void)place;
    return remove(path);
}

static int remove_tree(void **state)
{
    (void)state;
    return nftw(tree, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static int forget(void **state)
{
    (void)state;
    datadir_set(NULL);
    return unsetenv("SMSCOPE_DATADIR");
}

/* workloads/w.ini must be found at that place of the tree. */
static void finds(const char *expected)
{
    struct text path = TEXT_INIT;
    assert_int_equal(datadir_find(&path, "workloads", "w", ".ini"), FAIL_OK);
    assert_string_equal(path.bytes, at(expected));
    text_free(&path);
}

static void test_given(void **state)
{
    (void)state;
    struct text path = TEXT_INIT;
    datadir_set(one);
    finds("one/workloads/w.ini");
    assert_int_equal(datadir_find(&path, "devices", "w", ".ini"), FAIL_OK);
    assert_string_equal(path.bytes, at("one/devices/w.ini"));
    assert_int_equal(datadir_find(&path, "plots", "w", ".gp"), FAIL_OK);
    assert_string_equal(path.bytes, at("one/plots/w.gp"));
    text_free(&path);
}

static void test_order(void **state)
{
    (void)state;
    setenv("SMSCOPE_DATADIR", at("two"), 1);
    finds("two/workloads/w.ini");
    datadir_set(one);
    finds("one/workloads/w.ini");
    /* the first that applies is the only one: no looking further */
    struct text path = TEXT_INIT;
    struct text message = TEXT_INIT;
    datadir_set(two);
    setenv("SMSCOPE_DATADIR", at("one"), 1);
    assert_int_equal(datadir_find(&path, "workloads", "only-one", ".ini"), FAIL_USAGE);
    text_addf(&message, "there is no 'only-one.ini' in %s/two/workloads; it holds w", tree);
    assert_string_equal(fail_text(), message.bytes);
    text_free(&message);
    text_free(&path);
}

static void test_paths(void **state)
{
    (void)state;
    struct text path = TEXT_INIT;
    datadir_set(one);
    assert_int_equal(datadir_find(&path, "workloads", at("two/workloads/w.ini"), ".ini"), FAIL_OK);
    assert_string_equal(path.bytes, at("two/workloads/w.ini"));
    /* a '/' is enough */
    assert_int_equal(datadir_find(&path, "workloads", at("one/workloads/notes"), ".ini"), FAIL_OK);
    assert_string_equal(path.bytes, at("one/workloads/notes"));
    /* so is the suffix: a file of the current folder, not workloads/w.ini */
    assert_int_equal(datadir_find(&path, "workloads", "w.ini", ".ini"), FAIL_USAGE);
    assert_string_equal(fail_text(), "cannot find w.ini: No such file or directory");
    char *folder = getcwd(NULL, 0);
    assert_non_null(folder);
    assert_int_equal(chdir(at("two/workloads")), 0);
    int code = datadir_find(&path, "workloads", "w.ini", ".ini");
    assert_int_equal(chdir(folder), 0);
    free(folder);
    assert_int_equal(code, FAIL_OK);
    assert_string_equal(path.bytes, "w.ini");
    assert_int_equal(datadir_find(&path, "workloads", "a.b", ".ini"), FAIL_OK);
    assert_string_equal(path.bytes, at("one/workloads/a.b.ini"));
    text_free(&path);
}

static void test_list(void **state)
{
    (void)state;
    char **names;
    size_t count;
    datadir_set(one);
    assert_int_equal(datadir_list("workloads", ".ini", &names, &count), FAIL_OK);
    static const char *const expected[] = {"a.b", "b", "only-one", "w"};
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(names[i], expected[i]);
        free(names[i]);
    }
    free(names);
    datadir_set(two);
    assert_int_equal(datadir_list("devices", ".ini", &names, &count), FAIL_USAGE);
    struct text message = TEXT_INIT;
    text_addf(&message, "cannot read folder %s/two/devices: No such file or directory", tree);
    assert_string_equal(fail_text(), message.bytes);
    text_free(&message);
    assert_null(names);
    assert_int_equal(count, 0);
}

/* What the copy of this program at `path` prints when run with "find". */
static void assert_program_finds(const char *path, const char *expected)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(at(path), "prog", "find", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    char shown[1024];
    size_t length = 0;
    ssize_t got;
    while ((got = read(ends[0], shown + length, sizeof shown - 1 - length)) > 0)
        length += (size_t)got;
    shown[length] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_string_equal(shown, expected);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_beside_the_program(void **state)
{
    (void)state;
    assert_program_finds("inst/bin/prog", at("inst/share/smscope/workloads/w.ini"));
    assert_program_finds("src/build/prog", at("src/workloads/w.ini"));
    /* an empty variable is none */
    setenv("SMSCOPE_DATADIR", "", 1);
    assert_program_finds("src/build/prog", at("src/workloads/w.ini"));
    setenv("SMSCOPE_DATADIR", at("two"), 1);
    assert_program_finds("src/build/prog", at("two/workloads/w.ini"));
    /* through a link the program's own place counts */
    unsetenv("SMSCOPE_DATADIR");
    assert_int_equal(symlink(at("src/build/prog"), at("bare/build/link")), 0);
    assert_program_finds("bare/build/link", at("src/workloads/w.ini"));
}

static void test_nowhere(void **state)
{
    (void)state;
    assert_program_finds("bare/build/prog",
                         "-2 no data folder (with devices/, workloads/ and plots/) beside the "
                         "program; name it with --datadir DIR or SMSCOPE_DATADIR");
}

static int find_and_print(void)
{
    struct text path = TEXT_INIT;
    int code = datadir_find(&path, "workloads", "w", ".ini");
    if (code == FAIL_OK)
        fputs(path.bytes, stdout);
    else
        printf("%d %s", code, fail_text());
    text_free(&path);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "find") == 0)
        return find_and_print();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_given, forget),
        cmocka_unit_test_setup(test_order, forget),
        cmocka_unit_test_setup(test_paths, forget),
        cmocka_unit_test_setup(test_list, forget),
        cmocka_unit_test_setup(test_beside_the_program, forget),
        cmocka_unit_test_setup(test_nowhere, forget),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
