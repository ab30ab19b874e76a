/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Points from the device_links.json of `memscope probe --links`: each product, each run through the
 * device's memory and each pinned copy in one direction is one, and so is the context.
 */
#ifndef MS_DECIDE_CALIBRATE_LINKS_H
#define MS_DECIDE_CALIBRATE_LINKS_H

#include "base/json/members.h"
#include "decide/calibrate/points.h"

/* The members of ms_links (hardware/replay/links.h), as they are written and read. */
extern const ms_members ms_links_table;

/* Whether a document is such a file. */
bool ms_measured_links_is(ms_json_value root);

/* Whether it was measured with memory and threads of a machine, and not on a device. */
bool ms_measured_links_is_of_host(ms_json_value root);

/* Refuses one of a device that is not there, one that was cut off, one for no device or an unknown
 * one, and one that was measured on another device. `name` names the file. */
ms_status ms_measured_links_read(ms_arena *arena, const ms_report_pair *file,
                                 ms_measured_points *points, ms_error *err);

#endif
