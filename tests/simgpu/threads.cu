// SPDX-License-Identifier: Apache-2.0
// Two threads, each with its own stream, on two devices where there are two: each sums on its own.
#include <cuda_runtime.h>
#include <cstdio>
#include <pthread.h>

__global__ void add_to(int *p, int v)
{
    *p += v;
}

static int devices;

static void *work(void *arg)
{
    long me = (long)arg;
    int *p, *host;
    cudaStream_t s;
    cudaError_t e = cudaSetDevice((int)me % devices);
    e = e ? e : cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    e = e ? e : cudaMalloc(&p, 4);
    e = e ? e : cudaMallocHost(&host, 4);
    e = e ? e : cudaMemsetAsync(p, 0, 4, s);
    for (int i = 0; !e && i < 2000; i++) {
        add_to<<<1, 1, 0, s>>>(p, (int)me + 1);
        if (i % 100 == 0)
            e = cudaStreamSynchronize(s);
    }
    e = e ? e : cudaMemcpyAsync(host, p, 4, cudaMemcpyDeviceToHost, s);
    e = e ? e : cudaStreamSynchronize(s);
    if (e)
        printf("thread %ld: %s\n", me, cudaGetErrorString(e));
    return (void *)(long)(e ? -1 : *host);
}

static bool peers()
{
    // A copy between devices, and each device's own capacity.
    int *a, *b, v = 5, w = 0, can = 0;
    size_t free0, free1, total;
    if (devices < 2)
        return true;
    cudaSetDevice(0);
    cudaMalloc(&a, 8 << 20);
    cudaMemcpy(a, &v, 4, cudaMemcpyHostToDevice);
    cudaMemGetInfo(&free0, &total);
    cudaSetDevice(1);
    cudaMalloc(&b, 4 << 20);
    cudaMemGetInfo(&free1, &total);
    cudaDeviceCanAccessPeer(&can, 0, 1);
    cudaMemcpyPeer(b, 1, a, 0, 4);
    cudaMemcpy(&w, b, 4, cudaMemcpyDeviceToHost);
    cudaPointerAttributes at;
    cudaPointerGetAttributes(&at, b);
    return w == 5 && can == 1 && free0 + (4 << 20) == free1 && at.device == 1;
}

int main()
{
    pthread_t t[2];
    void *got[2];
    cudaGetDeviceCount(&devices);
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], nullptr, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], &got[i]);
    printf("%ld %ld %s\n", (long)got[0], (long)got[1], peers() ? "peers" : "no peers");
}
