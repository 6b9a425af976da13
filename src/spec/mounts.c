/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/mounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"
#include "spec/spec.h"

/* A tmpfs without a size would be half of the machine's memory. */
#define DEFAULT_TMPFS_SIZE MIB(512)
/* World-writable and sticky, as Docker and /tmp have it. */
#define DEFAULT_TMPFS_MODE 01777

/* --- options after the last colon ------------------------------------------------------------- */

struct mount_options {
    const char *kind; /* "volume" or "tmpfs", for messages */
    bool read_only, access_given;
    bool noexec, exec_given;
    bool is_tmpfs; /* takes size and mode as well */
    uint64_t size;
    uint32_t mode;
};

static int set_once(bool *flag, bool value, bool *given, const char *pair, hf_error **reterr)
{
    if (*given && *flag != value)
        return hf__error(reterr, HF_E_INVALID, "'%s' are both given; choose one", pair);
    *given = true;
    *flag = value;
    return 0;
}

static int set_mode(struct mount_options *options, const char *text, hf_error **reterr)
{
    uint32_t mode = 0;
    size_t size = strlen(text);
    bool octal = size > 0 && size <= 5 && strspn(text, "01234567") == size;
    for (size_t i = 0; octal && i < size; i++)
        mode = mode * 8 + (uint32_t)(text[i] - '0');
    if (!octal || mode > 01777)
        return hf__error(reterr, HF_E_INVALID,
                         "'%s' is not a mode; write permission bits in octal, like 0755 or 1777",
                         text);
    options->mode = mode;
    return 0;
}

static int set_size(struct mount_options *options, const char *text, hf_error **reterr)
{
    uint64_t size = 0;
    int r = hf_parse_size(text, &size, reterr);
    if (r < 0)
        return r;
    /* The kernel reads 0 as "no limit". */
    if (size < KIB(4))
        return hf__error(reterr, HF_E_INVALID, "'%s' is too small; the smallest tmpfs has 4k",
                         text);
    options->size = size;
    return 0;
}

static int set_option(struct mount_options *options, const char *word, hf_error **reterr)
{
    if (strcmp(word, "ro") == 0 || strcmp(word, "rw") == 0)
        return set_once(&options->read_only, word[1] == 'o', &options->access_given, "ro and rw",
                        reterr);
    if (strcmp(word, "exec") == 0 || strcmp(word, "noexec") == 0)
        return set_once(&options->noexec, word[0] == 'n', &options->exec_given, "exec and noexec",
                        reterr);
    /* In force on every mount of a box; asking for them is no mistake. */
    if (strcmp(word, "nosuid") == 0 || strcmp(word, "nodev") == 0)
        return 0;
    if (options->is_tmpfs && strncmp(word, "size=", 5) == 0)
        return set_size(options, word + 5, reterr);
    if (options->is_tmpfs && strncmp(word, "mode=", 5) == 0)
        return set_mode(options, word + 5, reterr);
    return hf__error(reterr, HF_E_INVALID, "'%s' is not an option of a %s; use %s", word,
                     options->kind,
                     options->is_tmpfs ? "size=SIZE, mode=MODE, exec, noexec, ro or rw"
                                       : "ro, rw, exec or noexec");
}

static int parse_options(struct mount_options *options, const char *text, hf_error **reterr)
{
    while (true) {
        char word[64];
        size_t size = strcspn(text, ",");
        if (size >= sizeof word)
            return hf__error(reterr, HF_E_INVALID, "'%s' is not an option of a %s", text,
                             options->kind);
        memcpy(word, text, size);
        word[size] = '\0';
        int r = set_option(options, word, reterr);
        if (r < 0)
            return r;
        if (text[size] == '\0')
            return 0;
        text += size + 1;
    }
}

/* --- places in the box ------------------------------------------------------------------------ */

