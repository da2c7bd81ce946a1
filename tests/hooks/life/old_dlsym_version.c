/* SPDX-License-Identifier: Apache-2.0 */
/* nvshare, cuda-samples#39: programs built before glibc 2.34 are linked to dlsym of 2.2.5. Here:
 * both versions are ours. */
#include "tests/hooks/life/life.h"

extern void *old_dlsym(void *, const char *);
extern void *old_dlopen(const char *, int);
__asm__(".symver old_dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver old_dlopen, dlopen@GLIBC_2.2.5");

int main(void)
{
    void *driver = old_dlopen("libcuda.so.1", RTLD_NOW | RTLD_DEEPBIND);
    CHECK(driver != NULL);
    CHECK(life_in(old_dlsym(driver, "cuLaunchKernel"), "librec"));
    CHECK(life_in(dlsym(driver, "cuLaunchKernel"), "librec"));
    CHECK(life_in(old_dlsym(driver, "cuInit"), "libcuda.so"));
    return 0;
}
