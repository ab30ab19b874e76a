/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fits the times of operator classes relative to the roofline.
 */
#ifndef MS_DECIDE_CALIBRATE_FIT_TIMES_H
#define MS_DECIDE_CALIBRATE_FIT_TIMES_H

#include "decide/calibrate/regression.h"

ms_status ms_regression_times(ms_regression *f);

#endif
