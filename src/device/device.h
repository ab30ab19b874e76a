/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Devices: rows of configs/devices.json, built into the program.
 */
#ifndef MS_DEVICE_DEVICE_H
#define MS_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* Rates assumed where unknown, to compare treatments; times are then omitted. */
typedef struct ms_assumed_rates {
    double memory_bytes_per_s, flops, host_link_bytes_per_s;
} ms_assumed_rates;

/* Operators that reach like parts of what a device could do. */
typedef enum ms_op_class {
    MS_OP_PRODUCT,   /* of matrices */
    MS_OP_ATTENTION, /* in one kernel */
    MS_OP_OTHER,     /* limited by the memory's bandwidth */
    MS_OP_CLASSES
} ms_op_class;
extern const char *const ms_op_class_names[]; /* "product", ... */

/* By its name, also of its node in backward. */
ms_op_class ms_op_class_of(const char *name, bool has_flops);

typedef struct ms_device {
    const char *name;  /* "a100-80gb" */
    const char *title; /* "NVIDIA A100 80 GB" */
    bool is_cpu;
    uint32_t compute_capability; /* 80 = 8.0; 0 when it has none */
    uint32_t multiprocessors;    /* SM count; 0 = unknown */
    uint64_t l2_bytes;           /* level 2 cache; 0 = unknown */
    uint64_t nominal_bytes;      /* what the vendor writes, in powers of 1000 */
    uint64_t driver_bytes;       /* what nvidia-smi calls total; 0 = unknown */
    uint64_t cuda_bytes;         /* what a CUDA program sees as total; 0 = unknown */
    double memory_bytes_per_s;
    double bf16_flops, fp16_flops, fp8_flops, tf32_flops, fp32_flops; /* dense; 0 = none */
    double host_link_bytes_per_s;                                     /* each way */
    double host_memory_bytes_per_s;                                   /* of any host: the table's */
    double peer_link_bytes_per_s;                                     /* total; 0 = none */
    uint64_t context_low_bytes, context_expected_bytes,
        context_high_bytes; /* CUDA context, an estimate */
    uint64_t margin_ppm; /* in use on top of reserved memory, millionths of that; by calibration */
    double slowdown[MS_OP_CLASSES]; /* times of operators over the roofline's; 0: not known, as 1 */
    ms_assumed_rates assumed;       /* for its kind: the table's */
    bool has_assumed_rates;         /* some of the rates above are those */
    const char *source;
    const char *unchecked; /* cells from general knowledge, "cuda_mib, multiprocessors"; or "" */
} ms_device;

/* All devices, parsed once into the arena. */
ms_status ms_devices_load(ms_arena *arena, const ms_device **devices, uint32_t *count,
                          ms_error *err);

/* What a CUDA program sees as total; where nobody has read it, what the driver shows less the
 * largest gap seen between the two; else what the vendor writes. 0 for the cpu. */
uint64_t ms_device_usable_bytes(const ms_device *device);

/* What the device shows for that reserved memory and a context of that many bytes. */
uint64_t ms_device_used_bytes(const ms_device *device, uint64_t reserved_bytes,
                              uint64_t context_bytes);
/* The most that can be reserved within a budget, with the expected context; may be 0. */
uint64_t ms_device_reservable_bytes(const ms_device *device, uint64_t budget_bytes);

/* NVIDIA's before compute capability 8.0: they have no arithmetic in bf16, which PyTorch emulates,
 * and no flash attention. */
bool ms_device_before_ampere(const ms_device *device);

/* Whether operators and copies can be timed at the device's own rates. */
bool ms_device_has_rates(const ms_device *device);

/* The same device; rates that are not known are the assumed ones, if any of those that it takes to
 * tell a time are missing. */
ms_device ms_device_assume_rates(const ms_device *device);

#endif
