/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How much longer classes of operators take than the roofline says.
 */
#ifndef MS_CALIBRATE_FIT_TIMES_H
#define MS_CALIBRATE_FIT_TIMES_H

#include "calibrate/regression.h"

ms_status ms_regression_times(ms_regression *f);

#endif
