/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models in the cache of huggingface_hub on this machine, whose place the environment says; the
 * library reads no environment.
 */
#ifndef MS_CLI_PARSE_CACHED_H
#define MS_CLI_PARSE_CACHED_H

/* The config.json of "owner/name" in $HF_HUB_CACHE, $HF_HOME/hub or ~/.cache/huggingface/hub, valid
 * until this is called twice more; `model` itself where it is built in, a path, or not there. */
const char *ms_cli_cached(const char *model);

#endif
