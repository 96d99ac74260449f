#include "base/table.h"

#include "base/fail.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum cell_kind { CELL_EMPTY, CELL_WORD, CELL_INT, CELL_REAL };

struct cell {
    enum cell_kind kind;
    union {
        char *word;
        int64_t integer;
        double real;
    } value;
};

struct table {
    const struct table_column *columns;
    size_t column_count;
    struct cell *cells; /* row after row */
    size_t row_count;
    size_t row_room;
};

struct table *table_new(const struct table_column *columns, size_t count)
{
    struct table *table = mem_new(1, sizeof *table);
    table->columns = columns;
    table->column_count = count;
    return table;
}

static void cell_clear(struct cell *cell)
{
    if (cell->kind == CELL_WORD)
        free(cell->value.word);
    cell->kind = CELL_EMPTY;
}

void table_free(struct table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->row_count * table->column_count; i++)
        cell_clear(&table->cells[i]);
    free(table->cells);
    free(table);
}

void table_row(struct table *table)
{
    size_t width = table->column_count;
    if (table->row_count == table->row_room) {
        table->row_room = table->row_room > 0 ? 2 * table->row_room : 16;
        table->cells = mem_resize(table->cells, table->row_room, width * sizeof *table->cells);
    }
    for (size_t i = 0; i < width; i++)
        table->cells[table->row_count * width + i] = (struct cell){.kind = CELL_EMPTY};
    table->row_count++;
}

static struct cell *cell_to_set(struct table *table, size_t column)
{
    struct cell *cell = &table->cells[(table->row_count - 1) * table->column_count + column];
    cell_clear(cell);
    return cell;
}

void table_word(struct table *table, size_t column, const char *value)
{
    struct cell *cell = cell_to_set(table, column);
    if (value != NULL)
        *cell = (struct cell){.kind = CELL_WORD, .value.word = mem_strdup(value)};
}

void table_int(struct table *table, size_t column, int64_t value)
{
    *cell_to_set(table, column) = (struct cell){.kind = CELL_INT, .value.integer = value};
}

void table_real(struct table *table, size_t column, double value)
{
    struct cell *cell = cell_to_set(table, column);
    if (!isnan(value))
        *cell = (struct cell){.kind = CELL_REAL, .value.real = value};
}

/* C0, DEL and C1: a terminal may obey them. */
static bool is_control(const char *character)
{
    const unsigned char *b = (const unsigned char *)character;
    return b[0] < ' ' || b[0] == 127 || (b[0] == 0xc2 && b[1] < 0xa0);
}

static void add_json_string(struct text *out, const char *word)
{
    text_add(out, "\"");
    while (*word != '\0') {
        size_t length = text_utf8_length(word);
        if (length == 0)
            text_add(out, "\xef\xbf\xbd");
        else if (*word == '"' || *word == '\\')
            text_addf(out, "\\%c", *word);
        else if ((unsigned char)*word < ' ')
            text_addf(out, "\\u%04x", (unsigned)*word);
        else
            text_add_bytes(out, word, length);
        word += length > 0 ? length : 1;
    }
    text_add(out, "\"");
}

static void add_csv_field(struct text *out, const char *word)
{
    if (word[strcspn(word, "\",\r\n")] == '\0') {
        text_add(out, word);
        return;
    }
    text_add(out, "\"");
    for (; *word != '\0'; word++)
        text_add_bytes(out, *word == '"' ? "\"\"" : word, *word == '"' ? 2 : 1);
    text_add(out, "\"");
}

/* For people: whatever is no character, or would move a terminal's cursor, is '?'. */
static void add_shown(struct text *out, const char *word, bool markdown)
{
    while (*word != '\0') {
        size_t length = text_utf8_length(word);
        if (markdown && (*word == '\n' || *word == '\r')) {
            length = word[0] == '\r' && word[1] == '\n' ? 2 : 1;
            text_add(out, "<br>");
        } else if (length == 0 || is_control(word)) {
            text_add(out, "?");
        } else {
            if (markdown && strchr("|\\<*`", *word) != NULL)
                text_add(out, "\\");
            text_add_bytes(out, word, length);
        }
        word += length > 0 ? length : 1;
    }
}

static const char *heading_of(const struct table_column *column)
{
    return column->heading != NULL ? column->heading : column->name;
}

static void add_number(struct text *out, const struct cell *cell, int decimals)
{
    if (cell->kind == CELL_INT)
        text_addf(out, "%" PRId64, cell->value.integer);
    else if (cell->kind == CELL_REAL && decimals >= 0)
        text_add_fixed(out, cell->value.real, decimals);
    else if (cell->kind == CELL_REAL)
        text_add_real(out, cell->value.real);
}

