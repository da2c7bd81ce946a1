/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/tracename.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/base/log.h"
#include "preload/base/outname.h"
#include "preload/base/rank.h"

bool spill_tracename_pattern(const char *output, const char *program,
                             char pattern[SPILL_TRACENAME_MAX])
{
    char here[PATH_MAX];
    const char *slash = strrchr(program, '/');
    int n;
    if (output != NULL && output[0] == '/') {
        n = snprintf(pattern, SPILL_TRACENAME_MAX, "%s", output);
    } else {
        if (getcwd(here, sizeof(here)) == NULL) {
            spill_log(SPILL_LOG_ERROR, "cannot tell the current folder: %s", strerror(errno));
            return false;
        }
        if (output != NULL)
            n = snprintf(pattern, SPILL_TRACENAME_MAX, "%s/%s", here, output);
        else
            n = snprintf(pattern, SPILL_TRACENAME_MAX, "%s/spillway.%s.%s%%p.trace", here,
                         slash != NULL ? slash + 1 : program, spill_rank_text() ? "%r." : "");
    }
    if (n > 0 && n < PATH_MAX)
        return true;
    spill_log(SPILL_LOG_ERROR, "the trace's name is too long");
    return false;
}

bool spill_tracename_check(const char *pattern, bool force)
{
    char folder[SPILL_TRACENAME_MAX];
    if (!spill_outname_expand_ranked(pattern, (int)getpid(), folder, sizeof(folder))) {
        spill_log(SPILL_LOG_ERROR, "the trace's name is too long");
        return false;
    }
    *strrchr(folder, '/') = '\0';
    if (access(folder[0] != '\0' ? folder : "/", W_OK | X_OK) != 0) {
        spill_log(SPILL_LOG_ERROR, "cannot write %s: %s", pattern, strerror(errno));
        return false;
    }
    char path[SPILL_TRACENAME_MAX];
    struct stat st;
    /* With no process of this number, what exists is named the same whatever the process. */
    if (!spill_outname_expand_ranked(pattern, 0, path, sizeof(path)) || stat(path, &st) != 0)
        return true;
    if (S_ISDIR(st.st_mode)) {
        spill_log(SPILL_LOG_ERROR, "cannot write %s: it is a folder", path);
        return false;
    }
    if (!force)
        spill_log(SPILL_LOG_ERROR, "%s exists: choose another name, or -f to overwrite it", path);
    return force;
}

static bool is_fresh(const char *path, const struct timespec *since)
{
    struct stat st;
    return stat(path, &st) == 0 &&
           (st.st_mtim.tv_sec > since->tv_sec ||
            (st.st_mtim.tv_sec == since->tv_sec && st.st_mtim.tv_nsec >= since->tv_nsec));
}

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Can NAME have come of PATTERN in some process? What a variable held there is anything. */
static bool matches(const char *pattern, const char *name)
{
    size_t len;
    for (; *pattern != '\0'; pattern += len) {
        enum spill_outname_kind kind = spill_outname_next(pattern, &len);
        size_t most = digits(name);
        switch (kind) {
        case SPILL_OUTNAME_LETTER:
            if (*name++ != *pattern)
                return false;
            break;
        case SPILL_OUTNAME_PROCESS:
        case SPILL_OUTNAME_RANK:
            if (most == 0 || (kind == SPILL_OUTNAME_PROCESS && *name == '0'))
                return false;
            name += most;
            break;
        case SPILL_OUTNAME_HOST:
        case SPILL_OUTNAME_VARIABLE:
            for (size_t n = strlen(name) + 1; n-- > 0;)
                if (matches(pattern + len, name + n))
                    return true;
            return false;
        }
    }
    return *name == '\0';
}

/* The same for one of several ranks whose pattern tells no two of them apart. */
static bool matches_ranked(const char *pattern, const char *name)
{
    const char *dot = strrchr(pattern, '.');
    size_t lead = dot == NULL || dot == pattern ? strlen(pattern) : (size_t)(dot - pattern);
    size_t most;
    return strncmp(pattern, name, lead) == 0 && name[lead] == '.' &&
           (most = digits(name + lead + 1)) > 0 &&
           strcmp(name + lead + 1 + most, pattern + lead) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

bool spill_tracename_find(const char *pattern, pid_t pid, const struct timespec *since,
                          struct spill_tracename_list *list)
{
    char folder[SPILL_TRACENAME_MAX], path[SPILL_TRACENAME_MAX];
    *list = (struct spill_tracename_list){NULL, 0};
    if (!spill_outname_expand_ranked(pattern, (int)pid, path, sizeof(path)))
        return false;
    const char *name = strrchr(pattern, '/') + 1, *own = strrchr(path, '/') + 1;
    snprintf(folder, sizeof(folder), "%.*s", (int)(own - path), path);
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, own) != 0 && !matches(name, entry->d_name) &&
            !matches_ranked(name, entry->d_name))
            continue;
        int n = snprintf(path, sizeof(path), "%s%s", folder, entry->d_name);
        char **more = n < (int)sizeof(path) && is_fresh(path, since)
                          ? realloc(list->paths, (list->count + 1) * sizeof(*list->paths))
                          : NULL;
        if (more == NULL)
            continue;
        list->paths = more;
        if ((list->paths[list->count] = strdup(path)) != NULL)
            list->count++;
    }
    if (dir != NULL)
        closedir(dir);
    if (list->count > 1)
        qsort(list->paths, list->count, sizeof(*list->paths), by_name);
    return list->count > 0;
}

void spill_tracename_free(struct spill_tracename_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
    *list = (struct spill_tracename_list){NULL, 0};
}
