/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What programs without PyTorch allocated, from the lines that the null device wrote
 * (src/hardware/nulldevice/ledger.c), and the report that is made of it.
 */
#ifndef MS_CLI_CAPTURE_LEDGER_H
#define MS_CLI_CAPTURE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "memscope/error.h"

/* What buffers are for, in the order of reports. */
typedef enum ms_cli_use {
    MS_CLI_USE_MODEL,
    MS_CLI_USE_KV,
    MS_CLI_USE_STATE,
    MS_CLI_USE_COMPUTE,
    MS_CLI_USE_OUTPUT,
    MS_CLI_USE_POOL,
    MS_CLI_USE_WORKSPACE,
    MS_CLI_USE_ADAPTER,
    MS_CLI_USE_PROJECTOR,
    MS_CLI_USE_STAGING,
    MS_CLI_USE_OTHER,
    MS_CLI_USES
} ms_cli_use;

typedef enum ms_cli_stage {
    MS_CLI_STAGE_NONE, /* before the first */
    MS_CLI_STAGE_LOAD,
    MS_CLI_STAGE_CACHE,
    MS_CLI_STAGE_SERVE,
    MS_CLI_STAGES
} ms_cli_stage;

typedef struct ms_cli_amount {
    uint64_t count, asked, granted; /* granted: what the device uses for what was asked */
} ms_cli_amount;

/* A device's memory, or the host's pinned memory. */
enum { MS_CLI_LEDGER_DEVICES = 16, MS_CLI_LEDGER_HOST = MS_CLI_LEDGER_DEVICES, MS_CLI_PLACES };
typedef struct ms_cli_memory {
    bool is_used;
    ms_cli_amount now, peak; /* of all uses */
    ms_cli_amount uses[MS_CLI_USES], at_peak[MS_CLI_USES];
    uint64_t most_asked[MS_CLI_USES]; /* of each at one time */
} ms_cli_memory;

typedef struct ms_cli_span {
    uint64_t repeats;
    ms_cli_amount start, peak, end; /* of all devices together; counts are not used */
} ms_cli_span;

typedef struct ms_cli_ledger {
    bool has_ggml, has_llama;
    ms_cli_memory places[MS_CLI_PLACES];
    ms_cli_stage stage;
    ms_cli_span spans[MS_CLI_STAGES];
    uint64_t processes; /* that used the device; the figures are those of the one that used most */
    uint64_t refused_bytes, in_use_bytes; /* of the last allocation that a device refused; then */
    int refused_device;                   /* -1: none was */
    bool has_pools;                       /* memory was asked of the driver's pools */
    char uncovered_pool[48];              /* a call about them that is not covered; or "" */
} ms_cli_ledger;

/* NULL when no process of the folder used the device, or when out of memory; free() releases it. */
ms_cli_ledger *ms_cli_ledger_read(const char *folder);

const char *ms_cli_use_name(ms_cli_use use);
const char *ms_cli_stage_name(ms_cli_stage stage);

#endif
