/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from the environment, read once at the first driver call, and the preset cards. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core.h"

#define GIB ((uint64_t)1 << 30)

struct card {
    const char *name, *title;
    uint64_t capacity;
    double link, memory, work; /* GB/s, GB/s, 1e9 units per second */
    int major, minor, multiprocessors, clock_khz;
};

/* Sources of the figures: README.md, "Presets". */
static const struct card cards[] = {
    {"default", "SimGPU", 1 * GIB, 16, 1000, 100, 8, 0, 64, 1500000},
    {"a100", "SimGPU A100-40GB", 40 * GIB, 24, 1555, 195, 8, 0, 108, 1410000},
    {"h100", "SimGPU H100-80GB", 80 * GIB, 50, 3350, 670, 9, 0, 132, 1980000},
    {"h200", "SimGPU H200-141GB", 141 * GIB, 50, 4800, 670, 9, 0, 132, 1980000},
    {"rtx4090", "SimGPU RTX-4090", 24 * GIB, 24, 1008, 826, 8, 9, 128, 2520000},
};

struct simgpu_config simgpu_config;
static uint64_t random_state;

void simgpu_say(const char *format, ...)
{
    /* A program in a loop must not fill a disk with one and the same complaint. */
    static unsigned int said;
    va_list args;
    if (++said > 50)
        return;
    va_start(args, format);
    fputs("simgpu: ", stderr);
    vfprintf(stderr, format, args);
    fputs(said == 50 ? "\nsimgpu: no more messages\n" : "\n", stderr);
    va_end(args);
}

uint64_t simgpu_random(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

bool simgpu_config_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    char *end;
    double value = strtod(text, &end);
    if (end == text || value < 0)
        return false;
    while (*end == ' ')
        end++;
    double unit = 1;
    const char *u = *end != '\0' ? strchr(units, *end & ~0x20) : NULL;
    if (u != NULL) {
        bool decimal = strcasecmp(end + 1, "B") == 0;
        for (const char *c = units; c <= u; c++)
            unit *= decimal ? 1000 : 1024;
        end++;
        if (strcasecmp(end, "iB") == 0 || strcasecmp(end, "B") == 0)
            end += strlen(end);
    } else if (strcasecmp(end, "B") == 0) {
        end++;
    }
    if (*end != '\0' || value * unit >= 1.8e19)
        return false;
    *bytes = (uint64_t)(value * unit);
    return true;
}

double simgpu_config_cost(const char *kernel)
{
    const char *path = getenv("SIMGPU_COSTS");
    FILE *f = path != NULL ? fopen(path, "r") : NULL;
    char line[512], name[256];
    double factor, found = 1;
    if (path != NULL && f == NULL)
        simgpu_say("cannot read SIMGPU_COSTS=%s", path);
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "%255s %lf", name, &factor) == 2 && *name != '#' && factor > 0 &&
            strstr(kernel, name) != NULL)
            found = factor;
    if (f != NULL)
        fclose(f);
    return found;
}

static void read_number(const char *name, double *value)
{
    const char *text = getenv(name);
    if (text == NULL)
        return;
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end != '\0' || v <= 0)
        simgpu_say("%s=%s is not a positive number; using %g", name, text, *value);
    else
        *value = v;
}

static void read_rate(const char *name, double *bytes_per_ns)
{
    double gb = *bytes_per_ns;
    read_number(name, &gb);
    *bytes_per_ns = gb; /* GB/s is bytes per ns */
}

static void read_count(const char *name, uint64_t *value)
{
    double v = (double)*value;
    read_number(name, &v);
    *value = (uint64_t)v;
}

void simgpu_config_load(void)
{
    struct simgpu_config *c = &simgpu_config;
    const char *card = getenv("SIMGPU_CARD");
    const struct card *chosen = &cards[0];
    if (card != NULL) {
        size_t i = 0;
        while (i < sizeof cards / sizeof *cards && strcasecmp(cards[i].name, card) != 0)
            i++;
        if (i < sizeof cards / sizeof *cards)
            chosen = &cards[i];
        else
            simgpu_say("SIMGPU_CARD=%s is unknown (default a100 h100 h200 rtx4090); using default",
                       card);
    }
    c->card = chosen->title;
    c->capacity = chosen->capacity;
    c->link_rate[0] = c->link_rate[1] = chosen->link;
    c->duplex = 1;
    c->pageable_rate = chosen->link / 2;
    c->memory_rate = chosen->memory;
    c->work_rate = chosen->work;
    c->major = chosen->major;
    c->minor = chosen->minor;
    c->multiprocessors = chosen->multiprocessors;
    c->clock_khz = chosen->clock_khz;
    uint64_t devices = 1, cap = 1024, latency = 5000, launch = 3000, kernel = 1500;
    const char *mem = getenv("SIMGPU_MEM");
    if (mem != NULL && (!simgpu_config_size(mem, &c->capacity) || c->capacity < SIMGPU_PAGE))
        simgpu_say("SIMGPU_MEM=%s is not a size of at least 2MiB", mem);
    const char *pinned = getenv("SIMGPU_PINNED");
    c->pinnable = UINT64_MAX;
    if (pinned != NULL && !simgpu_config_size(pinned, &c->pinnable))
        simgpu_say("SIMGPU_PINNED=%s is not a size", pinned);
    const char *seed = getenv("SIMGPU_SEED");
    c->seed = seed != NULL ? strtoull(seed, NULL, 0) : 1;
    random_state = c->seed * 0xd1342543de82ef95ull + 1;
    read_rate("SIMGPU_LINK_RATE", &c->link_rate[0]);
    c->link_rate[1] = c->link_rate[0];
    read_rate("SIMGPU_LINK_RATE_HTOD", &c->link_rate[0]);
    read_rate("SIMGPU_LINK_RATE_DTOH", &c->link_rate[1]);
    read_rate("SIMGPU_PAGEABLE_RATE", &c->pageable_rate);
    read_rate("SIMGPU_MEMORY_RATE", &c->memory_rate);
    read_rate("SIMGPU_WORK_RATE", &c->work_rate);
    read_number("SIMGPU_DUPLEX", &c->duplex);
    read_count("SIMGPU_LINK_LATENCY_NS", &latency);
    read_count("SIMGPU_LAUNCH_NS", &launch);
    read_count("SIMGPU_KERNEL_NS", &kernel);
    read_count("SIMGPU_DEVICES", &devices);
    read_count("SIMGPU_QUEUE", &cap);
    c->link_latency_ns = latency;
    c->launch_ns = launch;
    c->kernel_ns = kernel;
    c->devices = devices > SIMGPU_MAX_DEVICES ? SIMGPU_MAX_DEVICES : (uint32_t)devices;
    c->queue_cap = (uint32_t)cap;
}
