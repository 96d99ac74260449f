#include "data/datadir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/mem.h"

static const char *option; /* --datadir */

void datadir_set(const char *folder)
{
    option = folder;
}

static bool holds_workloads(const char *folder)
{
    struct text path = TEXT_INIT;
    struct stat status;
    text_addf(&path, "%s/workloads", folder);
    bool holds = stat(path.bytes, &status) == 0 && S_ISDIR(status.st_mode);
    text_free(&path);
    return holds;
}

/* The folder above the one that the program is in. */
static bool find_program_parent(struct text *folder)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return false;
    path[length] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return false;
        *slash = '\0';
    }
    text_add(folder, path);
    return true;
}

static int find_root(struct text *root)
{
    const char *environment = getenv("SMSCOPE_DATADIR");
    if (option != NULL || (environment != NULL && *environment != '\0')) {
        text_add(root, option != NULL ? option : environment);
        return FAIL_OK;
    }
    struct text parent = TEXT_INIT;
    bool found = find_program_parent(&parent);
    if (found) {
        text_addf(root, "%s/share/smscope", parent.bytes);
        if (!holds_workloads(root->bytes)) {
            text_clear(root);
            text_add(root, parent.bytes);
            found = holds_workloads(root->bytes);
        }
    }
    text_free(&parent);
    if (found)
        return FAIL_OK;
    return fail_set(FAIL_ENV, "no data folder (with devices/, workloads/ and plots/) beside the "
                              "program; name it with --datadir DIR or SMSCOPE_DATADIR");
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t length = strlen(name);
    size_t tail = strlen(suffix);
    return length >= tail && strcmp(name + length - tail, suffix) == 0;
}

static int refuse_name(const char *root, const char *kind, const char *name, const char *suffix)
{
    struct text known = TEXT_INIT;
    char **names = NULL;
    size_t count = 0;
    int code = datadir_list(kind, suffix, &names, &count);
    for (size_t i = 0; i < count; i++) {
        text_addf(&known, "%s%s", i > 0 ? ", " : "", names[i]);
        free(names[i]);
    }
    free(names);
    if (code == FAIL_OK)
        code = fail_set(FAIL_USAGE, "there is no '%s%s' in %s/%s; it holds %s", name, suffix, root,
                        kind, count > 0 ? known.bytes : "none");
    text_free(&known);
    return code;
}

int datadir_find(struct text *path, const char *kind, const char *name, const char *suffix)
{
    text_clear(path);
    if (strchr(name, '/') != NULL || ends_in(name, suffix)) {
        text_add(path, name);
        if (access(path->bytes, F_OK) != 0)
            return fail_set(FAIL_USAGE, "cannot find %s: %s", name, strerror(errno));
        return FAIL_OK;
    }
    struct text root = TEXT_INIT;
    int code = find_root(&root);
    if (code == FAIL_OK) {
        text_addf(path, "%s/%s/%s%s", root.bytes, kind, name, suffix);
        if (access(path->bytes, F_OK) != 0)
            code = refuse_name(root.bytes, kind, name, suffix);
    }
    text_free(&root);
    return code;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_names(DIR *folder, const char *suffix, char ***names, size_t *count)
{
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.' || !ends_in(entry->d_name, suffix))
            continue;
        *names = mem_resize(*names, *count + 1, sizeof **names);
        char *name = mem_strdup(entry->d_name);
        name[strlen(name) - strlen(suffix)] = '\0';
        (*names)[(*count)++] = name;
    }
    qsort(*names, *count, sizeof **names, compare_names);
}

int datadir_list(const char *kind, const char *suffix, char ***names, size_t *count)
{
    *names = mem_new(0, sizeof **names);
    *count = 0;
    struct text path = TEXT_INIT;
    int code = find_root(&path);
    if (code == FAIL_OK) {
        text_addf(&path, "/%s", kind);
        DIR *folder = opendir(path.bytes);
        if (folder == NULL) {
            code = fail_set(FAIL_USAGE, "cannot read folder %s: %s", path.bytes, strerror(errno));
        } else {
            read_names(folder, suffix, names, count);
            closedir(folder);
        }
    }
    text_free(&path);
    if (code != FAIL_OK) {
        free(*names);
        *names = NULL;
    }
    return code;
}
