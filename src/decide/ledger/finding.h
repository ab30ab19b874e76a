/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A finding while it is put together.
 */
#ifndef MS_DECIDE_LEDGER_FINDING_H
#define MS_DECIDE_LEDGER_FINDING_H

#include "decide/ledger/findings.h"

/* A difference is worth a sentence from a twentieth of what the device needs. */
enum { MS_FINDING_WORTH = 20 };

typedef struct ms_telling {
    const ms_ledger *ledger;
    ms_arena *arena;
    ms_finding found;
    ms_error *err;
} ms_telling;

/* "12.50 GiB", in the arena. */
const char *ms_telling_size(const ms_telling *f, uint64_t bytes);
/* "--autocast bf16 needs 14.30 GiB less, --upcast no needs 15.02 GiB less"; "" for none. */
const char *ms_telling_remedies(const ms_telling *f);

#endif
