/*
 * text: a growable string, and the few conversions that must not depend on the locale.
 *
 * struct text owns its bytes; TEXT_INIT starts empty; text_free() returns to that state.
 * `bytes` is always terminated, and "" while empty, so it can be printed at any time.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *bytes;
    size_t length;
    size_t room; /* 0: bytes is the shared empty string */
};

extern char text_empty[];
#define TEXT_INIT                                   \
    {                                               \
        .bytes = text_empty, .length = 0, .room = 0 \
    }

void text_add(struct text *text, const char *more);
void text_add_bytes(struct text *text, const char *bytes, size_t length);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_clear(struct text *text); /* keeps the memory */
void text_free(struct text *text);
/* Hands the bytes to the caller (free() them) and empties text. */
char *text_take(struct text *text);

/* Reads a whole file in place of what text held.  FAIL_DATA names the file and errno's text. */
int text_read_file(struct text *text, const char *path);
/*
 * Writes bytes to path by way of a temporary file in the same folder and rename(): never a half
 * file.  A device, pipe or symbolic link (/dev/stdout) is written to in place.  FAIL_DATA.
 */
int text_write_file(const char *path, const char *bytes, size_t length);

/* Appends value as %.6g with a decimal point whatever the locale; nothing for
 * NaN; inf and -inf as "inf", "-inf". */
void text_add_real(struct text *text, double value);
/* Appends value with a fixed number of decimals; nothing for NaN. */
void text_add_fixed(struct text *text, double value, int decimals);

/* Whole-string conversions, base 10, no leading or trailing blanks; false leaves *out alone.
 * A real has a decimal point whatever the locale, and is no nan, inf or hexadecimal. */
bool text_to_int(const char *bytes, int64_t *out);
bool text_to_real(const char *bytes, double *out);

/* Bytes of the UTF-8 character at bytes, which are terminated; 0 if there is none. */
size_t text_utf8_length(const char *bytes);
/* Puts `instead` in the place of every control character and every byte that is no UTF-8. */
void text_make_plain(struct text *text, char instead);

#endif
