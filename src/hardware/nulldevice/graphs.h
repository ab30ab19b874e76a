/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA graphs. They have as many nodes as there was work, but nothing is recorded, as nothing runs.
 * Memory of a graph is that of the caller's allocator; what the driver takes for an instantiated
 * graph is not known here.
 */
#ifndef MS_HARDWARE_NULLDEVICE_GRAPHS_H
#define MS_HARDWARE_NULLDEVICE_GRAPHS_H

#include <stdint.h>

typedef struct ms_null_graph {
    uint64_t nodes;
    double seconds;         /* of its nodes, one after the other */
    struct object *objects; /* that live as long as the graph */
} ms_null_graph;

#endif
