/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of memsets. */
#include "preload/around.h"
#include "preload/opcalls.h"

#define SET(symbol, type, home)                                                                    \
    CUresult symbol(CUdeviceptr dst, type value, size_t count)                                     \
    {                                                                                              \
        SPILL_AROUND(spill_opcalls_set(home, dst, count * sizeof(type)),                           \
                     SPILL_REAL(symbol)(dst, value, count));                                       \
    }
SET(cuMemsetD8_v2, unsigned char, SPILL_STREAM_L)
SET(cuMemsetD8_v2_ptds, unsigned char, SPILL_STREAM_T)
SET(cuMemsetD16_v2, unsigned short, SPILL_STREAM_L)
SET(cuMemsetD16_v2_ptds, unsigned short, SPILL_STREAM_T)
SET(cuMemsetD32_v2, unsigned int, SPILL_STREAM_L)
SET(cuMemsetD32_v2_ptds, unsigned int, SPILL_STREAM_T)

#define SET_ASYNC(symbol, type, home)                                                              \
    CUresult symbol(CUdeviceptr dst, type value, size_t count, CUstream stream)                    \
    {                                                                                              \
        SPILL_AROUND(                                                                              \
            spill_opcalls_set(spill_around_stream(stream, home), dst, count * sizeof(type)),       \
            SPILL_REAL(symbol)(dst, value, count, stream));                                        \
    }
SET_ASYNC(cuMemsetD8Async, unsigned char, SPILL_STREAM_L)
SET_ASYNC(cuMemsetD8Async_ptsz, unsigned char, SPILL_STREAM_T)
SET_ASYNC(cuMemsetD16Async, unsigned short, SPILL_STREAM_L)
SET_ASYNC(cuMemsetD16Async_ptsz, unsigned short, SPILL_STREAM_T)
SET_ASYNC(cuMemsetD32Async, unsigned int, SPILL_STREAM_L)
SET_ASYNC(cuMemsetD32Async_ptsz, unsigned int, SPILL_STREAM_T)

#define SET_2D(symbol, type, home)                                                                 \
    CUresult symbol(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height)        \
    {                                                                                              \
        SPILL_AROUND(spill_opcalls_set(home, dst, width *height * sizeof(type)),                   \
                     SPILL_REAL(symbol)(dst, pitch, value, width, height));                        \
    }
SET_2D(cuMemsetD2D8_v2, unsigned char, SPILL_STREAM_L)
SET_2D(cuMemsetD2D8_v2_ptds, unsigned char, SPILL_STREAM_T)
SET_2D(cuMemsetD2D16_v2, unsigned short, SPILL_STREAM_L)
SET_2D(cuMemsetD2D16_v2_ptds, unsigned short, SPILL_STREAM_T)
SET_2D(cuMemsetD2D32_v2, unsigned int, SPILL_STREAM_L)
SET_2D(cuMemsetD2D32_v2_ptds, unsigned int, SPILL_STREAM_T)

#define SET_2D_ASYNC(symbol, type, home)                                                           \
    CUresult symbol(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height,        \
                    CUstream stream)                                                               \
    {                                                                                              \
        SPILL_AROUND(spill_opcalls_set(spill_around_stream(stream, home), dst,                     \
                                       width *height * sizeof(type)),                              \
                     SPILL_REAL(symbol)(dst, pitch, value, width, height, stream));                \
    }
SET_2D_ASYNC(cuMemsetD2D8Async, unsigned char, SPILL_STREAM_L)
SET_2D_ASYNC(cuMemsetD2D8Async_ptsz, unsigned char, SPILL_STREAM_T)
SET_2D_ASYNC(cuMemsetD2D16Async, unsigned short, SPILL_STREAM_L)
SET_2D_ASYNC(cuMemsetD2D16Async_ptsz, unsigned short, SPILL_STREAM_T)
SET_2D_ASYNC(cuMemsetD2D32Async, unsigned int, SPILL_STREAM_L)
SET_2D_ASYNC(cuMemsetD2D32Async_ptsz, unsigned int, SPILL_STREAM_T)
