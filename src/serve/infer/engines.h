/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of the engines.
 */
#ifndef MS_SERVE_INFER_ENGINES_H
#define MS_SERVE_INFER_ENGINES_H

#include "serve/infer/kit/engine.h"

const ms_infer_engine *ms_infer_engine_at(size_t index); /* NULL past the last */
/* By name; MS_ERR_USAGE with the names that there are. */
ms_status ms_infer_engine_find(const char *name, const ms_infer_engine **engine, ms_error *err);
enum { MS_INFER_TAKERS_SIZE = 64 };
/* The engines that are predicted for models of the config's type: "llama.cpp or hf"; "" if none. */
void ms_infer_engine_takers(const ms_model_config *config, const char *between,
                            char out[MS_INFER_TAKERS_SIZE]);
/* MS_ERR_CONFIG where the engine is not predicted for models of the config's type, with those that
 * are. */
ms_status ms_infer_engine_check(const ms_infer_engine *engine, const ms_model_config *config,
                                ms_error *err);

#endif
