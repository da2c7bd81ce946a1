/* SPDX-License-Identifier: Apache-2.0 */
/* An ordinary CUDA program: a small decoder transformer that learns to continue a text, character
 * by character (default: the licence in this folder). Nothing of Spillway is in it.
 *
 * Beside characters and positions it embeds the last two, three and four characters, by their
 * hashes: large tables that are read at the start of a step and written at its end. With Adam each
 * keeps two moments a weight, so that much of the memory lies idle from the end of one step to the
 * end of the next. Updates run on a second stream, each as soon as its gradient is there.
 *
 * Activations and gradients come and go in every step. Sums run in a fixed order (no float
 * atomics): two runs print the same digits. Most kernels give a thread a whole row, which is one
 * character. */
#include <cuda_runtime.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            fflush(stdout);                                                                        \
            fprintf(stderr, "CUDA error: %s (%s) at %s:%d\n", cudaGetErrorString(error_),          \
                    cudaGetErrorName(error_), __FILE__, __LINE__);                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum {
    CONTEXT = 32, /* characters of a sequence */
    WIDTH = 32,
    HEADS = 4,
    HEAD = WIDTH / HEADS,
    INNER = 4 * WIDTH,
    SYMBOLS = 96, /* line feed and the printable ones */
    LAYERS = 2,
    TABLES = 5, /* characters, positions, two, three, four characters */
    HASHED = 32768,
    THREADS = 128,
    TILE = 32,   /* sums a thread keeps at a time; all widths are multiples */
    SPAN = 16,   /* and all counts of weights, of this */
    CHUNK = 256, /* rows whose weight gradients one block sums */
    PARAMETERS = TABLES + LAYERS * 6 + 2,
    TENSORS = PARAMETERS - TABLES /* that one launch updates at most */
};

#define DECAY 0.01f /* of weights, relative to the rate */

/* The weights of all tables, by value to the kernel that reads them all. */
struct tables {
    const float *w[TABLES];
};

/* ---- kernels: one thread a row unless said otherwise ---- */

__global__ void embed(struct tables tables, const int *ids, float *x, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum[WIDTH];
    for (int j = 0; j < WIDTH; j++)
        sum[j] = 0.0f;
    for (int t = 0; t < TABLES; t++) {
        const float *entry = tables.w[t] + ids[t * rows + row] * WIDTH;
        for (int j = 0; j < WIDTH; j++)
            sum[j] += entry[j];
    }
    for (int j = 0; j < WIDTH; j++)
        x[row * WIDTH + j] = sum[j];
}

/* One thread an entry of the table: it sums the rows that used it, users[first[entry]] and on. */
__global__ void embed_grad(const float *dx, const int *first, const int *users, float *grad,
                           int entries)
{
    int entry = blockIdx.x * blockDim.x + threadIdx.x;
    if (entry >= entries)
        return;
    float sum[WIDTH];
    for (int j = 0; j < WIDTH; j++)
        sum[j] = 0.0f;
    for (int i = first[entry]; i < first[entry + 1]; i++)
        for (int j = 0; j < WIDTH; j++)
            sum[j] += dx[users[i] * WIDTH + j];
    for (int j = 0; j < WIDTH; j++)
        grad[entry * WIDTH + j] = sum[j];
}

/* z = x W + b, with W stored IN x OUT and b, if there is one, as its row number IN. */
template <int IN, int OUT, bool BIAS>
__global__ void affine(const float *x, const float *w, float *z, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    for (int tile = 0; tile < OUT; tile += TILE) {
        float sum[TILE];
        for (int j = 0; j < TILE; j++)
            sum[j] = BIAS ? w[IN * OUT + tile + j] : 0.0f;
        for (int k = 0; k < IN; k++) {
            float xk = x[row * IN + k];
            for (int j = 0; j < TILE; j++)
                sum[j] += xk * w[k * OUT + tile + j];
        }
        for (int j = 0; j < TILE; j++)
            z[row * OUT + tile + j] = sum[j];
    }
}

/* The weight gradient of CHUNK rows. One block a chunk, one thread a row of W (the last one the
 * bias). */
