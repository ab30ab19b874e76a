/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/kit/rotary.h"

const char *ms_infer_rotary_scaling(ms_json_value config)
{
    ms_json_value scaling, type;
    const char *text = "";
    ms_error ignored = {.status = MS_OK};
    bool has = (ms_json_find(config, "rope_scaling", &scaling) ||
                ms_json_find(config, "rope_parameters", &scaling)) &&
               ms_json_kind_of(scaling) == MS_JSON_OBJECT &&
               (ms_json_find(scaling, "rope_type", &type) || ms_json_find(scaling, "type", &type));
    return has && ms_json_get_string(type, &text, &ignored) == MS_OK ? text : "";
}
