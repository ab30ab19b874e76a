/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What trainers have words for and is not modelled, so that it is refused in so many words.
 */
#ifndef MS_CONFIG_MODEL_UNSUPPORTED_H
#define MS_CONFIG_MODEL_UNSUPPORTED_H

/* Of an element type, such as "float8_e4m3fn"; NULL for one that is modelled or means nothing. */
const char *ms_unsupported_type(const char *name);

/* Of a setting, such as "torch_compile"; NULL for a name that means nothing. */
const char *ms_unsupported_setting(const char *name);

#endif
