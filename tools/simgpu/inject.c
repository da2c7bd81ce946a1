/* SPDX-License-Identifier: Apache-2.0 */
/* Faults on request: SIMGPU_FAIL="name:n[=CODE],name:*", SIMGPU_SLOW="name:n[-m]=TIME",
 * SIMGPU_DROP_WAIT=N, SIMGPU_TWIN="n:ADDRESS" and SIMGPU_SHRINK="n:SIZE"; and
 * SIMGPU_DRIFT="TIME:engine=FACTOR". Several rules are separated by commas. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op.h"

#define MAX_RULES 64

struct rule {
    enum simgpu_api_id id;
    uint64_t first, last; /* calls, from 1 */
    CUresult code;        /* SIMGPU_FAIL */
    uint64_t slow_ns;     /* SIMGPU_SLOW */
};
struct rules {
    struct rule at[MAX_RULES];
    size_t count;
};
static struct rules failing, slow;
static uint64_t dropped_wait;
static uint64_t twin_map, twin_address, maps; /* SIMGPU_TWIN; calls of cuMemMap */
static FILE *maps_file;                       /* SIMGPU_MAPS */
static uint64_t shrink_from, shrink_bytes = UINT64_MAX;

/* SIMGPU_DRIFT: from a moment on the engines' operations take that many times as long. */
static struct drift {
    uint64_t from_ns;
    double factor[SIMGPU_ENGINE_COUNT];
} drifts[MAX_RULES];
static size_t drift_count;

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

static bool parse_time(const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    double number = strtod(text, &end);
    for (size_t i = 0; end != text && number >= 0 && i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].unit) != 0)
            continue;
        *ns = (uint64_t)(number * units[i].ns);
        return true;
    }
    return false;
}

/* "name:n", "name:n-m" or "name:*", then "=CODE" or "=TIME". */
static void add_rule(struct rules *rules, const char *setting, char *text)
{
    char *calls = strchr(text, ':'), *value = strchr(text, '=');
    struct rule r = {.first = 1, .last = 1};
    if (value != NULL)
        *value++ = '\0';
    if (calls != NULL)
        *calls++ = '\0';
    if (calls != NULL && *calls == '*') {
        r.last = UINT64_MAX;
    } else if (calls != NULL) {
        char *end;
        r.first = r.last = strtoull(calls, &end, 10);
        if (*end == '-')
            r.last = strtoull(end + 1, NULL, 10);
    }
    if (rules == &failing)
        r.code = value != NULL ? parse_code(value) : CUDA_ERROR_OUT_OF_MEMORY;
    else if (value == NULL || !parse_time(value, &r.slow_ns))
        simgpu_say("%s: %s needs a time such as 10ms", setting, text);
    for (int i = 0; i < SIMGPU_API_COUNT; i++) {
        if (strcmp(simgpu_api[i].name, text) != 0)
            continue;
        r.id = (enum simgpu_api_id)i;
        rules->at[rules->count++] = r;
        return;
    }
    simgpu_say("%s: %s is not a served function (write the exported name)", setting, text);
}

static void load_rules(struct rules *rules, const char *setting)
{
    const char *text = getenv(setting);
    char *copy = text != NULL ? strdup(text) : NULL, *save = NULL;
    for (char *one = copy != NULL ? strtok_r(copy, ", ", &save) : NULL;
         one != NULL && rules->count < MAX_RULES; one = strtok_r(NULL, ", ", &save))
        add_rule(rules, setting, one);
    free(copy);
}

/* "TIME:links=FACTOR", "htod", "dtoh" or "kernels" in place of "links". */
static bool parse_drift(char *text, struct drift *drift)
{
    static const struct {
        const char *name;
        enum simgpu_engine first, last;
    } engines[] = {
        {"links", SIMGPU_ENGINE_HTOD, SIMGPU_ENGINE_DTOH},
        {"htod", SIMGPU_ENGINE_HTOD, SIMGPU_ENGINE_HTOD},
        {"dtoh", SIMGPU_ENGINE_DTOH, SIMGPU_ENGINE_DTOH},
        {"kernels", SIMGPU_ENGINE_COMPUTE, SIMGPU_ENGINE_COMPUTE},
    };
    char *name = strchr(text, ':'), *value = strchr(text, '='), *end;
    if (name == NULL || value == NULL || value < name)
        return false;
    *name++ = *value++ = '\0';
    double factor = strtod(value, &end);
    if (end == value || *end != '\0' || !(factor > 0) || !parse_time(text, &drift->from_ns))
        return false;
    for (int e = 0; e < SIMGPU_ENGINE_COUNT; e++)
        drift->factor[e] = 1;
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        if (strcmp(engines[i].name, name) != 0)
            continue;
        for (int e = (int)engines[i].first; e <= (int)engines[i].last; e++)
            drift->factor[e] = factor;
        return true;
    }
    return false;
}

