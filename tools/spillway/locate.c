/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/locate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/base/log.h"

const char spill_locate_library_name[] = "libspillway.so";

int spill_locate_program(const char *name, char path[PATH_MAX])
{
    struct stat st;
    int worst = ENOENT;
    const char *dirs = strchr(name, '/') != NULL ? "" : getenv("PATH");
    if (*name == '\0')
        return ENOENT;
    if (dirs == NULL)
        dirs = "/bin:/usr/bin";
    for (;;) {
        size_t len = strcspn(dirs, ":");
        const char *slash = strchr(name, '/') != NULL ? "" : len > 0 ? "/" : "./";
        int n = snprintf(path, PATH_MAX, "%.*s%s%s", (int)len, dirs, slash, name);
        if (n > 0 && n < PATH_MAX && stat(path, &st) == 0) {
            if (S_ISREG(st.st_mode) && access(path, X_OK) == 0)
                return 0;
            worst = S_ISDIR(st.st_mode) ? EISDIR : EACCES;
        }
        if (dirs[len] == '\0')
            return worst;
        dirs += len + 1;
    }
}

bool spill_locate_library(char dir[PATH_MAX])
{
    static const char *const places[] = {"", "/../lib/spillway"};
    char self[PATH_MAX], place[PATH_MAX + 32], file[PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n <= 0) {
        spill_log(SPILL_LOG_ERROR, "cannot tell where this executable lies: %s", strerror(errno));
        return false;
    }
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(place, sizeof(place), "%s%s", self, places[i]);
        if (realpath(place, dir) == NULL)
            continue;
        snprintf(file, sizeof(file), "%s/%s", dir, spill_locate_library_name);
        if (access(file, R_OK) == 0)
            return true;
    }
    spill_log(SPILL_LOG_ERROR,
              "%s is neither in %s nor in %s/../lib/spillway: build or install spillway again",
              spill_locate_library_name, self, self);
    return false;
}
