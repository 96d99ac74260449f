/*
 * axis: the dimensions of a sweep, their names, defaults and the ITEMS language.
 *
 *   ITEMS = ITEM[,ITEM...]
 *   ITEM  = value | START:END[:STEP]
 *   STEP  = N (add) or xN (multiply), default 1
 *
 * END is included only if the steps hit it (1:100:x2 ends at 64).  Integers take a suffix K or M
 * (x1024, x1024^2).  Repeated values are dropped, the order is kept.  No blanks; START and END must
 * be values of the axis; at most 100,000 values, repeats included.
 */
#ifndef DATA_AXIS_H
#define DATA_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum axis_id { /* the order of a point's key and of the point table's columns */
               AXIS_KERNEL,
               AXIS_VARIANT,
               AXIS_HEADS,
               AXIS_CONCURRENCY,
               AXIS_BATCH,
               AXIS_TOPK,
               AXIS_LENGTH,
               AXIS_EXTRA_TOPK,
               AXIS_EXTRA_LENGTH,
               AXIS_NSPLIT,
               AXIS_PAGE,
               AXIS_EXTRA_PAGE,
               AXIS_STRIDE,
               AXIS_SINK,
               AXIS_CACHE,
               AXIS_LAUNCH,
               AXIS_COUNT
};

enum { AXIS_WORD_ROOM = 40 };

/* One value: a word ("auto", "mixed", "splitk") when word[0] is set, else the number. */
struct axis_value {
    int64_t number;
    char word[AXIS_WORD_ROOM];
};

struct axis_info {
    const char *name;
    const char *unit;     /* "tokens", "requests", "" */
    const char *words;    /* accepted words separated by '|'; "*": any identifier; "": none */
    int64_t least, most;  /* accepted numbers; least > most: none */
    const char *fallback; /* the value when neither workload nor -a names the axis */
    const char *help;
};

struct axis_list {
    struct axis_value *values;
    size_t count;
};

const struct axis_info *axis_info(enum axis_id id);
/* The axis of that name, or AXIS_COUNT. */
enum axis_id axis_by_name(const char *name);

/* Parses ITEMS into *list (previous contents freed).  FAIL_USAGE names axis,
 * item and what would be accepted. */
int axis_parse(enum axis_id id, const char *items, struct axis_list *list);
void axis_free(struct axis_list *list);

bool axis_is_word(const struct axis_value *value, const char *word); /* word NULL: is it any word */
bool axis_equal(const struct axis_value *a, const struct axis_value *b);
bool axis_is_default(enum axis_id id, const struct axis_value *value);
void axis_add_text(struct text *text, const struct axis_value *value);

/* Splits "NAME=ITEMS" of -a.  FAIL_USAGE when there is no '=' or no such axis. */
int axis_split(const char *option, enum axis_id *id, const char **items);

#endif
