/* SPDX-License-Identifier: Apache-2.0 */
/* A library that brings a driver function of its own, as stand-ins for the driver do. */
int cuMemsetD16_v2(unsigned long long addr, unsigned short value, unsigned long count);
int own_call(void);

int cuMemsetD16_v2(unsigned long long addr, unsigned short value, unsigned long count)
{
    return (int)(addr + value + count);
}

int own_call(void)
{
    return cuMemsetD16_v2(1, 2, 3);
}
