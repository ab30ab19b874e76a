/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Blocks of several streams, on simulated memory and on memory that is there. The figures are those
 * of torch.cuda.memory_stats() of PyTorch 2.11 on a null device, whose events are done at once, or
 * (slow events) only when the host waits. A full device is there a share of it that the process may
 * have, which with expandable segments is another rule than a full device.
 */
#include <stdlib.h>

#include "core/allocator/allocator.h"
#include "core/allocator/waiting.h"
#include "unit/support.h"

#define MIB (UINT64_C(1) << 20)

typedef enum verb { STOP, TAKE, RECORD, DROP, EMPTY, SYNC, NOTE, WAIT } verb;

/* After each: allocated, active, requested, reserved and inactive split bytes, and retries. */
typedef struct action {
    verb verb;
    uint32_t stream; /* TAKE, RECORD */
    uint64_t what;   /* TAKE: bytes; RECORD, DROP: the take's number, from 0 */
    uint64_t figures[6];
} action;

typedef struct script {
    const char *label;
    ms_allocator_options options;
    action actions[11];
} script;

/* clang-format off */
static const script scripts[] = {
    {"raw: bytes as requested, given back at once", {.kind = MS_ALLOCATOR_RAW}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {TAKE, 1, 1000, {30 * MIB + 1000, 30 * MIB + 1000, 30 * MIB + 1000, 30 * MIB + 1000, 0, 0}},
        {RECORD, 1, 0, {30 * MIB + 1000, 30 * MIB + 1000, 30 * MIB + 1000, 30 * MIB + 1000, 0, 0}},
        {DROP, 0, 0, {1000, 1000, 1000, 1000, 0, 0}},
        {TAKE, 0, 2 * MIB, {2 * MIB + 1000, 2 * MIB + 1000, 2 * MIB + 1000, 2 * MIB + 1000, 0, 0}},
    }},
    {"caching: another stream's free block is not taken", {.kind = MS_ALLOCATOR_CUDA}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 0, 0, 30 * MIB, 0, 0}},
        {TAKE, 1, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 60 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
    }},
    {"caching: small pools per stream", {.kind = MS_ALLOCATOR_CUDA}, {
        {TAKE, 0, 512, {512, 512, 512, 2 * MIB, 2096640, 0}},
        {TAKE, 1, 512, {1024, 1024, 1024, 4 * MIB, 4193280, 0}},
        {TAKE, 2, 512, {1536, 1536, 1536, 6 * MIB, 6289920, 0}},
        {DROP, 0, 1, {1024, 1024, 1024, 6 * MIB, 4193280, 0}},
        {TAKE, 0, 512, {1536, 1536, 1536, 6 * MIB, 4192768, 0}},
    }},
    {"caching: a recorded block waits until the next request", {.kind = MS_ALLOCATOR_CUDA}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {TAKE, 0, 512, {512, 512, 512, 32 * MIB, 2096640, 0}},
    }},
    {"caching: a recorded block serves the next request", {.kind = MS_ALLOCATOR_CUDA}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
    }},
    {"caching: its own stream does not count", {.kind = MS_ALLOCATOR_CUDA}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 0, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 0, 0, 30 * MIB, 0, 0}},
    }},
    {"caching: recorded twice, and by two", {.kind = MS_ALLOCATOR_CUDA}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 2, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
    }},
    {"caching: a waiting part is not joined", {.kind = MS_ALLOCATOR_CUDA}, {
        {TAKE, 0, 4 * MIB, {4 * MIB, 4 * MIB, 4 * MIB, 20 * MIB, 16 * MIB, 0}},
        {TAKE, 0, 4 * MIB, {8 * MIB, 8 * MIB, 8 * MIB, 20 * MIB, 12 * MIB, 0}},
        {TAKE, 0, 4 * MIB, {12 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 8 * MIB, 0}},
        {RECORD, 1, 1, {12 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 8 * MIB, 0}},
        {DROP, 0, 1, {8 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 8 * MIB, 0}},
        {DROP, 0, 0, {4 * MIB, 8 * MIB, 8 * MIB, 20 * MIB, 12 * MIB, 0}},
        {DROP, 0, 2, {0, 4 * MIB, 4 * MIB, 20 * MIB, 16 * MIB, 0}},
        {TAKE, 0, 12 * MIB, {12 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 8 * MIB, 0}},
    }},
    {"caching: emptying the cache waits", {.kind = MS_ALLOCATOR_CUDA}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {EMPTY, 0, 0, {0, 0, 0, 0, 0, 0}},
    }},
    {"caching: the host waits for the device", {.kind = MS_ALLOCATOR_CUDA}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {SYNC, 0, 0, {0, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
    }},
    {"caching: two waiting", {.kind = MS_ALLOCATOR_CUDA}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {RECORD, 1, 0, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {RECORD, 2, 1, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {DROP, 0, 0, {30 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {DROP, 0, 1, {0, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 60 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
    }},
    {"caching: a full device waits for other streams", {.kind = MS_ALLOCATOR_CUDA, .capacity_bytes = 100 * MIB}, {
        {TAKE, 0, 60 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {RECORD, 1, 0, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {TAKE, 0, 80 * MIB, {80 * MIB, 80 * MIB, 80 * MIB, 80 * MIB, 0, 1}},
    }},
    {"caching: another stream's free block is not taken, slow events", {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 0, 0, 30 * MIB, 0, 0}},
        {TAKE, 1, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 60 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
    }},
    {"caching: small pools per stream, slow events", {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = true}, {
        {TAKE, 0, 512, {512, 512, 512, 2 * MIB, 2096640, 0}},
        {TAKE, 1, 512, {1024, 1024, 1024, 4 * MIB, 4193280, 0}},
        {TAKE, 2, 512, {1536, 1536, 1536, 6 * MIB, 6289920, 0}},
        {DROP, 0, 1, {1024, 1024, 1024, 6 * MIB, 4193280, 0}},
        {TAKE, 0, 512, {1536, 1536, 1536, 6 * MIB, 4192768, 0}},
    }},
    {"caching: a recorded block waits until the next request, slow events", {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {TAKE, 0, 512, {512, 31457792, 31457792, 32 * MIB, 2096640, 0}},
    }},
    {"caching: a recorded block serves the next request, slow events", {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
    }},
    {"caching: its own stream does not count, slow events", {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 0, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 0, 0, 30 * MIB, 0, 0}},
    }},
    {"caching: recorded twice, and by two, slow events", {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 2, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
    }},
    {"caching: a waiting part is not joined, slow events", {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = true}, {
        {TAKE, 0, 4 * MIB, {4 * MIB, 4 * MIB, 4 * MIB, 20 * MIB, 16 * MIB, 0}},
        {TAKE, 0, 4 * MIB, {8 * MIB, 8 * MIB, 8 * MIB, 20 * MIB, 12 * MIB, 0}},
        {TAKE, 0, 4 * MIB, {12 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 8 * MIB, 0}},
        {RECORD, 1, 1, {12 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 8 * MIB, 0}},
        {DROP, 0, 1, {8 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 8 * MIB, 0}},
        {DROP, 0, 0, {4 * MIB, 8 * MIB, 8 * MIB, 20 * MIB, 12 * MIB, 0}},
        {DROP, 0, 2, {0, 4 * MIB, 4 * MIB, 20 * MIB, 16 * MIB, 0}},
        {TAKE, 0, 12 * MIB, {12 * MIB, 16 * MIB, 16 * MIB, 20 * MIB, 4 * MIB, 0}},
    }},
    {"caching: emptying the cache waits, slow events", {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {EMPTY, 0, 0, {0, 0, 0, 0, 0, 0}},
    }},
    {"caching: the host waits for the device, slow events", {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {SYNC, 0, 0, {0, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
    }},
    {"caching: the host waits for an event, slow events", {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {RECORD, 1, 0, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {RECORD, 1, 1, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {DROP, 0, 0, {30 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {NOTE, 0, 0, {30 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {DROP, 0, 1, {0, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {WAIT, 0, 0, {0, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 90 * MIB, 90 * MIB, 90 * MIB, 0, 0}},
    }},
    {"caching: two waiting, slow events", {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 30 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {RECORD, 1, 0, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {RECORD, 2, 1, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {DROP, 0, 0, {30 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {DROP, 0, 1, {0, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 90 * MIB, 90 * MIB, 90 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 120 * MIB, 120 * MIB, 120 * MIB, 0, 0}},
    }},
    {"caching: a full device waits for other streams, slow events", {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = true, .capacity_bytes = 100 * MIB}, {
        {TAKE, 0, 60 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {RECORD, 1, 0, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {TAKE, 0, 80 * MIB, {80 * MIB, 80 * MIB, 80 * MIB, 80 * MIB, 0, 1}},
    }},
    {"expandable: another stream's free block is not taken", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 0, 0, 40 * MIB, 0, 0}},
        {TAKE, 1, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 80 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 80 * MIB, 0, 0}},
    }},
    {"expandable: small pools per stream", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE}, {
        {TAKE, 0, 512, {512, 512, 512, 2 * MIB, 0, 0}},
        {TAKE, 1, 512, {1024, 1024, 1024, 4 * MIB, 0, 0}},
        {TAKE, 2, 512, {1536, 1536, 1536, 6 * MIB, 0, 0}},
        {DROP, 0, 1, {1024, 1024, 1024, 6 * MIB, 0, 0}},
        {TAKE, 0, 512, {1536, 1536, 1536, 6 * MIB, 0, 0}},
    }},
    {"expandable: a recorded block waits until the next request", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {TAKE, 0, 512, {512, 512, 512, 42 * MIB, 0, 0}},
    }},
    {"expandable: a recorded block serves the next request", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
    }},
    {"expandable: its own stream does not count", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 0, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 0, 0, 40 * MIB, 0, 0}},
    }},
    {"expandable: recorded twice, and by two", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 2, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
    }},
    {"expandable: a waiting part is not joined", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE}, {
        {TAKE, 0, 4 * MIB, {4 * MIB, 4 * MIB, 4 * MIB, 20 * MIB, 0, 0}},
        {TAKE, 0, 4 * MIB, {8 * MIB, 8 * MIB, 8 * MIB, 20 * MIB, 0, 0}},
        {TAKE, 0, 4 * MIB, {12 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 0, 0}},
        {RECORD, 1, 1, {12 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 0, 0}},
        {DROP, 0, 1, {8 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 0, 0}},
        {DROP, 0, 0, {4 * MIB, 8 * MIB, 8 * MIB, 20 * MIB, 0, 0}},
        {DROP, 0, 2, {0, 4 * MIB, 4 * MIB, 20 * MIB, 0, 0}},
        {TAKE, 0, 12 * MIB, {12 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 0, 0}},
    }},
    {"expandable: emptying the cache waits", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {EMPTY, 0, 0, {0, 0, 0, 0, 0, 0}},
    }},
    {"expandable: the host waits for the device", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {SYNC, 0, 0, {0, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
    }},
    {"expandable: two waiting", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {RECORD, 1, 0, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {RECORD, 2, 1, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {DROP, 0, 0, {30 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {DROP, 0, 1, {0, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 60 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
    }},
    {"expandable: another stream's free block is not taken, slow events", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 0, 0, 40 * MIB, 0, 0}},
        {TAKE, 1, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 80 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 80 * MIB, 0, 0}},
    }},
    {"expandable: small pools per stream, slow events", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE, .has_slow_events = true}, {
        {TAKE, 0, 512, {512, 512, 512, 2 * MIB, 0, 0}},
        {TAKE, 1, 512, {1024, 1024, 1024, 4 * MIB, 0, 0}},
        {TAKE, 2, 512, {1536, 1536, 1536, 6 * MIB, 0, 0}},
        {DROP, 0, 1, {1024, 1024, 1024, 6 * MIB, 0, 0}},
        {TAKE, 0, 512, {1536, 1536, 1536, 6 * MIB, 0, 0}},
    }},
    {"expandable: a recorded block waits until the next request, slow events", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {TAKE, 0, 512, {512, 31457792, 31457792, 42 * MIB, 0, 0}},
    }},
    {"expandable: a recorded block serves the next request, slow events", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
    }},
    {"expandable: its own stream does not count, slow events", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 0, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 0, 0, 40 * MIB, 0, 0}},
    }},
    {"expandable: recorded twice, and by two, slow events", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 2, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
    }},
    {"expandable: a waiting part is not joined, slow events", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE, .has_slow_events = true}, {
        {TAKE, 0, 4 * MIB, {4 * MIB, 4 * MIB, 4 * MIB, 20 * MIB, 0, 0}},
        {TAKE, 0, 4 * MIB, {8 * MIB, 8 * MIB, 8 * MIB, 20 * MIB, 0, 0}},
        {TAKE, 0, 4 * MIB, {12 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 0, 0}},
        {RECORD, 1, 1, {12 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 0, 0}},
        {DROP, 0, 1, {8 * MIB, 12 * MIB, 12 * MIB, 20 * MIB, 0, 0}},
        {DROP, 0, 0, {4 * MIB, 8 * MIB, 8 * MIB, 20 * MIB, 0, 0}},
        {DROP, 0, 2, {0, 4 * MIB, 4 * MIB, 20 * MIB, 0, 0}},
        {TAKE, 0, 12 * MIB, {12 * MIB, 16 * MIB, 16 * MIB, 20 * MIB, 0, 0}},
    }},
    {"expandable: emptying the cache waits, slow events", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {EMPTY, 0, 0, {0, 0, 0, 0, 0, 0}},
    }},
    {"expandable: the host waits for the device, slow events", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {RECORD, 1, 0, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {SYNC, 0, 0, {0, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
    }},
    {"expandable: two waiting, slow events", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE, .has_slow_events = true}, {
        {TAKE, 0, 30 * MIB, {30 * MIB, 30 * MIB, 30 * MIB, 40 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {RECORD, 1, 0, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {RECORD, 2, 1, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {DROP, 0, 0, {30 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {DROP, 0, 1, {0, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {30 * MIB, 90 * MIB, 90 * MIB, 100 * MIB, 0, 0}},
        {TAKE, 0, 30 * MIB, {60 * MIB, 120 * MIB, 120 * MIB, 120 * MIB, 0, 0}},
    }},
    {"expandable: a full device waits for other streams, slow events", {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE, .has_slow_events = true, .capacity_bytes = 100 * MIB}, {
        {TAKE, 0, 60 * MIB, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {RECORD, 1, 0, {60 * MIB, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {DROP, 0, 0, {0, 60 * MIB, 60 * MIB, 60 * MIB, 0, 0}},
        {TAKE, 0, 80 * MIB, {80 * MIB, 80 * MIB, 80 * MIB, 80 * MIB, 0, 1}},
    }},
};
/* clang-format on */

typedef struct player {
    ms_allocator *allocator;
    ms_block blocks[10];
    uint32_t count;
    bool is_real; /* blocks can be written */
} player;

static void write_ends(const player *p, ms_block block)
{
    uint64_t bytes = ms_allocator_block_bytes(p->allocator, block);
    char *at = (char *)(uintptr_t)ms_allocator_block_address(p->allocator, block);
    at[0] = at[bytes - 1] = 1;
}

static void take(player *p, const action *a)
{
    ms_block *block = &p->blocks[p->count++];
    assert_int_equal(ms_allocator_allocate(p->allocator, a->what, a->stream, block), MS_OK);
    if (p->is_real)
        write_ends(p, *block);
}

static void play(player *p, const action *a)
{
    switch (a->verb) {
    case TAKE:
        take(p, a);
        break;
    case RECORD:
        assert_int_equal(ms_allocator_record(p->allocator, p->blocks[a->what], a->stream), MS_OK);
        break;
    case DROP:
        ms_allocator_release(p->allocator, p->blocks[a->what]);
        p->blocks[a->what] = 0;
        break;
    case EMPTY:
        assert_int_equal(ms_allocator_empty_cache(p->allocator), MS_OK);
        break;
    case SYNC:
        ms_allocator_host_waits(p->allocator, MS_HOST_WAITS_FOR_ALL);
        break;
    case NOTE:
        assert_int_equal(ms_allocator_host_event(p->allocator, 0), MS_OK);
        break;
    case WAIT:
        ms_allocator_host_waits(p->allocator, 0);
        break;
    case STOP:
        break;
    }
}

static void check_script(const script *c, ms_allocator *allocator, bool is_real)
{
    player p = {.allocator = allocator, .is_real = is_real};
    assert_non_null(allocator);
    const ms_allocator_stats *stats = ms_allocator_stats_of(allocator);
    for (const action *a = c->actions; a->verb != STOP; a++) {
        play(&p, a);
        assert_int_equal(stats->allocated_bytes, a->figures[0]);
        assert_int_equal(stats->allocated_bytes + stats->waiting_bytes, a->figures[1]);
        assert_int_equal(stats->requested_bytes, a->figures[2]);
        assert_int_equal(stats->reserved_bytes, a->figures[3]);
        if (c->options.kind == MS_ALLOCATOR_CUDA)
            assert_int_equal(stats->inactive_split_bytes, a->figures[4]);
        assert_int_equal(stats->retries, a->figures[5]);
    }
    ms_allocator_free(allocator);
}

static void on_simulated_memory(void **state)
{
    const script *c = *state;
    check_script(c, ms_allocator_create(&c->options), false);
}

/* ---- memory that is there: an arena of the host ---- */

enum { ARENA_MIB = 1280, DEVICE_MIB = 128 };

typedef struct arena {
    char *memory;
    uint64_t next, end;
    uint64_t reserved_bytes, mapped_bytes; /* what the allocator has of it now */
} arena;

static ms_status reserve(void *context, ms_memory_kind kind, uint64_t bytes, uint32_t stream,
                         uint64_t *address)
{
    arena *a = context;
    (void)kind;
    assert_true(stream < 3);
    if (bytes > a->end - a->next)
        return MS_ERR_OVER_BUDGET;
    *address = a->next;
    a->next += bytes;
    a->reserved_bytes += bytes;
    return MS_OK;
}

static void release(void *context, ms_memory_kind kind, uint64_t address, uint64_t bytes)
{
    arena *a = context;
    (void)kind;
    assert_true(address + bytes <= a->next && bytes <= a->reserved_bytes);
    a->reserved_bytes -= bytes;
}

static ms_status map(void *context, uint64_t address, uint64_t bytes)
{
    arena *a = context;
    assert_true(address + bytes <= a->next && address % MIB == 0 && bytes % (2 * MIB) == 0);
    a->mapped_bytes += bytes;
    return MS_OK;
}

static void unmap(void *context, uint64_t address, uint64_t bytes)
{
    arena *a = context;
    assert_true(address + bytes <= a->next && bytes <= a->mapped_bytes);
    assert_true(address % (2 * MIB) == 0 && bytes % (2 * MIB) == 0);
    a->mapped_bytes -= bytes;
}

/* The same figures, every block written, and all of it given back. */
static void on_an_arena(void **state)
{
    const script *c = *state;
    arena a = {.memory = malloc(ARENA_MIB * MIB)};
    assert_non_null(a.memory);
    a.next = ((uint64_t)(uintptr_t)a.memory / MS_MEMORY_ALIGNMENT + 1) * MS_MEMORY_ALIGNMENT;
    a.end = (uint64_t)(uintptr_t)a.memory + ARENA_MIB * MIB;
    const ms_memory memory = {&a, reserve, release, map, unmap};
    ms_allocator_options options = c->options;
    options.device_bytes = DEVICE_MIB * MIB;
    check_script(c, ms_allocator_create_on(&options, &memory), true);
    assert_int_equal(a.reserved_bytes, 0);
    assert_int_equal(a.mapped_bytes, 0);
    free(a.memory);
}

/* A source that has no more: what is cached goes back, then it is asked again. */
static void a_full_source_is_asked_again(void **state)
{
    (void)state;
    arena a = {.memory = malloc(ARENA_MIB * MIB)};
    assert_non_null(a.memory);
    a.next = (uint64_t)(uintptr_t)a.memory;
    a.end = a.next + 50 * MIB;
    const ms_memory memory = {&a, reserve, release, map, unmap};
    const ms_allocator_options options = {.kind = MS_ALLOCATOR_CUDA};
    ms_allocator *allocator = ms_allocator_create_on(&options, &memory);
    ms_block block;
    assert_int_equal(ms_allocator_allocate(allocator, 30 * MIB, 0, &block), MS_OK);
    ms_allocator_release(allocator, block);
    assert_int_equal(ms_allocator_allocate(allocator, 40 * MIB, 0, &block), MS_ERR_OVER_BUDGET);
    assert_int_equal(ms_allocator_stats_of(allocator)->retries, 1);
    assert_int_equal(ms_allocator_stats_of(allocator)->reserved_bytes, 0);
    assert_int_equal(a.reserved_bytes, 0);
    assert_int_equal(ms_allocator_allocate(allocator, 20 * MIB, 0, &block), MS_OK);
    ms_allocator_free(allocator);
    assert_int_equal(a.reserved_bytes, 0);
    free(a.memory);
}

/* One event of the two streams that use a block, then the other. */
static void events_pass_one_by_one(void **state)
{
    (void)state;
    const ms_allocator_options options = {.kind = MS_ALLOCATOR_CUDA, .has_slow_events = true};
    ms_allocator *a = ms_allocator_create(&options);
    const ms_allocator_stats *stats = ms_allocator_stats_of(a);
    ms_block blocks[2];
    ms_allocator_pieces pieces = {0};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ms_allocator_allocate(a, 30 * MIB, 0, &blocks[i]), MS_OK);
        assert_int_equal(ms_allocator_record(a, blocks[i], 1), MS_OK);
    }
    assert_int_equal(ms_allocator_record(a, blocks[0], 2), MS_OK);
    ms_allocator_release(a, blocks[0]);
    ms_allocator_release(a, blocks[1]);
    assert_true(ms_allocator_list(a, &pieces));
    assert_int_equal(pieces.count, 2);
    assert_true(pieces.items[0].is_held && pieces.items[0].is_waiting);
    ms_vec_free(&pieces);
    assert_true(ms_allocator_event_done(a, 1)); /* of the first, which stream 2 uses yet */
    assert_int_equal(stats->waiting_bytes, 60 * MIB);
    assert_true(ms_allocator_event_done(a, 1));
    assert_int_equal(stats->waiting_bytes, 30 * MIB);
    assert_false(ms_allocator_event_done(a, 1));
    assert_true(ms_allocator_event_done(a, 2));
    assert_int_equal(stats->waiting_bytes, 0);
    assert_int_equal(stats->reserved_bytes, 60 * MIB);
    ms_allocator_free(a);
}

int main(void)
{
    struct CMUnitTest tests[2 * COUNT_OF(scripts) + 2];
    size_t count = ADD_ROWS(tests, on_simulated_memory, scripts);
    count += ADD_ROWS(tests + count, on_an_arena, scripts);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(a_full_source_is_asked_again);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(events_pass_one_by_one);
    return _cmocka_run_group_tests("allocators of several streams", tests, count, NULL, NULL);
}
