/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/base/config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "preload/base/fmt.h"
#include "preload/base/log.h"
#include "preload/base/size.h"

static enum spill_status parse_size(const char *text, uint64_t *value)
{
    return spill_size_parse(text, value);
}

static enum spill_status parse_count(const char *text, uint64_t *value)
{
    uint64_t n = 0;
    if (*text == '\0')
        return SPILL_ERR_INVAL;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || n > UINT32_MAX)
            return SPILL_ERR_INVAL;
        n = n * 10 + (uint64_t)(*p - '0');
    }
    *value = n;
    return SPILL_OK;
}

static enum spill_status parse_bool(const char *text, bool *value)
{
    static const char *const yes[] = {"1", "y", "yes", "on", "true"};
    static const char *const no[] = {"0", "n", "no", "off", "false", ""};
    for (unsigned i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        if (strcasecmp(text, yes[i]) == 0) {
            *value = true;
            return SPILL_OK;
        }
    for (unsigned i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        if (strcasecmp(text, no[i]) == 0) {
            *value = false;
            return SPILL_OK;
        }
    return SPILL_ERR_INVAL;
}

static enum spill_status parse_mode(const char *text, enum spill_mode *value)
{
    static const char *const names[] = {
        [SPILL_MODE_OFF] = "off",
        [SPILL_MODE_PROFILE] = "profile",
        [SPILL_MODE_OFFLOAD] = "offload",
    };
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(text, names[i]) == 0) {
            *value = (enum spill_mode)i;
            return SPILL_OK;
        }
    return SPILL_ERR_INVAL;
}

static enum spill_status parse_view(const char *text, bool *value)
{
    *value = strcasecmp(text, "real") != 0;
    return !*value || strcasecmp(text, "budget") == 0 ? SPILL_OK : SPILL_ERR_INVAL;
}

static enum spill_status parse_text(const char *text, const char **value)
{
    *value = text;
    return SPILL_OK;
}

static enum spill_status parse_marks(const char *text, const char **value)
{
    *value = text;
    return *text == '\0' || strcmp(text, "profiler") == 0 ||
                   (strncmp(text, "nvtx:", 5) == 0 && text[5] != '\0')
               ? SPILL_OK
               : SPILL_ERR_INVAL;
}

static const char *const names[] = {
#define SPILL_CONFIG(field, name, type, fallback, unit, doc) name,
#include "preload/base/config.def"
#undef SPILL_CONFIG
};

#define NAME_COUNT (sizeof(names) / sizeof(names[0]))
#define NAME_MAX   48

/* Letters to insert, delete or change to make A, of LENGTH letters, into B. */
static unsigned distance(const char *a, size_t length, const char *b)
{
    unsigned row[NAME_MAX + 1];
    size_t columns = strlen(b);
    if (length > NAME_MAX || columns > NAME_MAX)
        return NAME_MAX;
    for (size_t j = 0; j <= columns; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= length; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= columns; j++) {
            unsigned change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            unsigned shorter = row[j - 1] < row[j] ? row[j - 1] : row[j];
            row[j] = change < shorter + 1 ? change : shorter + 1;
        }
    }
    return row[columns];
}

static const char *nearest(const char *name, size_t length)
{
    const char *best = NULL;
    unsigned least = (unsigned)(length - strlen("SPILLWAY_")) / 2 + 1;
    for (size_t i = 0; i < NAME_COUNT; i++) {
        unsigned d = distance(name, length, names[i]);
        if (d < least) {
            least = d;
            best = names[i];
        }
    }
    return best;
}

const char *spill_config_nearest(const char *name)
{
    return nearest(name, strlen(name));
}

static bool known(const char *name, size_t length)
{
    for (size_t i = 0; i < NAME_COUNT; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
            return true;
    return false;
}

/* A name misspelt is a setting not made: say so. */
static void warn_unknown(void)
{
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        size_t length = strcspn(*e, "=");
        if (strncmp(*e, "SPILLWAY_", 9) != 0 || known(*e, length))
            continue;
        char name[NAME_MAX + 1];
        spill_fmt(name, length < NAME_MAX ? length + 1 : sizeof(name), "%s", *e);
        const char *meant = nearest(*e, length);
        spill_log(SPILL_LOG_WARN, "%s is not a setting%s%s%s", name,
                  meant == NULL ? "" : "; did you mean ", meant == NULL ? "" : meant,
                  meant == NULL ? "" : "?");
    }
}

enum spill_status spill_config_read(struct spill_config *config)
{
    enum spill_status worst = SPILL_OK;
    const char *text;
#define SPILL_CONFIG(field, name, type, fallback, unit, doc)                                       \
    text = secure_getenv(name);                                                                    \
    (void)parse_##type(fallback, &config->field);                                                  \
    if (text != NULL && parse_##type(text, &config->field) != SPILL_OK) {                          \
        spill_log(SPILL_LOG_ERROR, "%s=%s is not a valid %s (%s); running without spillway", name, \
                  text, #type, doc);                                                               \
        worst = SPILL_ERR_INVAL;                                                                   \
    }
#include "preload/base/config.def"
#undef SPILL_CONFIG
    if (config->verbose >= SPILL_LOG_WARN)
        warn_unknown();
    if (worst != SPILL_OK)
        config->mode = SPILL_MODE_OFF;
    return worst;
}