template <int IN, int OUT>
__global__ void affine_weight_grad(const float *x, const float *dz, float *partial, int rows)
{
    int k = threadIdx.x, first = blockIdx.x * CHUNK, end = min(rows, first + CHUNK);
    for (int tile = 0; tile < OUT; tile += TILE) {
        float sum[TILE];
        for (int j = 0; j < TILE; j++)
            sum[j] = 0.0f;
        for (int row = first; row < end; row++) {
            float xk = k < IN ? x[row * IN + k] : 1.0f;
            for (int j = 0; j < TILE; j++)
                sum[j] += xk * dz[row * OUT + tile + j];
        }
        for (int j = 0; j < TILE; j++)
            partial[(blockIdx.x * (IN + 1) + k) * OUT + tile + j] = sum[j];
    }
}

/* wt = W transposed, without the bias row. One thread an element. */
__global__ void transpose(const float *w, float *wt, int in, int out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < in * out)
        wt[(i % out) * in + i / out] = w[i];
}

/* SCALE holds a gain and then an offset for each column; STATS gets mean and reciprocal deviation
 * of each row. */
__global__ void layer_norm(const float *x, const float *scale, float *n, float *stats, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float mean = 0.0f, squares = 0.0f;
    for (int j = 0; j < WIDTH; j++)
        mean += x[row * WIDTH + j] / WIDTH;
    for (int j = 0; j < WIDTH; j++)
        squares += (x[row * WIDTH + j] - mean) * (x[row * WIDTH + j] - mean);
    float inverse = 1.0f / sqrtf(squares / WIDTH + 1e-5f);
    stats[row * 2] = mean;
    stats[row * 2 + 1] = inverse;
    for (int j = 0; j < WIDTH; j++)
        n[row * WIDTH + j] = (x[row * WIDTH + j] - mean) * inverse * scale[j] + scale[WIDTH + j];
}

/* dx = what comes past the normalisation (if anything does) + what comes through it. */
__global__ void layer_norm_grad(const float *dn, const float *x, const float *stats,
                                const float *scale, const float *past, float *dx, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float mean = stats[row * 2], inverse = stats[row * 2 + 1], sum = 0.0f, sum_normal = 0.0f;
    for (int j = 0; j < WIDTH; j++) {
        float d = dn[row * WIDTH + j] * scale[j];
        sum += d / WIDTH;
        sum_normal += d * (x[row * WIDTH + j] - mean) * inverse / WIDTH;
    }
    for (int j = 0; j < WIDTH; j++) {
        int i = row * WIDTH + j;
        dx[i] = (past != NULL ? past[i] : 0.0f) +
                inverse * (dn[i] * scale[j] - sum - (x[i] - mean) * inverse * sum_normal);
    }
}

/* The gradient of gains and offsets over CHUNK rows. One block a chunk, one thread a column. */
__global__ void layer_norm_scale_grad(const float *dn, const float *x, const float *stats,
                                      float *partial, int rows)
{
    int j = threadIdx.x, first = blockIdx.x * CHUNK, end = min(rows, first + CHUNK);
    float gain = 0.0f, offset = 0.0f;
    for (int row = first; row < end; row++) {
        float d = dn[row * WIDTH + j];
        gain += d * (x[row * WIDTH + j] - stats[row * 2]) * stats[row * 2 + 1];
        offset += d;
    }
    partial[blockIdx.x * 2 * WIDTH + j] = gain;
    partial[blockIdx.x * 2 * WIDTH + WIDTH + j] = offset;
}

/* One block a sequence and head, one thread a character; keys and values of the block are shared.
 * A row of QKV holds queries, keys, values of all heads, one of ATT (0 for what lies ahead) the
 * CONTEXT weights of one character and head. */
__global__ void attention(const float *qkv, float *att, float *mixed)
{
    __shared__ float key[CONTEXT][HEAD], value[CONTEXT][HEAD];
    int head = blockIdx.x % HEADS, t = threadIdx.x, row = blockIdx.x / HEADS * CONTEXT + t;
    const float *own = qkv + row * 3 * WIDTH + head * HEAD;
    float *weight = att + (blockIdx.x * CONTEXT + t) * CONTEXT;
    for (int c = 0; c < HEAD; c++) {
        key[t][c] = own[WIDTH + c];
        value[t][c] = own[2 * WIDTH + c];
    }
    __syncthreads();
    float score[CONTEXT], sum[HEAD], most = -INFINITY, total = 0.0f;
    for (int s = 0; s <= t; s++) {
        score[s] = 0.0f;
        for (int c = 0; c < HEAD; c++)
            score[s] += own[c] * key[s][c];
        score[s] /= sqrtf(HEAD);
        most = fmaxf(most, score[s]);
    }
    for (int s = 0; s <= t; s++) {
        score[s] = expf(score[s] - most);
        total += score[s];
    }
    for (int c = 0; c < HEAD; c++)
        sum[c] = 0.0f;
    for (int s = 0; s < CONTEXT; s++) {
        weight[s] = s <= t ? score[s] / total : 0.0f;
        for (int c = 0; c < HEAD; c++)
            sum[c] += weight[s] * value[s][c];
    }
    for (int c = 0; c < HEAD; c++)
        mixed[row * WIDTH + head * HEAD + c] = sum[c];
}

