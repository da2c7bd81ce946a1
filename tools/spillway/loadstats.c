/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/loadstats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/base/log.h"
#include "tools/spillway/jsoncheck.h"

enum { MOST = 1 << 20 }; /* real ones have some KiB */

static const char *read_whole(const char *path, char *text)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return strerror(errno);
    size_t len = fread(text, 1, MOST, file);
    const char *problem = ferror(file) ? strerror(errno) : NULL;
    fclose(file);
    text[len] = '\0';
    if (problem != NULL)
        return problem;
    if (len == MOST || strlen(text) != len || *text != '{' || !spill_jsoncheck(text) ||
        strstr(text, "\"spillway-stats\"") == NULL)
        return "not a statistics file: SPILLWAY_STATS=FILE of a run writes one";
    return NULL;
}

char *spill_loadstats(const char *path)
{
    char *text = malloc(MOST + 1);
    const char *problem = text == NULL ? "out of memory" : read_whole(path, text);
    if (problem == NULL)
        return text;
    spill_log(SPILL_LOG_ERROR, "cannot read %s: %s", path, problem);
    free(text);
    return NULL;
}
