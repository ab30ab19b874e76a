/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the ranks of a step share, as reports state it.
 */
#ifndef MS_INPUT_DOCUMENT_RECORDED_RANKS_H
#define MS_INPUT_DOCUMENT_RECORDED_RANKS_H

#include "input/document/recorded_step.h"

/* Of a prediction, from its layout; of a capture, from the object `step`. */
ms_status ms_recorded_read_layout(ms_recorded_step *step, ms_json_value root, ms_error *err);
ms_status ms_recorded_read_sharing(ms_recorded_step *step, ms_json_value told, ms_error *err);

#endif
