/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/ledger/records.h"

void ms_records_add_peak(const ms_record_source *source, ms_ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->peak->storages.count; i++) {
        uint32_t storage = ledger->peak->storages.items[i], owner = source->owners[storage];
        uint64_t bytes = source->usage->block_bytes[storage];
        if (owner == MS_NONE)
            continue;
        ms_record *record = &ledger->records.items[owner];
        record->peak_bytes += bytes;
        if (source->trace->storages.items[storage].category == MS_CATEGORY_ACTIVATION)
            record->peak_saved_bytes += bytes;
    }
}
