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
            n = snprintf(pattern, SPILL_TRACENAME_MAX, "%s/spillway.%s.%%p.trace", here,
                         slash != NULL ? slash + 1 : program);
    }
    if (n > 0 && n < PATH_MAX)
        return true;
    spill_log(SPILL_LOG_ERROR, "the trace's name is too long");
    return false;
}

bool spill_tracename_check(const char *pattern, bool force)
{
    char folder[SPILL_TRACENAME_MAX];
    snprintf(folder, sizeof(folder), "%s", pattern);
    *strrchr(folder, '/') = '\0';
    if (access(folder[0] != '\0' ? folder : "/", W_OK | X_OK) != 0) {
        spill_log(SPILL_LOG_ERROR, "cannot write %s: %s", pattern, strerror(errno));
        return false;
    }
    if (strstr(pattern, "%p") != NULL || access(pattern, F_OK) != 0)
        return true;
    struct stat st;
    if (stat(pattern, &st) == 0 && S_ISDIR(st.st_mode)) {
        spill_log(SPILL_LOG_ERROR, "cannot write %s: it is a folder", pattern);
        return false;
    }
    if (!force)
        spill_log(SPILL_LOG_ERROR, "%s exists: choose another name, or -f to overwrite it",
                  pattern);
    return force;
}

void spill_tracename_expand(const char *pattern, pid_t pid, char path[SPILL_TRACENAME_MAX])
{
    size_t used = 0;
    while (*pattern != '\0' && used + 16 < SPILL_TRACENAME_MAX) {
        if (pattern[0] == '%' && pattern[1] == 'p') {
            used += (size_t)snprintf(path + used, 16, "%d", (int)pid);
            pattern += 2;
        } else {
            path[used++] = *pattern++;
        }
    }
    path[used] = '\0';
}

static bool is_fresh(const char *path, const struct timespec *since)
{
    struct stat st;
    return stat(path, &st) == 0 &&
           (st.st_mtim.tv_sec > since->tv_sec ||
            (st.st_mtim.tv_sec == since->tv_sec && st.st_mtim.tv_nsec >= since->tv_nsec));
}

bool spill_tracename_find(const char *pattern, pid_t pid, const struct timespec *since,
                          char path[SPILL_TRACENAME_MAX])
{
    spill_tracename_expand(pattern, pid, path);
    if (is_fresh(path, since))
        return true;
    const char *mark = strstr(pattern, "%p");
    if (mark == NULL || strchr(mark, '/') != NULL)
        return false;
    /* Any number in place of the first %p; the folder is read rather than numbers tried. */
    char folder[SPILL_TRACENAME_MAX];
    snprintf(folder, sizeof(folder), "%.*s", (int)(mark - pattern), pattern);
    char *slash = strrchr(folder, '/');
    size_t lead = strlen(slash + 1);
    char start[NAME_MAX + 1];
    if (lead > NAME_MAX)
        return false;
    memcpy(start, slash + 1, lead + 1);
    slash[1] = '\0';
    DIR *dir = opendir(folder);
    bool found = false;
    for (struct dirent *entry; dir != NULL && !found && (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, start, lead) != 0)
            continue;
        long number = strtol(entry->d_name + lead, NULL, 10);
        if (number <= 0)
            continue;
        spill_tracename_expand(pattern, (pid_t)number, path);
        const char *last = strrchr(path, '/');
        found = strcmp(last + 1, entry->d_name) == 0 && is_fresh(path, since);
    }
    if (dir != NULL)
        closedir(dir);
    return found;
}