/* As above; a thread first serves its character as query, then, when all have, as key and value. */
__global__ void attention_grad(const float *dmixed, const float *qkv, const float *att, float *dqkv)
{
    __shared__ float query[CONTEXT][HEAD], key[CONTEXT][HEAD], value[CONTEXT][HEAD];
    __shared__ float dout[CONTEXT][HEAD], dscore[CONTEXT][CONTEXT];
    int head = blockIdx.x % HEADS, t = threadIdx.x, row = blockIdx.x / HEADS * CONTEXT + t;
    const float *own = qkv + row * 3 * WIDTH + head * HEAD;
    const float *weight = att + blockIdx.x * CONTEXT * CONTEXT;
    float *down = dqkv + row * 3 * WIDTH + head * HEAD;
    for (int c = 0; c < HEAD; c++) {
        query[t][c] = own[c];
        key[t][c] = own[WIDTH + c];
        value[t][c] = own[2 * WIDTH + c];
        dout[t][c] = dmixed[row * WIDTH + head * HEAD + c];
    }
    __syncthreads();
    float dweight[CONTEXT], dot = 0.0f, dquery[HEAD], dkey[HEAD], dvalue[HEAD];
    for (int c = 0; c < HEAD; c++)
        dquery[c] = dkey[c] = dvalue[c] = 0.0f;
    for (int s = 0; s <= t; s++) {
        dweight[s] = 0.0f;
        for (int c = 0; c < HEAD; c++)
            dweight[s] += dout[t][c] * value[s][c];
        dot += weight[t * CONTEXT + s] * dweight[s];
    }
    for (int s = 0; s <= t; s++) {
        dscore[t][s] = weight[t * CONTEXT + s] * (dweight[s] - dot) / sqrtf(HEAD);
        for (int c = 0; c < HEAD; c++)
            dquery[c] += dscore[t][s] * key[s][c];
    }
    __syncthreads();
    for (int s = t; s < CONTEXT; s++)
        for (int c = 0; c < HEAD; c++) {
            dkey[c] += dscore[s][t] * query[s][c];
            dvalue[c] += weight[s * CONTEXT + t] * dout[s][c];
        }
    for (int c = 0; c < HEAD; c++) {
        down[c] = dquery[c];
        down[WIDTH + c] = dkey[c];
        down[2 * WIDTH + c] = dvalue[c];
    }
}

__global__ void add(const float *x, const float *y, float *sum, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    for (int i = row * WIDTH; i < (row + 1) * WIDTH; i++)
        sum[i] = x[i] + y[i];
}

/* The approximation by a sigmoid. */
__global__ void gelu(const float *h, float *g, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    for (int i = row * INNER; i < (row + 1) * INNER; i++)
        g[i] = h[i] / (1.0f + expf(-1.702f * h[i]));
}

__global__ void gelu_grad(const float *dg, const float *h, float *dh, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    for (int i = row * INNER; i < (row + 1) * INNER; i++) {
        float sigmoid = 1.0f / (1.0f + expf(-1.702f * h[i]));
        dh[i] = dg[i] * sigmoid * (1.0f + 1.702f * h[i] * (1.0f - sigmoid));
    }
}

/* The loss of each row and its gradient by the logits, already divided by the number of rows. */
__global__ void cross_entropy(const float *logits, const int *targets, float *dlogits,
                              float *row_loss, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *in = logits + row * SYMBOLS;
    float *out = dlogits + row * SYMBOLS;
    float most = in[0], total = 0.0f;
    for (int c = 1; c < SYMBOLS; c++)
        most = fmaxf(most, in[c]);
    for (int c = 0; c < SYMBOLS; c++) {
        out[c] = expf(in[c] - most);
        total += out[c];
    }
    row_loss[row] = logf(total) + most - in[targets[row]];
    for (int c = 0; c < SYMBOLS; c++)
        out[c] = (out[c] / total - (c == targets[row] ? 1.0f : 0.0f)) / rows;
}

