/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of convolutional networks, by the model of a device in nets.h, written as stages. */
#ifndef SPILL_BENCH_LAYERS_H
#define SPILL_BENCH_LAYERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A map of C channels, for the whole batch. */
struct map {
    uint32_t c, h, w;
};

struct net {
    FILE *out;
    uint32_t batch;
    struct map at;   /* the output of the last layer */
    double weighted; /* operations on weights in a forward pass */
    bool valid;
    /* the stage so far */
    uint32_t stages;
    double forward_ns, backward_ns;
    uint64_t saved, forward_temporary, inner_largest;
    uint32_t layers, inner; /* maps inside the stage that have gradients of their own */
};

uint64_t layers_bytes(const struct net *net, struct map map);

/* The last layer's output is needed again in the backward pass; or it is not. */
void layers_save(struct net *net);
void layers_do_not_save(struct net *net);

/* An operation a number, over its input or into a new map. */
void layers_in_place(struct net *net);
void layers_to_new_map(struct net *net);

/* A convolution with a kernel of KH x KW, or one of KERNEL x KERNEL whose padding keeps the size;
 * its output is saved by whoever comes next. */
void layers_conv_of(struct net *net, uint32_t channels, uint32_t kh, uint32_t kw, uint32_t stride,
                    uint32_t pad_h, uint32_t pad_w);
void layers_conv(struct net *net, uint32_t channels, uint32_t kernel, uint32_t stride);
void layers_norm(struct net *net);
void layers_relu(struct net *net);
void layers_conv_norm_relu(struct net *net, uint32_t channels, uint32_t kh, uint32_t kw,
                           uint32_t stride, uint32_t pad_h, uint32_t pad_w);
void layers_pool(struct net *net, uint32_t kernel, uint32_t stride, uint32_t pad);
/* To one number a channel. */
void layers_pool_all(struct net *net);
void layers_linear(struct net *net, uint32_t outputs);

/* Ends the stage: net->at is its output. */
void layers_stage(struct net *net, const char *name);

#endif
