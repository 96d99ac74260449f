#include "base/options.h"

#include "base/fail.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* One walk over argv. */
struct walk {
    const struct option_usage *usage;
    char **argv;
    int argc;
    int next;                  /* first argument not looked at */
    bool *seen;                /* one an option */
    struct option_list *given; /* NULL: not asked for */
    bool help;
};

static void append(struct option_list *list, const char *item)
{
    list->items = mem_resize(list->items, list->count + 1, sizeof *list->items);
    list->items[list->count++] = item;
}

static int store_value(const struct option *option, const char *shown, const char *value)
{
    if ((option->kind == OPTION_TEXT || option->kind == OPTION_LIST) && *value == '\0')
        return fail_set(FAIL_USAGE, "%s needs a value (%s), not ''", shown, option->operand);
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)option->target = true;
        return FAIL_OK;
    case OPTION_TEXT:
        *(const char **)option->target = value;
        return FAIL_OK;
    case OPTION_INT:
        if (!text_to_int(value, option->target))
            return fail_set(FAIL_USAGE, "%s needs a whole number, not '%s'", shown, value);
        return FAIL_OK;
    case OPTION_REAL:
        if (!text_to_real(value, option->target))
            return fail_set(FAIL_USAGE, "%s needs a number, not '%s'", shown, value);
        return FAIL_OK;
    case OPTION_LIST:
        break;
    }
    append(option->target, value);
    return FAIL_OK;
}

/* value is what stands in the same argument behind the name; NULL: nothing,
 * the next one is taken. */
static int take(struct walk *walk, const struct option *option, const char *shown,
                const char *value)
{
    size_t index = (size_t)(option - walk->usage->options);
    if (walk->seen[index] && option->kind != OPTION_LIST)
        return fail_set(FAIL_USAGE, "%s is given more than once", shown);
    if (!walk->seen[index] && walk->given)
        append(walk->given, option->name);
    walk->seen[index] = true;
    if (option->kind != OPTION_FLAG && value == NULL) {
        if (walk->next >= walk->argc)
            return fail_set(FAIL_USAGE, "%s needs a value (%s)", shown, option->operand);
        value = walk->argv[walk->next++];
    }
    return store_value(option, shown, value);
}

static int take_long(struct walk *walk, const char *argument)
{
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    const char *value = name[length] == '=' ? name + length + 1 : NULL;
    char shown[64];
    snprintf(shown, sizeof shown, "--%.*s", (int)length, name);
    const struct option *found = NULL;
    for (size_t i = 0; i < walk->usage->count; i++) {
        const struct option *option = &walk->usage->options[i];
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0)
            found = option;
    }
    bool help = strcmp(shown, "--help") == 0;
    if (found == NULL && !help)
        return fail_set(FAIL_USAGE, "unknown option %s (--help lists them)", shown);
    if (value != NULL && (help || found->kind == OPTION_FLAG))
        return fail_set(FAIL_USAGE, "%s takes no value", shown);
    walk->help = help;
    return help ? FAIL_OK : take(walk, found, shown, value);
}

/* "-n VALUE", "-nVALUE", and flags may share a dash: "-qnVALUE". */
static int take_short(struct walk *walk, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        const char shown[] = {'-', *letters, '\0'};
        const struct option *found = NULL;
        for (size_t i = 0; i < walk->usage->count; i++)
            if (walk->usage->options[i].letter == *letters)
                found = &walk->usage->options[i];
        walk->help = *letters == 'h';
        if (walk->help)
            return FAIL_OK;
        if (found == NULL)
            return fail_set(FAIL_USAGE, "unknown option %s (--help lists them)", shown);
        if (found->kind != OPTION_FLAG)
            return take(walk, found, shown, letters[1] != '\0' ? letters + 1 : NULL);
        int result = take(walk, found, shown, NULL);
        if (result != FAIL_OK)
            return result;
    }
    return FAIL_OK;
}

