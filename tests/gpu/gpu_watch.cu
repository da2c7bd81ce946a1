/* SPDX-License-Identifier: Apache-2.0 */
/* The second process beside a program that is watched: a witness of its memory, or a card's other
 * user.
 *
 *   gpu_watch info          one line, tabs between: name, driver, compute capability, MiB free, MiB
 *                           in all
 *   gpu_watch watch FILE    asks NVML (or, without it, the driver) until SIGTERM how much is used;
 *                           FILE then holds: bytes used at the start, at most, answers
 *   gpu_watch hold MIB      occupies memory until SIGTERM, so that some MIB are left free; prints
 *                           how many are */
#include <cuda.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

/* NVML's header is not in every toolkit; these few forms have not changed since NVML 5. */
struct nvml_memory {
    unsigned long long total, free, used;
};
static int (*nvml_init)(void);
static int (*nvml_by_bus)(const char *, void **);
static int (*nvml_memory_info)(void *, struct nvml_memory *);
static int (*nvml_driver)(char *, unsigned);
static void *nvml_device;

static volatile sig_atomic_t stop;

static void on_signal(int)
{
    stop = 1;
}

template <typename F> static bool get(void *library, const char *name, F *function)
{
    *function = (F)dlsym(library, name);
    return *function != NULL;
}

static bool nvml_up(CUdevice device)
{
    char bus[32];
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    return library != NULL && get(library, "nvmlInit_v2", &nvml_init) &&
           get(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml_by_bus) &&
           get(library, "nvmlDeviceGetMemoryInfo", &nvml_memory_info) &&
           get(library, "nvmlSystemGetDriverVersion", &nvml_driver) && nvml_init() == 0 &&
           cuDeviceGetPCIBusId(bus, sizeof(bus), device) == CUDA_SUCCESS &&
           nvml_by_bus(bus, &nvml_device) == 0;
}

static bool context_up(CUdevice device)
{
    CUcontext context;
    return cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS &&
           cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

static unsigned long long used(bool nvml)
{
    struct nvml_memory memory = {0, 0, 0};
    size_t left = 0, total = 0;
    if (nvml)
        return nvml_memory_info(nvml_device, &memory) == 0 ? memory.used : 0;
    return cuMemGetInfo(&left, &total) == CUDA_SUCCESS ? total - left : 0;
}

static int info(CUdevice device, bool nvml)
{
    char name[128] = "?", driver[96] = "?";
    int major = 0, minor = 0, version = 0;
    size_t left = 0, total = 0;
    if (!context_up(device))
        return 1;
    (void)cuDeviceGetName(name, sizeof(name), device);
    (void)cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    (void)cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    (void)cuMemGetInfo(&left, &total);
    if (!nvml || nvml_driver(driver, sizeof(driver)) != 0) {
        (void)cuDriverGetVersion(&version);
        snprintf(driver, sizeof(driver), "CUDA %d.%d", version / 1000, version % 1000 / 10);
    }
    printf("%s\t%s\t%d.%d\t%zu\t%zu\n", name, driver, major, minor, left >> 20, total >> 20);
    return 0;
}

static int watch(CUdevice device, bool nvml, const char *path)
{
    unsigned long long first, most, now, answers = 0;
    if (!nvml && !context_up(device))
        return 1;
    signal(SIGTERM, on_signal);
    first = most = used(nvml);
    /* Whoever starts us waits for this line. */
    printf("%s\n", nvml ? "nvml" : "driver");
    fflush(stdout);
    for (; !stop; answers++) {
        now = used(nvml);
        most = now > most ? now : most;
        usleep(300);
    }
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return 1;
    fprintf(file, "%llu %llu %llu\n", first, most, answers);
    return fclose(file) != 0;
}

static int hold(CUdevice device, size_t mib)
{
    size_t left = 0, total = 0;
    CUdeviceptr p;
    if (!context_up(device))
        return 1;
    signal(SIGTERM, on_signal);
    /* Smaller and smaller, for the driver gives no more than it has in one piece. */
    for (size_t unit = (size_t)4 << 30; unit >= (size_t)2 << 20; unit /= 2)
        while (cuMemGetInfo(&left, &total) == CUDA_SUCCESS && left >= (mib << 20) + unit &&
               cuMemAlloc(&p, unit) == CUDA_SUCCESS)
            ;
    printf("%zu\n", left >> 20);
    fflush(stdout);
    while (!stop)
        pause();
    return 0;
}

int main(int argc, char **argv)
{
    CUdevice device;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS)
        return 1;
    bool nvml = nvml_up(device);
    if (argc == 2 && strcmp(argv[1], "info") == 0)
        return info(device, nvml);
    if (argc == 3 && strcmp(argv[1], "watch") == 0)
        return watch(device, nvml, argv[2]);
    if (argc == 3 && strcmp(argv[1], "hold") == 0)
        return hold(device, (size_t)strtoul(argv[2], NULL, 10));
    return 64;
}
