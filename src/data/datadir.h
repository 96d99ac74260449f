/*
 * datadir: where devices/, workloads/ and plots/ are.
 *
 * The first that applies: the --datadir option, $SMSCOPE_DATADIR, ../share/smscope beside the
 * program, the program's parent folder when it holds workloads/.  No absolute path is compiled in.
 */
#ifndef DATA_DATADIR_H
#define DATA_DATADIR_H

#include "base/text.h"

/* Remembers --datadir (argv memory, not copied). */
void datadir_set(const char *folder);

/*
 * Path of a data file: kind is "devices", "workloads" or "plots", name "rtx-pro-6000", suffix
 * ".ini".  A name that holds '/' or ends in suffix is a path and is taken as it is.  FAIL_USAGE
 * when there is no such file, naming the folder and what it holds; FAIL_ENV when there is no data
 * folder at all, naming the ways to give one.
 */
int datadir_find(struct text *path, const char *kind, const char *name, const char *suffix);

/* Sorted names (without suffix) of the files of a kind; the caller frees names[i] and names. */
int datadir_list(const char *kind, const char *suffix, char ***names, size_t *count);

#endif
