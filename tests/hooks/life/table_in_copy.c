/* SPDX-License-Identifier: Apache-2.0 */
/* link: cuda
 * A table of device addresses (the arrays of a batched GEMM, the tensors of a grouped one) may go
 * to the device by any copy. Each form of copy shows what it carries: the last words of every row,
 * of every layer, of every piece. */
#include "tests/hooks/life/life.h"

#define WORD 0x7f5512340000ULL

/* A box of WIDTH words by ROWS by LAYERS, in the middle of a larger one, its last column marked. */
enum { PITCH = 16, HEIGHT = 8, DEPTH = 4, WIDTH = 4, ROWS = 3, LAYERS = 2, X = 2, Y = 1, Z = 1 };
static uint64_t box[DEPTH][HEIGHT][PITCH], flat[64];

#define SHOWS(times, call)                                                                         \
    do {                                                                                           \
        counts->carried = 0;                                                                       \
        (void)(call);                                                                              \
        if (counts->carried != (times)) {                                                          \
            fprintf(stderr, "%s: %u words of %u\n", #call, counts->carried, (unsigned)(times));    \
            failed = 1;                                                                            \
        }                                                                                          \
    } while (0)

static int failed;

static void flat_copies(struct recsink_counts *counts)
{
    CUdeviceptr host = (CUdeviceptr)flat;
    CUarray array = (CUarray)flat;
    SHOWS(1, cuMemcpy(0x1000, host, sizeof(flat)));
    SHOWS(1, cuMemcpy_ptds(0x1000, host, sizeof(flat)));
    SHOWS(1, cuMemcpyAsync(0x1000, host, sizeof(flat), NULL));
    SHOWS(1, cuMemcpyAsync_ptsz(0x1000, host, sizeof(flat), NULL));
    SHOWS(1, cuMemcpyHtoD_v2(0x1000, flat, sizeof(flat)));
    SHOWS(1, cuMemcpyHtoD_v2_ptds(0x1000, flat, sizeof(flat)));
    SHOWS(1, cuMemcpyHtoDAsync_v2(0x1000, flat, sizeof(flat), NULL));
    SHOWS(1, cuMemcpyHtoDAsync_v2_ptsz(0x1000, flat, sizeof(flat), NULL));
    SHOWS(1, cuMemcpyHtoA_v2(array, 0, flat, sizeof(flat)));
    SHOWS(1, cuMemcpyHtoAAsync_v2(array, 0, flat, sizeof(flat), NULL));
    /* Not readable, or not there: left to the driver to say. */
    SHOWS(0, cuMemcpy(0x1000, 0x10, sizeof(flat)));
    SHOWS(0, cuMemcpy(0x1000, 0, sizeof(flat)));
    SHOWS(0, cuMemcpy(0x1000, host, SIZE_MAX));
}

static void box_copies(struct recsink_counts *counts, CUmemorytype type)
{
    CUDA_MEMCPY2D plane = {.srcMemoryType = type,
                           .srcHost = box[Z],
                           .srcDevice = (CUdeviceptr)box[Z],
                           .srcPitch = sizeof(box[0][0]),
                           .srcXInBytes = 8 * X,
                           .srcY = Y,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = 0x1000,
                           .WidthInBytes = 8 * WIDTH,
                           .Height = ROWS};
    /* Two structures with the same names in them. */
#define BOX                                                                                        \
    {.srcMemoryType = type,                                                                        \
     .srcHost = box,                                                                               \
     .srcDevice = (CUdeviceptr)box,                                                                \
     .srcPitch = sizeof(box[0][0]),                                                                \
     .srcHeight = HEIGHT,                                                                          \
     .srcXInBytes = 8 * X,                                                                         \
     .srcY = Y,                                                                                    \
     .srcZ = Z,                                                                                    \
     .dstMemoryType = CU_MEMORYTYPE_DEVICE,                                                        \
     .dstDevice = 0x1000,                                                                          \
     .WidthInBytes = 8 * WIDTH,                                                                    \
     .Height = ROWS,                                                                               \
     .Depth = LAYERS}
    CUDA_MEMCPY3D cube = BOX;
    CUDA_MEMCPY3D_PEER peer = BOX;
#undef BOX
    SHOWS(ROWS, cuMemcpy2D_v2(&plane));
    SHOWS(ROWS, cuMemcpy2DUnaligned_v2(&plane));
    SHOWS(ROWS, cuMemcpy2DAsync_v2(&plane, NULL));
    SHOWS(ROWS * LAYERS, cuMemcpy3D_v2(&cube));
    SHOWS(ROWS * LAYERS, cuMemcpy3DAsync_v2(&cube, NULL));
    SHOWS(ROWS * LAYERS, cuMemcpy3DPeer(&peer));
    SHOWS(ROWS * LAYERS, cuMemcpy3DPeerAsync(&peer, NULL));
    plane.Height = 0;
    SHOWS(0, cuMemcpy2D_v2(&plane));
}

static void batches(struct recsink_counts *counts)
{
#if CUDA_VERSION >= 13000
    uint64_t other[3] = {WORD, 0, WORD};
    CUdeviceptr to[] = {0x1000, 0x2000, 0x3000};
    CUdeviceptr from[] = {(CUdeviceptr)other, 0x10, (CUdeviceptr)flat};
    size_t sizes[] = {20, 64, sizeof(flat)}, at = 0, failure;
    CUmemcpyAttributes ordered = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    SHOWS(2, cuMemcpyBatchAsync_v2(to, from, sizes, 3, &ordered, &at, 1, NULL));
    SHOWS(2, cuMemcpyBatchAsync(to, from, sizes, 3, &ordered, &at, 1, &failure, NULL));
    CUDA_MEMCPY3D_BATCH_OP list[2] = {{.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
                                       .src.op.ptr = {.ptr = (CUdeviceptr)&box[Z][Y][X],
                                                      .rowLength = sizeof(box[0][0]),
                                                      .layerHeight = HEIGHT},
                                       .dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
                                       .dst.op.ptr.ptr = 0x1000,
                                       .extent = {8 * WIDTH, ROWS, LAYERS}}};
    list[1] = list[0];
    list[1].src.op.ptr.ptr = (CUdeviceptr)flat;
    list[1].src.op.ptr.rowLength = list[1].src.op.ptr.layerHeight = 0;
    list[1].extent = (CUextent3D){8, 8, 8};
    SHOWS(ROWS * LAYERS + 1, cuMemcpy3DBatchAsync_v2(2, list, 0, NULL));
    SHOWS(ROWS * LAYERS + 1, cuMemcpy3DBatchAsync(2, list, &failure, 0, NULL));
#else
    (void)counts;
#endif
}

int main(void)
{
    struct recsink_counts *counts = life_counts();
    counts->sought = WORD;
    flat[63] = WORD;
    for (int z = 0; z < DEPTH; z++)
        for (int y = 0; y < HEIGHT; y++)
            box[z][y][X + WIDTH - 1] =
                z >= Z && z < Z + LAYERS && y >= Y && y < Y + ROWS ? WORD : 0;
    /* The driver knows none of this memory. */
    *(int *)dlsym(life_driver(), "fake_result") = CUDA_ERROR_INVALID_VALUE;
    flat_copies(counts);
    box_copies(counts, CU_MEMORYTYPE_HOST);
    box_copies(counts, CU_MEMORYTYPE_UNIFIED);
    batches(counts);
    return failed;
}
