/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/layers.h"

#define FLOPS_PER_NS 7000.0
#define BYTES_PER_NS 720.0
#define LAUNCH_NS    5000.0

uint64_t layers_bytes(const struct net *net, struct map map)
{
    return 4 * (uint64_t)net->batch * map.c * map.h * map.w;
}

static double longer(double a, double b)
{
    return a > b ? a : b;
}

/* A layer that writes over its input net->at, or a part of one. */
static void touch(struct net *net, struct map from, double weighted, double other)
{
    double in = (double)layers_bytes(net, from), out = (double)layers_bytes(net, net->at);

    net->weighted += weighted;
    net->forward_ns +=
        LAUNCH_NS + longer((weighted + other) / FLOPS_PER_NS, (in + out) / BYTES_PER_NS);
    net->backward_ns +=
        LAUNCH_NS + longer((2 * weighted + other) / FLOPS_PER_NS, 2 * (in + out) / BYTES_PER_NS);
    net->layers++;
}

/* A layer from FROM to net->at, which is a map of its own, with so many operations on weights and
 * others. */
static void run(struct net *net, struct map from, double weighted, double other)
{
    uint64_t bytes = layers_bytes(net, from);

    if (net->layers > 0) {
        net->inner++;
        net->inner_largest = bytes > net->inner_largest ? bytes : net->inner_largest;
    }
    touch(net, from, weighted, other);
}

void layers_save(struct net *net)
{
    net->saved += layers_bytes(net, net->at);
}

void layers_do_not_save(struct net *net)
{
    uint64_t bytes = layers_bytes(net, net->at);

    net->forward_temporary = bytes > net->forward_temporary ? bytes : net->forward_temporary;
}

static uint32_t slide(struct net *net, uint32_t size, uint32_t kernel, uint32_t stride,
                      uint32_t pad)
{
    if (size + 2 * pad < kernel) {
        net->valid = false;
        return 1;
    }
    return (size + 2 * pad - kernel) / stride + 1;
}

void layers_conv_of(struct net *net, uint32_t channels, uint32_t kh, uint32_t kw, uint32_t stride,
                    uint32_t pad_h, uint32_t pad_w)
{
    struct map from = net->at;

    net->at = (struct map){channels, slide(net, from.h, kh, stride, pad_h),
                           slide(net, from.w, kw, stride, pad_w)};
    run(net, from, 2.0 * kh * kw * from.c * channels * net->at.h * net->at.w * (double)net->batch,
        0);
}

void layers_conv(struct net *net, uint32_t channels, uint32_t kernel, uint32_t stride)
{
    layers_conv_of(net, channels, kernel, kernel, stride, kernel / 2, kernel / 2);
}

void layers_in_place(struct net *net)
{
    touch(net, net->at, 0, (double)layers_bytes(net, net->at));
}

void layers_to_new_map(struct net *net)
{
    run(net, net->at, 0, (double)layers_bytes(net, net->at));
}

void layers_norm(struct net *net)
{
    layers_save(net); /* its input */
    layers_to_new_map(net);
    layers_do_not_save(net);
}

void layers_relu(struct net *net)
{
    layers_in_place(net);
    layers_save(net);
}

void layers_conv_norm_relu(struct net *net, uint32_t channels, uint32_t kh, uint32_t kw,
                           uint32_t stride, uint32_t pad_h, uint32_t pad_w)
{
    layers_conv_of(net, channels, kh, kw, stride, pad_h, pad_w);
    layers_norm(net);
    layers_relu(net);
}

void layers_pool(struct net *net, uint32_t kernel, uint32_t stride, uint32_t pad)
{
    struct map from = net->at;

    net->at.h = slide(net, from.h, kernel, stride, pad);
    net->at.w = slide(net, from.w, kernel, stride, pad);
    run(net, from, 0, (double)layers_bytes(net, net->at) / 4 * kernel * kernel);
    layers_save(net);
}

void layers_pool_all(struct net *net)
{
    struct map from = net->at;

    net->at = (struct map){from.c, 1, 1};
    run(net, from, 0, (double)layers_bytes(net, from) / 4);
    layers_save(net);
}

void layers_linear(struct net *net, uint32_t outputs)
{
    struct map from = net->at;

    net->at = (struct map){outputs, 1, 1};
    run(net, from, 2.0 * from.c * from.h * from.w * outputs * (double)net->batch, 0);
}

void layers_stage(struct net *net, const char *name)
{
    uint64_t activation = layers_bytes(net, net->at);

    if (net->saved < activation)
        net->saved = activation;
    fprintf(net->out, "S %s%u %.3f %.3f %llu %llu %llu %llu\n", name, ++net->stages,
            net->forward_ns / 1000, net->backward_ns / 1000, (unsigned long long)activation,
            (unsigned long long)net->saved, (unsigned long long)net->forward_temporary,
            (unsigned long long)((net->inner < 2 ? net->inner : 2) * net->inner_largest));
    net->forward_ns = net->backward_ns = 0;
    net->saved = net->forward_temporary = net->inner_largest = 0;
    net->layers = net->inner = 0;
}