/* One block sums everything: a strided sum a thread, then a tree in shared memory. */
__global__ void mean_of(const float *values, float *mean, int count)
{
    __shared__ float part[THREADS];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += THREADS)
        sum += values[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *mean = part[0] / count;
}

/* One thread a weight. */
__global__ void sum_chunks(const float *partial, float *grad, int count, int chunks)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float sum = 0.0f;
    for (int c = 0; c < chunks; c++)
        sum += partial[c * count + i];
    grad[i] = sum;
}

/* Tensors of one launch, by value: as fused optimizers pass them. */
struct tensor_list {
    float *w[TENSORS], *m[TENSORS], *v[TENSORS], *grad[TENSORS];
    int count[TENSORS];
};

/* AdamW. The factors undo that both moments began at zero. A row of blocks for each tensor; one
 * thread SPAN weights. */
__global__ void adam(struct tensor_list list, float rate, float m_factor, float v_factor)
{
    int t = blockIdx.y, first = (blockIdx.x * blockDim.x + threadIdx.x) * SPAN;
    float *w = list.w[t], *m = list.m[t], *v = list.v[t];
    const float *grad = list.grad[t];
    if (first >= list.count[t])
        return;
    for (int i = first; i < first + SPAN; i++) {
        m[i] = 0.9f * m[i] + 0.1f * grad[i];
        v[i] = 0.98f * v[i] + 0.02f * grad[i] * grad[i];
        w[i] -= rate * (m[i] * m_factor / (sqrtf(v[i] * v_factor) + 1e-8f) + DECAY * w[i]);
    }
}

/* ---- host ---- */

static int blocks(int threads)
{
    return (threads + THREADS - 1) / THREADS;
}

template <typename T> static T *device_array(size_t count)
{
    void *p = NULL;
    CHECK(cudaMalloc(&p, count * sizeof(T)));
    return (T *)p;
}

/* Weights and their moments stay for the whole run, the gradient from where it is summed to the end
 * of the step. */
struct weights {
    int count;
    float *w, *m, *v, *grad;
};

struct layer {
    struct weights norm1, qkv, out, norm2, up, down;
    float *x, *n1, *stats1, *projected, *att, *mixed; /* saved for the way back, as below */
    float *x2, *n2, *stats2, *h, *g;
};

struct model {
    struct weights tables[TABLES], norm, head;
    struct layer layers[LAYERS];
    struct weights *all[PARAMETERS];
    int count;            /* of these */
    float *x, *n, *stats; /* saved */
    cudaStream_t updates;
    cudaEvent_t summed, updated;
    float rate, m_factor, v_factor;
};

static int entries_of(int table)
{
    return table == 0 ? SYMBOLS : table == 1 ? CONTEXT : HASHED;
}

