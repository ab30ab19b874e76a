/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Counts the calls of a program, if MEMSCOPE_NULL_CALLS is set. The compiler inserts a call of
 * __cyg_profile_func_enter at the beginning of every function of this library
 * (-finstrument-functions), so no function has to count itself.
 */
#define _GNU_SOURCE /* for dladdr; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hardware/nulldevice/nulldevice.h"

#define QUIET __attribute__((no_instrument_function))

enum { SLOTS = 4096 }; /* four times as many as there are functions */

static struct slot {
    atomic_uintptr_t function;
    atomic_ulong count;
} slots[SLOTS];
static bool is_counting;

QUIET __attribute__((constructor)) static void begin(void)
{
    is_counting = getenv("MEMSCOPE_NULL_CALLS") != NULL;
}

QUIET static void count(uintptr_t function)
{
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *s = &slots[(function / 16 + i) % SLOTS];
        uintptr_t none = 0;
        if (atomic_load(&s->function) == function ||
            atomic_compare_exchange_strong(&s->function, &none, function) || none == function) {
            atomic_fetch_add(&s->count, 1);
            return;
        }
    }
}

/* The compiler's own names. NOLINTBEGIN(clang-diagnostic-reserved-identifier) */
QUIET void __cyg_profile_func_enter(void *function, void *caller);
QUIET void __cyg_profile_func_exit(void *function, void *caller);

QUIET void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (is_counting)
        count((uintptr_t)function);
}

QUIET void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function, (void)caller;
}
/* NOLINTEND(clang-diagnostic-reserved-identifier) */

/* Functions that are not CUDA's have no name that others can see. */
MS_NULL_CALL(void, memscope_null_calls, (void (*tell)(const char *, uint64_t)))
{
    for (size_t i = 0; i < SLOTS; i++) {
        Dl_info found;
        void *function = (void *)atomic_load(&slots[i].function);
        if (function && dladdr(function, &found) && found.dli_saddr == function &&
            strncmp(found.dli_sname, "memscope_", 9) != 0 &&
            strncmp(found.dli_sname, "_ZN3c10", 7) != 0)
            tell(found.dli_sname, atomic_load(&slots[i].count));
    }
}
