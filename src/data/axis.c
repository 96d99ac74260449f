#include "data/axis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/mem.h"

enum { VALUES_MOST = 100000 }; /* repeats count: a typing error should not take minutes */

static const struct axis_info table[AXIS_COUNT] = {
    [AXIS_KERNEL] = {"kernel", "", "*", 1, 0, "all", "kernels to run, or all of them"},
    [AXIS_VARIANT] = {"variant", "", "auto|portable|hopper|cluster", 1, 0, "auto",
                      "which build of a kernel"},
    [AXIS_HEADS] = {"heads", "heads", "", 1, 128, "64", "query heads"},
    [AXIS_CONCURRENCY] = {"concurrency", "requests", "batch", 1, 65536, "1",
                          "requests decoding at once; batch: as many as the batch axis"},
    [AXIS_BATCH] = {"batch", "rows", "auto", 1, 65536, "auto",
                    "rows of one launch; auto: the smallest bucket that holds the concurrency"},
    [AXIS_TOPK] = {"topk", "tokens", "", 1, 65536, "512", "width of a row's index list"},
    [AXIS_LENGTH] = {"length", "tokens", "full|mixed", 0, 65536, "full",
                     "valid entries of the list; mixed: seeded draws as in real traffic"},
    [AXIS_EXTRA_TOPK] = {"extra_topk", "tokens", "", 0, 65536, "0",
                         "width of the index list into the extra cache; 0: there is none"},
    [AXIS_EXTRA_LENGTH] = {"extra_length", "tokens", "full|mixed", 0, 65536, "full",
                           "valid entries of the extra list"},
    [AXIS_NSPLIT] = {"nsplit", "parts", "auto|pow2", 1, 1024, "auto",
                     "parts the list is cut into; auto: the kernel's own rule"},
    [AXIS_PAGE] = {"page", "tokens", "", 1, 65536, "64", "tokens of a cache page"},
    [AXIS_EXTRA_PAGE] = {"extra_page", "tokens", "", 1, 65536, "64",
                         "tokens of a page of the extra cache"},
    [AXIS_STRIDE] = {"stride", "", "padded|unpadded", 1, 0, "padded", "bytes from page to page"},
    [AXIS_SINK] = {"sink", "", "off|on", 1, 0, "off", "attention sink"},
    [AXIS_CACHE] = {"cache", "", "cold|hot", 1, 0, "cold", "L2 flushed before each replay or not"},
    [AXIS_LAUNCH] = {"launch", "", "graph|stream", 1, 0, "graph", "CUDA graph or plain launches"},
};

struct range {
    int64_t start, end, step;
    bool multiply;
};

/* One axis_parse() under way. */
struct parse {
    const struct axis_info *info;
    struct axis_list *list;
    size_t room;     /* of list->values */
    size_t expanded; /* values so far, repeats included */
    bool *seen;      /* [number - least] */
};

const struct axis_info *axis_info(enum axis_id id)
{
    return &table[id];
}

static enum axis_id by_name(const char *name, size_t length)
{
    for (enum axis_id id = 0; id < AXIS_COUNT; id++)
        if (strlen(table[id].name) == length && memcmp(table[id].name, name, length) == 0)
            return id;
    return AXIS_COUNT;
}

enum axis_id axis_by_name(const char *name)
{
    return by_name(name, strlen(name));
}

/* "auto, pow2 or a number from 1 to 1024" */
static void add_accepted(struct text *text, const struct axis_info *info)
{
    bool numbers = info->least <= info->most;
    if (strcmp(info->words, "*") == 0)
        text_addf(text, "names of at most %d letters, digits, '_' and '-'", AXIS_WORD_ROOM - 1);
    else
        for (const char *word = info->words; *word != '\0';) {
            size_t length = strcspn(word, "|");
            text_add_bytes(text, word, length);
            word += length + (word[length] == '|');
            bool last = strchr(word, '|') == NULL && !numbers;
            if (*word != '\0')
                text_add(text, last ? " or " : ", ");
            else if (numbers)
                text_add(text, " or ");
        }
    if (numbers)
        text_addf(text, "a number from %" PRId64 " to %" PRId64, info->least, info->most);
}

