/* SPDX-License-Identifier: Apache-2.0 */
/* SIMGPU_REPORT=FILE: what happened, as JSON, at exit. SIMGPU_MARK=FUNCTION adds a line of running
 * totals at each call of that function, which tests use as step marks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core.h"
#include "op.h"
#include "races.h"

struct mark {
    uint64_t virtual_ns, memory_calls, bytes[2];
};

static char path[4096];
static pid_t owner;
bool simgpu_exiting;
static int mark_id = -1;
static struct mark *marks;
static size_t mark_count, mark_room;

void simgpu_report_load(void)
{
    owner = getpid();
    const char *text = getenv("SIMGPU_REPORT");
    const char *at = text != NULL ? strstr(text, "%p") : NULL;
    if (at != NULL)
        snprintf(path, sizeof path, "%.*s%d%s", (int)(at - text), text, (int)owner, at + 2);
    else if (text != NULL)
        snprintf(path, sizeof path, "%s", text);
    const char *mark = getenv("SIMGPU_MARK");
    for (int i = 0; mark != NULL && i < SIMGPU_API_COUNT; i++)
        if (strcmp(simgpu_api[i].name, mark) == 0)
            mark_id = i;
    if (mark != NULL && mark_id < 0)
        simgpu_say("SIMGPU_MARK=%s is not a served function (write the exported name)", mark);
}

void simgpu_report_mark(enum simgpu_api_id id)
{
    if ((int)id != mark_id)
        return;
    if (mark_count == mark_room) {
        size_t room = mark_room != 0 ? mark_room * 2 : 256;
        struct mark *grown = realloc(marks, room * sizeof *grown);
        if (grown == NULL)
            return;
        marks = grown;
        mark_room = room;
    }
    marks[mark_count++] = (struct mark){
        simgpu_host_ns, simgpu_stats.memory_calls, {simgpu_stats.bytes[0], simgpu_stats.bytes[1]}};
}

#define ULL(x) ((unsigned long long)(x))

static void write_report(FILE *f)
{
    const struct simgpu_stats *s = &simgpu_stats;
    fprintf(f, "{\n  \"seed\": %llu,\n  \"card\": \"%s\",\n  \"capacity\": %llu,\n",
            ULL(simgpu_config.seed), simgpu_config.card, ULL(simgpu_config.capacity));
    fprintf(f, "  \"peak_physical_bytes\": %llu,\n  \"peak_pinned_bytes\": %llu,\n",
            ULL(s->peak_physical_bytes), ULL(s->peak_pinned_bytes));
    fprintf(f, "  \"bytes_htod\": %llu,\n  \"bytes_dtoh\": %llu,\n  \"virtual_ns\": %llu,\n",
            ULL(s->bytes[0]), ULL(s->bytes[1]), ULL(simgpu_host_ns));
    fprintf(f,
            "  \"kernels\": %llu,\n  \"faults\": %llu,\n  \"races\": %llu,\n  \"stream_waits\": "
            "%llu,\n",
            ULL(s->kernels), ULL(s->faults), ULL(s->races), ULL(s->stream_waits));
    fprintf(f, "  \"calls_memory_management\": %llu,\n  \"calls\": {", ULL(s->memory_calls));
    const char *comma = "";
    for (int i = 0; i < SIMGPU_API_COUNT; i++) {
        if (s->calls[i] == 0)
            continue;
        fprintf(f, "%s\n    \"%s\": %llu", comma, simgpu_api[i].name, ULL(s->calls[i]));
        comma = ",";
    }
    fprintf(f, "\n  }");
    if (mark_id >= 0) {
        fprintf(f, ",\n  \"marks\": [");
        for (size_t i = 0; i < mark_count; i++)
            fprintf(f,
                    "%s\n    {\"virtual_ns\": %llu, \"memory_management_calls\": %llu, "
                    "\"bytes_htod\": %llu, \"bytes_dtoh\": %llu}",
                    i != 0 ? "," : "", ULL(marks[i].virtual_ns), ULL(marks[i].memory_calls),
                    ULL(marks[i].bytes[0]), ULL(marks[i].bytes[1]));
        fprintf(f, "\n  ]");
    }
    fprintf(f, "\n}\n");
}

__attribute__((destructor)) static void report_at_exit(void)
{
    if (owner == 0 || getpid() != owner)
        return;
    /* What never ran cannot show a race; a real device drops it. */
    simgpu_exiting = true;
    if (simgpu_races_on && simgpu_initialised)
        simgpu_op_drain(NULL);
    if (*path == '\0')
        return;
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        simgpu_say("cannot write %s", path);
        return;
    }
    write_report(f);
    fclose(f);
}
