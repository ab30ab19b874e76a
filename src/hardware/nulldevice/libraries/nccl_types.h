/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NCCL's types in its binary interface. tests/external/torch/layout_nccl.c compares them with
 * NVIDIA's header.
 */
#ifndef MS_NULLDEVICE_NCCL_TYPES_H
#define MS_NULLDEVICE_NCCL_TYPES_H

enum { MS_NULL_NCCL_ID_BYTES = 128 };

/* ncclUniqueId, which is passed by value */
typedef struct ms_null_nccl_id {
    char text[MS_NULL_NCCL_ID_BYTES];
} ms_null_nccl_id;

/* ncclResult_t, ncclRedOp_t */
enum { MS_NULL_NCCL_CUDA_ERROR = 1, MS_NULL_NCCL_INVALID_USAGE = 5 };
enum {
    MS_NULL_NCCL_SUM = 0,
    MS_NULL_NCCL_MAX = 2,
    MS_NULL_NCCL_MIN = 3,
    MS_NULL_NCCL_AVERAGE = 4,
    MS_NULL_NCCL_OPERATIONS = 5
};

/* Some of ncclDataType_t. */
enum {
    MS_NULL_NCCL_INT8 = 0,
    MS_NULL_NCCL_UINT8 = 1,
    MS_NULL_NCCL_INT32 = 2,
    MS_NULL_NCCL_UINT32 = 3,
    MS_NULL_NCCL_INT64 = 4,
    MS_NULL_NCCL_UINT64 = 5,
    MS_NULL_NCCL_FLOAT32 = 7,
    MS_NULL_NCCL_FLOAT64 = 8
};

/* Bytes per element, by ncclDataType_t. */
static const unsigned char ms_null_nccl_sizes[] = {
    1, 1,                /* signed and unsigned */
    4, 4, 8, 8, 2, 4, 8, /* floats of 16, 32 and 64 bits */
    2,                   /* bfloat16 */
    1, 1,                /* floats of 8 bits */
};

#endif
