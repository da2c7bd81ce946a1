/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "preload/base/fmt.h"

static enum spill_log_level log_level = SPILL_LOG_INFO;

void spill_log_set_level(enum spill_log_level most)
{
    log_level = most;
}

bool spill_log_enabled(enum spill_log_level level)
{
    return level <= log_level;
}

void spill_log(enum spill_log_level level, const char *format, ...)
{
    if (!spill_log_enabled(level))
        return;
    int saved = errno;
    char line[1024];
    size_t n = spill_fmt(line, sizeof(line), "spillway: ");
    va_list args;
    va_start(args, format);
    n += spill_vfmt(line + n, sizeof(line) - n - 1, format, args);
    va_end(args);
    line[n++] = '\n';
    for (size_t done = 0; done < n;) {
        ssize_t w = write(STDERR_FILENO, line + done, n - done);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            break;
        done += (size_t)w;
    }
    errno = saved;
}
