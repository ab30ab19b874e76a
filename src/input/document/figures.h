/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads the figures of a report.
 */
#ifndef MS_INPUT_DOCUMENT_FIGURES_H
#define MS_INPUT_DOCUMENT_FIGURES_H

#include "input/document/reading.h"

/* Read everything except the metadata, from a static report and from a plan. */
ms_status ms_reading_static(const ms_reading *r);
ms_status ms_reading_plan(const ms_reading *r);

#endif
