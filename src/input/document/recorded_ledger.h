/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The memory of a program without PyTorch, by what it is for.
 */
#ifndef MS_INPUT_DOCUMENT_RECORDED_LEDGER_H
#define MS_INPUT_DOCUMENT_RECORDED_LEDGER_H

#include "input/document/recorded.h"

/* Fills what the member "ledger" has, if there is one, and the notes. */
ms_status ms_recorded_read_ledger(ms_recorded *r, ms_json_value root, ms_error *err);

#endif
