/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of the engines.
 */
#ifndef MS_INFER_ENGINES_H
#define MS_INFER_ENGINES_H

#include "infer/kit/engine.h"

const ms_infer_engine *ms_infer_engine_at(size_t index); /* NULL past the last */
/* By name; MS_ERR_USAGE with the names that there are. */
ms_status ms_infer_engine_find(const char *name, const ms_infer_engine **engine, ms_error *err);

#endif
