/* SPDX-License-Identifier: Apache-2.0 */
/* Published convolutional networks as chains of stages, in the text form of solver/chain.h. Sizes
 * and operations follow from the architectures, which are written out in nets.c; times from this
 * model of a device, with single precision throughout:
 *   a layer takes the longer of its arithmetic at 7 TFLOP/s and its memory traffic at 720 GB/s, and
 *   5 us for the launch: about half of the arithmetic and four fifths of the memory rate of a V100;
 *   the backward step of a layer with weights does the arithmetic twice (for its input's and its
 *   weights' gradient), any backward step moves its input, its output and their gradients;
 *   links: 12 GB/s each way at once, 10 us a copy.
 * What is saved follows the usual framework: a convolution and a pooling keep their input, a batch
 * normalization its input, a ReLU its output, which it writes over its input. A stage is a layer or
 * a block whose inside does not matter to the others. Its temporaries: forward, the largest map
 * that is not saved; backward, twice its largest map, for the gradients that pass through. */
#ifndef SPILL_BENCH_NETS_H
#define SPILL_BENCH_NETS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The i-th network's name, NULL after the last; and its usual image size. */
const char *nets_name(uint32_t index);
uint32_t nets_image(uint32_t index);

/* Writes network INDEX for BATCH square images of IMAGE x IMAGE pixels, and counts the OPERATIONS
 * on weights that an image takes forward, an addition and a multiplication each. False: the images
 * are too small for it. */
bool nets_write(uint32_t index, uint32_t image, uint32_t batch, FILE *out, double *operations);

#endif
