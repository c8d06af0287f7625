/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sha256.h - digests of files, as sha256sum writes them. nettle's, which uses the instructions that
 * processors have for it: a trace of a gigabyte costs less than a second. */
#ifndef ORR_TRACES_SHA256_H
#define ORR_TRACES_SHA256_H

#include <nettle/base16.h>
#include <nettle/sha2.h>

/* 65 bytes with the NUL; `sha` starts anew. */
static inline void orr_sha256_text(struct sha256_ctx *sha, char *text)
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_digest(sha, sizeof digest, digest);
    base16_encode_update(text, sizeof digest, digest);
    text[BASE16_ENCODE_LENGTH(sizeof digest)] = '\0';
}

#endif
