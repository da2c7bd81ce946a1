/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver calls these things, as the sink is told of them: the same whether they are put
 * into a stream or are nodes of a graph. */
#ifndef SPILL_OPCALLS_H
#define SPILL_OPCALLS_H

#include "preload/base/accessmode.h"
#include "preload/base/sink.h"

struct spill_opcall spill_opcalls_kernel(CUstream stream, CUfunction function, unsigned gx,
                                         unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                         unsigned bz, void **params, void **extra);

/* DST or SRC 0: not device memory. */
struct spill_opcall spill_opcalls_copy(CUstream stream, CUdeviceptr dst, CUdeviceptr src,
                                       uint64_t bytes);
struct spill_opcall spill_opcalls_2d(CUstream stream, const CUDA_MEMCPY2D *copy, bool asynchronous);
struct spill_opcall spill_opcalls_3d(CUstream stream, const CUDA_MEMCPY3D *copy, bool asynchronous);
struct spill_opcall spill_opcalls_3d_peer(CUstream stream, const CUDA_MEMCPY3D_PEER *copy,
                                          bool asynchronous);

struct spill_opcall spill_opcalls_set(CUstream stream, CUdeviceptr dst, uint64_t bytes);

struct spill_opcall spill_opcalls_host(CUstream stream);

/* What touches nothing, or anything. */
struct spill_opcall spill_opcalls_plain(enum spill_opkind kind, CUstream stream);

/* The address of one of a batch of values that streams wait for or write; 0: it has none. Every
 * operation that has one has it in the same place; others have their flags there. */
CUdeviceptr spill_opcalls_value(const CUstreamBatchMemOpParams *params);

#endif