static int refuse(const struct axis_info *info, const char *item, const char *why)
{
    struct text accepted = TEXT_INIT;
    add_accepted(&accepted, info);
    int code = fail_set(FAIL_USAGE, "axis %s: '%.100s': %s; accepted: %s", info->name, item, why,
                        accepted.bytes);
    text_free(&accepted);
    return code;
}

/* Digits with an optional minus, K or M.  What is too large saturates; no axis accepts that. */
static bool read_number(const char *bytes, int64_t *out)
{
    size_t sign = *bytes == '-';
    size_t digits = strspn(bytes + sign, "0123456789");
    const char *suffix = bytes + sign + digits;
    int64_t unit = strcmp(suffix, "K") == 0 ? 1024 : strcmp(suffix, "M") == 0 ? 1024 * 1024 : 1;
    if (digits == 0 || (unit == 1 && *suffix != '\0'))
        return false;
    if (__builtin_mul_overflow((int64_t)strtoll(bytes, NULL, 10), unit, out))
        *out = sign > 0 ? INT64_MIN : INT64_MAX;
    return true;
}

static bool is_accepted_word(const struct axis_info *info, const char *word)
{
    size_t length = strlen(word);
    if (length == 0 || length >= AXIS_WORD_ROOM)
        return false;
    if (strcmp(info->words, "*") == 0)
        return strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789_-") == length;
    for (const char *known = info->words; *known != '\0';) {
        size_t known_length = strcspn(known, "|");
        if (known_length == length && memcmp(known, word, length) == 0)
            return true;
        known += known_length + (known[known_length] == '|');
    }
    return false;
}

static bool is_repeat(struct parse *parse, const struct axis_value *value)
{
    if (value->word[0] == '\0') {
        bool *seen = &parse->seen[value->number - parse->info->least];
        bool before = *seen;
        *seen = true;
        return before;
    }
    for (size_t i = 0; i < parse->list->count; i++)
        if (axis_equal(&parse->list->values[i], value))
            return true;
    return false;
}

static int add_value(struct parse *parse, const char *item, const struct axis_value *value)
{
    struct axis_list *list = parse->list;
    if (++parse->expanded > VALUES_MOST)
        return fail_set(FAIL_USAGE, "axis %s: '%.100s': more than %d values", parse->info->name,
                        item, VALUES_MOST);
    if (is_repeat(parse, value))
        return FAIL_OK;
    if (list->count == parse->room) {
        parse->room = parse->room > 0 ? 2 * parse->room : 8;
        list->values = mem_resize(list->values, parse->room, sizeof *list->values);
    }
    list->values[list->count++] = *value;
    return FAIL_OK;
}

static int parse_single(struct parse *parse, const char *item)
{
    const struct axis_info *info = parse->info;
    struct axis_value value = {0};
    if (is_accepted_word(info, item)) {
        memcpy(value.word, item, strlen(item));
        return add_value(parse, item, &value);
    }
    if (info->least > info->most || !read_number(item, &value.number))
        return refuse(info, item, "not a value of this axis");
    if (value.number < info->least || value.number > info->most)
        return refuse(info, item, "out of range");
    return add_value(parse, item, &value);
}

/* Takes START:END[:STEP] apart; what is wrong with it, or NULL. */
static const char *read_range(const struct axis_info *info, char *item, struct range *range)
{
    const char *start = strsep(&item, ":");
    const char *end = strsep(&item, ":");
    const char *step = item;
    range->multiply = step != NULL && *step == 'x';
    range->step = 1;
    if (info->least > info->most)
        return "this axis has no ranges";
    if (!read_number(start, &range->start) || !read_number(end, &range->end))
        return "a range is START:END[:STEP] with whole numbers";
    if (step != NULL && !read_number(step + range->multiply, &range->step))
        return "a step is N (add) or xN (multiply)";
    if (range->multiply && range->step < 2)
        return "the factor must be at least x2";
    if (range->step < 1)
        return "the step must be at least 1";
    if (range->start < info->least || range->start > info->most || range->end < info->least ||
        range->end > info->most)
        return "out of range";
    if (range->end < range->start)
        return "END is below START";
    if (range->multiply && range->start == 0)
        return "a factor leads nowhere from 0";
    return NULL;
}

