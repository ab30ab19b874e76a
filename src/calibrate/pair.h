/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A point from two reports: what was predicted of a step, and what was measured of it.
 */
#ifndef MS_CALIBRATE_PAIR_H
#define MS_CALIBRATE_PAIR_H

#include "calibrate/points.h"

/* Refuses what is calibrated already, and what was not measured, or on another device. */
ms_status ms_measured_point_pair(ms_arena *arena, const ms_report_pair *pair,
                                 ms_measured_points *points, ms_error *err);

#endif
