/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What inference needs of a device, by engine, read from the weights' own files.
 *
 *     ms_error err = {0};
 *     ms_inference *inference = ms_inference_create();
 *     ms_inference_set(inference, "device", "rtx-4090", &err);
 *     ms_inference_set(inference, "quant", "Q4_K_M", &err);
 *     if (ms_inference_predict(inference, "mixtral-8x7b", &err) == MS_OK)
 *         ms_inference_write(inference, "console", stdout, &err);
 *     ms_inference_free(inference);
 */
#ifndef MEMSCOPE_INFER_H
#define MEMSCOPE_INFER_H

#include <stdbool.h>

#include "memscope/memscope.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MS_INFER_SCHEMA_VERSION "1.3"

typedef struct ms_inference ms_inference;

ms_inference *ms_inference_create(void); /* NULL when out of memory */
void ms_inference_free(ms_inference *inference);

/* One row per setting. */
const ms_run_field *ms_inference_fields(size_t *count);
/* The values of a setting that is a choice; NULL past the last, and for any other. */
const char *ms_inference_field_choice(const char *field, size_t index);
/* Sets it in place of its earlier value. A list, as ms_sweep_set takes it ("4096:131072:*2",
 * "all"), makes a table: a row for each combination of the lists' values. */
ms_status ms_inference_set(ms_inference *inference, const char *field, const char *value,
                           ms_error *err);

/* As ms_run_set_inputs. */
void ms_inference_set_inputs(ms_inference *inference, ms_inputs *inputs);

/* Predicts for a built-in model, a config.json, its folder, a safetensors file or its index beside
 * it, or a GGUF file; may be called once. Of files of weights only headers are read. MS_ERR_CONFIG:
 * the model or a file is not supported, or they contradict each other; MS_ERR_USAGE: settings that
 * exclude each other. */
ms_status ms_inference_predict(ms_inference *inference, const char *model, ms_error *err);

/* Whether it fits each device, with the expected figures; true where no budget is known. Of a
 * table: whether a row does. */
bool ms_inference_fits(const ms_inference *inference);

/* What is not exact, and why. NULL past the last. */
const char *ms_inference_note(const ms_inference *inference, size_t index);
void ms_inference_set_style(ms_inference *inference, const ms_style *style);

/* Writes "console", "json", "md" or "html"; a table also as "csv". */
ms_status ms_inference_write(const ms_inference *inference, const char *format, FILE *out,
                             ms_error *err);
/* Names of the formats, and of the engines; NULL past the last. */
const char *ms_inference_format_at(size_t index);
const char *ms_inference_engine_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