int options_parse(const struct option_usage *usage, int argc, char **argv, int *operands,
                  bool *help)
{
    return options_parse_given(usage, argc, argv, operands, help, NULL);
}

int options_parse_given(const struct option_usage *usage, int argc, char **argv, int *operands,
                        bool *help, struct option_list *given)
{
    struct walk walk = {.usage = usage, .argv = argv, .argc = argc, .next = 1, .given = given};
    walk.seen = mem_new(usage->count, sizeof *walk.seen);
    int result = FAIL_OK;
    int kept = 0;
    bool ended = false;
    while (walk.next < argc && result == FAIL_OK && !walk.help) {
        char *argument = argv[walk.next++];
        if (ended || argument[0] != '-' || argument[1] == '\0')
            argv[++kept] = argument; /* never overtakes walk.next */
        else if (strcmp(argument, "--") == 0)
            ended = true;
        else if (argument[1] == '-')
            result = take_long(&walk, argument);
        else
            result = take_short(&walk, argument + 1);
    }
    free(walk.seen);
    *operands = kept;
    *help = walk.help;
    return result;
}

enum { HELP_WIDTH = 79, HELP_COLUMN_MAX = 30 };

/* End of the word at bytes; "[-o FILE]" in a synopsis is one word. */
static const char *word_end(const char *bytes)
{
    const char *end = bytes;
    if (*bytes == '[')
        end += strcspn(bytes, "]");
    return end + strcspn(end, " \n");
}

/* Prints words from column `column` on; further lines start at `indent`.  Ends the line. */
static void print_wrapped(FILE *out, const char *words, size_t column, size_t indent)
{
    bool first = true;
    for (words += strspn(words, " \n"); *words != '\0'; words += strspn(words, " \n")) {
        size_t length = (size_t)(word_end(words) - words);
        if (!first && column + 1 + length > HELP_WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', out);
            column++;
        }
        fwrite(words, 1, length, out);
        column += length;
        words += length;
        first = false;
    }
    fputc('\n', out);
}

static void add_signature(struct text *out, const struct option *option)
{
    if (option->letter != 0)
        text_addf(out, "  -%c, --%s", option->letter, option->name);
    else
        text_addf(out, "      --%s", option->name);
    if (option->operand != NULL)
        text_addf(out, " %s", option->operand);
}

static void print_option(FILE *out, const struct option *option, size_t help_column)
{
    struct text signature = TEXT_INIT;
    add_signature(&signature, option);
    fputs(signature.bytes, out);
    size_t column = signature.length;
    if (column + 2 > help_column) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", (int)(help_column - column), "");
    print_wrapped(out, option->help, help_column, help_column);
    text_free(&signature);
}

void options_print_help(const struct option_usage *usage, FILE *out)
{
    static const struct option help = {
        .letter = 'h', .name = "help", .help = "show this text", .kind = OPTION_FLAG};
    size_t help_column = strlen("  -h, --help  ");
    for (size_t i = 0; i < usage->count; i++) {
        struct text signature = TEXT_INIT;
        add_signature(&signature, &usage->options[i]);
        size_t column = signature.length + 2;
        if (column > help_column && column <= HELP_COLUMN_MAX)
            help_column = column;
        text_free(&signature);
    }
    fputs("usage: ", out);
    print_wrapped(out, usage->synopsis, strlen("usage: "), strlen("usage: "));
    fputc('\n', out);
    print_wrapped(out, usage->summary, 0, 0);
    fputs("\noptions:\n", out);
    for (size_t i = 0; i < usage->count; i++)
        print_option(out, &usage->options[i], help_column);
    print_option(out, &help, help_column);
}

void options_free_list(struct option_list *list)
{
    free(list->items);
    *list = (struct option_list){NULL, 0};
}

bool options_is_given(const struct option_list *given, const char *name)
{
    for (size_t i = 0; i < given->count; i++)
        if (strcmp(given->items[i], name) == 0)
            return true;
    return false;
}
