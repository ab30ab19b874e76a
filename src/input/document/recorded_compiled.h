/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What PyTorch compiled in a captured program, and its first step, which also takes what compiling
 * needs.
 */
#ifndef MS_INPUT_DOCUMENT_RECORDED_COMPILED_H
#define MS_INPUT_DOCUMENT_RECORDED_COMPILED_H

#include "input/document/recorded.h"

/* Fills `compiled` and `first_step`. */
ms_status ms_recorded_read_compiled(ms_recorded *r, ms_json_value root, ms_error *err);

#endif
