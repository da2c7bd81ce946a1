/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/nets.h"

#include <stddef.h>

#include "tests/bench/layers.h"

/* Simonyan and Zisserman, 2015: five groups of 3 x 3 convolutions, each ended by a pooling. */
static void vgg(struct net *net, uint32_t deep)
{
    static const uint32_t channels[] = {64, 128, 256, 512, 512};

    for (uint32_t group = 0; group < 5; group++) {
        for (uint32_t i = 0; i < (group < 2 ? 2 : deep); i++) {
            layers_conv(net, channels[group], 3, 1);
            layers_relu(net);
            layers_stage(net, "conv");
        }
        layers_pool(net, 2, 2, 0);
        layers_stage(net, "pool");
    }
    for (int i = 0; i < 2; i++) {
        layers_linear(net, 4096);
        layers_relu(net);
        layers_stage(net, "fc");
    }
    layers_linear(net, 1000);
    layers_save(net);
    layers_stage(net, "fc");
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
        layers_conv(net, out.c, 1, stride);
        layers_norm(net);
    }
    net->at = out;
    layers_in_place(net); /* the sum */
    layers_relu(net);
    layers_stage(net, "block");
}

/* He et al., 2016; the stride of a bottleneck is in its 3 x 3 convolution. */
static void resnet(struct net *net, const uint32_t *depths, bool bottleneck)
{
    layers_conv_norm_relu(net, 64, 7, 7, 2, 3, 3);
    layers_stage(net, "conv");
    layers_pool(net, 3, 2, 1);
    layers_stage(net, "pool");
    for (uint32_t group = 0; group < 4; group++)
        for (uint32_t i = 0; i < depths[group]; i++) {
            uint32_t stride = group > 0 && i == 0 ? 2 : 1, width = 64u << group;
            struct map from = net->at;

            if (bottleneck)
                layers_conv_norm_relu(net, width, 1, 1, 1, 0, 0);
            layers_conv_norm_relu(net, width, 3, 3, stride, 1, 1);
            layers_conv(net, bottleneck ? 4 * width : width, bottleneck ? 1 : 3, 1);
            layers_norm(net);
            shortcut(net, from, stride);
        }
    layers_pool_all(net);
    layers_stage(net, "pool");
    layers_linear(net, 1000);
    layers_save(net);
    layers_stage(net, "fc");
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

    layers_conv_norm_relu(net, 64, 7, 7, 2, 3, 3);
    layers_stage(net, "conv");
    layers_pool(net, 3, 2, 1);
    layers_stage(net, "pool");
    for (uint32_t group = 0; group < 4; group++) {
        for (uint32_t i = 0; i < depths[group]; i++) {
            struct map features = net->at;

            layers_to_new_map(net); /* the norm keeps its input, which the stage before has saved */
            layers_relu(net);
            layers_conv_norm_relu(net, 4 * GROWTH, 1, 1, 1, 0, 0);
            layers_conv(net, GROWTH, 3, 1);
            layers_do_not_save(net);
            features.c += GROWTH;
            net->at = features;
            layers_to_new_map(net); /* the copy */
            layers_save(net);
            layers_stage(net, "dense");
        }
        layers_to_new_map(net);
        layers_relu(net);
        if (group < 3) {
            layers_conv(net, net->at.c / 2, 1, 1);
            layers_save(net);
            layers_pool(net, 2, 2, 0);
        } else {
            layers_pool_all(net);
        }
        layers_stage(net, "transition");
    }
    layers_linear(net, 1000);
    layers_save(net);
    layers_stage(net, "fc");
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
        layers_pool(net, 3, 1, 1);
    if (pooled == 2)
        layers_pool(net, 3, 2, 0);
    for (; units->channels != 0; units++)
        layers_conv_norm_relu(net, units->channels, units->kh, units->kw, units->stride,
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
    layers_to_new_map(net); /* joined by a copy */
    layers_save(net);
    layers_stage(net, "block");
}

/* Szegedy et al., 2016, without the auxiliary classifier. */
static void inception3(struct net *net)
{
    static const struct unit stem[] = {{32, 3, 3, 2}, {32, 3, 3, 1}, {64, 3, 3, 1}};
    static const uint32_t pool_features[] = {32, 64, 64}, widths[] = {128, 160, 160, 192};

    for (uint32_t i = 0; i < 3; i++) {
        layers_conv_norm_relu(net, stem[i].channels, 3, 3, stem[i].stride, i == 2, i == 2);
        layers_stage(net, "conv");
    }
    layers_pool(net, 3, 2, 0);
    layers_stage(net, "pool");
    layers_conv_norm_relu(net, 80, 1, 1, 1, 0, 0);
    layers_stage(net, "conv");
    layers_conv_norm_relu(net, 192, 3, 3, 1, 0, 0);
    layers_stage(net, "conv");
    layers_pool(net, 3, 2, 0);
    layers_stage(net, "pool");
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
            layers_conv_norm_relu(net, wide ? 448 : 384, 1, 1, 1, 0, 0);
            if (wide)
                layers_conv_norm_relu(net, 384, 3, 3, 1, 1, 1);
            middle = net->at;
            branch(net, middle, 0, (const struct unit[]){{384, 1, 3, 1}, {0, 0, 0, 0}}, &channels);
            branch(net, middle, 0, (const struct unit[]){{384, 3, 1, 1}, {0, 0, 0, 0}}, &channels);
        }
        branch(net, from, 1, (const struct unit[]){{192, 1, 1, 1}, {0, 0, 0, 0}}, &channels);
        net->at.c = channels;
        layers_to_new_map(net);
        layers_save(net);
        layers_stage(net, "block");
    }
    layers_pool_all(net);
    layers_stage(net, "pool");
    layers_linear(net, 1000);
    layers_save(net);
    layers_stage(net, "fc");
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
            nets[index].name, batch, image, image, (unsigned long long)layers_bytes(&net, net.at));
    nets[index].build(&net);
    *operations = net.weighted / batch;
    return net.valid;
}
