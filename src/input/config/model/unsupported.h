/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Known but unsupported dtypes and settings of trainers, with the reason for refusing them.
 */
#ifndef MS_INPUT_CONFIG_MODEL_UNSUPPORTED_H
#define MS_INPUT_CONFIG_MODEL_UNSUPPORTED_H

/* The reason for a dtype such as "float8_e4m3fn"; NULL for a supported or unknown one. */
const char *ms_unsupported_type(const char *name);

/* The reason for an implementation of attention such as "flash_attention_2"; NULL for any other. */
const char *ms_unsupported_attention(const char *name);

/* The reason for a setting such as "torch_compile"; NULL for an unknown one. */
const char *ms_unsupported_setting(const char *name);

#endif
