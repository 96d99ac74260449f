#include "data/ini.h"

#include <ini.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/mem.h"

enum {
    LINE_MOST = 199, /* bytes; inih's buffer is one more */
    MASK = 1 /* stands for ';', which inih would take as the start of a comment in a value */
};

struct names {
    char **items;
    size_t count;
};

/* One ini_read() under way; inih calls next_line() and take_pair() in turn. */
struct reader {
    const char *name;
    const char *next, *end;
    int line;              /* number of the line handed out last */
    bool unanswered;       /* that line should be a pair and inih has not reported it yet */
    int code;              /* the first failure; nothing is read after it */
    struct names sections; /* the last one is the current one */
    struct names keys;     /* of the current section */
    ini_entry *entry;
    void *user;
};

static bool names_add(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return false;
    names->items = mem_resize(names->items, names->count + 1, sizeof *names->items);
    names->items[names->count++] = mem_strdup(name);
    return true;
}

static void names_free(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct names){0};
}

/* Puts file and line before the recorded message. */
static int at_line(const struct reader *reader, int code)
{
    return code == FAIL_OK ? code : fail_prefix("%s:%d", reader->name, reader->line);
}

static int take_section(struct reader *reader, char *line)
{
    char *close = strchr(line, ']');
    if (close == NULL || close == line + 1 || close[1 + strspn(close + 1, " \t")] != '\0')
        return fail_set(FAIL_USAGE, "'%s': a section line is [name] and nothing else", line);
    *close = '\0';
    if (!names_add(&reader->sections, line + 1))
        return fail_set(FAIL_USAGE, "section [%s] is there twice", line + 1);
    names_free(&reader->keys);
    return reader->entry(reader->user, line + 1, NULL, NULL, reader->line);
}

/* line is terminated and holds no control bytes but tabs. */
static int take_line(struct reader *reader, char *line)
{
    size_t blanks = strspn(line, " \t");
    if (line[blanks] == '\0' || line[blanks] == '#' || line[blanks] == ';')
        return FAIL_OK;
    if (blanks > 0)
        return fail_set(FAIL_USAGE,
                        "an indented line; sections and keys start in the first column");
    if (line[0] == '[')
        return take_section(reader, line);
    if (reader->sections.count == 0)
        return fail_set(FAIL_USAGE, "'%s' stands before the first [section]", line);
    reader->unanswered = true;
    return FAIL_OK;
}

static int check_bytes(const char *line, size_t length, size_t most)
{
    if (length > most)
        return fail_set(FAIL_USAGE, "a line of %zu bytes; %zu are the most", length, most);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)line[i];
        if ((byte < ' ' && byte != '\t') || byte == 127)
            return fail_set(FAIL_USAGE, "a control character, byte 0x%02x", byte);
    }
    return FAIL_OK;
}

/* ini_reader: hands inih one line, or NULL at the end or after a failure. */
static char *next_line(char *buffer, int room, void *stream)
{
    struct reader *reader = stream;
    if (reader->unanswered)
        reader->code = at_line(reader, fail_set(FAIL_USAGE, "neither [section] nor key = value"));
    if (reader->code != FAIL_OK || reader->next == reader->end)
        return NULL;

    const char *line = reader->next;
    size_t left = (size_t)(reader->end - line);
    const char *newline = memchr(line, '\n', left);
    size_t length = newline != NULL ? (size_t)(newline - line) : left;
    reader->next = newline != NULL ? newline + 1 : reader->end;
    reader->line++;
    if (length > 0 && line[length - 1] == '\r')
        length--;

    char copy[LINE_MOST + 1];
    size_t most = room <= LINE_MOST ? (size_t)room - 1 : LINE_MOST;
    reader->code = check_bytes(line, length, most);
    if (reader->code == FAIL_OK) {
        memcpy(copy, line, length);
        copy[length] = '\0';
        reader->code = take_line(reader, copy);
    }
    at_line(reader, reader->code);
    if (reader->code != FAIL_OK)
        return NULL;
    if (!reader->unanswered && line[0] != '[')
        length = 0; /* blank or a comment */
    for (size_t i = 0; i < length; i++)
        buffer[i] = (char)(line[i] == ';' ? MASK : line[i]);
    buffer[length] = '\0';
    return buffer;
}

static void unmask(char *out, const char *masked)
{
    do
        *out++ = (char)(*masked == MASK ? ';' : *masked);
    while (*masked++ != '\0');
}

/* ini_handler: 1 to go on, 0 on failure. */
static int take_pair(void *user, const char *section, const char *masked_key, const char *masked)
{
    (void)section; /* inih cuts it at 49 bytes; take_section() has the whole name */
    struct reader *reader = user;
    if (masked_key == NULL || masked == NULL)
        return 1; /* other builds of inih also report sections and keys without a value */
    reader->unanswered = false;
    char key[LINE_MOST + 1];
    char value[LINE_MOST + 1];
    unmask(key, masked_key);
    unmask(value, masked);
    const char *current = reader->sections.items[reader->sections.count - 1];
    if (key[0] == '\0')
        reader->code = fail_set(FAIL_USAGE, "a value without a key");
    else if (!names_add(&reader->keys, key))
        reader->code = fail_set(FAIL_USAGE, "key '%s' is there twice in [%s]", key, current);
    else
        reader->code = reader->entry(reader->user, current, key, value, reader->line);
    at_line(reader, reader->code);
    return reader->code == FAIL_OK;
}

int ini_read(const char *name, const char *text, size_t length, ini_entry *entry, void *user)
{
    static const char bom[] = "\xef\xbb\xbf";
    size_t skip = length >= 3 && memcmp(text, bom, 3) == 0 ? 3 : 0;
    struct reader reader = {
        .name = name, .next = text + skip, .end = text + length, .entry = entry, .user = user};
    int result = ini_parse_stream(next_line, &reader, take_pair, &reader);
    names_free(&reader.sections);
    names_free(&reader.keys);
    if (reader.code == FAIL_OK && (result != 0 || reader.next != reader.end))
        return fail_set(FAIL_ENV, "%s: the inih library stopped with %d", name, result);
    return reader.code;
}
