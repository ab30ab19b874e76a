/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What inference needs: buffers, each with its part, its place and the phases in which it is there.
 * Reporters loop over them; a phase's sums are made here.
 */
#ifndef MS_SERVE_INFER_KIT_RESULT_H
#define MS_SERVE_INFER_KIT_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

/* In the order of a run. */
typedef enum ms_infer_phase {
    MS_INFER_LOAD,    /* weights, and buffers made with them */
    MS_INFER_PROFILE, /* a trial run that sizes the cache */
    MS_INFER_PREFILL, /* the prompt */
    MS_INFER_DECODE,  /* one token after the other */
    MS_INFER_PHASES
} ms_infer_phase;

extern const char *const ms_infer_phase_names[]; /* "load", ...; ends with NULL */
#define MS_INFER_IN(phase) (1u << (phase))

typedef enum ms_infer_part {
    MS_INFER_WEIGHTS,
    MS_INFER_CACHE,       /* of keys and values */
    MS_INFER_STATE,       /* of recurrent layers */
    MS_INFER_ACTIVATIONS, /* of operators, as they run */
    MS_INFER_OUTPUT,      /* logits and embeddings that a caller reads */
    MS_INFER_COMPUTE,     /* an arena for all intermediate results */
    MS_INFER_POOL,        /* scratch memory of kernels */
    MS_INFER_WORKSPACE,   /* of libraries */
    MS_INFER_UNUSED,      /* reserved by an allocator, and no tensor is there */
    MS_INFER_CONTEXT,     /* of the driver; an estimate */
    MS_INFER_PARTS
} ms_infer_part;

extern const char *const ms_infer_part_names[]; /* "weights", ...; ends with NULL */

enum { MS_INFER_HOST = -1 };

typedef struct ms_infer_buffer {
    ms_infer_part part;
    const char *place;         /* as the engine calls it: "CUDA0", "CUDA_Host" */
    int device;                /* index, or MS_INFER_HOST */
    unsigned phases;           /* MS_INFER_IN(...) */
    uint64_t low, bytes, high; /* all equal where it is exact */
    uint64_t cells, layers;    /* of a cache; else 0 */
} ms_infer_buffer;

/* A number that the engine derives from the settings: "n_ctx". */
typedef struct ms_infer_figure {
    const char *name;
    uint64_t value;
} ms_infer_figure;

/* A setting by which more or less fits: less of it never needs more of a device. */
typedef struct ms_infer_lever {
    const char *field;
    uint64_t value, least, most, step; /* its value now; the others that are tried */
    bool goes_on;                      /* the engine takes larger ones than are tried */
    uint64_t useful;                   /* more is taken and of no use; 0: all are of use */
} ms_infer_lever;

/* Why other bytes of weights are loaded than are stored. */
typedef struct ms_stored_cause {
    const char *name; /* "tied-head"; static */
    const char *text; /* "F32 is loaded as bf16": part of a sentence */
    int64_t bytes;    /* loaded less stored */
} ms_stored_cause;
typedef ms_vec(ms_stored_cause) ms_stored_causes;

/* As on the command line. */
typedef struct ms_infer_setting {
    const char *field, *value; /* NULL: none */
} ms_infer_setting;

typedef struct ms_infer_bytes {
    uint64_t low, expected, high;
} ms_infer_bytes;

/* Texts are in the arena of the job, or static. */
typedef struct ms_infer_result {
    ms_vec(ms_infer_buffer) buffers; /* in the order in which the engine makes them */
    ms_vec(ms_infer_figure) figures;
    ms_vec(ms_infer_lever) levers; /* in the order in which they are tried where it does not fit */
    ms_vec(const char *) notes;    /* what is not exact, and why: sentences without a full stop */
    ms_stored_causes causes;       /* that the engine knows, for files of its own format */
    const char *weights_type;      /* for titles: "bf16"; NULL: that of the setting quant */
    const char *packed_type;       /* of those that are packed: "nf4"; NULL: none is */
    uint64_t context; /* tokens of one sequence, where settings of the engine decide; 0: context */
    uint32_t devices; /* at least 1 unless all is on the host */
    const char *decision; /* what there is room for, "KV cache of ..."; NULL: bytes say it */
    const char *refusal;  /* why the engine does not start though there are bytes; NULL: it does */
    bool takes_all; /* of its budget, whatever is asked for: a range does not tell what fits */
    const char
        *hopeless;   /* said where no lever makes it fit: a sentence without a full stop; or NULL */
    bool may_refuse; /* with the most of what is a range, it does not start */
    const char *limit;      /* what stops more, and what to change: a sentence; NULL: nothing */
    ms_infer_setting other; /* which may make it fit where it does not */
    ms_vec(ms_infer_setting) remedies; /* the same: tried in turn where nothing else does */
} ms_infer_result;

/* Adds; false when out of memory. A buffer of 0 bytes is not added. */
bool ms_infer_add(ms_infer_result *result, ms_infer_buffer buffer);
/* The same for an exact size. */
bool ms_infer_add_exact(ms_infer_result *result, ms_infer_part part, const char *place, int device,
                        uint64_t bytes);
bool ms_infer_figure_add(ms_infer_result *result, const char *name, uint64_t value);
ms_status ms_infer_no_memory(ms_error *err);

/* Bytes on a device, or MS_INFER_HOST, in a phase. Saturates. */
ms_infer_bytes ms_infer_total(const ms_infer_result *result, int device, ms_infer_phase phase);
/* Of a part, in the phases of `phases`. */
ms_infer_bytes ms_infer_part_total(const ms_infer_result *result, int device, ms_infer_part part,
                                   unsigned phases);
/* The phase with the highest expected total, and whether the engine has it at all. */
ms_infer_phase ms_infer_peak(const ms_infer_result *result, int device);

void ms_infer_result_free(ms_infer_result *result);

#endif
