# SPDX-License-Identifier: Apache-2.0
# As session.bash, for images that have no bash: dash, busybox ash. The warden
# starts sh -c '. /proc/self/fd/8'. Carried: directory, umask, exported
# variables; the shell's own `export -p` quotes them. Nothing here forks.
# Limits: a job that sets an EXIT trap of its own, execs, or dies of a signal
# leaves the former state. set -x shows two lines of ours at the end, as these
# shells send their trace past any redirection. Messages name the text's file.
# Descriptor 6 stays open: a copy above 9 could not be named in a redirection.
__hf_w=" ${HOLDFAST_SESSION-} " __hf_p=$PWD
unset HOLDFAST_SESSION
exec 8<&-
# The caller's -e variables win: their values are kept aside.
for __hf_n in $__hf_w; do
case $__hf_n in
e:*[!a-zA-Z0-9_]*|e:[0-9]*|e:) ;;
e:*) eval "__hf_e${__hf_n#e:}=\$${__hf_n#e:}"
esac
done
# A state has all that is exported. What else the environment has was unset in
# the session: the shell's own list of it is read back with another verb.
__hf_u() {
unset "${1%%=*}"
}
# A state that bash has written says nothing to sh.
if { read -r __hf_n </proc/self/fd/7; } 2>&- && [ "$__hf_n" = '#holdfast sh 1' ]; then
export -p >/proc/self/fd/6
alias export=__hf_u
. /proc/self/fd/6 2>&-
unalias export
. /proc/self/fd/7 2>&-
PWD=$__hf_p __hf_p=${OLDPWD-}
case $__hf_w in
*' workdir '*) ;;
*) cd -- "$__hf_d" 2>&- || echo "holdfast: the session's directory $__hf_d is gone" >&2
OLDPWD=$__hf_p
[ "$OLDPWD" ] || unset OLDPWD
esac
for __hf_n in $__hf_w; do
case $__hf_n in
e:*[!a-zA-Z0-9_]*|e:[0-9]*|e:) ;;
e:*) eval "export ${__hf_n#e:}=\"\$__hf_e${__hf_n#e:}\"; unset __hf_e${__hf_n#e:}"
esac
done
fi
__hf_s() {
set +xefuC
export "__hf_d=$PWD"
{
command printf '#holdfast sh 1\numask '
command umask
export -p
command printf '#end\n'
} >/proc/self/fd/6 2>&-
}
exec 7<&-
trap __hf_s EXIT
# 9 is closed for the text, which is read from the copy that the shell keeps
# meanwhile: the first free one from 10 up, close-on-exec.
__hf_i=10
while [ -e /proc/self/fd/$__hf_i ]; do
__hf_i=$((__hf_i+1))
done
unset -f __hf_u
unset __hf_d __hf_n __hf_p __hf_w
{
. /proc/self/fd/$__hf_i
} 9<&-