static void load_drifts(void)
{
    const char *text = getenv("SIMGPU_DRIFT");
    char *copy = text != NULL ? strdup(text) : NULL, *save = NULL;
    for (char *one = copy != NULL ? strtok_r(copy, ", ", &save) : NULL;
         one != NULL && drift_count < MAX_RULES; one = strtok_r(NULL, ", ", &save))
        if (parse_drift(one, &drifts[drift_count]))
            drift_count++;
        else
            simgpu_say("SIMGPU_DRIFT=%s is not of the form TIME:links|htod|dtoh|kernels=FACTOR",
                       text);
    free(copy);
}

void simgpu_inject_load(void)
{
    const char *wait = getenv("SIMGPU_DROP_WAIT");
    dropped_wait = wait != NULL ? strtoull(wait, NULL, 10) : 0;
    const char *twin = getenv("SIMGPU_TWIN"), *path = getenv("SIMGPU_MAPS");
    char *colon = NULL;
    twin_map = twin != NULL ? strtoull(twin, &colon, 10) : 0;
    if (colon != NULL && *colon == ':')
        twin_address = strtoull(colon + 1, NULL, 0);
    else if (twin != NULL)
        simgpu_say("SIMGPU_TWIN=%s is not of the form CALL:ADDRESS", twin);
    maps_file = path != NULL && *path != '\0' ? fopen(path, "w") : NULL;
    const char *shrink = getenv("SIMGPU_SHRINK"),
               *size = shrink != NULL ? strchr(shrink, ':') : NULL;
    if (size != NULL && simgpu_config_size(size + 1, &shrink_bytes))
        shrink_from = strtoull(shrink, NULL, 10);
    else if (shrink != NULL)
        simgpu_say("SIMGPU_SHRINK=%s is not of the form CALL:SIZE", shrink);
    load_rules(&failing, "SIMGPU_FAIL");
    load_rules(&slow, "SIMGPU_SLOW");
    load_drifts();
}

uint64_t simgpu_inject_twin(void)
{
    return ++maps == twin_map ? twin_address : 0;
}

void simgpu_inject_mapped(uint64_t address, uint32_t frame)
{
    if (maps_file == NULL)
        return;
    fprintf(maps_file, "%llu %#llx %u\n", (unsigned long long)maps, (unsigned long long)address,
            frame);
    fflush(maps_file); /* a child of fork must not have it in its buffer */
}

static const struct rule *rule_for(const struct rules *rules, enum simgpu_api_id id)
{
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *r = &rules->at[i];
        if (r->id == id && simgpu_stats.calls[id] >= r->first && simgpu_stats.calls[id] <= r->last)
            return r;
    }
    return NULL;
}

bool simgpu_inject_fails(enum simgpu_api_id id, CUresult *result)
{
    const struct rule *r = rule_for(&failing, id);
    if (r != NULL)
        *result = r->code;
    return r != NULL;
}

uint64_t simgpu_inject_slow(enum simgpu_api_id id)
{
    const struct rule *r = rule_for(&slow, id);
    return r != NULL ? r->slow_ns : 0;
}

uint64_t simgpu_inject_drift(enum simgpu_engine engine, uint64_t ready_ns, uint64_t duration)
{
    double longer = 1;
    if (engine == SIMGPU_ENGINE_NONE)
        return duration;
    for (size_t i = 0; i < drift_count; i++)
        if (ready_ns >= drifts[i].from_ns)
            longer *= drifts[i].factor[engine];
    return (uint64_t)((double)duration * longer);
}

bool simgpu_inject_drops_wait(void)
{
    return dropped_wait != 0 && simgpu_stats.stream_waits == dropped_wait;
}

uint64_t simgpu_inject_capacity(void)
{
    return shrink_from != 0 && simgpu_stats.memory_calls >= shrink_from ? shrink_bytes : UINT64_MAX;
}
