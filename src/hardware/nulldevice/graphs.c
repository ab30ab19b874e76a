/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA graphs: made, instantiated and launched.
 */
#include "hardware/nulldevice/graphs.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "hardware/nulldevice/captures.h"
#include "hardware/nulldevice/nulldevice.h"

typedef struct object {
    void *data;
    void (*destroy)(void *data);
    atomic_uint references;
    struct object *next; /* of the same graph */
} object;

MS_NULL_CALL(int, cudaGraphCreate, (ms_null_graph * *found))
{
    *found = calloc(1, sizeof **found);
    return *found ? MS_NULL_OK : MS_NULL_OUT_OF_MEMORY;
}

static void release(object *o, unsigned count)
{
    if (atomic_fetch_sub(&o->references, count) > count)
        return;
    o->destroy(o->data);
    free(o);
}

MS_NULL_CALL(int, cudaGraphDestroy, (ms_null_graph * g))
{
    while (g && g->objects) {
        object *o = g->objects;
        g->objects = o->next;
        release(o, 1);
    }
    free(g);
    return MS_NULL_OK;
}

/* Callers only count nodes: a graph without any is not worth a replay. */
MS_NULL_CALL(int, cudaGraphGetNodes, (const ms_null_graph *g, void **nodes, size_t *count))
{
    for (size_t i = 0; nodes && i < *count; i++)
        nodes[i] = i < g->nodes ? ms_null_handle() : NULL;
    if (!nodes || *count > g->nodes)
        *count = g->nodes;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaGraphAddNode, (void **node, ms_null_graph *g))
{
    g->nodes++;
    *node = ms_null_handle();
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaGraphNodeGetDependencies,
             (void *node, void **dependencies, void **edges, size_t *count))
{
    (void)node, (void)dependencies, (void)edges;
    *count = 0;
    return MS_NULL_OK;
}

/* ---- instances ---- */

typedef struct instance {
    double seconds;
} instance;

MS_NULL_CALL(int, cudaGraphInstantiate, (instance * *made, const ms_null_graph *g))
{
    *made = calloc(1, sizeof **made);
    if (!*made)
        return MS_NULL_OUT_OF_MEMORY;
    (*made)->seconds = g->seconds;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaGraphInstantiateWithFlags, (instance * *made, const ms_null_graph *g))
{
    return cudaGraphInstantiate(made, g);
}

/* The result begins with a code, whose 0 is success. */
MS_NULL_CALL(int, cudaGraphExecUpdate, (instance * made, const ms_null_graph *g, int *result))
{
    made->seconds = g->seconds;
    *result = 0;
    return MS_NULL_OK;
}

/* Also into a stream that is captured itself. */
MS_NULL_CALL(int, cudaGraphLaunch, (const instance *made, const void *stream))
{
    ms_null_work(stream, made->seconds);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaGraphExecDestroy, (instance * made))
{
    free(made);
    return MS_NULL_OK;
}

/* ---- what the driver keeps ---- */

/* What the driver keeps for graphs, in bytes: it has none. */
MS_NULL_CALL(int, cudaDeviceGetGraphMemAttribute, (int device, int attribute, uint64_t *value))
{
    (void)device, (void)attribute;
    *value = 0;
    return MS_NULL_OK;
}

MS_NULL_SUCCEEDS(cudaDeviceSetGraphMemAttribute)
MS_NULL_SUCCEEDS(cudaDeviceGraphMemTrim)
MS_NULL_SUCCEEDS(cudaGraphUpload)
MS_NULL_SUCCEEDS(cudaGraphDebugDotPrint)
MS_NULL_SUCCEEDS(cudaGraphConditionalHandleCreate)
MS_NULL_SUCCEEDS(cudaStreamUpdateCaptureDependencies)

/* ---- objects that live as long as a graph ---- */

MS_NULL_CALL(int, cudaUserObjectCreate,
             (object * *found, void *data, void (*destroy)(void *), unsigned references))
{
    object *o = calloc(1, sizeof *o);
    *found = o;
    if (!o)
        return MS_NULL_OUT_OF_MEMORY;
    o->data = data;
    o->destroy = destroy;
    atomic_store(&o->references, references);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaUserObjectRelease, (object * o, unsigned count))
{
    release(o, count);
    return MS_NULL_OK;
}

/* Only a reference that is moved, as PyTorch does, is one of the graph's. */
MS_NULL_CALL(int, cudaGraphRetainUserObject,
             (ms_null_graph * g, object *o, unsigned count, unsigned is_moved))
{
    if (count != 1 || !is_moved)
        return ms_null_uncovered("cudaGraphRetainUserObject", MS_NULL_NOT_SUPPORTED);
    o->next = g->objects;
    g->objects = o;
    return MS_NULL_OK;
}
