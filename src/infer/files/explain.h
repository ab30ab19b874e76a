/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Why an engine loads more bytes of weights than are stored, or fewer.
 */
#ifndef MS_INFER_FILES_EXPLAIN_H
#define MS_INFER_FILES_EXPLAIN_H

#include "infer/files/stored.h"

typedef struct ms_stored_cause {
    const char *name; /* "tied-head"; static */
    const char *text; /* "F32 is loaded as bf16": part of a sentence */
    int64_t bytes;    /* loaded less stored */
} ms_stored_cause;
typedef ms_vec(ms_stored_cause) ms_stored_causes;

/* The engine loads so many bytes; `type` is that of its weights in floating point ("bf16"), or of a
 * format of its own; `loading` is what the engine does besides, NULL: it converts them. Adds the
 * causes, the one with the most bytes first: their sum is the difference. False when out of memory.
 */
bool ms_stored_explain(ms_arena *arena, const ms_stored *stored, const char *type,
                       const char *loading, uint64_t loaded_bytes, ms_stored_causes *causes);

/* The type as PyTorch has it; false: it has none such, or no weights in it. */
bool ms_stored_dtype(const ms_safetensors_type *type, ms_dtype *dtype);

#endif
