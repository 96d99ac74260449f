/*
 * ini: a strict reader for workload and device files on top of inih.
 *
 * inih cuts long lines and long section names, joins indented continuation lines, ignores what
 * follows [section] and hides empty sections; here lines over 199 bytes, indented lines, a key
 * before any section, an empty key, a repeated key, a repeated section, bytes after [section],
 * lines that are neither, and control bytes (NUL too; tabs are blanks) are FAIL_USAGE with
 * "file:line: ...".  A UTF-8 BOM and CRLF line ends are accepted, and "key: value" as inih has it.
 * A line whose first character besides blanks is '#' or ';' is a comment; '; ' or ' #' in a value
 * are part of the value, so that nothing is silently cut.  Names keep their case.
 */
#ifndef DATA_INI_H
#define DATA_INI_H

#include <stddef.h>

/*
 * Called for every "[section]" (key and value NULL) and every "key = value" in file order.
 * Returns FAIL_OK or what fail_set() returned; the reader puts "file:line: " before the message.
 */
typedef int ini_entry(void *user, const char *section, const char *key, const char *value,
                      int line);

/* text is the whole file, name what errors call it. */
int ini_read(const char *name, const char *text, size_t length, ini_entry *entry, void *user);

#endif