static void compose_csv(const struct table *table, struct text *out)
{
    for (size_t c = 0; c < table->column_count; c++) {
        text_add(out, c > 0 ? "," : "");
        add_csv_field(out, table->columns[c].name);
    }
    text_add(out, "\n");
    const struct cell *cell = table->cells;
    for (size_t r = 0; r < table->row_count; r++) {
        for (size_t c = 0; c < table->column_count; c++, cell++) {
            text_add(out, c > 0 ? "," : "");
            if (cell->kind == CELL_WORD)
                add_csv_field(out, cell->value.word);
            else
                add_number(out, cell, -1);
        }
        text_add(out, "\n");
    }
}

static void add_json_value(struct text *out, const struct cell *cell)
{
    if (cell->kind == CELL_WORD)
        add_json_string(out, cell->value.word);
    else if (cell->kind == CELL_EMPTY || (cell->kind == CELL_REAL && isinf(cell->value.real)))
        text_add(out, "null");
    else
        add_number(out, cell, -1);
}

static void compose_json(const struct table *table, struct text *out)
{
    text_add(out, "[");
    const struct cell *cell = table->cells;
    for (size_t r = 0; r < table->row_count; r++) {
        text_add(out, r > 0 ? ",\n{" : "\n{");
        for (size_t c = 0; c < table->column_count; c++, cell++) {
            text_add(out, c > 0 ? ", " : "");
            add_json_string(out, table->columns[c].name);
            text_add(out, ": ");
            add_json_value(out, cell);
        }
        text_add(out, "}");
    }
    text_add(out, "\n]\n");
}

static size_t code_points(const char *bytes)
{
    size_t count = 0;
    for (; *bytes != '\0'; bytes++)
        count += (*bytes & 0xc0) != 0x80;
    return count;
}

/* The cell as people see it; row 0 is the headings.  Replaces out. */
static void show_cell(const struct table *table, size_t row, size_t column, bool markdown,
                      struct text *out)
{
    text_clear(out);
    if (row == 0) {
        add_shown(out, heading_of(&table->columns[column]), markdown);
        return;
    }
    const struct cell *cell = &table->cells[(row - 1) * table->column_count + column];
    if (cell->kind == CELL_WORD)
        add_shown(out, cell->value.word, markdown);
    else
        add_number(out, cell, table->columns[column].decimals);
}

static size_t *column_widths(const struct table *table, bool markdown)
{
    size_t *widths = mem_new(table->column_count, sizeof *widths);
    struct text shown = TEXT_INIT;
    for (size_t c = 0; c < table->column_count; c++) {
        widths[c] = markdown ? 3 : 0; /* the shortest rule that every Markdown reader takes */
        for (size_t r = 0; r <= table->row_count; r++) {
            show_cell(table, r, c, markdown, &shown);
            size_t width = code_points(shown.bytes);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    text_free(&shown);
    return widths;
}

static void add_rule(const struct table *table, const size_t *widths, struct text *out)
{
    for (size_t c = 0; c < table->column_count; c++) {
        text_add(out, c > 0 ? " | " : "| ");
        for (size_t i = 1; i < widths[c]; i++)
            text_add(out, "-");
        text_add(out, table->columns[c].kind == TABLE_WORD ? "-" : ":");
    }
    text_add(out, " |\n");
}

static void compose_shown(const struct table *table, bool markdown, struct text *out)
{
    size_t *widths = column_widths(table, markdown);
    struct text shown = TEXT_INIT;
    for (size_t r = 0; r <= table->row_count; r++) {
        for (size_t c = 0; c < table->column_count; c++) {
            show_cell(table, r, c, markdown, &shown);
            int blanks = (int)(widths[c] - code_points(shown.bytes));
            bool right = table->columns[c].kind != TABLE_WORD;
            text_add(out, !markdown ? (c > 0 ? "  " : "") : (c > 0 ? " | " : "| "));
            text_addf(out, "%*s%s%*s", right ? blanks : 0, "", shown.bytes, right ? 0 : blanks, "");
        }
        while (!markdown && out->length > 0 && out->bytes[out->length - 1] == ' ')
            out->bytes[--out->length] = '\0';
        text_add(out, markdown ? " |\n" : "\n");
        if (markdown && r == 0)
            add_rule(table, widths, out);
    }
    text_free(&shown);
    free(widths);
}

int table_write(const struct table *table, enum table_format format, FILE *out)
{
    struct text composed = TEXT_INIT;
    if (format == TABLE_CSV)
        compose_csv(table, &composed);
    else if (format == TABLE_JSON)
        compose_json(table, &composed);
    else
        compose_shown(table, format == TABLE_MARKDOWN, &composed);
    errno = 0;
    bool good = fwrite(composed.bytes, 1, composed.length, out) == composed.length;
    good = fflush(out) == 0 && good && !ferror(out);
    int error = errno != 0 ? errno : EIO;
    text_free(&composed);
    return good ? FAIL_OK : fail_set(FAIL_DATA, "cannot write the table: %s", strerror(error));
}
