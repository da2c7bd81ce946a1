/* SPDX-License-Identifier: Apache-2.0 */
/* The library's settings, read from the environment once. */
#ifndef SPILL_CONFIG_H
#define SPILL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/status.h"

enum spill_mode { SPILL_MODE_OFF, SPILL_MODE_PROFILE, SPILL_MODE_OFFLOAD };

typedef uint64_t spill_config_size;
typedef uint64_t spill_config_count;
typedef bool spill_config_bool;
typedef enum spill_mode spill_config_mode;
typedef bool spill_config_view; /* budget, not real */
typedef const char *spill_config_text;
typedef const char *spill_config_marks; /* "", "profiler" or "nvtx:NAME" */

struct spill_config {
#define SPILL_CONFIG(field, name, type, fallback, unit, doc) spill_config_##type field;
#include "preload/base/config.def"
#undef SPILL_CONFIG
};

/* Fills CONFIG from the environment. A value that is not of its type is named in one line and makes
 * the result SPILL_ERR_INVAL with mode off: a budget we misread must not be guessed. */
enum spill_status spill_config_read(struct spill_config *config);

/* The setting whose name is nearest to NAME; NULL when none is near. */
const char *spill_config_nearest(const char *name);

#endif
