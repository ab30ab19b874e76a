/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads a prediction of inference (schemas/infer.schema.json) as a report.
 */
#ifndef MS_INPUT_DOCUMENT_INFERENCE_H
#define MS_INPUT_DOCUMENT_INFERENCE_H

#include "input/document/reading.h"

bool ms_reading_is_inference(ms_json_value root);
/* Figures are those of the device that needs most, at its peak; phases and places are the highest
 * of each. */
ms_status ms_reading_inference(const ms_reading *r);

#endif
