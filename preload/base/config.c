/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/base/config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static enum spill_status parse_text(const char *text, const char **value)
{
    *value = text;
    return SPILL_OK;
}

enum spill_status spill_config_read(struct spill_config *config)
{
    enum spill_status worst = SPILL_OK;
    const char *text;
#define SPILL_CONFIG(field, name, type, fallback, doc)                                             \
    text = secure_getenv(name);                                                                    \
    (void)parse_##type(fallback, &config->field);                                                  \
    if (text != NULL && parse_##type(text, &config->field) != SPILL_OK) {                          \
        spill_log(SPILL_LOG_ERROR, "%s=%s is not a valid %s (%s); running without spillway", name, \
                  text, #type, doc);                                                               \
        worst = SPILL_ERR_INVAL;                                                                   \
    }
#include "preload/base/config.def"
#undef SPILL_CONFIG
    if (worst != SPILL_OK)
        config->mode = SPILL_MODE_OFF;
    return worst;
}
