/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growable byte buffer with a ceiling. The first failed append (ceiling or memory) marks it as
 * failed, and every later one is a no-op, so a writer checks once at the end.
 *
 *      struct hf_buf b = HF_BUF(KIB(64));
 *      hf__buf_printf(&b, "pid %d\n", pid);
 *      if (b.failed) ...
 *      hf__buf_finish(&b);
 */
#ifndef HF_BASE_BUF_H
#define HF_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct hf_buf {
    char *data;      /* NUL-terminated whenever it is not NULL */
    size_t size;     /* bytes in use */
    size_t capacity; /* bytes allocated, the NUL included */
    size_t max;      /* ceiling for size */
    bool failed;
};

#define HF_BUF(ceiling) ((struct hf_buf){.max = (ceiling)})

/* Room for `size` more bytes; returns where to write them, or NULL. Does not change size. */
char *hf__buf_reserve(struct hf_buf *buf, size_t size);
void hf__buf_append(struct hf_buf *buf, const void *data, size_t size);
void hf__buf_string(struct hf_buf *buf, const char *text);
void hf__buf_printf(struct hf_buf *buf, const char *fmt, ...) HF_PRINTF(2, 3);
/* Removes bytes from the front. */
void hf__buf_consume(struct hf_buf *buf, size_t size);
void hf__buf_finish(struct hf_buf *buf);

#define _cleanup_buf_ __attribute__((cleanup(hf__buf_finish)))

#endif