bool hf__mount_taken(const hf_spec *spec, const char *target)
{
    for (size_t i = 0; i < spec->volume_count; i++)
        if (strcmp(spec->volumes[i].target, target) == 0)
            return true;
    for (size_t i = 0; i < spec->tmpfs_count; i++)
        if (strcmp(spec->tmpfs[i].target, target) == 0)
            return true;
    return false;
}

/* A mount over /proc, /sys or /dev would take down a wall or fake what tools read there. */
static int check_target(const hf_spec *spec, const char *text, char **ret_target, hf_error **reterr)
{
    static const char *const ours[] = {"/proc", "/sys", "/dev"};
    _cleanup_free_ char *target = NULL;
    int r = hf__path_normalize(text, &target, reterr);
    if (r < 0) {
        hf__error_wrap(reterr, "target in the box");
        return r;
    }
    if (strcmp(target, "/") == 0)
        return hf__error(reterr, HF_E_INVALID,
                         "nothing can be mounted on the box's '/'; choose a directory below it");
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (hf__path_beneath(target, ours[i]))
            return hf__error(reterr, HF_E_INVALID,
                             "nothing can be mounted on '%s': %s belongs to the box itself; "
                             "choose another place",
                             target, ours[i]);
    if (hf__mount_taken(spec, target))
        return hf__error(reterr, HF_E_INVALID,
                         "something is mounted on '%s' already; leave one of them out", target);
    if (spec->volume_count + spec->tmpfs_count >= HF_MAX_MOUNTS)
        return hf__error(reterr, HF_E_INVALID, "too many mounts; a box takes %d", HF_MAX_MOUNTS);
    *ret_target = TAKE_PTR(target);
    return 0;
}

/* --- places on the host ----------------------------------------------------------------------- */

/* Removes "//", "/." and a trailing slash. ".." stays for the kernel: behind a symlink it leads
 * elsewhere than the text says. */
static void tidy(char *path)
{
    char *out = path;
    for (const char *at = path; *at;) {
        at += strspn(at, "/");
        size_t size = strcspn(at, "/");
        if (size == 0)
            break;
        if (!(size == 1 && at[0] == '.')) {
            *out++ = '/';
            memmove(out, at, size);
            out += size;
        }
        at += size;
    }
    if (out == path)
        *out++ = '/';
    *out = '\0';
}

/* Steps over the leading "." and ".." of a relative path, shortening `base` as it goes: getcwd()
 * has no symlinks in it, so here the text can be trusted. */
static const char *climb(char *base, const char *text)
{
    while (text[0] == '.') {
        size_t size = strcspn(text, "/");
        if (size == 2 && text[1] == '.') {
            char *slash = strrchr(base, '/');
            if (slash)
                *slash = '\0';
        } else if (size != 1) {
            break;
        }
        text += size;
        text += strspn(text, "/");
    }
    return text;
}

static bool has_first_part(const char *text, const char *part)
{
    size_t size = strlen(part);
    return strncmp(text, part, size) == 0 && (text[size] == '/' || text[size] == '\0');
}

/* Where a source that is not absolute starts from, and what of it is left. */
static int source_base(const char **text, char base[static HF_MAX_PATH], hf_error **reterr)
{
    if ((*text)[0] == '/') {
        base[0] = '\0';
        return 0;
    }
    if (has_first_part(*text, ".") || has_first_part(*text, "..")) {
        if (!getcwd(base, HF_MAX_PATH))
            return hf__error_sys(reterr, "cannot tell the working directory for '%s'", *text);
        *text = climb(base, *text);
        return 0;
    }
    if (has_first_part(*text, "~")) {
        const char *home = getenv("HOME");
        if (!home || home[0] != '/' || strlen(home) >= HF_MAX_PATH)
            return hf__error(reterr, HF_E_INVALID,
                             "'%s' needs HOME to be set to an absolute path; write the path out",
                             *text);
        snprintf(base, HF_MAX_PATH, "%s", home);
        (*text)++;
        return 0;
    }
    if (strchr(*text, '/'))
        return hf__error(reterr, HF_E_INVALID, "source '%s' is not an absolute path; write './%s'",
                         *text, *text);
    return hf__error(reterr, HF_E_INVALID,
                     "'%s' is the name of a volume, and named volumes are not supported by the "
                     "native engine yet; for a directory write './%s'",
                     *text, *text);
}

