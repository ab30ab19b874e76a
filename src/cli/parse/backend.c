/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/parse/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/message.h"
#include "memscope/probe.h"

static const char default_backend[] = "cuda";

static const char *backend_name(const void *list, size_t index)
{
    (void)list;
    return ms_probe_backend_at(index);
}

ms_status ms_cli_set_backend(ms_cli_settings *s, const char *value, ms_error *err)
{
    char hint[MS_CLI_HINT_BYTES];
    s->backend = value;
    for (size_t i = 0; ms_probe_backend_at(i); i++)
        if (strcmp(ms_probe_backend_at(i), value) == 0)
            return MS_OK;
    return ms_cli_fail(err, MS_ERR_USAGE, "--backend: no \"%.40s\"%s (cuda or host)", value,
                       ms_cli_hint(value, backend_name, NULL, "", hint));
}

ms_status ms_cli_set_device_index(ms_cli_settings *s, const char *value, ms_error *err)
{
    enum { MOST = 1023 };
    char *end = NULL;
    errno = 0;
    bool is_number = *value >= '0' && *value <= '9';
    unsigned long index = is_number ? strtoul(value, &end, 10) : 0;
    if (!is_number || errno != 0 || *end != '\0' || index > MOST)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "--device-index: found '%.40s', expected a number from 0 to %d", value,
                           MOST);
    s->device_index = (uint32_t)index;
    s->has_device_index = true;
    return MS_OK;
}

ms_status ms_cli_set_capacity(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)err;
    s->capacity = value;
    return MS_OK;
}

const char *ms_cli_backend(const ms_cli_settings *s)
{
    return s->backend ? s->backend : default_backend;
}

static bool is_cuda(const ms_cli_settings *s)
{
    return strcmp(ms_cli_backend(s), default_backend) == 0;
}

void ms_cli_check_backend(const ms_cli_settings *s, ms_error *err)
{
    if (is_cuda(s) && s->capacity)
        ms_cli_fail(
            err, MS_ERR_USAGE,
            "--capacity limits the host memory used as a device, so it needs --backend host");
    if (!is_cuda(s) && s->has_device_index)
        ms_cli_fail(
            err, MS_ERR_USAGE,
            "--device-index chooses a CUDA device, but --backend host has only this machine");
}

int ms_cli_complain_of_backend(const ms_cli_settings *s, const ms_error *err, bool has_begun,
                               const char *instead)
{
    ms_error all = {.status = MS_OK};
    if (err->status != MS_ERR_IO || !is_cuda(s) || has_begun || *err->file)
        return ms_cli_complain(err);
    ms_cli_fail(&all, err->status, "%.300s; --backend host %s instead", err->text, instead);
    return ms_cli_complain(&all);
}
