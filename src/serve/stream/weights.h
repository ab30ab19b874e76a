/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The weights of the layers on the host: in memory, or in files mapped for reading.
 */
#ifndef MS_SERVE_STREAM_WEIGHTS_H
#define MS_SERVE_STREAM_WEIGHTS_H

#include "input/weights/tensor_files.h"
#include "serve/stream/pass.h"

/* Bytes of a layer, which lie in its place on the device at `at`. */
typedef struct ms_stream_piece {
    const uint8_t *data;
    uint64_t bytes, at;
    uint32_t layer;
} ms_stream_piece;

typedef struct ms_stream_weights {
    ms_vec(ms_stream_piece) pieces; /* by layer */
    ms_vec(uint32_t) first;         /* per layer, and one more: its first piece */
    ms_vec(uint64_t) digests;       /* of the first layers, as far as they were asked for */
    void *memory;                   /* its own; NULL: the pieces lie elsewhere */
    uint64_t memory_bytes;
    ms_tensor_files files; /* that the pieces lie in; or none */
} ms_stream_weights;

/* Memory filled with bytes that follow from the layer's number and their place in it.
 * MS_ERR_NOMEM: the host has too little. On failure nothing is left to free. */
ms_status ms_stream_weights_make(const ms_stream_pass *pass, ms_stream_weights *weights,
                                 ms_error *err);
/* The tensors of a safetensors file, or of a folder of them, which stay mapped. They are found by
 * the names of the model's parameters, with or without the first part of them ("model.").
 * MS_ERR_CONFIG: one is missing, or has another type or shape than the model's; others as
 * ms_tensor_files_open. On failure nothing is left to free. */
ms_status ms_stream_weights_open(ms_arena *arena, const char *path, const ms_trace *trace,
                                 const ms_stream_pass *pass, ms_stream_weights *weights,
                                 ms_error *err);
void ms_stream_weights_free(ms_stream_weights *weights); /* may be called again */

/* Copies a layer to the beginning of a place. MS_ERR_IO: a file became shorter meanwhile. */
ms_status ms_stream_weights_fill(const ms_stream_weights *weights, uint32_t layer, void *place,
                                 ms_error *err);

/* Whether what lies in a place has the digest of the layer. MS_ERR_IO: as above. */
ms_status ms_stream_weights_match(ms_stream_weights *weights, uint32_t layer, const void *place,
                                  bool *matches, ms_error *err);

#endif
