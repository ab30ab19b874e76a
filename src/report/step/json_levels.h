/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bytes after every n-th allocation or free of the steady step, by which two steps can be compared
 * even if their numbers of events differ.
 */
#ifndef MS_REPORT_STEP_JSON_LEVELS_H
#define MS_REPORT_STEP_JSON_LEVELS_H

#include "base/json/write.h"
#include "decide/ledger/ledger.h"

void ms_json_levels(ms_json_writer *w, const char *name, const void *view);

#endif
