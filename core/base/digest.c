/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <orrery/base/digest.h>

/* Bytes are put together little-endian by hand, so the hash is the same on every machine. */
uint64_t orr_hash_bytes(const void *bytes, size_t count)
{
    const unsigned char *p = bytes;
    struct orr_digest d = {0x243f6a8885a308d3u ^ count};
    while (count >= 8) {
        uint64_t word = (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
                        (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 |
                        (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
        orr_digest_fold(&d, word);
        p += 8;
        count -= 8;
    }
    uint64_t tail = 0;
    for (size_t i = 0; i < count; i++) {
        tail |= (uint64_t)p[i] << (8 * i);
    }
    orr_digest_fold(&d, tail);
    orr_digest_fold(&d, 0x13198a2e03707344u);
    return d.h;
}