static int resolve_source(const char *text, char **ret_source, hf_error **reterr)
{
    char base[HF_MAX_PATH];
    if (text[0] == '\0')
        return hf__error(reterr, HF_E_INVALID, "the source is empty; write SRC:DST");
    int r = source_base(&text, base, reterr);
    if (r < 0)
        return r;
    size_t size = strlen(base) + 1 + strlen(text) + 1;
    if (size > HF_MAX_PATH)
        return hf__error(reterr, HF_E_INVALID, "the source's path is too long: %zu bytes", size);
    char *source = NULL;
    if (asprintf(&source, "%s/%s", base, text) < 0)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    tidy(source);
    *ret_source = source;
    return 0;
}

/* --- the two options -------------------------------------------------------------------------- */

/* A copy of the text up to the next colon; moves `text` behind it, or to NULL at the end. */
static char *next_field(const char **text)
{
    size_t size = strcspn(*text, ":");
    char *field = strndup(*text, size);
    *text = (*text)[size] ? *text + size + 1 : NULL;
    return field;
}

int hf__volume_add(hf_spec *spec, const char *text, hf_error **reterr)
{
    const char *at = text;
    _cleanup_free_ char *source_text = next_field(&at);
    if (!at)
        return hf__error(reterr, HF_E_INVALID,
                         "'%s' has no target; write SRC:DST, like ./data:/data or /data:/data:ro",
                         text);
    _cleanup_free_ char *target_text = next_field(&at);
    if (!source_text || !target_text)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    struct mount_options options = {.kind = "volume"};
    _cleanup_free_ char *source = NULL, *target = NULL;
    int r = at ? parse_options(&options, at, reterr) : 0;
    if (r == 0)
        r = check_target(spec, target_text, &target, reterr);
    if (r == 0)
        r = resolve_source(source_text, &source, reterr);
    if (r < 0)
        return r;
    struct hf_volume *larger =
        realloc(spec->volumes, (spec->volume_count + 1) * sizeof *spec->volumes);
    if (!larger)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    spec->volumes = larger;
    larger[spec->volume_count++] = (struct hf_volume){
        .source = TAKE_PTR(source),
        .target = TAKE_PTR(target),
        .read_only = options.read_only,
        .noexec = options.noexec,
    };
    return 0;
}

int hf__tmpfs_add(hf_spec *spec, const char *text, hf_error **reterr)
{
    const char *at = text;
    _cleanup_free_ char *target_text = next_field(&at);
    if (!target_text)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    struct mount_options options = {
        .kind = "tmpfs",
        .is_tmpfs = true,
        .noexec = true,
        .size = DEFAULT_TMPFS_SIZE,
        .mode = DEFAULT_TMPFS_MODE,
    };
    _cleanup_free_ char *target = NULL;
    int r = at ? parse_options(&options, at, reterr) : 0;
    if (r == 0)
        r = check_target(spec, target_text, &target, reterr);
    if (r < 0)
        return r;
    struct hf_tmpfs *larger = realloc(spec->tmpfs, (spec->tmpfs_count + 1) * sizeof *spec->tmpfs);
    if (!larger)
        return hf__error(reterr, HF_E_NO_SPACE, "out of memory");
    spec->tmpfs = larger;
    larger[spec->tmpfs_count++] = (struct hf_tmpfs){
        .target = TAKE_PTR(target),
        .size = options.size,
        .mode = options.mode,
        .noexec = options.noexec,
        .read_only = options.read_only,
    };
    return 0;
}
