/* SPDX-License-Identifier: Apache-2.0 */
#include "spec/caps.h"

#include <string.h>
#include <strings.h>

#include "spec/spec.h"

/* In the order of their numbers, linux/capability.h. */
static const char *const names[HF_CAP_COUNT + 1] = {
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
    NULL,
};

int hf__cap_number(const char *name)
{
    if (strncasecmp(name, "CAP_", 4) == 0)
        name += 4;
    for (int i = 0; i < HF_CAP_COUNT; i++)
        if (strcasecmp(names[i], name) == 0)
            return i;
    return -1;
}

const char *hf__cap_name(int number)
{
    return number >= 0 && number < HF_CAP_COUNT ? names[number] : NULL;
}

int hf__cap_mask_add(uint64_t *mask, const char *name, hf_error **reterr)
{
    if (strcasecmp(name, "ALL") == 0) {
        *mask = HF_CAP_ALL;
        return 0;
    }
    int number = hf__cap_number(name);
    if (number >= 0) {
        *mask |= UINT64_C(1) << number;
        return 0;
    }
    char upper[32];
    size_t size = 0;
    for (const char *at = strncasecmp(name, "CAP_", 4) == 0 ? name + 4 : name;
         *at && size + 1 < sizeof upper; at++)
        upper[size++] = *at >= 'a' && *at <= 'z' ? (char)(*at - 32) : *at;
    upper[size] = '\0';
    const char *near = hf_nearest(upper, names);
    return hf__error(reterr, HF_E_INVALID, "'%s' is not a capability; %s%s%s", name,
                     near ? "did you mean '" : "see capabilities(7), or use ALL", near ? near : "",
                     near ? "'?" : "");
}
