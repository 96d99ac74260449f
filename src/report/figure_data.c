#include "report/figure.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

/* One point of a figure, and what decides its place. */
struct pick {
    const struct row *row;
    char *panel, *line;
    size_t line_rank; /* lines stand in the order of the run */
    int64_t topk, concurrency, batch, x;
    int64_t rank, tie; /* the lowest of an x is drawn */
};

static double number(const struct row *row, const struct figure_column *column)
{
    double value;

    memcpy(&value, (const char *)row + column->offset, sizeof value);
    return value;
}

static bool usable(const struct figure *figure, const struct row *row)
{
    enum store_status status = row->point->status;

    if (status != STORE_OK && status != STORE_INVALID && status != STORE_THROTTLED)
        return false;
    if (!(row->topk > 0 && row->concurrency > 0 && row->batch > 0))
        return false;
    for (size_t i = 0; i < figure->needed; i++)
        if (isfinite(number(row, &figure->columns[i])))
            return true;
    return false;
}

/* Where `name=value` stands in a key as a whole word. */
static bool key_holds(const char *key, const char *word, size_t length)
{
    for (const char *at = key; (at = strstr(at, word)) != NULL; at += length)
        if ((at == key || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

enum place { PLACE_NONE, PLACE_LINE, PLACE_PANEL };

/* What a word of a key tells apart: nothing that is not on the x axis or named anyway. */
static enum place word_place(const char *word)
{
    char name[32];
    size_t length = strcspn(word, "=");

    if (length >= sizeof name)
        return PLACE_NONE;
    memcpy(name, word, length);
    name[length] = '\0';
    switch (axis_by_name(name)) {
    case AXIS_KERNEL:
    case AXIS_CONCURRENCY:
    case AXIS_BATCH:
    case AXIS_TOPK:
    case AXIS_COUNT:
        return PLACE_NONE;
    case AXIS_VARIANT:
    case AXIS_NSPLIT:
        return PLACE_LINE;
    default:
        return PLACE_PANEL;
    }
}

/* Tabs, blanks and quotes have a meaning in the data file; what is no character breaks an SVG. */
static char *clean_name(struct text *text)
{
    text_make_plain(text, '_');
    for (char *c = text->bytes; *c; c++)
        if (*c == ' ' || *c == '"')
            *c = '_';
    return text_take(text);
}

/* Names panel and line of a pick; words of `common` (a key's words that every point has) are left
 * out of the panel. */
static void name_pick(struct pick *pick, const char *common)
{
    struct text panel = TEXT_INIT, line = TEXT_INIT;
    const char *kernel = pick->row->point->axis[AXIS_KERNEL];
    char *key = mem_strdup(pick->row->point->key), *rest = key, *word;

    text_addf(&panel, "topk=%lld", (long long)pick->topk);
    text_add(&line, kernel ? kernel : "?");
    while ((word = strsep(&rest, " ")) != NULL) {
        enum place place = word_place(word);

        if (place == PLACE_LINE)
            text_addf(&line, ",%s", word);
        else if (place == PLACE_PANEL && !key_holds(common, word, strlen(word)))
            text_addf(&panel, ",%s", word);
    }
    free(key);
    pick->panel = clean_name(&panel);
    pick->line = clean_name(&line);
}

/* The words of the first key that stand in every other. */
static void find_common(const struct pick *picks, size_t count, struct text *common)
{
    char *key = mem_strdup(picks[0].row->point->key), *rest = key, *word;

    while ((word = strsep(&rest, " ")) != NULL) {
        size_t i = 0;

        while (*word && i < count && key_holds(picks[i].row->point->key, word, strlen(word)))
            i++;
        if (i == count)
            text_addf(common, "%s%s", common->length ? " " : "", word);
    }
    free(key);
}

static void name_picks(struct pick *picks, size_t count)
{
    struct text common = TEXT_INIT;
    const char **lines = mem_new(count + 1, sizeof *lines);
    size_t line_count = 0;

    if (count > 0)
        find_common(picks, count, &common);
    for (size_t i = 0; i < count; i++) {
        size_t rank = 0;

        name_pick(&picks[i], common.bytes);
        while (rank < line_count && strcmp(lines[rank], picks[i].line) != 0)
            rank++;
        if (rank == line_count)
            lines[line_count++] = picks[i].line;
        picks[i].line_rank = rank;
    }
    free(lines);
    text_free(&common);
}

/* Which of the points of an x is drawn, as the header tells. */
static void rank_pick(struct pick *pick, enum axis_id x)
{
    bool one_call = pick->batch >= pick->concurrency;

    if (x == AXIS_CONCURRENCY) {
        pick->x = pick->concurrency;
        pick->rank = !one_call;
        pick->tie = one_call ? pick->batch : -pick->batch;
    } else {
        pick->x = pick->batch;
        pick->rank = pick->batch == pick->concurrency ? 0 : one_call ? 1 : 2;
        pick->tie = pick->concurrency;
    }
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_places(const struct pick *a, const struct pick *b)
{
    int order = compare_numbers(a->topk, b->topk);

    if (order == 0)
        order = strcmp(a->panel, b->panel);
    if (order == 0)
        order = compare_numbers((int64_t)a->line_rank, (int64_t)b->line_rank);
    return order == 0 ? compare_numbers(a->x, b->x) : order;
}

static int compare_picks(const void *left, const void *right)
{
    const struct pick *a = left, *b = right;
    int order = compare_places(a, b);

    if (order == 0)
        order = compare_numbers(a->rank, b->rank);
    if (order == 0)
        order = compare_numbers(a->tie, b->tie);
    return order == 0 ? compare_numbers(a->row->point->ord, b->row->point->ord) : order;
}

static void free_names(struct pick *picks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(picks[i].panel);
        free(picks[i].line);
    }
}

/* How many of the sorted picks are on the panels that a page has room for; frees the others. */
static size_t keep_panels(struct pick *picks, size_t count)
{
    size_t panels = 0, kept = 0;

    for (size_t i = 0; i < count; i++) {
        panels += i == 0 || strcmp(picks[i].panel, picks[i - 1].panel) != 0;
        kept += panels <= FIGURE_PANELS;
    }
    if (panels > FIGURE_PANELS)
        log_warn_once("%zu panels (topk and other axes) are more than a figure takes; the first %d "
                      "are drawn",
                      panels, FIGURE_PANELS);
    free_names(picks + kept, count - kept);
    return kept;
}

static struct pick *collect(const struct figure *figure, const struct row *rows, size_t count,
                            size_t *picked)
{
    struct pick *picks = mem_new(count + 1, sizeof *picks);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        struct pick *pick = &picks[n];

        pick->row = &rows[i];
        if (usable(figure, &rows[i])) {
            pick->topk = (int64_t)rows[i].topk;
            pick->concurrency = (int64_t)rows[i].concurrency;
            pick->batch = (int64_t)rows[i].batch;
            rank_pick(pick, figure->x);
            n++;
        }
    }
    name_picks(picks, n);
    qsort(picks, n, sizeof *picks, compare_picks);
    *picked = keep_panels(picks, n);
    return picks;
}

static int compare_x(const void *left, const void *right)
{
    return compare_numbers(*(const int64_t *)left, *(const int64_t *)right);
}

/* Sorted distinct x values. */
static int64_t *find_groups(const struct pick *picks, size_t count, size_t *groups)
{
    int64_t *values = mem_new(count + 1, sizeof *values);
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        values[i] = picks[i].x;
    qsort(values, count, sizeof *values, compare_x);
    for (size_t i = 0; i < count; i++)
        if (n == 0 || values[i] != values[n - 1])
            values[n++] = values[i];
    *groups = n;
    return values;
}

static void add_pick(const struct figure *figure, const struct pick *pick, size_t group,
                     struct text *tsv)
{
    struct text kernel = TEXT_INIT;
    char *name;

    text_add(&kernel,
             pick->row->point->axis[AXIS_KERNEL] ? pick->row->point->axis[AXIS_KERNEL] : "?");
    name = clean_name(&kernel);
    text_addf(tsv, "%s\t%s\t%s\t%lld\t%lld\t%zu", pick->panel, pick->line, name,
              (long long)pick->concurrency, (long long)pick->batch, group);
    free(name);
    for (size_t i = 0; i < FIGURE_COLUMNS && figure->columns[i].name; i++) {
        double value = number(pick->row, &figure->columns[i]);

        text_add(tsv, "\t");
        if (isfinite(value))
            text_add_real(tsv, value);
        else
            text_add(tsv, "NaN");
    }
    text_add(tsv, "\n");
}

size_t figure_data(const struct figure *figure, const struct row *rows, size_t count,
                   struct text *tsv, size_t *modelled)
{
    size_t picked, group_count, points = 0;
    struct pick *picks = collect(figure, rows, count, &picked);
    int64_t *groups = find_groups(picks, picked, &group_count);

    text_clear(tsv);
    *modelled = 0;
    text_add(tsv, "panel\tline\tkernel\tconcurrency\tbatch\tgroup");
    for (size_t i = 0; i < FIGURE_COLUMNS && figure->columns[i].name; i++)
        text_addf(tsv, "\t%s", figure->columns[i].name);
    text_add(tsv, "\n");
    for (size_t i = 0; i < picked; i++) {
        const int64_t *group;

        if (i > 0 && compare_places(&picks[i], &picks[i - 1]) == 0)
            continue;
        group = bsearch(&picks[i].x, groups, group_count, sizeof *groups, compare_x);
        add_pick(figure, &picks[i], (size_t)(group - groups), tsv);
        *modelled += picks[i].row->modelled;
        points++;
    }
    free_names(picks, picked);
    free(picks);
    free(groups);
    return points;
}
