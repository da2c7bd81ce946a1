/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/base/status.h"

const char *spill_status_text(enum spill_status status)
{
    static const char *const texts[SPILL_STATUS_COUNT] = {
        [SPILL_OK] = "success",
        [SPILL_ERR_NOMEM] = "out of host memory",
        [SPILL_ERR_INVAL] = "invalid argument",
        [SPILL_ERR_IO] = "input/output error",
        [SPILL_ERR_FORMAT] = "damaged or foreign file",
        [SPILL_ERR_VERSION] = "file format too new",
        [SPILL_ERR_INFEASIBLE] = "no feasible plan",
        [SPILL_ERR_DRIVER] = "CUDA driver error",
        [SPILL_ERR_UNSUPPORTED] = "not supported here",
        [SPILL_ERR_NOT_FOUND] = "not found",
    };
    if ((unsigned)status >= SPILL_STATUS_COUNT)
        return "unknown status";
    return texts[status];
}
