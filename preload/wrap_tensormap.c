/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of calls that make tensor maps. Which address a map holds is told to the sink, which
 * knows it again by its bytes; where that cannot be, its buffer stays. */
#include "preload/ask.h"
#include "preload/real.h"

static CUresult encoded(CUresult result, const CUtensorMap *map, void *addr)
{
    if (result == CUDA_SUCCESS && map != NULL && spill_guard_enter()) {
        if (!spill_guard_sink->tensor_map(map, (CUdeviceptr)addr))
            spill_guard_sink->pin((CUdeviceptr)addr, SPILL_TRACE_PIN_TEXTURE);
        spill_guard_leave();
    }
    return result;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                void *addr, const cuuint64_t *shape, const cuuint64_t *strides,
                                const cuuint32_t *box, const cuuint32_t *element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    return encoded(SPILL_REAL(cuTensorMapEncodeTiled)(map, type, rank, addr, shape, strides, box,
                                                      element_strides, interleave, swizzle,
                                                      promotion, fill),
                   map, addr);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                 void *addr, const cuuint64_t *shape, const cuuint64_t *strides,
                                 const int *lower, const int *upper, cuuint32_t channels,
                                 cuuint32_t pixels, const cuuint32_t *element_strides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    return encoded(SPILL_REAL(cuTensorMapEncodeIm2col)(map, type, rank, addr, shape, strides, lower,
                                                       upper, channels, pixels, element_strides,
                                                       interleave, swizzle, promotion, fill),
                   map, addr);
}

#if CUDA_VERSION >= 12080
CUresult cuTensorMapEncodeIm2colWide(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                     void *addr, const cuuint64_t *shape, const cuuint64_t *strides,
                                     int lower, int upper, cuuint32_t channels, cuuint32_t pixels,
                                     const cuuint32_t *element_strides,
                                     CUtensorMapInterleave interleave,
                                     CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    return encoded(SPILL_REAL(cuTensorMapEncodeIm2colWide)(
                       map, type, rank, addr, shape, strides, lower, upper, channels, pixels,
                       element_strides, interleave, mode, swizzle, promotion, fill),
                   map, addr);
}
#endif

CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *addr)
{
    return encoded(SPILL_REAL(cuTensorMapReplaceAddress)(map, addr), map, addr);
}