/* Begins as RANDOM values between -SCALE and SCALE, then ONES, then ZEROS. */
static void create(struct model *m, struct weights *p, int random, float scale, int ones, int zeros,
                   unsigned *state)
{
    p->count = random + ones + zeros;
    size_t bytes = p->count * sizeof(float);
    float *host = (float *)calloc(p->count, sizeof(*host));
    for (int i = 0; i < random; i++) {
        *state = *state * 1664525U + 1013904223U;
        host[i] = ((*state >> 8) / 8388608.0f - 1.0f) * scale;
    }
    for (int i = random; i < random + ones; i++)
        host[i] = 1.0f;
    p->w = device_array<float>(p->count);
    p->m = device_array<float>(p->count);
    p->v = device_array<float>(p->count);
    CHECK(cudaMemcpy(p->w, host, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(p->m, 0, bytes));
    CHECK(cudaMemset(p->v, 0, bytes));
    free(host);
    m->all[m->count++] = p;
}

static void model_create(struct model *m)
{
    unsigned state = 12345;
    float narrow = sqrtf(3.0f / WIDTH), wide = sqrtf(3.0f / INNER);
    for (int t = 0; t < TABLES; t++)
        create(m, &m->tables[t], entries_of(t) * WIDTH, 0.5f, 0, 0, &state);
    for (int i = 0; i < LAYERS; i++) {
        struct layer *l = &m->layers[i];
        create(m, &l->norm1, 0, 0, WIDTH, WIDTH, &state);
        create(m, &l->qkv, WIDTH * 3 * WIDTH, narrow, 0, 3 * WIDTH, &state);
        create(m, &l->out, WIDTH * WIDTH, narrow / LAYERS, 0, WIDTH, &state);
        create(m, &l->norm2, 0, 0, WIDTH, WIDTH, &state);
        create(m, &l->up, WIDTH * INNER, narrow, 0, INNER, &state);
        create(m, &l->down, INNER * WIDTH, wide / LAYERS, 0, WIDTH, &state);
    }
    create(m, &m->norm, 0, 0, WIDTH, WIDTH, &state);
    create(m, &m->head, WIDTH * SYMBOLS, narrow, 0, SYMBOLS, &state);
    CHECK(cudaStreamCreateWithFlags(&m->updates, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&m->summed, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&m->updated, cudaEventDisableTiming));
}

static void model_destroy(struct model *m)
{
    for (int i = 0; i < m->count; i++) {
        CHECK(cudaFree(m->all[i]->w));
        CHECK(cudaFree(m->all[i]->m));
        CHECK(cudaFree(m->all[i]->v));
    }
    CHECK(cudaEventDestroy(m->summed));
    CHECK(cudaEventDestroy(m->updated));
    CHECK(cudaStreamDestroy(m->updates));
}

/* Once a step has summed the gradients of these and will not read them any more. */
static void update(struct model *m, struct weights *const *list, int count)
{
    struct tensor_list tensors;
    int largest = 0;
    memset(&tensors, 0, sizeof(tensors));
    for (int t = 0; t < count; t++) {
        tensors.w[t] = list[t]->w;
        tensors.m[t] = list[t]->m;
        tensors.v[t] = list[t]->v;
        tensors.grad[t] = list[t]->grad;
        tensors.count[t] = list[t]->count;
        largest = list[t]->count > largest ? list[t]->count : largest;
    }
    CHECK(cudaEventRecord(m->summed, 0));
    CHECK(cudaStreamWaitEvent(m->updates, m->summed, 0));
    adam<<<dim3(blocks(largest / SPAN), count), THREADS, 0, m->updates>>>(tensors, m->rate,
                                                                          m->m_factor, m->v_factor);
    CHECK(cudaGetLastError());
}

static void sum_gradient(struct weights *p, float *partial, int chunks)
{
    p->grad = device_array<float>(p->count);
    sum_chunks<<<blocks(p->count), THREADS>>>(partial, p->grad, p->count, chunks);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(partial));
}

template <int IN, int OUT>
static float *affine_forward(const struct weights *p, const float *x, int rows)
{
    float *z = device_array<float>((size_t)rows * OUT);
    affine<IN, OUT, true><<<blocks(rows), THREADS>>>(x, p->w, z, rows);
    CHECK(cudaGetLastError());
    return z;
}

/* Frees x and, unless it is to be KEPT, dz; returns the gradient by x. */
template <int IN, int OUT>
static float *affine_backward(struct weights *p, float *x, float *dz, int rows, bool keep = false)
{
    int chunks = (rows + CHUNK - 1) / CHUNK;
    float *wt = device_array<float>(IN * OUT);
    transpose<<<blocks(IN * OUT), THREADS>>>(p->w, wt, IN, OUT);
    CHECK(cudaGetLastError());
    float *dx = device_array<float>((size_t)rows * IN);
    affine<OUT, IN, false><<<blocks(rows), THREADS>>>(dz, wt, dx, rows);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(wt));
    float *partial = device_array<float>((size_t)chunks * p->count);
    affine_weight_grad<IN, OUT><<<chunks, IN + 1>>>(x, dz, partial, rows);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(x));
    if (!keep)
        CHECK(cudaFree(dz));
    sum_gradient(p, partial, chunks);
    return dx;
}

static float *norm_forward(const struct weights *p, const float *x, float **stats, int rows)
{
    float *n = device_array<float>((size_t)rows * WIDTH);
    *stats = device_array<float>((size_t)rows * 2);
    layer_norm<<<blocks(rows), THREADS>>>(x, p->w, n, *stats, rows);
    CHECK(cudaGetLastError());
    return n;
}

