/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The launch configuration of PyTorch's reduction kernel (aten/src/ATen/native/cuda/Reduce.cuh):
 * the distribution of a sum over lanes, warps and blocks determines whether partial results go
 * through memory.
 */
#include "torch/autograd/cuda_reduce.h"

enum {
    WARP = 32,
    MOST_THREADS = 512,
    OUTPUT_VECTOR = 4,
    LEAST_VALUES_PER_THREAD = 16,
    MOST_VALUES_PER_THREAD = 256
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static uint64_t last_power_of_two(uint64_t n)
{
    uint64_t power = 1;
    while (power <= n / 2)
        power *= 2;
    return power;
}

typedef struct launch {
    uint64_t width, height; /* of a block of threads */
    uint64_t step_input, step_output;
} launch;

static launch block_of(uint64_t dim0, uint64_t dim1, uint64_t vector)
{
    uint64_t most = MOST_THREADS / vector;
    uint64_t width = dim0 < most ? last_power_of_two(dim0) : most;
    uint64_t height = dim1 < most ? last_power_of_two(dim1) : most;
    launch l = {.step_input = 1, .step_output = 1};
    l.width = smaller(width, WARP);
    l.height = smaller(height, most / l.width);
    l.width = smaller(width, most / l.height);
    return l;
}

static uint64_t output_vector(uint64_t outputs)
{
    uint64_t vector = OUTPUT_VECTOR;
    while (outputs % vector)
        vector /= 2;
    return vector;
}

/* `row`: of the results, how many lie side by side; `bytes`: of a partial result. */
static ms_reduce_buffers buffers_of(const ms_device *device, uint64_t outputs, uint64_t row,
                                    uint64_t inputs, bool inputs_contiguous, uint64_t bytes)
{
    ms_reduce_buffers none = {0};
    if (outputs == 0 || inputs == 0)
        return none;
    uint64_t vector = inputs_contiguous ? 1 : output_vector(row);
    launch l =
        inputs_contiguous ? block_of(inputs, outputs, 1) : block_of(row / vector, inputs, vector);
    if (inputs_contiguous)
        l.step_input *= l.width;
    else
        l.step_output *= l.width;
    uint64_t values = divide_up(inputs, l.step_input);
    bool split_over_warps = values >= l.height * 16 || values >= MOST_VALUES_PER_THREAD;
    if (split_over_warps)
        l.step_input *= l.height;
    else
        l.step_output *= l.height;
    values = divide_up(inputs, l.step_input);
    uint64_t multiprocessors = device->multiprocessors ? device->multiprocessors : 108;
    uint64_t target =
        multiprocessors * (ms_device_threads_per_multiprocessor(device) / (l.width * l.height));
    uint64_t grid = divide_up(outputs / vector, l.step_output);
    if (!split_over_warps || values < MOST_VALUES_PER_THREAD || grid > target)
        return none;
    uint64_t blocks =
        larger(smaller(divide_up(target, grid), divide_up(values, LEAST_VALUES_PER_THREAD)),
               divide_up(values, MOST_VALUES_PER_THREAD));
    if (blocks <= 1)
        return none;
    uint64_t lanes = inputs_contiguous ? 1 : l.width * vector;
    return (ms_reduce_buffers){.partial_bytes = bytes * outputs * blocks * lanes,
                               .semaphore_bytes = 4 * grid};
}

ms_reduce_buffers ms_cuda_reduce_buffers(const ms_device *device, uint64_t outputs, uint64_t inputs,
                                         bool inputs_contiguous)
{
    enum { FP32 = 4 };
    return buffers_of(device, outputs, outputs, inputs, inputs_contiguous, FP32);
}

ms_reduce_buffers ms_cuda_all_buffers(const ms_device *device, uint64_t rows, uint64_t row,
                                      uint64_t inputs)
{
    return buffers_of(device, rows * row, row, inputs, false, 1);
}
