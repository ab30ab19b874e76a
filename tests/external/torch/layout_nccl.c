/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Our types of NCCL against NVIDIA's own, compiled where its header is.
 */
#include <nccl.h>

#include "hardware/nulldevice/libraries/nccl_types.h"

#define SAME(theirs, ours) _Static_assert((int)(theirs) == (int)(ours), #ours)

SAME(sizeof(ncclUniqueId), sizeof(ms_null_nccl_id));
SAME(ncclUnhandledCudaError, MS_NULL_NCCL_CUDA_ERROR);
SAME(ncclInvalidUsage, MS_NULL_NCCL_INVALID_USAGE);
SAME(ncclMax, MS_NULL_NCCL_MAX);
SAME(ncclMin, MS_NULL_NCCL_MIN);
SAME(ncclAvg, MS_NULL_NCCL_AVERAGE);
SAME(ncclNumOps, MS_NULL_NCCL_OPERATIONS);

static const struct {
    int type;
    unsigned char bytes;
} types[] = {
    {ncclInt8, 1},     {ncclUint8, 1},   {ncclInt32, 4},   {ncclUint32, 4},  {ncclInt64, 8},
    {ncclUint64, 8},   {ncclFloat16, 2}, {ncclFloat32, 4}, {ncclFloat64, 8},
#if NCCL_VERSION_CODE >= 22400 || defined(__CUDA_BF16_TYPES_EXIST__)
    {ncclBfloat16, 2},
#endif
};

/* The rest is of NCCL 2.24 and later. */
int main(void)
{
    for (unsigned i = 0; i < sizeof types / sizeof types[0]; i++)
        if (ms_null_nccl_sizes[types[i].type] != types[i].bytes)
            return 1;
    return (unsigned)ncclNumTypes > sizeof ms_null_nccl_sizes;
}
