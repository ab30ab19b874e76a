/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The input of all parts of the ledger. Borrowed; ms_ledger_build owns it while it builds.
 */
#ifndef MS_RUN_MEASURE_SOURCE_H
#define MS_RUN_MEASURE_SOURCE_H

#include <stdint.h>

#include "run/measure/scopes.h"
#include "run/measure/usage.h"
#include "core/trace/trace.h"

typedef struct ms_record_source {
    const ms_trace *trace;
    const ms_usage *usage;
    const ms_lifetime *lifetimes; /* per storage */
    const uint64_t *scope_hashes; /* per module, without layer number */
    uint32_t *owners;             /* per storage: the record that counts it, or MS_NONE */
    uint32_t layer_count;
    uint32_t micro_steps;
} ms_record_source;

/* The name of a storage: its own, or that of the operator that allocated it. */
static inline const char *ms_storage_label(const ms_trace *trace, const ms_storage *storage)
{
    const char *name = trace->names.items[storage->name];
    return *name || storage->op == MS_NONE ? name : trace->ops.items[storage->op].name;
}

/* Equal for equal tensors of different layers. `hashes`: those of ms_scope_hashes_create. */
static inline uint64_t ms_storage_key(const ms_trace *trace, const uint64_t *hashes,
                                      uint32_t storage, uint64_t bytes)
{
    const ms_storage *s = &trace->storages.items[storage];
    uint64_t key = s->scope == MS_NONE ? 0 : hashes[s->scope];
    key = ms_hash_mix(key, (uint64_t)(uintptr_t)ms_storage_label(trace, s));
    return ms_hash_mix(ms_hash_mix(key, bytes), (uint64_t)s->category << 8 | s->dtype);
}

/* The module of an operator. For an operator outside all modules (accumulation of gradients): the
 * module of its first operand. */
static inline uint32_t ms_op_scope(const ms_trace *trace, const ms_op_exec *op)
{
    if (op->scope != MS_NONE || op->operand_count == 0)
        return op->scope;
    uint32_t storage = trace->operands.items[op->first_operand].storage;
    return storage == MS_NONE ? MS_NONE : trace->storages.items[storage].scope;
}

#endif
