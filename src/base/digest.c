/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/digest.h"

#include <string.h>

uint64_t ms_digest_bytes(uint64_t digest, const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++)
        digest = (digest ^ byte[i]) * UINT64_C(0x100000001b3);
    return digest;
}

uint64_t ms_digest_text(uint64_t digest, const char *text)
{
    return ms_digest_bytes(digest, text, strlen(text) + 1);
}

uint64_t ms_digest_words(uint64_t digest, const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;
    size_t whole = length / sizeof digest * sizeof digest;
    for (size_t i = 0; i < whole; i += sizeof digest) {
        uint64_t word;
        memcpy(&word, byte + i, sizeof word);
        digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        digest ^= digest >> 32;
    }
    return ms_digest_bytes(digest, byte + whole, length - whole);
}
