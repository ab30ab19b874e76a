/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/model/key_lists.h"

#include <inttypes.h>

#include "input/config/model/model_config.h"
#include "input/config/model/model_keys.h"

uint64_t *ms_key_count_at(ms_model_config *config, size_t offset)
{
    return (uint64_t *)(void *)((char *)config + offset);
}

ms_status ms_key_expect_layers(ms_json_value list, uint64_t count, const ms_model_config *config,
                               ms_error *err)
{
    if (count == config->num_layers)
        return MS_OK;
    return ms_json_fail(err, list, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                        "%" PRIu64 " entries, but num_hidden_layers is %" PRIu64, count,
                        config->num_layers);
}

ms_status ms_key_get_alike(ms_json_value list, const ms_key *key, ms_model_config *config,
                           ms_error *err)
{
    uint64_t *member = ms_key_count_at(config, key->offset), count = 0, number = 0;
    ms_status status = MS_OK;
    ms_json_value v;
    for (bool more = ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v), count++) {
        status = ms_json_get_count(v, key->minimum, key->maximum, &number, err);
        if (status == MS_OK && count > 0 && number != *member)
            return ms_json_fail(err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "%" PRIu64 " after %" PRIu64
                                ": layers that differ in it are not supported",
                                number, *member);
        *member = number;
    }
    return status == MS_OK ? ms_key_expect_layers(list, count, config, err) : status;
}

ms_status ms_key_get_numbers(ms_json_value value, const ms_key *key, ms_model_config *config,
                             ms_error *err)
{
    uint64_t *bits = ms_key_count_at(config, key->offset), number = 0;
    ms_json_value v;
    ms_status status = ms_json_expect(value, MS_JSON_ARRAY, err);
    for (bool more = status == MS_OK && ms_json_first(value, &v); more && status == MS_OK;
         more = ms_json_next(&v)) {
        status = ms_json_get_count(v, 0, key->maximum, &number, err);
        if (status == MS_OK)
            bits[number / 64] |= UINT64_C(1) << number % 64;
    }
    return status;
}
