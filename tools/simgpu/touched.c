/* SPDX-License-Identifier: Apache-2.0 */
#include "touched.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RUNS_MAX ((size_t)1 << 18) /* of one operation */
#define OPEN     8 /* runs that may still grow: a kernel walks a few buffers at once */

static FILE *file;
static pid_t owner;
static struct run {
    uint64_t from, to;
    bool write;
} runs[RUNS_MAX];
static size_t count;
static bool full;

bool simgpu_touched_load(void)
{
    const char *path = getenv("SIMGPU_TOUCHED");
    if (path == NULL || *path == '\0')
        return false;
    file = fopen(path, "w");
    owner = getpid();
    if (file == NULL)
        simgpu_say("cannot write %s", path);
    return file != NULL;
}

void simgpu_touched_add(uint64_t address, uint64_t bytes, bool write)
{
    if (file == NULL)
        return;
    for (size_t i = count; i > 0 && i + OPEN > count; i--)
        if (runs[i - 1].to == address && runs[i - 1].write == write) {
            runs[i - 1].to += bytes;
            return;
        }
    full = full || count == RUNS_MAX;
    if (!full)
        runs[count++] = (struct run){address, address + bytes, write};
}

void simgpu_touched_end(const struct simgpu_op *op)
{
    if (file == NULL || getpid() != owner)
        return;
    fprintf(file, "%llu %s%s%s\n", (unsigned long long)op->id, op->type->name,
            op->launch_name != NULL ? " " : "", op->launch_name != NULL ? op->launch_name : "");
    for (size_t i = 0; i < count; i++)
        fprintf(file, "%c %#llx %llu\n", runs[i].write ? 'w' : 'r',
                (unsigned long long)runs[i].from, (unsigned long long)(runs[i].to - runs[i].from));
    if (full)
        fputs("more than could be kept\n", file);
    /* Now: a child of fork must not have it in its buffer. */
    fflush(file);
    count = 0;
    full = false;
}
