/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What every part of the ledger is made from. Borrowed: ms_ledger_build owns it while it builds.
 */
#ifndef MS_MEASURE_SOURCE_H
#define MS_MEASURE_SOURCE_H

#include <stdint.h>

#include "measure/lifetime.h"
#include "measure/usage.h"
#include "trace/trace.h"

typedef struct ms_record_source {
    const ms_trace *trace;
    const ms_usage *usage;
    const ms_lifetime *lifetimes; /* per storage */
    const uint64_t *scope_hashes; /* per module, without layer numbers */
    uint32_t *owners;             /* per storage: the record it is counted in, or MS_NONE */
    uint32_t layer_count;
    uint32_t micro_steps;
} ms_record_source;

/* What a storage is called: its own name, or the operator that made it. */
static inline const char *ms_storage_label(const ms_trace *trace, const ms_storage *storage)
{
    const char *name = trace->names.items[storage->name];
    return *name || storage->op == MS_NONE ? name : trace->ops.items[storage->op].name;
}

/* The module of an operator; of one that runs outside any (gradients that meet), that of what it
 * reads. */
static inline uint32_t ms_op_scope(const ms_trace *trace, const ms_op_exec *op)
{
    if (op->scope != MS_NONE || op->operand_count == 0)
        return op->scope;
    uint32_t storage = trace->operands.items[op->first_operand].storage;
    return storage == MS_NONE ? MS_NONE : trace->storages.items[storage].scope;
}

#endif
