/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What calls do for those who watch them (memscope/watch.h). NULL: nobody does.
 */
#ifndef MS_RUN_SIMULATE_WATCH_H
#define MS_RUN_SIMULATE_WATCH_H

#include "memscope/error.h"
#include "memscope/watch.h"

/* MS_ERR_STOPPED once the watch was stopped. */
ms_status ms_watch_check(const ms_watch *watch, ms_error *err);
void ms_watch_count(ms_watch *watch);

#endif
