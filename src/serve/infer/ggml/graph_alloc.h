/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What ggml's allocator needs for a graph: the highest byte of each device's arena when each result
 * is placed as it is made and released when its last reader has run. The rules are those of
 * ggml-alloc: the smallest hole that is large enough, holes that touch are joined, and an operator
 * may take the memory of a source of the same layout that nobody else reads.
 */
#ifndef MS_SERVE_INFER_GGML_GRAPH_ALLOC_H
#define MS_SERVE_INFER_GGML_GRAPH_ALLOC_H

#include "serve/infer/ggml/sched.h"

/* Alignment of a buffer on the host, and on a device. */
enum { MS_GRAPH_HOST_ALIGN = 32, MS_GRAPH_DEVICE_ALIGN = 128 };

/* `bytes` of each device, and of the host after them. */
ms_status ms_graph_alloc(const ms_graph *g, const ms_schedule *schedule, uint64_t *bytes,
                         ms_error *err);

#endif
