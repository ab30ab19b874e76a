/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The composition of the peak as a treemap.
 */
#ifndef MS_REPORT_PICTURES_COMPOSITION_H
#define MS_REPORT_PICTURES_COMPOSITION_H

#include "report/pictures/picture.h"

/* A treemap of categories, divided into tensors. False: out of memory. */
bool ms_picture_composition(FILE *out, const ms_view *view, const ms_picture_shape *shape);

#endif
