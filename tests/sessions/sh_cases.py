"""What sh carries in a session, step by step.

A case is a name and its steps; a step is a text, what it prints (None: anything; "re:...": a regular
expression), and what else is expected: rc, err, saved; or given: words, env, args, cwd.
"""


def step(text, out="", **more):
    return text, out, more


CASES = [
    ('sh vars', [
        step('export Y=\'a b\' Z="it\'s\n\\$(x) \\`y\\`"; x=1'),
        step('echo "$Y|$Z|$x"', "a b|it's\n$(x) `y`|\n"),
    ]),
    ('sh cwd', [
        step('cd /usr/lib'),
        step('pwd; cd - >/dev/null; pwd', '/usr/lib\n/\n'),
        step('cd -', '/usr/lib\n'),
        step('pwd', '/tmp\n', words='workdir', cwd='/tmp'),
    ]),
    ('sh gone', [
        step('mkdir /tmp/holdfast-sessions/g; cd /tmp/holdfast-sessions/g; rmdir /tmp/holdfast-sessions/g; export A=1'),
        step('pwd; echo $A',
             '/\n1\n',
             err="holdfast: the session's directory /tmp/holdfast-sessions/g is gone\n"),
    ]),
    ('sh umask', [
        step('umask 027'),
        step('umask', '0027\n'),
    ]),
    ('sh exit', [
        step('export A=1; exit 3', rc=3),
        step('echo $A; f() { export B=2; exit 4; }; f', '1\n', rc=4),
        step('echo $B; set -e; export C=3; false; echo no', '2\n', rc=1),
        step('echo $C; set -u; export D=4; echo $nope', '3\n', rc=2, err=None),
        step('echo $D; export E=5\nif', '4\n', rc=2, err=None),
        step('echo $E; return 6', '5\n', rc=6),
        step('(exit 7)', rc=7),
    ]),
    ('sh unset', [
        step('unset BOXVAR LANG; export A=1'),
        step('echo ${BOXVAR-none} ${LANG-none} $A; unset A', 'none none 1\n'),
        step('echo ${A-none} ${BOXVAR-none} $PATH', 're:none none /.*\n'),
    ]),
    ('sh -e', [
        step('export A=1 B=2'),
        step('echo $A $B $C', '9 2 c d\n', env={'A': '9', 'C': 'c d'}),
        step('echo $A $C', '9 c d\n'),
        step('echo "$M"', "a'\n$(b)\n", env={'M': "a'\n$(b)"}),
    ]),
    ('sh args', [
        step('echo "$0|$1|$2|$#"', 'nm|a b|c|2\n', args=('nm', 'a b', 'c')),
    ]),
    ('sh quiet under options', [
        step('set -Cfu; IFS=0/1; export A=1'),
        step('echo $A; env | grep -e __hf -e HOLDFAST', '1\n', rc=1),
    ]),
    ('sh own trap, TERM, KILL, exec', [
        step('export A=1'),
        step("trap 'echo bye' EXIT; export A=2", 'bye\n', saved=False),
        step('echo $A; export A=3; kill -TERM $$; sleep 1', '1\n', rc=-15, saved=False),
        step('export A=4; kill -KILL $$', rc=-9, saved=False),
        step('exec true', saved=False),
        step('echo $A', '1\n'),
    ]),
    ('sh descriptors', [
        step("ls /proc/self/fd | tr '\\n' ' '", '0 1 2 3 6 '),
    ]),
    ('sh subshell', [
        step('export A=1; (export A=2; exit 3); echo $A', '1\n'),
        step('echo $A', '1\n'),
    ]),
    ('sh not code', [
        step('export c="x\n#end\ntouch /tmp/holdfast-sessions/pwn\n\'; touch /tmp/holdfast-sessions/pwn; \'"'),
        step('test -e /tmp/holdfast-sessions/pwn || echo "$c"',
             "x\n#end\ntouch /tmp/holdfast-sessions/pwn\n'; touch /tmp/holdfast-sessions/pwn; '\n"),
    ]),
]
