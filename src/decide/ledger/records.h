/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Records of a ledger: persistent tensors and operator executions, folded.
 */
#ifndef MS_DECIDE_LEDGER_RECORDS_H
#define MS_DECIDE_LEDGER_RECORDS_H

#include "decide/ledger/ledger.h"
#include "run/measure/source.h"

/* Appends weights, buffers, gradients, optimizer states. */
ms_status ms_records_add_persistent(const ms_record_source *source, ms_ledger *ledger,
                                    ms_error *err);

/* Appends the operator executions of the steady step. */
ms_status ms_records_add_operators(const ms_record_source *source, ms_ledger *ledger,
                                   ms_error *err);

/* Adds to each record its bytes alive at the peak. */
void ms_records_add_peak(const ms_record_source *source, ms_ledger *ledger);

#endif
