/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the peak is made of, as a treemap.
 */
#ifndef MS_REPORT_PICTURES_COMPOSITION_H
#define MS_REPORT_PICTURES_COMPOSITION_H

#include "report/pictures/picture.h"

/* A treemap: categories, and in them tensors. False: out of memory. */
bool ms_picture_composition(FILE *out, const ms_view *view);

#endif
