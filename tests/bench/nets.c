/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/nets.h"

#include <stddef.h>

#define FLOPS_PER_NS 7000.0
#define BYTES_PER_NS 720.0
#define LAUNCH_NS    5000.0

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

static uint64_t bytes_of(const struct net *net, struct map map)
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
    double in = (double)bytes_of(net, from), out = (double)bytes_of(net, net->at);

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
    uint64_t bytes = bytes_of(net, from);

    if (net->layers > 0) {
        net->inner++;
        net->inner_largest = bytes > net->inner_largest ? bytes : net->inner_largest;
    }
    touch(net, from, weighted, other);
}

/* The last layer's output is needed again in the backward pass. */
static void save(struct net *net)
{
    net->saved += bytes_of(net, net->at);
}

static void do_not_save(struct net *net)
{
    uint64_t bytes = bytes_of(net, net->at);

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

/* A convolution with a kernel of KH x KW; its output is saved by whoever comes next. */
static void conv_of(struct net *net, uint32_t channels, uint32_t kh, uint32_t kw, uint32_t stride,
                    uint32_t pad_h, uint32_t pad_w)
{
    struct map from = net->at;

    net->at = (struct map){channels, slide(net, from.h, kh, stride, pad_h),
                           slide(net, from.w, kw, stride, pad_w)};
    run(net, from, 2.0 * kh * kw * from.c * channels * net->at.h * net->at.w * (double)net->batch,
        0);
}

static void conv(struct net *net, uint32_t channels, uint32_t kernel, uint32_t stride)
{
    conv_of(net, channels, kernel, kernel, stride, kernel / 2, kernel / 2);
}

static void in_place(struct net *net)
{
    touch(net, net->at, 0, (double)bytes_of(net, net->at));
}

static void to_new_map(struct net *net)
{
    run(net, net->at, 0, (double)bytes_of(net, net->at));
}

static void norm(struct net *net)
{
    save(net); /* its input */
    to_new_map(net);
    do_not_save(net);
}

static void relu(struct net *net)
{
    in_place(net);
    save(net);
}

static void conv_norm_relu(struct net *net, uint32_t channels, uint32_t kh, uint32_t kw,
                           uint32_t stride, uint32_t pad_h, uint32_t pad_w)
{
    conv_of(net, channels, kh, kw, stride, pad_h, pad_w);
    norm(net);
    relu(net);
}

static void pool(struct net *net, uint32_t kernel, uint32_t stride, uint32_t pad)
{
    struct map from = net->at;

    net->at.h = slide(net, from.h, kernel, stride, pad);
    net->at.w = slide(net, from.w, kernel, stride, pad);
    run(net, from, 0, (double)bytes_of(net, net->at) / 4 * kernel * kernel);
    save(net);
}

static void pool_all(struct net *net)
{
    struct map from = net->at;

    net->at = (struct map){from.c, 1, 1};
    run(net, from, 0, (double)bytes_of(net, from) / 4);
    save(net);
}

static void linear(struct net *net, uint32_t outputs)
{
    struct map from = net->at;

    net->at = (struct map){outputs, 1, 1};
    run(net, from, 2.0 * from.c * from.h * from.w * outputs * (double)net->batch, 0);
}

/* Ends the stage: net->at is its output. */
static void stage(struct net *net, const char *name)
{
    uint64_t activation = bytes_of(net, net->at);

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

/* Simonyan and Zisserman, 2015: five groups of 3 x 3 convolutions, each ended by a pooling. */
static void vgg(struct net *net, uint32_t deep)
{
    static const uint32_t channels[] = {64, 128, 256, 512, 512};

    for (uint32_t group = 0; group < 5; group++) {
        for (uint32_t i = 0; i < (group < 2 ? 2 : deep); i++) {
            conv(net, channels[group], 3, 1);
            relu(net);
            stage(net, "conv");
        }
        pool(net, 2, 2, 0);
        stage(net, "pool");
    }
    for (int i = 0; i < 2; i++) {
        linear(net, 4096);
        relu(net);
        stage(net, "fc");
    }
    linear(net, 1000);
    save(net);
    stage(net, "fc");
}

static void vgg16(struct net *net)
{
    vgg(net, 3);
}

static void vgg19(struct net *net)
{
    vgg(net, 4);
}

/* The shortcut of a block: through a 1 x 1 convolution where the shape changes. */
static void shortcut(struct net *net, struct map from, uint32_t stride)
{
    struct map out = net->at;

    if (from.c != out.c || stride != 1) {
        net->at = from;
        conv(net, out.c, 1, stride);
        norm(net);
    }
    net->at = out;
    in_place(net); /* the sum */
    relu(net);
    stage(net, "block");
}

/* He et al., 2016; the stride of a bottleneck is in its 3 x 3 convolution. */
static void resnet(struct net *net, const uint32_t *depths, bool bottleneck)
{
    conv_norm_relu(net, 64, 7, 7, 2, 3, 3);
    stage(net, "conv");
    pool(net, 3, 2, 1);
    stage(net, "pool");
    for (uint32_t group = 0; group < 4; group++)
        for (uint32_t i = 0; i < depths[group]; i++) {
            uint32_t stride = group > 0 && i == 0 ? 2 : 1, width = 64u << group;
            struct map from = net->at;

            if (bottleneck)
                conv_norm_relu(net, width, 1, 1, 1, 0, 0);
            conv_norm_relu(net, width, 3, 3, stride, 1, 1);
            conv(net, bottleneck ? 4 * width : width, bottleneck ? 1 : 3, 1);
            norm(net);
            shortcut(net, from, stride);
        }
    pool_all(net);
    stage(net, "pool");
    linear(net, 1000);
    save(net);
    stage(net, "fc");
}

static void resnet18(struct net *net)
{
    resnet(net, (const uint32_t[]){2, 2, 2, 2}, false);
}

static void resnet50(struct net *net)
{
    resnet(net, (const uint32_t[]){3, 4, 6, 3}, true);
}

static void resnet101(struct net *net)
{
    resnet(net, (const uint32_t[]){3, 4, 23, 3}, true);
}

static void resnet152(struct net *net)
{
    resnet(net, (const uint32_t[]){3, 8, 36, 3}, true);
}

/* Huang et al., 2017, growth rate 32: each layer's stage ends with a copy of all features so far.
 */
static void densenet(struct net *net, const uint32_t *depths)
{
    enum { GROWTH = 32 };

    conv_norm_relu(net, 64, 7, 7, 2, 3, 3);
    stage(net, "conv");
    pool(net, 3, 2, 1);
    stage(net, "pool");
    for (uint32_t group = 0; group < 4; group++) {
        for (uint32_t i = 0; i < depths[group]; i++) {
            struct map features = net->at;

            to_new_map(net); /* the norm keeps its input, which the stage before has saved */
            relu(net);
            conv_norm_relu(net, 4 * GROWTH, 1, 1, 1, 0, 0);
            conv(net, GROWTH, 3, 1);
            do_not_save(net);
            features.c += GROWTH;
            net->at = features;
            to_new_map(net); /* the copy */
            save(net);
            stage(net, "dense");
        }
        to_new_map(net);
        relu(net);
        if (group < 3) {
            conv(net, net->at.c / 2, 1, 1);
            save(net);
            pool(net, 2, 2, 0);
        } else {
            pool_all(net);
        }
        stage(net, "transition");
    }
    linear(net, 1000);
    save(net);
    stage(net, "fc");
}

static void densenet121(struct net *net)
{
    densenet(net, (const uint32_t[]){6, 12, 24, 16});
}

static void densenet201(struct net *net)
{
    densenet(net, (const uint32_t[]){6, 12, 48, 32});
}

/* One convolution of a branch: kernel KH x KW; STRIDE 2 goes without padding. */
struct unit {
    uint32_t channels, kh, kw, stride;
};

/* A branch from FROM: its units up to one of no channels, after a pooling of stride POOLED if that
 * is not 0. Adds the channels that it puts out to *CHANNELS. */
static void branch(struct net *net, struct map from, uint32_t pooled, const struct unit *units,
                   uint32_t *channels)
{
    net->at = from;
    if (pooled == 1)
        pool(net, 3, 1, 1);
    if (pooled == 2)
        pool(net, 3, 2, 0);
    for (; units->channels != 0; units++)
        conv_norm_relu(net, units->channels, units->kh, units->kw, units->stride,
                       units->stride == 2 ? 0 : units->kh / 2,
                       units->stride == 2 ? 0 : units->kw / 2);
    *channels += net->at.c;
}

/* A block: its branches, the last with a pooling first, and their outputs joined. */
static void block(struct net *net, const struct unit (*branches)[6], uint32_t count,
                  uint32_t pooled)
{
    struct map from = net->at;
    uint32_t channels = 0;

    for (uint32_t i = 0; i < count; i++)
        branch(net, from, i + 1 == count ? pooled : 0, branches[i], &channels);
    net->at.c = channels;
    to_new_map(net); /* joined by a copy */
    save(net);
    stage(net, "block");
}

/* Szegedy et al., 2016, without the auxiliary classifier. */
static void inception3(struct net *net)
{
    static const struct unit stem[] = {{32, 3, 3, 2}, {32, 3, 3, 1}, {64, 3, 3, 1}};
    static const uint32_t pool_features[] = {32, 64, 64}, widths[] = {128, 160, 160, 192};

    for (uint32_t i = 0; i < 3; i++) {
        conv_norm_relu(net, stem[i].channels, 3, 3, stem[i].stride, i == 2, i == 2);
        stage(net, "conv");
    }
    pool(net, 3, 2, 0);
    stage(net, "pool");
    conv_norm_relu(net, 80, 1, 1, 1, 0, 0);
    stage(net, "conv");
    conv_norm_relu(net, 192, 3, 3, 1, 0, 0);
    stage(net, "conv");
    pool(net, 3, 2, 0);
    stage(net, "pool");
    for (uint32_t i = 0; i < 3; i++)
        block(net,
              (const struct unit[][6]){{{64, 1, 1, 1}},
                                       {{48, 1, 1, 1}, {64, 5, 5, 1}},
                                       {{64, 1, 1, 1}, {96, 3, 3, 1}, {96, 3, 3, 1}},
                                       {{pool_features[i], 1, 1, 1}}},
              4, 1);
    block(net,
          (const struct unit[][6]){
              {{384, 3, 3, 2}}, {{64, 1, 1, 1}, {96, 3, 3, 1}, {96, 3, 3, 2}}, {{0, 0, 0, 0}}},
          3, 2);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t w = widths[i];

        block(net,
              (const struct unit[][6]){
                  {{192, 1, 1, 1}},
                  {{w, 1, 1, 1}, {w, 1, 7, 1}, {192, 7, 1, 1}},
                  {{w, 1, 1, 1}, {w, 7, 1, 1}, {w, 1, 7, 1}, {w, 7, 1, 1}, {192, 1, 7, 1}},
                  {{192, 1, 1, 1}}},
              4, 1);
    }
    block(net,
          (const struct unit[][6]){{{192, 1, 1, 1}, {320, 3, 3, 2}},
                                   {{192, 1, 1, 1}, {192, 1, 7, 1}, {192, 7, 1, 1}, {192, 3, 3, 2}},
                                   {{0, 0, 0, 0}}},
          3, 2);
    for (uint32_t i = 0; i < 2; i++) {
        struct map from = net->at;
        uint32_t channels = 0;

        branch(net, from, 0, (const struct unit[]){{320, 1, 1, 1}, {0, 0, 0, 0}}, &channels);
        for (uint32_t wide = 0; wide < 2; wide++) { /* each ends in 1 x 3 beside 3 x 1 */
            struct map middle;

            net->at = from;
            conv_norm_relu(net, wide ? 448 : 384, 1, 1, 1, 0, 0);
            if (wide)
                conv_norm_relu(net, 384, 3, 3, 1, 1, 1);
            middle = net->at;
            branch(net, middle, 0, (const struct unit[]){{384, 1, 3, 1}, {0, 0, 0, 0}}, &channels);
            branch(net, middle, 0, (const struct unit[]){{384, 3, 1, 1}, {0, 0, 0, 0}}, &channels);
        }
        branch(net, from, 1, (const struct unit[]){{192, 1, 1, 1}, {0, 0, 0, 0}}, &channels);
        net->at.c = channels;
        to_new_map(net);
        save(net);
        stage(net, "block");
    }
    pool_all(net);
    stage(net, "pool");
    linear(net, 1000);
    save(net);
    stage(net, "fc");
}

static const struct {
    const char *name;
    uint32_t image;
    void (*build)(struct net *net);
} nets[] = {
    {"ResNet-18", 224, resnet18},
    {"ResNet-50", 224, resnet50},
    {"ResNet-101", 224, resnet101},
    {"ResNet-152", 224, resnet152},
    {"VGG-16", 224, vgg16},
    {"VGG-19", 224, vgg19},
    {"DenseNet-121", 224, densenet121},
    {"DenseNet-201", 224, densenet201},
    {"Inception-v3", 299, inception3},
};

const char *nets_name(uint32_t index)
{
    return index < sizeof(nets) / sizeof(nets[0]) ? nets[index].name : NULL;
}

uint32_t nets_image(uint32_t index)
{
    return nets[index].image;
}

bool nets_write(uint32_t index, uint32_t image, uint32_t batch, FILE *out, double *operations)
{
    struct net net = {.out = out, .batch = batch, .at = {3, image, image}, .valid = true};

    fprintf(out, "# %s, %u images of %u x %u\nL 10 12000000000 12000000000 1000\nI %llu\n",
            nets[index].name, batch, image, image, (unsigned long long)bytes_of(&net, net.at));
    nets[index].build(&net);
    *operations = net.weighted / batch;
    return net.valid;
}
