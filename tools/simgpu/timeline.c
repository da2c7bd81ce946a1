/* SPDX-License-Identifier: Apache-2.0 */
/* One line an operation that took time, on the track of its engine; its stream, id and waiting time
 * are arguments. Tracks: processes are devices, threads are engines. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stream.h"
#include "timeline.h"

static FILE *file;
static pid_t owner;
static bool named[SIMGPU_MAX_DEVICES];

void simgpu_timeline_load(void)
{
    const char *path = getenv("SIMGPU_TIMELINE");
    if (path == NULL)
        return;
    file = fopen(path, "w");
    owner = getpid();
    if (file == NULL)
        simgpu_say("cannot write %s", path);
    else
        fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n{}", file);
}

static void name_tracks(int ordinal)
{
    static const char *const engines[] = {"copy host to device", "copy device to host", "compute"};
    named[ordinal] = true;
    fprintf(
        file,
        ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"device %d\"}}",
        ordinal, ordinal);
    for (int i = 0; i < SIMGPU_ENGINE_COUNT; i++)
        fprintf(file,
                ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{"
                "\"name\":\"%s\"}}",
                ordinal, i, engines[i]);
}

void simgpu_timeline_op(const struct simgpu_op *op)
{
    if (file == NULL || getpid() != owner || op->end_ns == op->start_ns ||
        op->engine == SIMGPU_ENGINE_NONE)
        return;
    if (!named[op->device->ordinal])
        name_tracks(op->device->ordinal);
    fprintf(file,
            ",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
            "\"args\":{\"stream\":%llu,\"op\":%llu,\"queued_us\":%.3f}}",
            op->launch_name != NULL ? op->launch_name : op->type->name, op->device->ordinal,
            (int)op->engine, (double)op->start_ns / 1e3, (double)(op->end_ns - op->start_ns) / 1e3,
            op->stream->id, (unsigned long long)op->id,
            (double)(op->start_ns - op->ready_ns) / 1e3);
}

__attribute__((destructor)) static void timeline_close(void)
{
    if (file == NULL || getpid() != owner)
        return;
    fputs("\n]}\n", file);
    fclose(file);
}
