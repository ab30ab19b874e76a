/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Runs a predicted or captured step on a device: its allocations, products, memory traffic and
 * copies, and what the device shows of them; or measures the device itself.
 *
 *     ms_error err = {0};
 *     ms_probe *probe = ms_probe_create();
 *     ms_probe_options options = {.backend = "host", .capacity = "4GiB"};
 *     ms_status status = ms_probe_step(probe, run, &options, &err);
 *     if (ms_probe_has_figures(probe))
 *         ms_probe_write(probe, "console", stdout, &err);
 *     ms_probe_free(probe);
 */
#ifndef MEMSCOPE_PROBE_H
#define MEMSCOPE_PROBE_H

#include <stdbool.h>

#include "memscope/memscope.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MS_LINKS_SCHEMA_VERSION "1.0"
#define MS_OFFLOAD_SCHEMA_VERSION "1.0"

typedef struct ms_probe ms_probe;

typedef struct ms_probe_options {
    const char *backend;   /* "cuda", or "host": memory and threads of this machine */
    uint32_t device_index; /* of CUDA's devices; 0 with "host" */
    const char *capacity;  /* "4GiB": of the host as a device; NULL: 3/4 of its free memory, or
                              "cuda" */
    bool memory_only;      /* allocations and releases; no operator, no copy */
    /* Of ms_probe_offload: */
    const char *offload_ratio; /* "0.5", or "0:1:0.1" for 0, 0.1, ... 1; NULL: the tags have it */
    const char *const *offload_tags; /* "mlp=0.5", or "mlp" for offload_ratio; without a tag for it,
                                        that counts for all that no other tag fits */
    size_t offload_tag_count;
    /* Of ms_probe_step: */
    const char *trace; /* a file of analyze or capture, or "-", in place of a model; NULL: none */
} ms_probe_options;

ms_probe *ms_probe_create(void); /* NULL when out of memory */
void ms_probe_free(ms_probe *probe);

/* A probe measures once: one of these, and a second call is MS_ERR_USAGE. A failure leaves
 * nothing on the device; what was measured before it is partial, and ms_probe_write says so.
 * MS_ERR_IO: there is no such device, or it fails; MS_ERR_OVER_BUDGET: it is full; MS_ERR_NOMEM:
 * the host is; MS_ERR_STOPPED: see ms_probe_stop; others as ms_analyze's.
 * With a trace, of the run only the device, its times, the allocator and the budget are used, and
 * other settings are refused. */
ms_status ms_probe_step(ms_probe *probe, const ms_run *run, const ms_probe_options *options,
                        ms_error *err);
/* Of the run only the device's name is used, for which the figures are meant. */
ms_status ms_probe_links(ms_probe *probe, const ms_run *run, const ms_probe_options *options,
                         ms_error *err);

/* The run's step at each ratio, with that share of what the layers save offloaded to the host: as
 * predicted, and, unless the backend is NULL, as replayed on it. A ratio at which the device is
 * full is no failure unless it is full at all of them. */
ms_status ms_probe_offload(ms_probe *probe, const ms_run *run, const ms_probe_options *options,
                           ms_error *err);

/* Ends a measurement that is under way; may be called by a signal handler or another thread. */
void ms_probe_stop(ms_probe *probe);

/* Whether there is anything to write. */
bool ms_probe_has_figures(const ms_probe *probe);

/* As ms_analysis_note and ms_analysis_set_style. */
const char *ms_probe_note(const ms_probe *probe, size_t index);
void ms_probe_set_style(ms_probe *probe, const ms_style *style);

/* Writes "console", "json", "md" or "html": a runtime report (mode "replay"), links for
 * ms_calibrator_add_links, or a table of ratios, which is "csv" and "svg" too. */
ms_status ms_probe_write(const ms_probe *probe, const char *format, FILE *out, ms_error *err);
const char *ms_probe_format_at(size_t index); /* NULL past the last */
const char *ms_probe_offload_format_at(size_t index);
const char *ms_probe_offload_tag_at(size_t index); /* "all", "attention", ... */
/* "cuda", "host"; NULL past the last. */
const char *ms_probe_backend_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
