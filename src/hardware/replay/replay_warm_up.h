/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What only a first run takes is kept out of the step: libraries load the code of a product when
 * its shape first comes.
 */
#ifndef MS_HARDWARE_REPLAY_REPLAY_WARM_UP_H
#define MS_HARDWARE_REPLAY_REPLAY_WARM_UP_H

#include "hardware/replay/replay_work.h"

/* Runs each shape of product of the trace once, uncounted, while no storage has memory. Nothing
 * runs where the device has no room for the largest. */
ms_status ms_replay_warm_up(ms_replay_work *work, ms_error *err);

#endif
