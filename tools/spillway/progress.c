/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static bool shown(const struct spill_progress *progress)
{
    return isatty(STDERR_FILENO) && time(NULL) - progress->since >= 1;
}

struct spill_progress spill_progress_begin(const char *what, uint32_t of)
{
    return (struct spill_progress){what, time(NULL), 0, of};
}

void spill_progress_step(struct spill_progress *progress)
{
    progress->done++;
    if (shown(progress))
        fprintf(stderr, "\rspillway: %u of %u %s ", progress->done, progress->of, progress->what);
}

void spill_progress_end(struct spill_progress *progress)
{
    if (shown(progress))
        fputs("\r\033[K", stderr);
}
