/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/script.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"

/* What the library takes. */
#define MAX_SCRIPT ((size_t)256 << 20)
#define FIRST_ROOM ((size_t)64 << 10)

static int unreadable(const char *name, int error)
{
    hf_code code = error == ENOENT                     ? HF_E_NOT_FOUND
                   : error == EACCES || error == EPERM ? HF_E_PERMISSION
                                                       : HF_E_SYSTEM;
    return failure(code, "cannot read the script '%s': %s", name, strerror(error));
}

/* Read and not mapped: it may be a pipe, and a file that shrinks must not kill us. */
static int read_all(int fd, const char *name, char **ret_data, size_t *ret_size)
{
    CLEANUP(cleanup_text) char *data = NULL;
    size_t size = 0, room = 0;
    for (;;) {
        if (size == room) {
            room = room ? room * 2 : FIRST_ROOM;
            char *larger = realloc(data, room);
            if (!larger)
                return failure(HF_E_NO_SPACE, "out of memory for the script '%s'", name);
            data = larger;
        }
        ssize_t n = read(fd, data + size, room - size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return unreadable(name, errno);
        if (n == 0)
            break;
        size += (size_t)n;
        if (size > MAX_SCRIPT)
            return failure(HF_E_INVALID,
                           "the script '%s' is larger than 256 MiB; put it on a volume and run it "
                           "from there",
                           name);
    }
    *ret_data = data;
    *ret_size = size;
    data = NULL;
    return 0;
}

static int read_script(struct request *request)
{
    const char *name = request->script;
    bool from_stdin = strcmp(name, "-") == 0;
    int fd = from_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return unreadable(name, errno);
    struct stat st;
    int status = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)
                     ? unreadable(name, EISDIR)
                     : read_all(fd, from_stdin ? "standard input" : name, &request->script_data,
                                &request->job.script_size);
    if (!from_stdin)
        close(fd);
    request->job.script = request->script_data;
    return status;
}

/* $0 and the words after it. */
static int set_words(struct request *request, const char *first)
{
    size_t count = 0;
    while (request->command && request->command[count])
        count++;
    request->argv = malloc((count + 2) * sizeof *request->argv);
    if (!request->argv)
        return failure(HF_E_NO_SPACE, "out of memory");
    request->argv[0] = first;
    for (size_t i = 0; i < count; i++)
        request->argv[i + 1] = request->command[i];
    request->argv[count + 1] = NULL;
    request->job.argv = request->argv;
    return 0;
}

int load_script(struct request *request)
{
    if (request->text) {
        request->job.script = request->text;
        request->job.script_size = strlen(request->text);
        /* As with sh -c: the first word is $0. */
        bool words = request->command && request->command[0];
        request->job.argv = words ? request->command : NULL;
        return 0;
    }
    int status = read_script(request);
    if (status != 0)
        return status;
    const char *slash = strrchr(request->script, '/');
    const char *base = slash ? slash + 1 : request->script;
    return set_words(request, strcmp(request->script, "-") == 0 || !*base ? "script" : base);
}
