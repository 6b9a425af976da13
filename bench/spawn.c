/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn - time whole processes, in turn.
 *
 *      spawn ROUNDS WARMUP ::: NAME COUNT ARGV... [::: NAME COUNT ARGV...]...
 *
 * Each round runs every command COUNT times. Prints {"NAME":[nanoseconds,...],...}.
 */
#include "sample.h"

#define MAX_SECTIONS 16

int main(int argc, char **argv)
{
    process processes[MAX_SECTIONS];
    subject subjects[MAX_SECTIONS];
    series *lists[MAX_SECTIONS];

    if (argc < 4)
        die("usage: spawn ROUNDS WARMUP ::: NAME COUNT ARGV...");
    size_t count = parse_sections(argv + 3, processes, subjects, MAX_SECTIONS);
    run_rounds(parse_count(argv[1]), parse_count(argv[2]), subjects, count);
    for (size_t i = 0; i < count; i++)
        lists[i] = &processes[i].times;
    series_print(stdout, lists, count);
    putchar('\n');
    return 0;
}
