#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/fail.h"
#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the options of this test go; reset before each parse. */
static struct {
    bool quiet, dry_run;
    const char *output;
    int64_t seed;
    double limit;
    struct option_list axes;
} got;

static const struct option options[] = {
    {'q', "quiet", NULL, "print less", OPTION_FLAG, &got.quiet},
    {0, "dry-run", NULL, "print the points and what they cost", OPTION_FLAG, &got.dry_run},
    {'o', "output", "FILE", "run file to write", OPTION_TEXT, &got.output},
    {0, "seed", "N", "seed of the synthetic data", OPTION_INT, &got.seed},
    {'l', "limit", "X", "stop a point after X seconds", OPTION_REAL, &got.limit},
    {'a', "axis", "NAME=ITEMS", "set an axis", OPTION_LIST, &got.axes},
};

static const struct option_usage usage = {"smscope try [-q] [-o FILE] [FILE...]", "Tries things.",
                                          options, sizeof options / sizeof *options};

enum { ARGUMENTS_MAX = 16 };
static char *arguments[ARGUMENTS_MAX + 1];
static int operands;
static bool help;

/* Parses the words of line, separated by one blank; "''" stands for an empty argument. */
static int parse(const char *line)
{
    static char buffer[256];
    options_free_list(&got.axes);
    memset(&got, 0, sizeof got);
    got.seed = 7;
    snprintf(buffer, sizeof buffer, "%s", line);
    int count = 0;
    arguments[count++] = "try";
    for (char *word = strtok(buffer, " "); word != NULL; word = strtok(NULL, " "))
        arguments[count++] = strcmp(word, "''") == 0 ? word + 2 : word;
    arguments[count] = NULL;
    help = true;
    operands = -1;
    return options_parse(&usage, count, arguments, &operands, &help);
}

static void check_operands(const char *line, int count, const char *first, const char *last)
{
    assert_int_equal(parse(line), FAIL_OK);
    assert_int_equal(operands, count);
    assert_string_equal(arguments[0], "try");
    assert_string_equal(arguments[1], first);
    assert_string_equal(arguments[count], last);
}

static void check_usage(const char *line, const char *expected)
{
    assert_int_equal(parse(line), FAIL_USAGE);
    assert_string_equal(fail_text(), expected);
}

static void takes_nothing(void **state)
{
    (void)state;
    assert_int_equal(parse(""), FAIL_OK);
    assert_int_equal(operands, 0);
    assert_false(help);
    assert_false(got.quiet);
    assert_null(got.output);
    assert_int_equal(got.seed, 7);
}

static void takes_every_kind(void **state)
{
    (void)state;
    assert_int_equal(parse("-q --dry-run -o a.db --seed -3 --limit 2.5 -a x=1 --axis=y=2"),
                     FAIL_OK);
    assert_int_equal(operands, 0);
    assert_true(got.quiet);
    assert_true(got.dry_run);
    assert_string_equal(got.output, "a.db");
    assert_int_equal(got.seed, -3);
    assert_true(got.limit == 2.5);
    assert_int_equal(got.axes.count, 2);
    assert_string_equal(got.axes.items[0], "x=1");
    assert_string_equal(got.axes.items[1], "y=2");
}

static void tells_what_was_given(void **state)
{
    (void)state;
    char words[][16] = {"try", "-a", "x=1", "--seed=7", "-q", "-a", "y=2", "file"};
    char *argv[] = {words[0], words[1], words[2], words[3], words[4],
                    words[5], words[6], words[7], NULL};
    struct option_list given = {0};
    options_free_list(&got.axes);
    assert_int_equal(options_parse_given(&usage, 8, argv, &operands, &help, &given), FAIL_OK);
    assert_int_equal(given.count, 3); /* each once */
    assert_true(options_is_given(&given, "axis"));
    assert_true(options_is_given(&given, "seed")); /* also with the value that it has anyway */
    assert_true(options_is_given(&given, "quiet"));
    assert_false(options_is_given(&given, "output"));
    assert_false(options_is_given(&given, "q"));
    options_free_list(&given);
}

static void takes_every_spelling(void **state)
{
    (void)state;
    assert_int_equal(parse("--output=a.db"), FAIL_OK);
    assert_string_equal(got.output, "a.db");
    assert_int_equal(parse("--output a.db"), FAIL_OK);
    assert_string_equal(got.output, "a.db");
    assert_int_equal(parse("-oa.db"), FAIL_OK);
    assert_string_equal(got.output, "a.db");
    assert_int_equal(parse("-qoa.db"), FAIL_OK);
    assert_string_equal(got.output, "a.db");
    assert_true(got.quiet);
    assert_int_equal(parse("-o --quiet"), FAIL_OK); /* a value may look like an option */
    assert_string_equal(got.output, "--quiet");
    assert_false(got.quiet);
}

static void moves_operands_to_the_front(void **state)
{
    (void)state;
    check_operands("one two -q", 2, "one", "two");
    check_operands("-q one -o a.db two --seed=1 three", 3, "one", "three");
    assert_string_equal(arguments[2], "two");
    assert_string_equal(got.output, "a.db");
    check_operands("one -q -- -o two", 3, "one", "two");
    assert_string_equal(arguments[2], "-o");
    assert_null(got.output);
    check_operands("- -q", 1, "-", "-");
    check_operands("-- --", 1, "--", "--");
    check_operands("-q ''", 1, "", "");
}