/* Frees all it is given; returns the gradient by x. */
static float *norm_backward(struct weights *p, float *x, float *stats, float *dn, float *past,
                            int rows)
{
    int chunks = (rows + CHUNK - 1) / CHUNK;
    float *partial = device_array<float>((size_t)chunks * p->count);
    layer_norm_scale_grad<<<chunks, WIDTH>>>(dn, x, stats, partial, rows);
    CHECK(cudaGetLastError());
    float *dx = device_array<float>((size_t)rows * WIDTH);
    layer_norm_grad<<<blocks(rows), THREADS>>>(dn, x, stats, p->w, past, dx, rows);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(dn));
    CHECK(cudaFree(x));
    CHECK(cudaFree(stats));
    CHECK(cudaFree(past));
    sum_gradient(p, partial, chunks);
    return dx;
}

/* Frees y. */
static float *residual(const float *x, float *y, int rows)
{
    float *sum = device_array<float>((size_t)rows * WIDTH);
    add<<<blocks(rows), THREADS>>>(x, y, sum, rows);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(y));
    return sum;
}

static float *layer_forward(struct layer *l, float *x, int rows)
{
    l->x = x;
    l->n1 = norm_forward(&l->norm1, x, &l->stats1, rows);
    l->projected = affine_forward<WIDTH, 3 * WIDTH>(&l->qkv, l->n1, rows);
    l->att = device_array<float>((size_t)rows * HEADS * CONTEXT);
    l->mixed = device_array<float>((size_t)rows * WIDTH);
    attention<<<rows / CONTEXT * HEADS, CONTEXT>>>(l->projected, l->att, l->mixed);
    CHECK(cudaGetLastError());
    l->x2 = residual(x, affine_forward<WIDTH, WIDTH>(&l->out, l->mixed, rows), rows);

    l->n2 = norm_forward(&l->norm2, l->x2, &l->stats2, rows);
    l->h = affine_forward<WIDTH, INNER>(&l->up, l->n2, rows);
    l->g = device_array<float>((size_t)rows * INNER);
    gelu<<<blocks(rows), THREADS>>>(l->h, l->g, rows);
    CHECK(cudaGetLastError());
    return residual(l->x2, affine_forward<INNER, WIDTH>(&l->down, l->g, rows), rows);
}

static float *layer_backward(struct layer *l, float *dout, int rows)
{
    float *dg = affine_backward<INNER, WIDTH>(&l->down, l->g, dout, rows, true);
    float *dh = device_array<float>((size_t)rows * INNER);
    gelu_grad<<<blocks(rows), THREADS>>>(dg, l->h, dh, rows);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(dg));
    CHECK(cudaFree(l->h));
    float *dn = affine_backward<WIDTH, INNER>(&l->up, l->n2, dh, rows);
    float *dx2 = norm_backward(&l->norm2, l->x2, l->stats2, dn, dout, rows);

    float *dmixed = affine_backward<WIDTH, WIDTH>(&l->out, l->mixed, dx2, rows, true);
    float *dqkv = device_array<float>((size_t)rows * 3 * WIDTH);
    attention_grad<<<rows / CONTEXT * HEADS, CONTEXT>>>(dmixed, l->projected, l->att, dqkv);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(dmixed));
    CHECK(cudaFree(l->projected));
    CHECK(cudaFree(l->att));
    dn = affine_backward<WIDTH, 3 * WIDTH>(&l->qkv, l->n1, dqkv, rows);
    return norm_backward(&l->norm1, l->x, l->stats1, dn, dx2, rows);
}

/* What a step works on, one array: the table entries of each row; the character that follows it;
 * and for each table, ordered by entry, the rows that use it, and where each entry's begin. */
struct batch {
    int rows, count;
    int *ids, *targets, *users[TABLES], *first[TABLES];
};

static void batch_layout(struct batch *b, int *array, int rows)
{
    int *end = array + TABLES * rows;
    b->rows = rows;
    b->ids = array;
    b->targets = end;
    end += rows;
    for (int t = 0; t < TABLES; t++) {
        b->users[t] = end;
        b->first[t] = end + rows;
        end += rows + entries_of(t) + 1;
    }
    b->count = (int)(end - array);
}

