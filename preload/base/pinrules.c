/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/base/pinrules.h"

#include <string.h>

#include "preload/base/glob.h"
#include "preload/base/log.h"
#include "preload/base/size.h"

#define RULES 32

static struct {
    uint64_t from, to;
} sizes[RULES];
static unsigned size_count;

/* Patterns of names. */
struct patterns {
    struct {
        const char *text;
        size_t length;
    } list[RULES];
    unsigned count;
};

static struct patterns kernels, sites;

/* A size of LENGTH letters. */
static bool parse_size(const char *text, size_t length, uint64_t *bytes)
{
    char copy[32];
    if (length >= sizeof(copy))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return spill_size_parse(copy, bytes) == SPILL_OK;
}

static bool add_size(const char *text, size_t length)
{
    const char *dash = memchr(text, '-', length);
    size_t first = dash == NULL ? length : (size_t)(dash - text);
    if (size_count == RULES || !parse_size(text, first, &sizes[size_count].from))
        return false;
    sizes[size_count].to = sizes[size_count].from;
    if (dash != NULL && !parse_size(dash + 1, length - first - 1, &sizes[size_count].to))
        return false;
    return sizes[size_count].from <= sizes[size_count].to && ++size_count > 0;
}

static bool add_pattern(struct patterns *patterns, const char *text, size_t length)
{
    if (patterns->count == RULES || length == 0)
        return false;
    patterns->list[patterns->count].text = text;
    patterns->list[patterns->count].length = length;
    return ++patterns->count > 0;
}

static bool matches(const struct patterns *patterns, const char *name)
{
    for (unsigned i = 0; i < patterns->count; i++)
        if (spill_glob(patterns->list[i].text, patterns->list[i].length, name))
            return true;
    return false;
}

bool spill_pinrules_set(const char *text)
{
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, ",");
        bool good = length == 0;
        if (strncmp(at, "size:", 5) == 0)
            good = add_size(at + 5, length - 5);
        else if (strncmp(at, "kernel:", 7) == 0)
            good = add_pattern(&kernels, at + 7, length - 7);
        else if (strncmp(at, "site:", 5) == 0)
            good = add_pattern(&sites, at + 5, length - 5);
        if (!good) {
            spill_log(SPILL_LOG_ERROR,
                      "SPILLWAY_PIN=%s: expected size:BYTES, size:FROM-TO, site:PATTERN or "
                      "kernel:PATTERN, separated by commas; running without spillway",
                      text);
            return false;
        }
        at += length + (at[length] == ',');
    }
    return true;
}

bool spill_pinrules_size(uint64_t bytes)
{
    for (unsigned i = 0; i < size_count; i++)
        if (bytes >= sizes[i].from && bytes <= sizes[i].to)
            return true;
    return false;
}

bool spill_pinrules_kernel(const char *name)
{
    return matches(&kernels, name);
}

bool spill_pinrules_by_site(void)
{
    return sites.count > 0;
}

bool spill_pinrules_site(const char *name)
{
    return matches(&sites, name);
}
