/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of tables and clocks beside the driver: there is none, and none is called. */
#ifndef NODRIVER_H
#define NODRIVER_H

#include "preload/base/driver.h"

struct spill_driver spill_driver;

bool spill_driver_complete(void)
{
    return false;
}

const char *spill_driver_error(CUresult result)
{
    (void)result;
    return "";
}

#endif
