/* SPDX-License-Identifier: Apache-2.0 */
/* Beside buffers of cuMemAlloc, segments that the program maps itself, piece by piece, at addresses
 * that it reserved, as PyTorch's expandable segments do (torch_memory_saver#24): grown, shrunk and
 * grown again while the buffers move to make room. Prints what a program sees. */
#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>
#include <string.h>

#include "must.h"

enum { BUFFERS = 5, PIECES = 4, ROUNDS = 4 };
#define PIECE ((size_t)2 << 20)
#define BYTES ((size_t)4 << 20)

static CUdeviceptr buffer[BUFFERS], segment;
static CUmemGenericAllocationHandle piece[PIECES];
static CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
static CUmemAccessDesc both = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                               .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static unsigned char *host;

static void grow(int i)
{
    MUST(cuMemCreate(&piece[i], PIECE, &prop, 0));
    MUST(cuMemMap(segment + i * PIECE, PIECE, 0, piece[i], 0));
    MUST(cuMemSetAccess(segment + i * PIECE, PIECE, &both, 1));
    MUST(cuMemsetD8_v2(segment + i * PIECE, (unsigned char)(0x40 + i), PIECE));
}

static void shrink(int i)
{
    MUST(cuCtxSynchronize());
    MUST(cuMemUnmap(segment + i * PIECE, PIECE));
    MUST(cuMemRelease(piece[i]));
}

static void show(int round)
{
    printf("round %d:", round);
    for (int b = 0; b < BUFFERS; b++) {
        unsigned long s = 0;
        MUST(cuMemcpyDtoH_v2(host, buffer[b], BYTES));
        for (size_t i = 0; i < BYTES; i += 7)
            s = s * 31 + host[i];
        printf(" %lx", s);
    }
    printf("\n");
}

int main(void)
{
    CUcontext context;
    host = malloc(BYTES);
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    MUST(cuMemAddressReserve(&segment, 16 * PIECE, 0, 0, 0));
    for (int b = 0; b < BUFFERS; b++) {
        MUST(cuMemAlloc_v2(&buffer[b], BYTES));
        MUST(cuMemsetD8_v2(buffer[b], (unsigned char)(b + 1), BYTES));
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PIECES; i++)
            grow(i);
        /* Across two pieces, from and to what is managed. */
        MUST(cuMemcpyDtoDAsync_v2(buffer[round % BUFFERS], segment + PIECE / 2, BYTES, NULL));
        MUST(cuMemcpyDtoDAsync_v2(segment + PIECE, buffer[(round + 2) % BUFFERS], BYTES / 2, NULL));
        MUST(cuMemcpyDtoD_v2(buffer[(round + 1) % BUFFERS] + PIECE, segment + PIECE, PIECE));
        for (int i = PIECES; i-- > 0;)
            shrink(i);
        show(round);
    }
    MUST(cuMemAddressFree(segment, 16 * PIECE));
    return 0;
}