static void refuses(void **state)
{
    (void)state;
    check_usage("--bogus=3", "unknown option --bogus (--help lists them)");
    check_usage("--quie", "unknown option --quie (--help lists them)");
    check_usage("--quiets", "unknown option --quiets (--help lists them)");
    check_usage("-x", "unknown option -x (--help lists them)");
    check_usage("-qx", "unknown option -x (--help lists them)");
    check_usage("--quiet=yes", "--quiet takes no value");
    check_usage("--help=all", "--help takes no value");
    check_usage("one -o", "-o needs a value (FILE)");
    check_usage("-o ''", "-o needs a value (FILE), not ''");
    check_usage("--output=", "--output needs a value (FILE), not ''");
    check_usage("-a ''", "-a needs a value (NAME=ITEMS), not ''");
    check_usage("--axis", "--axis needs a value (NAME=ITEMS)");
    check_usage("--seed ten", "--seed needs a whole number, not 'ten'");
    check_usage("--seed=", "--seed needs a whole number, not ''");
    check_usage("--seed 1.5", "--seed needs a whole number, not '1.5'");
    check_usage("-l 1,5", "-l needs a number, not '1,5'");
    check_usage("-o a -o b", "-o is given more than once");
    check_usage("-o a --output=b", "--output is given more than once");
    check_usage("-q -q", "-q is given more than once");
}

static void stops_at_help(void **state)
{
    (void)state;
    assert_int_equal(parse("-q --help --bogus"), FAIL_OK);
    assert_true(help);
    assert_true(got.quiet);
    assert_int_equal(parse("-qh --bogus"), FAIL_OK);
    assert_true(help);
    assert_int_equal(parse("--bogus --help"), FAIL_USAGE);
    assert_int_equal(parse("-o --help"), FAIL_OK);
    assert_false(help);
    assert_int_equal(parse("-- --help"), FAIL_OK);
    assert_false(help);
}

static char *help_of(const struct option_usage *which)
{
    char *bytes = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&bytes, &length);
    options_print_help(which, out);
    fclose(out);
    return bytes;
}

static void prints_help(void **state)
{
    (void)state;
    char *bytes = help_of(&usage);
    assert_string_equal(bytes, "usage: smscope try [-q] [-o FILE] [FILE...]\n"
                               "\n"
                               "Tries things.\n"
                               "\n"
                               "options:\n"
                               "  -q, --quiet            print less\n"
                               "      --dry-run          print the points and what they cost\n"
                               "  -o, --output FILE      run file to write\n"
                               "      --seed N           seed of the synthetic data\n"
                               "  -l, --limit X          stop a point after X seconds\n"
                               "  -a, --axis NAME=ITEMS  set an axis\n"
                               "  -h, --help             show this text\n");
    free(bytes);
}

static void wraps_help(void **state)
{
    (void)state;
    static const struct option wide[] = {
        {'a', "axis", "NAME=ITEMS",
         "items of one axis of the sweep, such as batch=1,2,4 or batch=1:64:x2; given again for the "
         "same name it replaces the earlier one",
         OPTION_LIST, &got.axes},
        {0, "a-name-that-is-very-long", "OPERAND", "on a line of its own", OPTION_TEXT,
         &got.output},
    };
    static const struct option_usage long_usage = {
        "smscope sweep [-d DEVICE] [-w WORKLOAD] [-a NAME=ITEMS]... [-q] [-o RUN.db]",
        "Expands the workload and the axes into points, runs every pass over each of them and keeps "
        "what was measured.",
        wide, 2};
    char *bytes = help_of(&long_usage);
    assert_string_equal(
        bytes, "usage: smscope sweep [-d DEVICE] [-w WORKLOAD] [-a NAME=ITEMS]... [-q]\n"
               "       [-o RUN.db]\n"
               "\n"
               "Expands the workload and the axes into points, runs every pass over each of\n"
               "them and keeps what was measured.\n"
               "\n"
               "options:\n"
               "  -a, --axis NAME=ITEMS  items of one axis of the sweep, such as batch=1,2,4 or\n"
               "                         batch=1:64:x2; given again for the same name it\n"
               "                         replaces the earlier one\n"
               "      --a-name-that-is-very-long OPERAND\n"
               "                         on a line of its own\n"
               "  -h, --help             show this text\n");
    free(bytes);
}

static int free_axes(void **state)
{
    (void)state;
    options_free_list(&got.axes);
    assert_null(got.axes.items);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_nothing),
        cmocka_unit_test(takes_every_kind),
        cmocka_unit_test(tells_what_was_given),
        cmocka_unit_test(takes_every_spelling),
        cmocka_unit_test(moves_operands_to_the_front),
        cmocka_unit_test(refuses),
        cmocka_unit_test(stops_at_help),
        cmocka_unit_test(prints_help),
        cmocka_unit_test(wraps_help),
    };
    return cmocka_run_group_tests(tests, NULL, free_axes);
}
