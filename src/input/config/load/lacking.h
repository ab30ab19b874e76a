/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What else is refused of a run that is refused already, so that all of it is told at once.
 */
#ifndef MS_INPUT_CONFIG_LOAD_LACKING_H
#define MS_INPUT_CONFIG_LOAD_LACKING_H

#include "input/config/load/loading.h"

/* Reads the training settings of a run whose model is refused, which l->err tells, with another
 * model in its place, and adds what is refused of them. Yields `refused`, or MS_ERR_NOMEM. */
ms_status ms_loading_lacks_model(ms_loading *l, const char *run_path, ms_status refused);

/* Resolves a run whose training settings are refused, which l->err tells, and adds what is refused
 * of the layout or the sequence, where what decides them is not refused itself. The same. */
ms_status ms_loading_lacks_settings(ms_loading *l, ms_status refused);

#endif
