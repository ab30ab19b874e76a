/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bytes after every n-th allocation or free of the steady step: what two steps can be held against
 * each other by, also where they do not have the same number of them.
 */
#ifndef MS_REPORT_STEP_JSON_LEVELS_H
#define MS_REPORT_STEP_JSON_LEVELS_H

#include "json/write.h"
#include "ledger/ledger.h"

void ms_json_levels(ms_json_writer *w, const ms_ledger *ledger);

#endif
