/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_TESTS_FUZZ_FUZZ_H
#define MS_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Each target defines it; libFuzzer's main or replay.c calls it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
