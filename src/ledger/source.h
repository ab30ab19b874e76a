/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What every part of the ledger is made from. Borrowed: ms_ledger_build owns it while it builds.
 */
#ifndef MS_LEDGER_SOURCE_H
#define MS_LEDGER_SOURCE_H

#include <stdint.h>

#include "ledger/lifetime.h"
#include "ledger/usage.h"
#include "trace/trace.h"

typedef struct ms_record_source {
    const ms_trace *trace;
    const ms_usage *usage;
    const ms_lifetime *lifetimes; /* per storage */
    const uint64_t *scope_hashes; /* per module, without layer numbers */
    uint32_t layer_count;
    uint32_t micro_steps;
} ms_record_source;

/* What a storage is called: its own name, or the operator that made it. */
static inline const char *ms_storage_label(const ms_trace *trace, const ms_storage *storage)
{
    const char *name = trace->names.items[storage->name];
    return *name || storage->op == MS_NONE ? name : trace->ops.items[storage->op].name;
}

#endif
