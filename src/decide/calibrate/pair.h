/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Makes a point from two reports of one step, predicted and measured.
 */
#ifndef MS_DECIDE_CALIBRATE_PAIR_H
#define MS_DECIDE_CALIBRATE_PAIR_H

#include "decide/calibrate/points.h"

/* Refuses a prediction that is already calibrated, a report that was not measured, and different
 * devices. */
ms_status ms_measured_point_pair(ms_arena *arena, const ms_report_pair *pair,
                                 ms_measured_points *points, ms_error *err);

#endif
