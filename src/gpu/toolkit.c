#include "gpu/toolkit.h"

#include <glob.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/text.h"

static int search_in(const char *folder, const char *const *places, const char *const *names,
                     toolkit_open *open)
{
    struct text path = TEXT_INIT;
    int code = FAIL_NOTHING;

    for (; code == FAIL_NOTHING && *places; places++)
        for (const char *const *name = names; code == FAIL_NOTHING && *name; name++) {
            text_clear(&path);
            text_addf(&path, "%s/%s/%s", folder, *places, *name);
            code = open(path.bytes);
        }
    text_free(&path);
    return code;
}

int toolkit_search(const char *const *places, const char *const *names, toolkit_open *open)
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH"};
    int code = FAIL_NOTHING;
    glob_t found;

    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && code == FAIL_NOTHING; i++) {
        const char *folder = getenv(variables[i]);

        if (folder && folder[0])
            code = search_in(folder, places, names, open);
    }
    if (code == FAIL_NOTHING)
        code = search_in("/usr/local/cuda", places, names, open);
    if (code != FAIL_NOTHING || glob("/usr/local/cuda-*", 0, NULL, &found) != 0)
        return code;
    for (size_t i = found.gl_pathc; i > 0 && code == FAIL_NOTHING; i--) /* newest first */
        code = search_in(found.gl_pathv[i - 1], places, names, open);
    globfree(&found);
    return code;
}
