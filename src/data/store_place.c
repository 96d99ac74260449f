/*
 * A run file that is removed or replaced while it is written lives on without a name: SQLite would
 * go on writing to it, and all would be lost at the end.  So its place is looked at before each
 * transaction.
 */
#include "data/store_db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/text.h"

enum { SAVED_MOST = 100 }; /* names that are tried */

/* A new file beside path; its name in *name. */
static int open_saved(const char *path, struct text *name)
{
    int fd = -1;
    for (int i = 0; i < SAVED_MOST && fd < 0; i++) {
        text_clear(name);
        text_addf(name, "%s.saved", path);
        if (i > 0)
            text_addf(name, "%d", i + 1);
        fd = open(name->bytes, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/* No transaction is open, so the pages are all there is. */
static bool copy_bytes(int from, int to)
{
    char bytes[65536];
    off_t at = 0;
    ssize_t got;
    while ((got = pread(from, bytes, sizeof bytes, at)) > 0) {
        for (ssize_t done = 0; done < got;) {
            ssize_t put = write(to, bytes + done, (size_t)(got - done));
            if (put < 0)
                return false;
            done += put;
        }
        at += got;
    }
    return got == 0 && fsync(to) == 0;
}

static int save(const struct store *store, const char *what)
{
    struct text name = TEXT_INIT;
    int fd = open_saved(store->path, &name);
    bool saved = fd >= 0 && copy_bytes(store->lock, fd);
    int code;
    if (saved)
        code = fail_set(FAIL_DATA, "%s was %s while it was written; what it held is in %s",
                        store->path, what, name.bytes);
    else
        code = fail_set(FAIL_DATA,
                        "%s was %s while it was written; what it held is lost: cannot write %s: %s",
                        store->path, what, name.bytes, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !saved)
        unlink(name.bytes);
    text_free(&name);
    return code;
}

int store_check_place(struct store *store)
{
    struct stat held, named;
    bool there = stat(store->path, &named) == 0;
    if (fstat(store->lock, &held) != 0)
        return fail_set(FAIL_DATA, "cannot read %s: %s", store->path, strerror(errno));
    if (there && named.st_dev == held.st_dev && named.st_ino == held.st_ino)
        return FAIL_OK;
    if (held.st_nlink > 0)
        return fail_set(FAIL_DATA,
                        "%s was moved away while it was written; what was measured went with it",
                        store->path);
    return save(store, there ? "replaced" : "removed");
}

int store_explain(struct store *store, int result)
{
    int code = result == FAIL_OK ? FAIL_OK : store_check_place(store);
    return code == FAIL_OK ? result : code;
}
