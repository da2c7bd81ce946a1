/* SPDX-License-Identifier: Apache-2.0 */
/* The entry by which NVTX hands itself to a tool. */
#ifndef SPILL_NVTX_H
#define SPILL_NVTX_H

#include <stdbool.h>
#include <stdint.h>

/* 1: attached; 0: NVTX ranges are not asked for, or this NVTX speaks another protocol. */
int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

#endif
