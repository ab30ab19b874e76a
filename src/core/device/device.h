/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Devices: rows of configs/devices.json, built into the program.
 */
#ifndef MS_CORE_DEVICE_DEVICE_H
#define MS_CORE_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* Rates assumed where the device's are unknown, to compare treatments; reports then omit times. */
typedef struct ms_assumed_rates {
    double memory_bytes_per_s, flops, host_link_bytes_per_s;
} ms_assumed_rates;

/* Classes of operators that reach a similar share of the device's peak rates. */
typedef enum ms_op_class {
    MS_OP_PRODUCT,   /* of matrices */
    MS_OP_ATTENTION, /* in one kernel */
    MS_OP_OTHER,     /* limited by the memory's bandwidth */
    MS_OP_CLASSES
} ms_op_class;
extern const char *const ms_op_class_names[]; /* "product", ... */

/* The class of an operator, by its name or that of its autograd node. */
ms_op_class ms_op_class_of(const char *name, bool has_flops);

typedef struct ms_device {
    const char *name;  /* "a100-80gb" */
    const char *title; /* "NVIDIA A100 80 GB" */
    bool is_cpu;
    uint32_t compute_capability; /* 80 = 8.0; 0 when it has none */
    uint32_t multiprocessors;    /* SM count; 0 = unknown */
    uint64_t l2_bytes;           /* level 2 cache; 0 = unknown */
    uint64_t nominal_bytes;      /* what the vendor writes, in powers of 1000 */
    uint64_t driver_bytes;       /* the total that nvidia-smi shows; 0 = unknown */
    uint64_t cuda_bytes;         /* the total that a CUDA program sees; 0 = unknown */
    double memory_bytes_per_s;
    double bf16_flops, fp16_flops, fp8_flops, tf32_flops, fp32_flops; /* dense; 0 = none */
    double int8_ops;                                                  /* the same per second */
    double host_link_bytes_per_s;                                     /* each way */
    double host_memory_bytes_per_s; /* an assumption for any host */
    double peer_link_bytes_per_s;   /* total; 0 = none */
    double network_bytes_per_s; /* between hosts, of each device; as the user says; 0: unknown */
    uint64_t context_low_bytes, context_expected_bytes,
        context_high_bytes;         /* CUDA context (estimated) */
    uint64_t margin_ppm;            /* in use beyond reserved memory, millionths; calibrated */
    double slowdown[MS_OP_CLASSES]; /* measured / roofline time of operators; 0: not calibrated */
    double mfu; /* share of the peak rate at which products and attention run; 0: not given */
    double usd_per_hour;          /* as the user says; 0: not given */
    const struct ms_rates *rates; /* that it reaches; NULL: times are those of the roofline */
    ms_assumed_rates assumed;     /* for this kind of device */
    bool has_assumed_rates;       /* some of the rates above are assumed */
    const char *source;
    const char *unchecked; /* cells from general knowledge, "cuda_mib, multiprocessors"; or "" */
} ms_device;

/* All devices, parsed into the arena. */
ms_status ms_devices_load(ms_arena *arena, const ms_device **devices, uint32_t *count,
                          ms_error *err);

/* Total memory as a CUDA program sees it. Where that is unknown: the driver's total minus the
 * largest known gap between the two, else the vendor's figure. 0 for the CPU. */
uint64_t ms_device_usable_bytes(const ms_device *device);
/* Compares two elements of an array of `const ms_device *`, for qsort: the one with less of that
 * memory first. */
int ms_device_by_size(const void *left, const void *right);

/* Bytes in use on the device for this reserved memory and context, margin included. */
uint64_t ms_device_used_bytes(const ms_device *device, uint64_t reserved_bytes,
                              uint64_t context_bytes);
/* The most memory that can be reserved within a budget, with the expected context; may be 0. */
uint64_t ms_device_reservable_bytes(const ms_device *device, uint64_t budget_bytes);

/* NVIDIA GPUs before compute capability 8.0 have no bf16 arithmetic, which PyTorch emulates, and no
 * flash attention. */
bool ms_device_before_ampere(const ms_device *device);

/* Compute capability 9.0; 10.0 to 10.9 (the data-centre devices: B200, B300). */
bool ms_device_is_hopper(const ms_device *device);
bool ms_device_is_blackwell(const ms_device *device);

/* Threads that a multiprocessor holds, by compute capability (CUDA's programming guide). */
uint64_t ms_device_threads_per_multiprocessor(const ms_device *device);

/* Whether operators and copies can be timed at the device's own rates. */
bool ms_device_has_rates(const ms_device *device);

/* A copy of the device. If a rate needed to predict times is unknown, its unknown rates are the
 * assumed ones. */
ms_device ms_device_assume_rates(const ms_device *device);

/* ---- title ---- */

/* Which device of the table a driver speaks of. */

/* Whether a driver's name for a device can be this one's: it has the model of its title, "A100" of
 * "NVIDIA A100 SXM 80 GB". Models of one name differ in memory. */
bool ms_device_is_titled(const ms_device *device, const char *title);

#endif
