/*
 * figure: draws figures from the rows of a run file through gnuplot.
 *
 * C writes data (a TSV with a header), plots/NAME.gp draws it, never through a shell:
 *
 *   gnuplot -c plots/NAME.gp DATA.tsv OUT TERMINAL TITLE MARK SM_COUNT
 *
 * TERMINAL is svg or pngcairo; MARK is "MODEL", drawn as a watermark, or "".
 *
 * The data have the columns panel, line, kernel, concurrency, batch, group, then those of the
 * figure, named as in the CSV; NaN stands for a missing number.  A panel is a topk and the other
 * axes in which the points differ ("topk=512,heads=16"), a line a kernel and the nsplit or variant
 * asked for; names hold no blanks.  Panels beyond the first FIGURE_PANELS are left out, with a
 * warning.  group counts the distinct values of the x axis from 0.
 * Each line has one point an x: for throughput, the smallest batch that holds the concurrency, the
 * largest there is if none does; for figures against batch, the point whose concurrency is the
 * batch, else one of a single call, else of the smallest concurrency.
 */
#ifndef REPORT_FIGURE_H
#define REPORT_FIGURE_H

#include <stddef.h>

#include "analysis/row.h"
#include "base/text.h"
#include "data/axis.h"

struct figure_column {
    const char *name;
    size_t offset; /* of a double in struct row; missing when it is NaN */
};

enum { FIGURE_COLUMNS = 3, FIGURE_PANELS = 24 };

struct figure {
    const char *name;    /* "throughput": plots/throughput.gp, throughput.svg, throughput.png */
    const char *summary; /* the start of the title */
    enum axis_id x;      /* AXIS_CONCURRENCY or AXIS_BATCH */
    struct figure_column columns[FIGURE_COLUMNS];
    size_t needed; /* a point is drawn if it has any of the first `needed` columns */
};

extern const struct figure figure_list[];
extern const size_t figure_count;

/* Writes the data of a figure in place of what tsv held; returns the number of its points, of
 * which *modelled hold modelled numbers. */
size_t figure_data(const struct figure *figure, const struct row *rows, size_t count,
                   struct text *tsv, size_t *modelled);

/*
 * Draws every figure (or those named) into folder, which is made if missing: SVG, and PNG where
 * gnuplot can.  FAIL_USAGE: no such figure.  FAIL_ENV: gnuplot missing, failing or writing an empty
 * file, with its message.  FAIL_DATA: folder cannot be written.  *drawn counts figures; those
 * without data are left out with a line on stderr.
 */
int figure_draw(const struct store_file *file, const char *const *names, size_t name_count,
                const char *folder, size_t *drawn);

#endif
