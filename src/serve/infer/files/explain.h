/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Why an engine loads more bytes of weights than are stored, or fewer.
 */
#ifndef MS_SERVE_INFER_FILES_EXPLAIN_H
#define MS_SERVE_INFER_FILES_EXPLAIN_H

#include "core/tensor/dtype.h"
#include "serve/infer/files/stored.h"

/* The engine loads so many bytes; `type` is that of its weights in floating point ("bf16"), or of a
 * format of its own; `loading` is what the engine does besides, NULL: it converts them. Adds the
 * causes, the one with the most bytes first: their sum is the difference. False when out of memory.
 */
bool ms_stored_explain(ms_arena *arena, const ms_stored *stored, const char *type,
                       const char *loading, uint64_t loaded_bytes, ms_stored_causes *causes);

/* The same for a file of a format of the engine's own, which lists the causes itself. */
bool ms_stored_explain_own(const ms_stored *stored, const ms_stored_causes *own,
                           uint64_t loaded_bytes, ms_stored_causes *causes);

/* The type as PyTorch has it; false: it has none such, or no weights in it. */
bool ms_stored_dtype(const ms_safetensors_type *type, ms_dtype *dtype);

#endif