/* Leaves all that backward frees allocated, and the loss of each row, which is returned, too. */
static float *forward(struct model *m, const struct batch *b, float **dlogits)
{
    struct tables tables;
    for (int t = 0; t < TABLES; t++)
        tables.w[t] = m->tables[t].w;
    float *x = device_array<float>((size_t)b->rows * WIDTH);
    embed<<<blocks(b->rows), THREADS>>>(tables, b->ids, x, b->rows);
    CHECK(cudaGetLastError());
    for (int i = 0; i < LAYERS; i++)
        x = layer_forward(&m->layers[i], x, b->rows);
    m->x = x;
    m->n = norm_forward(&m->norm, x, &m->stats, b->rows);
    float *logits = affine_forward<WIDTH, SYMBOLS>(&m->head, m->n, b->rows);
    float *row_loss = device_array<float>(b->rows);
    *dlogits = device_array<float>((size_t)b->rows * SYMBOLS);
    cross_entropy<<<blocks(b->rows), THREADS>>>(logits, b->targets, *dlogits, row_loss, b->rows);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(logits));
    return row_loss;
}

static void backward(struct model *m, const struct batch *b, float *dlogits)
{
    float *dn = affine_backward<WIDTH, SYMBOLS>(&m->head, m->n, dlogits, b->rows);
    float *dx = norm_backward(&m->norm, m->x, m->stats, dn, NULL, b->rows);
    for (int i = LAYERS - 1; i >= 0; i--)
        dx = layer_backward(&m->layers[i], dx, b->rows);
    update(m, m->all + TABLES, m->count - TABLES); /* all small ones in one launch */
    for (int t = 0; t < TABLES; t++) {
        struct weights *p = &m->tables[t];
        p->grad = device_array<float>(p->count);
        embed_grad<<<blocks(entries_of(t)), THREADS>>>(dx, b->first[t], b->users[t], p->grad,
                                                       entries_of(t));
        CHECK(cudaGetLastError());
        update(m, &p, 1);
    }
    CHECK(cudaFree(dx));
    CHECK(cudaEventRecord(m->updated, m->updates));
    CHECK(cudaStreamWaitEvent(0, m->updated, 0));
    for (int i = 0; i < m->count; i++)
        CHECK(cudaFree(m->all[i]->grad));
}

static void free_saved(struct model *m)
{
    for (int i = 0; i < LAYERS; i++) {
        struct layer *l = &m->layers[i];
        float *saved[] = {l->x,  l->n1, l->stats1, l->projected, l->att, l->mixed,
                          l->x2, l->n2, l->stats2, l->h,         l->g};
        for (float *p : saved)
            CHECK(cudaFree(p));
    }
    CHECK(cudaFree(m->x));
    CHECK(cudaFree(m->n));
    CHECK(cudaFree(m->stats));
}

/* One step on what HOST holds, or without TRAINING only the loss of it. */
static float run(struct model *m, const struct batch *host, float *device_loss, bool training)
{
    float loss, *dlogits;
    struct batch b;
    int *array = device_array<int>(host->count);
    batch_layout(&b, array, host->rows);
    CHECK(cudaMemcpy(array, host->ids, host->count * sizeof(int), cudaMemcpyHostToDevice));
    float *row_loss = forward(m, &b, &dlogits);
    mean_of<<<1, THREADS>>>(row_loss, device_loss, b.rows);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(row_loss));
    if (training) {
        backward(m, &b, dlogits);
    } else {
        free_saved(m);
        CHECK(cudaFree(dlogits));
    }
    CHECK(cudaMemcpy(&loss, device_loss, sizeof(loss), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(array));
    return loss;
}

/* Symbols: 0 for line feeds, 1 for blanks and whatever is not printable. */
static unsigned char *text_load(const char *path, int *count)
{
    FILE *file = fopen(path, "r");
    int room = 1 << 22, c;
    if (file == NULL) {
        fprintf(stderr, "gpt: cannot read %s: %s\n", path, strerror(errno));
        exit(2);
    }
    unsigned char *text = (unsigned char *)malloc(room);
    for (*count = 0; *count < room && (c = getc(file)) != EOF; ++*count)
        text[*count] = c == '\n' ? 0 : c >= ' ' && c <= '~' ? c - ' ' + 1 : 1;
    fclose(file);
    if (*count < 2000) {
        fprintf(stderr, "gpt: %s: only %d characters\n", path, *count);
        exit(2);
    }
    return text;
}

