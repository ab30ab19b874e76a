/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Treatments as code: what applies the words of --treat to a PyTorch model.
 */
#ifndef MEMSCOPE_TREAT_H
#define MEMSCOPE_TREAT_H

#include "memscope/memscope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most layers that code can be written for. */
#define MS_TREAT_MOST_LAYERS 16384

/* Writes the Python function treat(model) for a model of `layers` layers, treated as `treat` says
 * ("0-7=checkpoint,loss=chunk:8"); checkpoint_kind is "non-reentrant" or "reentrant". The functions
 * that it calls are those of memscope.pytorch in the Python package, which `memscope plan --target
 * pytorch` prints before the same function. MS_ERR_CONFIG: they name a layer that there is not;
 * MS_ERR_USAGE: the words are wrong, there are no layers or too many, or there is no such kind. */
ms_status ms_treat_write_code(const char *treat, uint32_t layers, const char *checkpoint_kind,
                              FILE *out, ms_error *err);

#ifdef __cplusplus
}
#endif
#endif
