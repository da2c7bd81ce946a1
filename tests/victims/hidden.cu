/* SPDX-License-Identifier: Apache-2.0 */
/* A training-shaped program whose kernel is told of two of its buffers in a roundabout way:
 *   struct  by value, in a struct within a struct     array   by value, in an array in a struct
 *   table   in an array in device memory              wide    in the middle of a large buffer,
 * which global  in a __device__ variable                          one large copy filled list    in
 * structs in device memory that a kernel linked to each other Usage: hidden HOW [STEPS]. Prints a
 * sum a step. */
#include "victim.h"

enum { HIDDEN = 2, LAYERS = 4, COUNT = 1 << 20, WIDE = 1 << 22, STRIDE = 509 };

struct inner {
    int count;
    float *at;
};
struct outer {
    char tag;
    struct inner first, second;
};
struct array {
    float *at[HIDDEN];
};
struct node {
    int count;
    float *data;
    struct node *next;
};

__device__ float *global_at[HIDDEN];

/* Every STRIDE-th element: all pages, at a cost that tests can pay. */
__device__ static void mix(float *hidden, float *seen)
{
    for (int i = STRIDE * threadIdx.x; i < COUNT; i += STRIDE * blockDim.x) {
        hidden[i] = 0.5f * hidden[i] + 0.25f * seen[i] + 0.125f;
        seen[i] = 0.75f * seen[i] + 0.0625f * hidden[i];
    }
}

__global__ void by_struct(struct outer s, float *seen)
{
    mix(s.first.at, seen);
    mix(s.second.at, seen);
}

__global__ void by_array(struct array a, float *seen)
{
    for (int h = 0; h < HIDDEN; h++)
        mix(a.at[h], seen);
}

__global__ void by_table(float *const *table, float *seen)
{
    for (int h = 0; h < HIDDEN; h++)
        mix(table[h], seen);
}

__global__ void by_global(float *seen)
{
    for (int h = 0; h < HIDDEN; h++)
        mix(global_at[h], seen);
}

__global__ void by_list(const struct node *node, float *seen)
{
    for (; node != NULL; node = node->next)
        mix(node->data, seen);
}

__global__ void link(struct node *nodes, struct array a)
{
    if (threadIdx.x == 0)
        for (int h = 0; h < HIDDEN; h++) {
            nodes[h].count = COUNT;
            nodes[h].data = a.at[h];
            nodes[h].next = h + 1 < HIDDEN ? &nodes[h + 1] : NULL;
        }
}

__global__ void fill(float *x, float seed)
{
    for (int i = STRIDE * threadIdx.x; i < COUNT; i += STRIDE * blockDim.x)
        x[i] = seed + 0.001f * (float)(i % 1021);
}

__global__ void layer(float *from, float *to)
{
    for (int i = STRIDE * threadIdx.x; i < COUNT; i += STRIDE * blockDim.x) {
        to[i] = 0.5f * from[i] + 0.25f;
        from[i] = 0.875f * from[i];
    }
}

__global__ void sum(const float *x, float *out)
{
    float total = 0;
    for (int i = 0; threadIdx.x == 0 && i < COUNT; i += STRIDE)
        total += x[i] * (float)(1 + i % 13);
    if (threadIdx.x == 0)
        *out = total;
}

static const char *how;
static struct array hidden;
static float **table, *out;
static char *wide;
static struct node *nodes;

static bool is(const char *name)
{
    return strcmp(how, name) == 0;
}

static void set_up(void)
{
    for (int h = 0; h < HIDDEN; h++) {
        CHECK(cudaMalloc(&hidden.at[h], COUNT * sizeof(float)));
        fill<<<1, 32>>>(hidden.at[h], (float)h);
    }
    CHECK(cudaMalloc(&out, sizeof(float)));
    if (is("table")) {
        CHECK(cudaMalloc(&table, sizeof(hidden)));
        CHECK(cudaMemcpy(table, &hidden, sizeof(hidden), cudaMemcpyHostToDevice));
    } else if (is("wide")) {
        char *image = (char *)calloc(WIDE, 1);
        table = (float **)(image + WIDE / 2 + 8);
        memcpy(table, &hidden, sizeof(hidden));
        CHECK(cudaMalloc(&wide, WIDE));
        CHECK(cudaMemcpy(wide, image, WIDE, cudaMemcpyHostToDevice));
        table = (float **)(wide + WIDE / 2 + 8);
        free(image);
    } else if (is("global")) {
        CHECK(cudaMemcpyToSymbol(global_at, &hidden, sizeof(hidden)));
    } else if (is("list")) {
        CHECK(cudaMalloc(&nodes, HIDDEN * sizeof(*nodes)));
        link<<<1, 32>>>(nodes, hidden);
    }
}

static void use_hidden(float *seen)
{
    struct outer nested = {'x', {COUNT, hidden.at[0]}, {COUNT, hidden.at[1]}};
    if (is("struct"))
        by_struct<<<1, 32>>>(nested, seen);
    else if (is("array"))
        by_array<<<1, 32>>>(hidden, seen);
    else if (is("global"))
        by_global<<<1, 32>>>(seen);
    else if (is("list"))
        by_list<<<1, 32>>>(nodes, seen);
    else
        by_table<<<1, 32>>>(table, seen);
}

static void step(int number)
{
    float *layers[LAYERS], result;
    for (int l = 0; l < LAYERS; l++) {
        CHECK(cudaMalloc(&layers[l], COUNT * sizeof(float)));
        if (l == 0)
            fill<<<1, 32>>>(layers[l], (float)number);
        else
            layer<<<1, 32>>>(layers[l - 1], layers[l]);
    }
    use_hidden(layers[LAYERS - 1]);
    for (int l = LAYERS - 1; l > 0; l--)
        layer<<<1, 32>>>(layers[l], layers[l - 1]);
    sum<<<1, 32>>>(layers[0], out);
    CHECK(cudaMemcpy(&result, out, sizeof(result), cudaMemcpyDeviceToHost));
    for (int l = 0; l < LAYERS; l++)
        CHECK(cudaFree(layers[l]));
    printf("step %d sum %.9g\n", number, (double)result);
}

int main(int argc, char **argv)
{
    int steps = argc > 2 ? atoi(argv[2]) : 8;
    how = argc > 1 ? argv[1] : "";
    if (!is("struct") && !is("array") && !is("table") && !is("wide") && !is("global") &&
        !is("list")) {
        fprintf(stderr, "usage: hidden struct|array|table|wide|global|list [STEPS]\n");
        return 64;
    }
    set_up();
    for (int s = 1; s <= steps; s++)
        step(s);
    return 0;
}
