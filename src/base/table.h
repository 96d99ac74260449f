/*
 * table: one description of columns, four ways to write the rows.
 *
 * A table borrows its column descriptions and owns its cells.  Cells start empty; an empty cell is
 * an empty field (CSV, text, Markdown) or null (JSON).  NaN set as a number is an empty cell.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum table_kind { TABLE_WORD, TABLE_INT, TABLE_REAL };

struct table_column {
    const char *name;    /* header in CSV and key in JSON, e.g. "step_us" */
    const char *heading; /* header for people, with its unit; NULL: name */
    enum table_kind kind;
    /* Of a REAL in TEXT and MARKDOWN: digits after the point; -1: %.6g, as in CSV and JSON. */
    int decimals;
};

enum table_format { TABLE_TEXT, TABLE_CSV, TABLE_JSON, TABLE_MARKDOWN };

struct table;

struct table *table_new(const struct table_column *columns, size_t count);
void table_free(struct table *table);

/* Starts a new row of empty cells; the setters below write to the newest row. */
void table_row(struct table *table);
/* value is copied; NULL leaves the cell empty. */
void table_word(struct table *table, size_t column, const char *value);
void table_int(struct table *table, size_t column, int64_t value);
void table_real(struct table *table, size_t column, double value);

/*
 * Writes header and rows.  TEXT: aligned, numbers to the right, control characters shown as '?'.
 * CSV: RFC 4180 quoting, LF, decimal point.  JSON: array of objects, strict (no NaN or inf; UTF-8
 * passed on, invalid bytes as U+FFFD).  MARKDOWN: pipes and line breaks escaped.  FAIL_DATA when
 * the stream reports an error (a full disk), after a flush.
 */
int table_write(const struct table *table, enum table_format format, FILE *out);

#endif