static int64_t next_in_range(const struct range *range, int64_t number)
{
    if (range->multiply)
        return range->step > range->end ? range->end + 1 : number * range->step;
    return range->step > range->end - number ? range->end + 1 : number + range->step;
}

static int parse_range(struct parse *parse, const char *item)
{
    struct range range;
    char *copy = mem_strdup(item);
    const char *fault = read_range(parse->info, copy, &range);
    free(copy);
    if (fault != NULL)
        return refuse(parse->info, item, fault);
    int code = FAIL_OK;
    struct axis_value value = {.number = range.start};
    while (code == FAIL_OK && value.number <= range.end) {
        code = add_value(parse, item, &value);
        value.number = next_in_range(&range, value.number);
    }
    return code;
}

static int parse_items(struct parse *parse, const char *items)
{
    struct text item = TEXT_INIT;
    int code = FAIL_OK;
    for (const char *next = items; code == FAIL_OK; next++) {
        size_t length = strcspn(next, ",");
        text_clear(&item);
        text_add_bytes(&item, next, length);
        next += length;
        if (length == 0)
            code = refuse(parse->info, items, "an empty item");
        else if (strchr(item.bytes, ':') != NULL)
            code = parse_range(parse, item.bytes);
        else
            code = parse_single(parse, item.bytes);
        if (*next == '\0')
            break;
    }
    text_free(&item);
    return code;
}

int axis_parse(enum axis_id id, const char *items, struct axis_list *list)
{
    const struct axis_info *info = &table[id];
    axis_free(list);
    struct parse parse = {.info = info, .list = list};
    if (info->least <= info->most)
        parse.seen = mem_new((size_t)(info->most - info->least) + 1, sizeof *parse.seen);
    int code = parse_items(&parse, items);
    free(parse.seen);
    if (code != FAIL_OK)
        axis_free(list);
    return code;
}

void axis_free(struct axis_list *list)
{
    free(list->values);
    *list = (struct axis_list){0};
}

bool axis_is_word(const struct axis_value *value, const char *word)
{
    return word != NULL ? strcmp(value->word, word) == 0 : value->word[0] != '\0';
}

bool axis_equal(const struct axis_value *a, const struct axis_value *b)
{
    return strcmp(a->word, b->word) == 0 && (a->word[0] != '\0' || a->number == b->number);
}

bool axis_is_default(enum axis_id id, const struct axis_value *value)
{
    int64_t number;
    if (axis_is_word(value, NULL))
        return axis_is_word(value, table[id].fallback);
    return read_number(table[id].fallback, &number) && number == value->number;
}

void axis_add_text(struct text *text, const struct axis_value *value)
{
    if (axis_is_word(value, NULL))
        text_add(text, value->word);
    else
        text_addf(text, "%" PRId64, value->number);
}

int axis_split(const char *option, enum axis_id *id, const char **items)
{
    const char *equals = strchr(option, '=');
    if (equals == NULL)
        return fail_set(FAIL_USAGE, "axis '%.100s': expected NAME=ITEMS, such as topk=128,512",
                        option);
    *id = by_name(option, (size_t)(equals - option));
    *items = equals + 1;
    if (*id < AXIS_COUNT)
        return FAIL_OK;
    struct text names = TEXT_INIT;
    for (enum axis_id known = 0; known < AXIS_COUNT; known++)
        text_addf(&names, "%s%s", known > 0 ? ", " : "", table[known].name);
    int code = fail_set(FAIL_USAGE, "'%.100s': there is no such axis; the axes are %s", option,
                        names.bytes);
    text_free(&names);
    return code;
}
