/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads a prediction of inference (schemas/infer.schema.json) as a report.
 */
#ifndef MS_INPUT_DOCUMENT_INFERENCE_H
#define MS_INPUT_DOCUMENT_INFERENCE_H

#include "base/json/members.h"
#include "input/document/reading.h"

bool ms_reading_is_inference(ms_json_value root);
/* Figures are those of the device that needs most, at its peak; phases and places are the highest
 * of each. */
ms_status ms_reading_inference(const ms_reading *r);

/* ---- what is needed, as it is written and read ---- */

#define MS_SERVING_HOST UINT64_MAX /* in place of the number of a device */

typedef struct ms_serving_place {
    uint64_t device, bytes, low_bytes, high_bytes;
} ms_serving_place;

typedef struct ms_serving_phase {
    const char *name;
    ms_serving_place *places;
    uint32_t count;
} ms_serving_phase;

typedef struct ms_serving_buffer {
    const char *part, *place;
    uint64_t device, bytes, low_bytes, high_bytes;
    const char **phases; /* NULL: all of them */
    uint32_t phase_count;
    uint64_t cells, layers; /* of a cache; else 0 */
} ms_serving_buffer;

typedef struct ms_serving {
    ms_serving_phase *phases;
    ms_serving_buffer *buffers;
    uint32_t phase_count, buffer_count;
    uint64_t budget_bytes, devices; /* when it is read */
} ms_serving;

/* The members "phases" and "buffers". */
extern const ms_members ms_serving_table;

#endif
