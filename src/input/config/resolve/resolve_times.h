/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the times of a run rest on: the rates that its device reaches, a calibration, an MFU.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_RESOLVE_TIMES_H
#define MS_INPUT_CONFIG_RESOLVE_RESOLVE_TIMES_H

#include "input/config/resolve/resolving.h"

/* Gives the run a copy of its device with them. */
ms_status ms_resolve_times(const ms_resolving *c);

#endif