/* The entry of table T for the character at AT, number PLACE of its sequence. */
static int entry_of(int t, const unsigned char *text, int at, int place)
{
    if (t < 2)
        return t == 0 ? text[at] : place;
    unsigned hash = 0;
    for (int i = at - t + 1; i <= at; i++)
        hash = hash * SYMBOLS + (i < 0 ? 0 : text[i]);
    return hash * 2654435761U >> 17; /* below HASHED */
}

/* Sequence number S of the batch is text[begins[s]] and on. */
static void batch_fill(struct batch *b, const unsigned char *text, const int *begins)
{
    for (int row = 0; row < b->rows; row++) {
        int at = begins[row / CONTEXT] + row % CONTEXT;
        b->targets[row] = text[at + 1];
        for (int t = 0; t < TABLES; t++)
            b->ids[t * b->rows + row] = entry_of(t, text, at, row % CONTEXT);
    }
    /* A counting sort: first[e + 1] runs from where entry e begins to where it ends. */
    for (int t = 0; t < TABLES; t++) {
        const int *ids = b->ids + t * b->rows;
        int *first = b->first[t], sum = 0;
        memset(first, 0, (entries_of(t) + 1) * sizeof(int));
        for (int row = 0; row < b->rows; row++)
            first[ids[row] + 1]++;
        for (int e = 1; e <= entries_of(t); e++) {
            int uses = first[e];
            first[e] = sum;
            sum += uses;
        }
        for (int row = 0; row < b->rows; row++)
            b->users[t][first[ids[row] + 1]++] = row;
    }
}

static struct batch batch_create(int rows)
{
    struct batch b;
    int *array = NULL;
    batch_layout(&b, array, rows);
    CHECK(cudaMallocHost((void **)&array, b.count * sizeof(int)));
    batch_layout(&b, array, rows);
    return b;
}

static long number(const char *option, const char *text, long least, long most)
{
    char *end;
    errno = 0;
    long value = text != NULL ? strtol(text, &end, 10) : least - 1;
    if (text == NULL || *text == '\0' || *end != '\0' || errno || value < least || value > most) {
        fprintf(stderr, "gpt: %s wants a number from %ld to %ld\n", option, least, most);
        exit(64);
    }
    return value;
}

int main(int argc, char **argv)
{
    const char *data = "LICENSE";
    int steps = 40, sequences = 512, count;
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--steps") == 0)
            steps = (int)number(argv[i], argv[i + 1], 1, 1000000);
        else if (strcmp(argv[i], "--batch") == 0)
            sequences = (int)number(argv[i], argv[i + 1], 1, 1 << 16);
        else if (strcmp(argv[i], "--data") == 0 && argv[i + 1] != NULL)
            data = argv[i + 1];
        else {
            fprintf(stderr, "usage: gpt [--steps N] [--batch N] [--data FILE]\n");
            return 64;
        }
    }

    /* The last tenth is not trained on. */
    unsigned char *text = text_load(data, &count);
    int train = count - count / 10, held_out = (count / 10 - 1) / CONTEXT;
    int *begins = (int *)malloc(((sequences > held_out ? sequences : held_out)) * sizeof(int));
    struct batch batch = batch_create(sequences * CONTEXT);
    struct batch test = batch_create(held_out * CONTEXT);
    float *device_loss = device_array<float>(1);
    unsigned state = 2024;
    struct model m;
    memset(&m, 0, sizeof(m));
    model_create(&m);

    for (int step = 0; step < steps; step++) {
        for (int s = 0; s < sequences; s++) {
            state = state * 1664525U + 1013904223U;
            begins[s] = (state >> 8) % (train - CONTEXT);
        }
        batch_fill(&batch, text, begins);
        m.rate = 0.02f * (1.0f - (float)step / steps);
        m.m_factor = 1.0f / (1.0f - powf(0.9f, step + 1));
        m.v_factor = 1.0f / (1.0f - powf(0.98f, step + 1));
        printf("step %d loss %.9g\n", step + 1, run(&m, &batch, device_loss, true));
        fflush(stdout);
    }
    for (int s = 0; s < held_out; s++)
        begins[s] = train + s * CONTEXT;
    batch_fill(&test, text, begins);
    printf("held-out loss %.9g, of a guess %.9g\n", run(&m, &test, device_loss, false),
           logf(SYMBOLS));

    model_destroy(&m);
    CHECK(cudaFree(device_loss));
    CHECK(cudaFreeHost(test.ids));
    CHECK(cudaFreeHost(batch.ids));
    free(begins);
    free(text);
    return 0;
}
