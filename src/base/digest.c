/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

/*
 * The old SHA256_* calls and not EVP: fetching an EVP digest initialises all of libcrypto, which
 * costs a process more than a millisecond at its start, three times what everything else does.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>
#include <stdlib.h>

static bool digest_part(SHA256_CTX *context, const struct hf_bytes *part)
{
    uint8_t length[8];
    for (size_t i = 0; i < sizeof length; i++)
        length[i] = (uint8_t)((uint64_t)part->size >> (8 * i));
    return SHA256_Update(context, length, sizeof length) == 1 &&
           (part->size == 0 || SHA256_Update(context, part->data, part->size) == 1);
}

int hf__sha256_parts(const struct hf_bytes *parts, size_t count, char ret_hex[static 65],
                     hf_error **reterr)
{
    static const char digits[] = "0123456789abcdef";
    SHA256_CTX context;
    unsigned char raw[SHA256_DIGEST_LENGTH];
    bool ok = SHA256_Init(&context) == 1;
    for (size_t i = 0; ok && i < count; i++)
        ok = digest_part(&context, &parts[i]);
    if (!ok || SHA256_Final(raw, &context) != 1)
        return hf__error(reterr, HF_E_SYSTEM, "SHA-256 is not available from libcrypto");
    for (size_t i = 0; i < sizeof raw; i++) {
        ret_hex[2 * i] = digits[raw[i] >> 4];
        ret_hex[2 * i + 1] = digits[raw[i] & 15];
    }
    ret_hex[64] = '\0';
    return 0;
}

int hf__base64(const void *data, size_t size, char **ret_text, hf_error **reterr)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *in = data;
    char *text = size < SIZE_MAX / 2 ? malloc(4 * ((size + 2) / 3) + 1) : NULL;
    char *out = text;
    if (!text)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t group = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                         (left > 2 ? in[i + 2] : 0);
        *out++ = letters[group >> 18];
        *out++ = letters[group >> 12 & 63];
        *out++ = left > 1 ? letters[group >> 6 & 63] : '=';
        *out++ = left > 2 ? letters[group & 63] : '=';
    }
    *out = '\0';
    *ret_text = text;
    return 0;
}
