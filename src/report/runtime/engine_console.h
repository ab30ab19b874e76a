/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A captured inference engine: whether it fits, how much it serves, and what its memory consists
 * of.
 */
#ifndef MS_REPORT_ENGINE_CONSOLE_H
#define MS_REPORT_ENGINE_CONSOLE_H

#include "input/document/recorded.h"
#include "report/kit/page.h"

/* The lines below the device's name. */
void ms_engine_head(const ms_recorded *r, const ms_page *page);
/* A table of the workers. */
void ms_engine_workers(const ms_recorded *r, const ms_page *page);

#endif
