/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is predicted for a model, strategy by strategy, and why not.
 */
#ifndef MS_API_MODELS_KNOWN_H
#define MS_API_MODELS_KNOWN_H

#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"

/* Writes a line for each strategy, engine and library: "yes", what it has, or "no" with the message
 * that a run with it is refused by. `name` is a model as --config takes it. */
ms_status ms_known_write(ms_arena *arena, const char *name, FILE *out, ms_error *err);

#endif
