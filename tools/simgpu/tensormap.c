/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps. The vendor's layout is not documented, and nothing here reads tensors by them; what
 * can be tried is how a program hands them on, and that no word of one is the address: a kernel
 * finds it inverted in the fourth word, and the shape behind it. */
#include <string.h>

#include "core.h"

#define MAGIC 0x53494d5f544d4150ull
#define RANKS 5

enum { WORD_MAGIC, WORD_KIND, WORD_STRIDES_SUM, WORD_ADDRESS, WORD_SHAPE };

static bool aligned(const void *p, size_t bytes)
{
    return p != NULL && (uintptr_t)p % bytes == 0;
}

CUresult simgpu_cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                       void *address, const cuuint64_t *shape,
                                       const cuuint64_t *strides, const cuuint32_t *box,
                                       const cuuint32_t *element_strides,
                                       CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                       CUtensorMapL2promotion promotion,
                                       CUtensorMapFloatOOBfill fill)
{
    if (!aligned(map, 64) || !aligned(address, 16) || rank < 1 || rank > RANKS || shape == NULL ||
        (strides == NULL && rank > 1) || box == NULL || element_strides == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    cuuint64_t *word = map->opaque;
    memset(map, 0, sizeof *map);
    word[WORD_MAGIC] = MAGIC;
    word[WORD_KIND] = (cuuint64_t)type << 40 | (cuuint64_t)interleave << 32 |
                      (cuuint64_t)swizzle << 24 | (cuuint64_t)promotion << 16 |
                      (cuuint64_t)fill << 8 | rank;
    word[WORD_ADDRESS] = ~(cuuint64_t)(uintptr_t)address;
    for (cuuint32_t r = 0; r < rank; r++) {
        if (shape[r] == 0 || box[r] == 0 || box[r] > 256 || element_strides[r] == 0)
            return CUDA_ERROR_INVALID_VALUE;
        word[WORD_SHAPE + 2 * r] = shape[r];
        word[WORD_SHAPE + 2 * r + 1] = (cuuint64_t)element_strides[r] << 32 | box[r];
        if (r + 1 < rank)
            word[WORD_STRIDES_SUM] = word[WORD_STRIDES_SUM] * 31 + strides[r];
    }
    return CUDA_SUCCESS;
}

CUresult simgpu_cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
    if (!aligned(map, 64) || !aligned(address, 16) || map->opaque[WORD_MAGIC] != MAGIC)
        return CUDA_ERROR_INVALID_VALUE;
    map->opaque[WORD_ADDRESS] = ~(cuuint64_t)(uintptr_t)address;
    return CUDA_SUCCESS;
}
