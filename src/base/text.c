#include "base/text.h"

#include "base/fail.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char text_empty[] = "";

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* A host program or a library may have called setlocale(); this changes the calling thread only. */
static locale_t enter_c_locale(void)
{
    pthread_once(&c_locale_once, make_c_locale);
    return uselocale(c_locale);
}

static void reserve(struct text *text, size_t more)
{
    size_t needed = text->length + more + 1;
    if (needed <= text->room)
        return;
    size_t room = text->room < 32 ? 32 : text->room;
    while (room < needed)
        room += room / 2;
    text->bytes = mem_resize(text->room > 0 ? text->bytes : NULL, room, 1);
    text->room = room;
}

void text_add(struct text *text, const char *more)
{
    text_add_bytes(text, more, strlen(more));
}

void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
    if (length == 0)
        return;
    reserve(text, length);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void text_addf(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    locale_t outer = enter_c_locale();
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length > 0) {
        reserve(text, (size_t)length);
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    uselocale(outer);
    va_end(again);
    va_end(arguments);
}

void text_clear(struct text *text)
{
    text->length = 0;
    if (text->room > 0)
        text->bytes[0] = '\0';
}

void text_free(struct text *text)
{
    if (text->room > 0)
        free(text->bytes);
    *text = (struct text)TEXT_INIT;
}

char *text_take(struct text *text)
{
    char *bytes = text->room > 0 ? text->bytes : mem_strdup("");
    *text = (struct text)TEXT_INIT;
    return bytes;
}

int text_read_file(struct text *text, const char *path)
{
    text_clear(text);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_set(FAIL_DATA, "cannot read %s: %s", path, strerror(errno));
    char chunk[16384];
    ssize_t got;
    while ((got = read(fd, chunk, sizeof chunk)) != 0) {
        if (got > 0)
            text_add_bytes(text, chunk, (size_t)got);
        else if (errno != EINTR)
            break;
    }
    int error = errno;
    close(fd);
    if (got == 0)
        return FAIL_OK;
    text_clear(text);
    return fail_set(FAIL_DATA, "cannot read %s: %s", path, strerror(error));
}

/* Like the rest of this group: 0, or -1 with errno set. */
static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t put = write(fd, bytes, length);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        bytes += put;
        length -= (size_t)put;
    }
    return 0;
}

/* Writes, syncs if asked, and closes fd in any case. */
static int finish_file(int fd, const char *bytes, size_t length, bool sync)
{
    int result = write_all(fd, bytes, length);
    if (result == 0 && sync)
        result = fsync(fd);
    int error = errno;
    if (close(fd) != 0 && result == 0)
        return -1;
    errno = error;
    return result;
}

/* mkstemp() would leave the file at mode 0600 whatever the umask. */
static int open_beside(struct text *name, const char *path)
{
    int fd = -1;
    for (int try = 0; try < 100 && fd < 0; try++) {
        text_clear(name);
        text_addf(name, "%s.tmp-%ld-%d", path, (long)getpid(), try);
        fd = open(name->bytes, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

static int replace_file(const char *path, const char *bytes, size_t length)
{
    struct text name = TEXT_INIT;
    int result = -1;
    int fd = open_beside(&name, path);
    if (fd >= 0) {
        result = finish_file(fd, bytes, length, true);
        if (result == 0)
            result = rename(name.bytes, path);
        if (result != 0) {
            int error = errno;
            unlink(name.bytes);
            errno = error;
        }
    }
    int error = errno;
    text_free(&name);
    errno = error;
    return result;
}

int text_write_file(const char *path, const char *bytes, size_t length)
{
    struct stat status;
    int result;
    if (lstat(path, &status) != 0 || S_ISREG(status.st_mode)) {
        result = replace_file(path, bytes, length);
    } else {
        /* A device, pipe or link such as /dev/stdout is written to, never replaced. */
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        result = fd < 0 ? -1 : finish_file(fd, bytes, length, false);
    }
    if (result != 0)
        return fail_set(FAIL_DATA, "cannot write %s: %s", path, strerror(errno));
    return FAIL_OK;
}

void text_add_real(struct text *text, double value)
{
    if (!isnan(value))
        text_addf(text, "%.6g", value);
}

void text_add_fixed(struct text *text, double value, int decimals)
{
    if (!isnan(value))
        text_addf(text, "%.*f", decimals, value);
}

bool text_to_int(const char *bytes, int64_t *out)
{
    const char *digits = bytes + (*bytes == '+' || *bytes == '-');
    if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        return false;
    errno = 0;
    long long value = strtoll(bytes, NULL, 10);
    if (errno != 0)
        return false;
    *out = value;
    return true;
}

bool text_to_real(const char *bytes, double *out)
{
    /* These characters alone spell no blanks, nan, inf or hexadecimal. */
    if (*bytes == '\0' || bytes[strspn(bytes, "0123456789+-.eE")] != '\0')
        return false;
    char *end;
    locale_t outer = enter_c_locale();
    double value = strtod(bytes, &end);
    uselocale(outer);
    if (end == bytes || *end != '\0' || isinf(value))
        return false;
    *out = value;
    return true;
}

/* RFC 3629: nothing overlong, no surrogates. */
size_t text_utf8_length(const char *bytes)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (b[0] < 0x80)
        return 1;
    size_t length = b[0] < 0xc2 ? 0 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : b[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < length; i++)
        if ((b[i] & 0xc0) != 0x80)
            return 0;
    if ((b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] > 0x9f) ||
        (b[0] == 0xf0 && b[1] < 0x90) || (b[0] == 0xf4 && b[1] > 0x8f))
        return 0;
    return length;
}

void text_make_plain(struct text *text, char instead)
{
    for (char *c = text->bytes; *c;) {
        size_t length = text_utf8_length(c);

        if (length == 0 || (unsigned char)*c < ' ' || *c == '\x7f')
            *c = instead;
        c += length > 0 ? length : 1;
    }
}
