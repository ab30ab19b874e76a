/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The host as a device: memory within a capacity, a thread for each stream, copies throttled to
 * given rates. What the figures of time say is said of this machine.
 */
#ifndef MS_HARDWARE_REPLAY_BACKEND_HOST_H
#define MS_HARDWARE_REPLAY_BACKEND_HOST_H

#include "base/deadline.h"
#include "hardware/replay/backend.h"

/* Rates are per second; 0: as fast as the machine is. */
typedef struct ms_backend_host_options {
    uint64_t capacity_bytes; /* of the device; 0: 3/4 of the memory that the machine has free */
    double to_device_bytes, to_host_bytes; /* of each link */
    double traffic_bytes, product_flops;
    double host_bytes; /* of the host's own memory */
    bool skips_data; /* no byte is read or written, so a capacity of terabytes takes no memory; work
                        takes the time that the rates give it, else none */
    bool has_no_blas;    /* products by the plain loop */
    const ms_stop *stop; /* once it is set, work that is left is passed over; or NULL */
} ms_backend_host_options;

/* MS_ERR_USAGE: the capacity exceeds the memory that is free, and bytes are to be written. */
ms_status ms_replay_host_open(const ms_backend_host_options *options, ms_backend **backend,
                              ms_error *err);

#endif
