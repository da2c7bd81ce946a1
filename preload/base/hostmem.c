/* SPDX-License-Identifier: Apache-2.0 */
/* No stdio: the library asks, too, from inside the program's first CUDA call. */
#include "preload/base/hostmem.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "preload/base/fmt.h"
#include "preload/base/rank.h"

/* The beginning of a file as text. */
static bool slurp(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, room - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return true;
}

/* The number after LABEL in TEXT. */
static bool number_after(const char *text, const char *label, uint64_t *value)
{
    const char *at = strstr(text, label);
    if (at == NULL)
        return false;
    at += strlen(label);
    while (*at == ' ' || *at == '\t')
        at++;
    if (*at < '0' || *at > '9')
        return false;
    for (*value = 0; *at >= '0' && *at <= '9'; at++)
        *value = *value * 10 + (uint64_t)(*at - '0');
    return true;
}

/* What is left in the group FOLDER; UINT64_MAX when it has no limit. Pages of files count as used
 * there, though they give way: they are added back. */
static uint64_t left_in(const char *folder, const char *most, const char *used, const char *files)
{
    char path[PATH_MAX], text[4096];
    uint64_t limit, current, cache = 0;
    spill_fmt(path, sizeof(path), "%s/%s", folder, most);
    if (!slurp(path, text, sizeof(text)) || !number_after(text, "", &limit))
        return UINT64_MAX;
    spill_fmt(path, sizeof(path), "%s/%s", folder, used);
    if (!slurp(path, text, sizeof(text)) || !number_after(text, "", &current))
        return UINT64_MAX;
    spill_fmt(path, sizeof(path), "%s/memory.stat", folder);
    if (slurp(path, text, sizeof(text)))
        (void)number_after(text, files, &cache);
    current -= cache < current ? cache : current;
    return limit > current ? limit - current : 0;
}

/* This group and all those around it: each has its own limit. In a container the path may be one
 * outside it; the root of what is seen is then the group itself, and is looked at in any case. */
static uint64_t left_along(const char *root, const char *path, const char *most, const char *used,
                           const char *files)
{
    char folder[PATH_MAX];
    size_t base = spill_fmt(folder, sizeof(folder), "%s", root);
    (void)spill_fmt(folder + base, sizeof(folder) - base, "%s", path);
    uint64_t least = UINT64_MAX;
    for (;;) {
        uint64_t left = left_in(folder, most, used, files);
        least = left < least ? left : least;
        char *slash = strrchr(folder + base, '/');
        if (slash == NULL)
            return least;
        *slash = '\0';
    }
}

uint64_t spill_hostmem_group(void)
{
    char text[4096];
    uint64_t least = UINT64_MAX;
    if (!slurp("/proc/self/cgroup", text, sizeof(text)))
        return least;
    for (char *line = text, *next; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path++ = '\0';
        uint64_t left = UINT64_MAX;
        if (strcmp(controllers, ":") == 0)
            left = left_along("/sys/fs/cgroup", path, "memory.max", "memory.current",
                              "\ninactive_file");
        else if (strstr(controllers, "memory") != NULL)
            left = left_along("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes",
                              "memory.usage_in_bytes", "\ntotal_inactive_file");
        least = left < least ? left : least;
    }
    return least;
}

uint64_t spill_hostmem_available(void)
{
    char text[2048];
    uint64_t kib;
    if (!slurp("/proc/meminfo", text, sizeof(text)) || !number_after(text, "MemAvailable:", &kib))
        return 0;
    uint64_t group = spill_hostmem_group();
    return kib * 1024 < group ? kib * 1024 : group;
}

uint64_t spill_hostmem_default(void)
{
    return spill_hostmem_available() / 4 * 3 / spill_rank_local();
}
