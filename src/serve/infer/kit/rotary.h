/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What engines ask a config.json about rotary embeddings.
 */
#ifndef MS_SERVE_INFER_KIT_ROTARY_H
#define MS_SERVE_INFER_KIT_ROTARY_H

#include "base/json/value.h"

/* The type of their scaling, "" when there is none. Valid as long as the document. */
const char *ms_infer_rotary_scaling(ms_json_value config);

#endif
