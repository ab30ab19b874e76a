/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Another share of the device's memory for the engine.
 */
#ifndef MS_SERVE_INFER_VLLM_UTILIZATION_H
#define MS_SERVE_INFER_VLLM_UTILIZATION_H

#include "serve/infer/vllm/start.h"

/* The share that is likely to make a run fit that does not: the least that surely holds the
 * requests asked for at once, or the largest that starts and leaves room for what vLLM does not
 * count. In hundredths; 0: no share does. `starts`: of all stages. */
uint64_t ms_vllm_other_utilization(const ms_vllm_setup *setup, const ms_vllm_start *starts);

#endif
