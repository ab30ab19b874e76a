/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a device reaches: copies to it and from it, alone and together, of pinned memory and not;
 * its own memory; products by shape and element type; and what libraries take of its memory.
 */
#ifndef MS_HARDWARE_REPLAY_LINKS_H
#define MS_HARDWARE_REPLAY_LINKS_H

#include "base/deadline.h"
#include "base/vec.h"
#include "hardware/replay/backend.h"

/* The best of several runs; each runs long enough to be measured. */
typedef struct ms_link_sample {
    const char *kind; /* "to_device", "to_host", "both_ways" (the sum of both), "memory" */
    bool is_pinned;   /* of copies; the host as a device has no pinned memory */
    uint64_t bytes;   /* of one copy */
    double bytes_per_s;
} ms_link_sample;

typedef struct ms_product_sample {
    uint64_t rows, inner, columns;
    ms_dtype dtype;
    double ms, flops_per_s;
} ms_product_sample;

typedef struct ms_links {
    ms_vec(ms_link_sample) copies;
    ms_vec(ms_product_sample) products;
    /* In use on the device: when the backend was opened, and after products ran. */
    uint64_t opened_used_bytes, loaded_used_bytes;
} ms_links;

typedef struct ms_links_options {
    uint64_t copy_bytes; /* 0: 64 MiB, or less where the device has less */
    uint64_t most_side;  /* of products; 0: 8192, or 1024 on the host */
    const ms_stop *stop; /* or NULL */
} ms_links_options;

/* Release with ms_replay_links_free, also after a failure; then it has what was measured before it.
 */
ms_status ms_replay_links_measure(ms_backend *backend, const ms_links_options *options,
                                  ms_links *links, ms_error *err);
void ms_replay_links_free(ms_links *links);

#endif
