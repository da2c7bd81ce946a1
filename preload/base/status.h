/* SPDX-License-Identifier: Apache-2.0 */
/* The one status type that every function of the project returns. CUDA's own CUresult stays inside
 * preload/, profiler/recorder and replay/, where the driver is called. */
#ifndef SPILL_STATUS_H
#define SPILL_STATUS_H

enum spill_status {
    SPILL_OK = 0,
    SPILL_ERR_NOMEM,       /* host memory for our own tables ran out */
    SPILL_ERR_INVAL,       /* an argument or a setting is not of its form */
    SPILL_ERR_IO,          /* a file could not be read or written */
    SPILL_ERR_FORMAT,      /* a file is not what it claims to be, or is damaged */
    SPILL_ERR_VERSION,     /* a file is of a newer format than this build knows */
    SPILL_ERR_INFEASIBLE,  /* no plan keeps within the budget */
    SPILL_ERR_DRIVER,      /* a CUDA driver call failed */
    SPILL_ERR_UNSUPPORTED, /* the driver or device lacks something that is needed */
    SPILL_ERR_NOT_FOUND,
    SPILL_STATUS_COUNT
};

/* A short lower-case text for a status; never NULL. */
const char *spill_status_text(enum spill_status status);

#endif
