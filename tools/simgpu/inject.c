/* SPDX-License-Identifier: Apache-2.0 */
/* Faults on request: SIMGPU_FAIL="name:n[=CODE],name:*" and SIMGPU_DROP_WAIT=N. */
#include <stdlib.h>
#include <string.h>

#include "core.h"

#define MAX_RULES 64

static struct {
    enum simgpu_api_id id;
    uint64_t nth; /* 0: every call */
    CUresult code;
} rules[MAX_RULES];
static size_t rule_count;
static uint64_t dropped_wait;
static uint64_t shrink_from, shrink_bytes = UINT64_MAX;

static CUresult parse_code(const char *text)
{
    char *end;
    long number = strtol(text, &end, 0);
    if (end != text && *end == '\0')
        return (CUresult)number;
    for (int e = 0; e < 1000; e++) {
        const char *name = simgpu_error_name((CUresult)e);
        if (name != NULL && (strcmp(name, text) == 0 || (strncmp(name, "CUDA_ERROR_", 11) == 0 &&
                                                         strcmp(name + 11, text) == 0)))
            return (CUresult)e;
    }
    simgpu_say("SIMGPU_FAIL: unknown error %s; using OUT_OF_MEMORY", text);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void add_rule(char *text)
{
    char *colon = strchr(text, ':'), *equals = strchr(text, '=');
    if (equals != NULL)
        *equals++ = '\0';
    if (colon != NULL)
        *colon++ = '\0';
    for (int i = 0; i < SIMGPU_API_COUNT; i++) {
        if (strcmp(simgpu_api[i].name, text) != 0)
            continue;
        rules[rule_count].id = (enum simgpu_api_id)i;
        rules[rule_count].nth = colon == NULL ? 1 : *colon == '*' ? 0 : strtoull(colon, NULL, 10);
        rules[rule_count].code = equals != NULL ? parse_code(equals) : CUDA_ERROR_OUT_OF_MEMORY;
        rule_count++;
        return;
    }
    simgpu_say("SIMGPU_FAIL: %s is not a served function (write the exported name)", text);
}

void simgpu_inject_load(void)
{
    const char *text = getenv("SIMGPU_FAIL"), *wait = getenv("SIMGPU_DROP_WAIT");
    dropped_wait = wait != NULL ? strtoull(wait, NULL, 10) : 0;
    const char *shrink = getenv("SIMGPU_SHRINK"),
               *size = shrink != NULL ? strchr(shrink, ':') : NULL;
    if (size != NULL && simgpu_config_size(size + 1, &shrink_bytes))
        shrink_from = strtoull(shrink, NULL, 10);
    else if (shrink != NULL)
        simgpu_say("SIMGPU_SHRINK=%s is not of the form CALL:SIZE", shrink);
    char *copy = text != NULL ? strdup(text) : NULL, *save = NULL;
    for (char *one = copy != NULL ? strtok_r(copy, ", ", &save) : NULL;
         one != NULL && rule_count < MAX_RULES; one = strtok_r(NULL, ", ", &save))
        add_rule(one);
    free(copy);
}

bool simgpu_inject_fails(enum simgpu_api_id id, CUresult *result)
{
    for (size_t i = 0; i < rule_count; i++) {
        if (rules[i].id != id || (rules[i].nth != 0 && rules[i].nth != simgpu_stats.calls[id]))
            continue;
        *result = rules[i].code;
        return true;
    }
    return false;
}

bool simgpu_inject_drops_wait(void)
{
    return dropped_wait != 0 && simgpu_stats.stream_waits == dropped_wait;
}

uint64_t simgpu_inject_capacity(void)
{
    return shrink_from != 0 && simgpu_stats.memory_calls >= shrink_from ? shrink_bytes : UINT64_MAX;
}
