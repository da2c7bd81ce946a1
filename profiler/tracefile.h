/* SPDX-License-Identifier: Apache-2.0 */
/* The trace file: written by the library (no malloc, no stdio), read by the tools on any machine.
 * Byte layout in profiler/FORMAT.md. */
#ifndef SPILL_TRACEFILE_H
#define SPILL_TRACEFILE_H

#include <stddef.h>

#include "preload/base/status.h"
#include "preload/base/trace.h"

#define SPILL_TRACEFILE_VERSION 1

/* Writes TRACE to PATH by way of PATH.tmp and a rename, mode 0600; parent folders must exist. On
 * SPILL_ERR_IO errno says why and PATH is untouched. */
enum spill_status spill_tracefile_write(const char *path, const struct spill_trace *trace);

/* Reads PATH into a new *TRACE (free it with spill_tracefile_free). Every index in it is in range.
 * SPILL_ERR_IO, _FORMAT, _VERSION or _NOMEM otherwise, with a one-line reason in COMPLAINT (of
 * COMPLAINT_LEN chars, may be NULL). A file cut short is read if all its tables are whole. */
enum spill_status spill_tracefile_read(const char *path, struct spill_trace **trace,
                                       char *complaint, size_t complaint_len);
/* The same of BYTES at DATA. */
enum spill_status spill_tracefile_parse(const void *data, size_t bytes, struct spill_trace **trace,
                                        char *complaint, size_t complaint_len);
void spill_tracefile_free(struct spill_trace *trace);

#endif
