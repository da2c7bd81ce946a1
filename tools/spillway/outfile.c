/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/base/log.h"
#include "preload/base/outname.h"

static bool refuse(struct spill_outfile *file, const char *why)
{
    spill_log(SPILL_LOG_ERROR, "cannot write %s: %s", file->path, why);
    free(file->temporary);
    file->temporary = NULL;
    return false;
}

bool spill_outfile_open(struct spill_outfile *file, const char *name, bool force)
{
    struct stat st;
    char *path = file->path;
    *file = (struct spill_outfile){stdout, "standard output", NULL};
    if (name == NULL || strcmp(name, "-") == 0)
        return true;
    if (!spill_outname_expand(name, (int)getpid(), path, sizeof(file->path)))
        return refuse(file, strerror(ENAMETOOLONG));
    bool there = stat(path, &st) == 0;
    if (there && S_ISDIR(st.st_mode))
        return refuse(file, "it is a folder");
    if (there && !S_ISREG(st.st_mode)) { /* renaming would put a file in a device's place */
        file->out = fopen(path, "we");
        return file->out != NULL || refuse(file, strerror(errno));
    }
    if (there && !force) {
        spill_log(SPILL_LOG_ERROR, "%s exists: choose another name, or -f to overwrite it", path);
        return false;
    }
    size_t len = strlen(path) + sizeof(".tmp");
    file->temporary = malloc(len);
    if (file->temporary == NULL)
        return refuse(file, "out of memory");
    snprintf(file->temporary, len, "%s.tmp", path);
    int fd = open(file->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    file->out = fd < 0 ? NULL : fdopen(fd, "w");
    if (file->out != NULL)
        return true;
    int saved = errno;
    if (fd >= 0)
        close(fd);
    return refuse(file, strerror(saved));
}

bool spill_outfile_close(struct spill_outfile *file, bool written)
{
    int saved = errno;
    if (written && fflush(file->out) != 0) {
        written = false;
        saved = errno;
    }
    if (file->out != stdout && fclose(file->out) != 0 && written) {
        written = false;
        saved = errno;
    }
    if (written && file->temporary != NULL && rename(file->temporary, file->path) != 0) {
        written = false;
        saved = errno;
    }
    if (!written && file->temporary != NULL)
        (void)unlink(file->temporary);
    if (!written)
        return refuse(file, saved != 0 ? strerror(saved) : "not complete");
    free(file->temporary);
    file->temporary = NULL;
    return true;
}

void spill_outfile_discard(struct spill_outfile *file)
{
    if (file->out != stdout)
        fclose(file->out);
    if (file->temporary != NULL)
        (void)unlink(file->temporary);
    free(file->temporary);
    file->temporary = NULL;
}
