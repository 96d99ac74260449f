#include "base/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_ROOM = 2048 };

static _Thread_local char message[MESSAGE_ROOM];
static _Thread_local int message_code;

/* An argument may be fail_text() itself, so the new text is composed aside and then copied. */
static void record(const char *composed)
{
    size_t length = strlen(composed);
    while (length > 0 && composed[length - 1] == '\n')
        length--;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)composed[i];
        message[i] = byte < ' ' || byte == 127 ? ' ' : composed[i];
    }
    message[length] = '\0';
}

int fail_set(enum fail_code code, const char *format, ...)
{
    char composed[MESSAGE_ROOM];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(composed, sizeof composed, format, arguments);
    va_end(arguments);
    record(composed);
    message_code = code;
    return code;
}

int fail_prefix(const char *format, ...)
{
    char prefix[MESSAGE_ROOM];
    char composed[2 * MESSAGE_ROOM + 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(prefix, sizeof prefix, format, arguments);
    va_end(arguments);
    snprintf(composed, sizeof composed, "%s: %s", prefix, message);
    composed[MESSAGE_ROOM - 1] = '\0';
    record(composed);
    return message_code;
}

const char *fail_text(void)
{
    return message;
}

int fail_exit_code(int code)
{
    switch (code) {
    case FAIL_OK:
        return 0;
    case FAIL_USAGE:
        return 2;
    case FAIL_ENV:
        return 3;
    case FAIL_WRONG:
        return 5;
    case FAIL_NOTHING:
    case FAIL_UNSUPPORTED:
        return 6;
    case FAIL_UNCLEAR:
        return 7;
    default: /* FAIL_DATA, FAIL_DEVICE */
        return 4;
    }
}
