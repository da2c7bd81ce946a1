/* SPDX-License-Identifier: Apache-2.0 */
/* tangle, compiled for the per-thread default stream (tests.mk). */
#include "tangle.cu"
