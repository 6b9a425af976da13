/* SPDX-License-Identifier: Apache-2.0 */
/* Words on stderr, data on stdout, and nothing on either that could drive a terminal. */
#ifndef HF_CLI_OUTPUT_H
#define HF_CLI_OUTPUT_H

#include <stdio.h>

#include "cli/cli.h"

#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
void output_set_color(enum color_mode mode);
/* From then on a failure is also a document on stdout: {"error":{"code":...,"message":...}},
 * and "kind" where a file is to blame. */
void output_set_json(bool json);

/* "holdfast: ..." on stderr, escaped. */
void say(const char *fmt, ...) PRINTF(1, 2);

/* Wrong usage: says it, points at the verb's help, returns EXIT_USAGE. */
int usage_error(const struct verb *verb, const char *fmt, ...) PRINTF(2, 3);
/* Something else failed: says it, returns EXIT_FAILED. */
int failure(hf_code code, const char *fmt, ...) PRINTF(2, 3);
/* The library failed: says why and returns failure_status(). */
int library_failure(const hf_error *error);
/* EXIT_FILE where a file of a box is to blame, EXIT_FAILED otherwise. */
int failure_status(const hf_error *error);

/* The escape sequence of a style for this stream, or "" where there is no color. */
enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_GREEN, STYLE_YELLOW, STYLE_RED };
const char *style(FILE *stream, enum style style);

/* Text from somebody else, escaped, at least `width` columns wide. */
void print_text(FILE *stream, const char *text, size_t width);
/* The same, cut to `width` columns; 0 for all of it. */
void print_cut(FILE *stream, const char *text, size_t width);
/* A JSON string of any bytes; what is not UTF-8 becomes U+FFFD. */
void print_json_bytes(FILE *stream, const char *data, size_t size);
/* A JSON string with its quotes; null for NULL. */
void print_json_string(FILE *stream, const char *text);
/* A JSON document, indented for people; characters that could drive a terminal become \uNNNN. */
void print_json_pretty(FILE *stream, const char *json);

/* Flushes stdout. `status`, or EXIT_FAILED where the data did not get out. */
int finish_output(int status);

#endif
