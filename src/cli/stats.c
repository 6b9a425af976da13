/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/output.h"
#include "cli/target.h"
#include "cli/units.h"

/* 0 stands for none, or for what nobody knows. */
static void print_number(const char *key, uint64_t number)
{
    if (number > 0)
        printf(",\"%s\":%" PRIu64, key, number);
    else
        printf(",\"%s\":null", key);
}

static void print_json(const char *name, const hf_stats *stats)
{
    fputs("{\"box\":", stdout);
    print_json_string(stdout, name);
    printf(",\"cpu_ms\":%.3f,\"memory_bytes\":%" PRIu64, (double)stats->cpu_ns / 1e6,
           stats->memory_bytes);
    print_number("memory_peak_bytes", stats->memory_peak);
    print_number("memory_limit_bytes", stats->memory_limit);
    printf(",\"processes\":%" PRIu64, stats->processes);
    print_number("processes_limit", stats->processes_limit);
    if (stats->cpus_limit > 0)
        printf(",\"cpus_limit\":%g", stats->cpus_limit);
    else
        fputs(",\"cpus_limit\":null", stdout);
    fputs(",\"memory_source\":", stdout);
    print_json_string(stdout, stats->memory_source);
    fputs(",\"cpu_source\":", stdout);
    print_json_string(stdout, stats->cpu_source);
    puts("}");
}

static void print_bytes(uint64_t bytes, size_t width)
{
    char text[24] = "-";
    if (bytes > 0)
        format_bytes(bytes, text, sizeof text);
    print_text(stdout, text, width);
}

static void print_count(uint64_t count, size_t width)
{
    char text[24] = "-";
    if (count > 0)
        snprintf(text, sizeof text, "%" PRIu64, count);
    print_text(stdout, text, width);
}

static void print_table(const hf_stats *stats)
{
    char span[24], cpus[24] = "-";
    format_span((int64_t)(stats->cpu_ns / 1000000), span, sizeof span);
    if (stats->cpus_limit > 0)
        snprintf(cpus, sizeof cpus, "%g", stats->cpus_limit);
    printf("%s%-10s%-8s%-8s%-8s%-8s%-11sLIMIT%s\n", style(stdout, STYLE_BOLD), "CPU TIME", "CPUS",
           "MEMORY", "PEAK", "LIMIT", "PROCESSES", style(stdout, STYLE_PLAIN));
    print_text(stdout, span, 10);
    print_text(stdout, cpus, 8);
    print_bytes(stats->memory_bytes, 8);
    print_bytes(stats->memory_peak, 8);
    print_bytes(stats->memory_limit, 8);
    print_count(stats->processes, 11);
    print_count(stats->processes_limit, 0);
    putchar('\n');
}

static int run(struct request *request)
{
    CLEANUP(cleanup_error) hf_error *error = NULL;
    CLEANUP(cleanup_context) hf_context *context = NULL;
    hf_stats stats = {.size = sizeof stats};
    int status = check_box_word(request);
    if (status == 0)
        status = open_context(request, &context);
    if (status != 0)
        return status;
    if (hf_box_stats(context, request->words[0], &stats, &error) < 0)
        return library_failure(error);
    if (request->json)
        print_json(request->words[0], &stats);
    else
        print_table(&stats);
    return EXIT_OK;
}

const struct verb verb_stats = {
    .name = "stats",
    .usage = "BOX",
    .summary = "show what a box uses, and how much it may",
    .details = "Processor time since the box was made, memory and processes now. Where the box has "
               "no cgroup for them, the numbers are the sums over its processes; --json says which "
               "in memory_source and cpu_source. A dash stands for no limit.",
    .examples = "holdfast stats build\n"
                "holdfast stats --json build | jq .memory_bytes\n",
    .max_words = 1,
    .completes_boxes = true,
    .run = run,
};
