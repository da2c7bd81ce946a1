/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is linked to the driver and looks it up as well. */
#include <dlfcn.h>

int cuMemsetD8_v2(unsigned long long, unsigned char, unsigned long);
int deep_linked(void);
int deep_looked_up(void);

int deep_linked(void)
{
    return cuMemsetD8_v2(0x1000, 0, 16);
}

int deep_looked_up(void)
{
    int (*set)(unsigned long long, unsigned char, unsigned long) =
        (int (*)(unsigned long long, unsigned char, unsigned long))dlsym(
            dlopen("libcuda.so.1", RTLD_NOW), "cuMemsetD8_v2");
    return set(0x1000, 0, 16);
}
