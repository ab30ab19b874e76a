/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Structs that CUDA's runtime fills and its driver reads, in the binary interface of CUDA 13, and
 * of CUDA 12 where it differs. tests/external/torch/layout.c compares them with NVIDIA's headers if
 * these are installed.
 */
#ifndef MS_HARDWARE_NULLDEVICE_RUNTIME_TYPES_H
#define MS_HARDWARE_NULLDEVICE_RUNTIME_TYPES_H

#include <stddef.h>

typedef struct ms_null_properties {
    char name[256];
    char uuid[16], luid[8];
    unsigned luid_mask;
    size_t total_bytes, shared_bytes_of_block;
    int registers_of_block, warp_size;
    size_t pitch_bytes;
    int threads_of_block, block_dimensions[3], grid_dimensions[3];
    size_t constant_bytes;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    int multiprocessors, integrated, maps_host_memory;
    int textures_and_surfaces[39];
    size_t surface_alignment;
    int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines;
    int unified_addressing, bus_bits, l2_bytes, persisting_l2_bytes, threads_of_multiprocessor;
    int stream_priorities, global_l1, local_l1;
    size_t shared_bytes_of_multiprocessor;
    int registers_of_multiprocessor, managed_memory, multi_gpu[2], host_atomics;
    int pageable_access, concurrent_managed_access, preemption, host_pointer_same;
    int cooperative_launch;
    size_t shared_bytes_opt_in;
    int pageable_host_tables, direct_managed, blocks_of_multiprocessor, access_window_bytes;
    size_t shared_bytes_reserved;
    int rest[76];
} ms_null_properties;

typedef struct ms_null_properties_12 {
    char name[256];
    char uuid[16], luid[8];
    unsigned luid_mask;
    size_t total_bytes, shared_bytes_of_block;
    int registers_of_block, warp_size;
    size_t pitch_bytes;
    int threads_of_block, block_dimensions[3], grid_dimensions[3];
    int clock_khz;
    size_t constant_bytes;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    int device_overlap, multiprocessors, kernel_time_limit, integrated, maps_host_memory;
    int compute_mode, textures_and_surfaces[40];
    size_t surface_alignment;
    int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines;
    int unified_addressing, memory_clock_khz, bus_bits, l2_bytes, persisting_l2_bytes;
    int threads_of_multiprocessor, stream_priorities, global_l1, local_l1;
    size_t shared_bytes_of_multiprocessor;
    int registers_of_multiprocessor, managed_memory, multi_gpu[2], host_atomics;
    int single_to_double, pageable_access, concurrent_managed_access, preemption;
    int host_pointer_same, cooperative_launch, cooperative_multi_device;
    size_t shared_bytes_opt_in;
    int pageable_host_tables, direct_managed, blocks_of_multiprocessor, access_window_bytes;
    size_t shared_bytes_reserved;
    int rest[76];
} ms_null_properties_12;

typedef struct ms_null_function {
    size_t shared_bytes, constant_bytes, local_bytes;
    int threads_of_block, registers, ptx_version, binary_version, cache_mode;
    int dynamic_shared_bytes, rest[23];
} ms_null_function;

typedef struct ms_null_pointer {
    int type, device;
    void *device_pointer, *host_pointer; /* CUDA 13 has more members after them, CUDA 12 has not */
} ms_null_pointer;

/* dim3 */
typedef struct ms_null_dimensions {
    unsigned x, y, z;
} ms_null_dimensions;

/* The beginning of cudaLaunchConfig_t. */
typedef struct ms_null_runtime_launch {
    ms_null_dimensions grid, block;
    size_t shared_bytes;
    const void *stream;
} ms_null_runtime_launch;

/* CUlaunchConfig and CUlaunchAttribute of the driver. */
typedef struct ms_null_launch_attribute {
    int id;
    char pad[4];
    unsigned cluster[16]; /* the union; for a cluster its three dimensions in blocks */
} ms_null_launch_attribute;

typedef struct ms_null_launch {
    unsigned grid[3], block[3], shared_bytes;
    void *stream;
    const ms_null_launch_attribute *attributes;
    unsigned attribute_count;
} ms_null_launch;

/* ms_null_pointer.type */
enum { MS_NULL_UNREGISTERED = 0, MS_NULL_HOST = 1, MS_NULL_DEVICE = 2, MS_NULL_MANAGED = 3 };

#endif
