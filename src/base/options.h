/*
 * options: a command's options as one table, read by the parser and by --help.
 *
 * Options may stand before, between or after operands; "--" ends them.  Long options take
 * "--name VALUE" or "--name=VALUE"; short ones "-n VALUE" or "-nVALUE", and flags may share a dash.
 * --help and -h are always known.  Unknown options, missing, empty or unwanted values and repeated
 * single options are FAIL_USAGE with one line.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
    OPTION_FLAG, /* bool *   */
    OPTION_TEXT, /* const char **, points into argv */
    OPTION_INT,  /* int64_t * */
    OPTION_REAL, /* double * */
    OPTION_LIST  /* struct option_list *: may be given any number of times */
};

struct option_list {
    const char **items; /* point into argv; options_free_list() frees the array */
    size_t count;
};

struct option {
    char letter;         /* 0: none */
    const char *name;    /* long name without dashes, never NULL */
    const char *operand; /* "FILE"; NULL for flags */
    const char *help;
    enum option_kind kind;
    void *target;
};

struct option_usage {
    const char *synopsis; /* "smscope sweep [-d DEVICE] ..." without "usage: " */
    const char *summary;  /* one paragraph */
    const struct option *options;
    size_t count;
};

/*
 * Parses argv[1..argc).  Operands are moved to the front of argv and *operands tells how many there
 * are (argv[1..*operands]).  *help is set, and the rest not looked at, when --help is met.
 */
int options_parse(const struct option_usage *usage, int argc, char **argv, int *operands,
                  bool *help);
/* The same, and *given gets the long name of each option that was met, once. */
int options_parse_given(const struct option_usage *usage, int argc, char **argv, int *operands,
                        bool *help, struct option_list *given);
void options_print_help(const struct option_usage *usage, FILE *out);
void options_free_list(struct option_list *list);
/* Whether the option of that long name was met. */
bool options_is_given(const struct option_list *given, const char *name);

#endif
