# SPDX-License-Identifier: Apache-2.0
# What a bash job of a session runs around the user's text: it takes over the
# state that the previous job left (descriptor 7), has the text (9) run, and
# on the way out writes the new state (6). The warden starts
# > bash -c '. /proc/self/fd/8; builtin eval "${__hf_X-}$BASH_EXECUTION_STRING"; { __hf_s n&&[[ 1 ]]; } >&- 2>&-'
# with this on 8, less its whole-line comments: the text is evaluated on line 1
# of -c, or its line numbers would be wrong.
# A state is shell text in bash's own quoting: declare -p, declare -f, alias.
# Nothing here forks. Helper names begin with __hf_, and `builtin` keeps the
# user's functions of the same name out. What runs under the user's options
# has 1 and 2 closed: that hides xtrace, and what a DEBUG trap would print;
# and it expands nothing without quotes, as IFS may be anything.
# First the parts that few jobs need: a here-document that is never read, from
# which __hf_l takes them. To parse them each time would cost too much.
: || : <<':'
case $1 in
# Exit within functions: their locals are still there. Mark all globals with
# the trace attribute; what does not show it is a local: unset it, and what
# it hid comes to light. A mark without value is a global made by the mark.
u)
compgen -v -X '__hf_*' >|"$__hf_f"
mapfile -t __hf_n <"$__hf_f"
[[ ${__hf_n-} ]] || builtin return
builtin declare -gt "${__hf_n[@]}"
for __hf_l in "${FUNCNAME[@]}"; do
builtin declare -p "${__hf_n[@]}" >|"$__hf_f"
mapfile -t __hf_v <"$__hf_f"
__hf_k=()
for __hf_l in "${__hf_v[@]}"; do
__hf_v=${__hf_l%%=*}
__hf_v=${__hf_v##* }
if [[ $__hf_l == declare\ -*([!\ ])@(n|t*=)* ]]; then
__hf_k+=("$__hf_v")
elif [[ $__hf_l == declare\ * ]]; then
builtin unset -v "$__hf_v"
fi
done
done
builtin declare -g +t "${__hf_k[@]}"
builtin unset -v __hf_k __hf_l __hf_v;;
# Before each command of a text that has "exec" in it; "$@" may be one too.
x)
__hf_x() {
[[ $BASH_COMMAND == *exec* || $BASH_COMMAND == ?(\")\$* ]] || builtin declare -f +l -- "${BASH_COMMAND%%[ $'\n']*}" && __hf_s x
}
builtin trap '{ __hf_x "$_"; } >&- 2>&-' DEBUG;;
# The user's trap: ours is put away while the builtin works, and what it left
# for EXIT is wrapped. In a subshell only what is listed must look right.
# A function cannot reset DEBUG, ERR, RETURN for its caller, but have them
# ignored. Nothing may follow where DEBUG is set, as it would see that.
t)
shift
builtin local IFS=' ' __hf_v=0 __hf_k='{ __hf_s&&[[ 1 ]]; } >&- 2>&-'
if [[ $__hf_r != *x* && $* == [!-]*\ DEBUG && $* != *@(EXIT| 0 )* ]]; then
builtin trap "$@"
else
if [[ $BASHPID == $$ ]]; then
builtin trap -- "${__hf_e--}" EXIT
builtin trap "$@" || __hf_v=$?
builtin trap -p EXIT >|"$__hf_f"
IFS= builtin read -rd '' __hf_n <"$__hf_f" || [[ 1 ]]
builtin unset -v __hf_e
__hf_n=${__hf_n#trap -- }
[[ ! $__hf_n ]] || builtin eval "__hf_e=${__hf_n% EXIT*}"
builtin trap -- "${__hf_e+${__hf_k/s/s p};$__hf_e
}$__hf_k" EXIT
for __hf_n in DEBUG ERR RETURN; do
[[ "$* " != -\ *"$__hf_n "* ]] || builtin trap '' "$__hf_n"
done
elif [[ $# == 0 || $1 == -p ]]; then
__hf_n=$(builtin trap "$@") || __hf_v=$?
__hf_n=${__hf_n/"trap -- '$__hf_k' EXIT"}
__hf_n=${__hf_n/"${__hf_k/s/s p};"}
__hf_n=${__hf_n/$'\n'"$__hf_k"}
__hf_n=${__hf_n#$'\n'}
[[ ! $__hf_n ]] || builtin printf '%s\n' "$__hf_n"
else
builtin trap "$@" || __hf_v=$?
fi
{ [[ $__hf_r != *x* ]] || builtin set -x; builtin return "$__hf_v"; } 2>&-
fi;;
# The caller's -e variables: first their values are kept, in the end they win.
e)
for __hf_n in $__hf_w; do
[[ $__hf_n == e:[a-zA-Z_]*([a-zA-Z0-9_]) ]] && __hf_n=${__hf_n#e:} && __hf_e+=("$__hf_n=${!__hf_n-}")
done;;
E)
for __hf_n in "${__hf_e[@]}"; do
builtin unset -v "${__hf_n%%=*}"
builtin export "$__hf_n"
done
esac
:
__hf_f=$LINENO __hf_w=" ${HOLDFAST_SESSION-} "
# Posix mode (from the environment) would refuse a function named trap.
[[ -o posix ]] && __hf_b=$BASHOPTS:expand_aliases __hf_o=:$SHELLOPTS && set +o posix
shopt -s extglob expand_aliases
# 10 and 11 are the copies that bash keeps of 6 and 8 while these are closed:
# close-on-exec, and so are duplicates of them: no program ever sees those.
if [[ -e /proc/self/fd/10 || -e /proc/self/fd/11 ]]; then
exec {__hf_n}>&6 {__hf_r}>&8
else
{ exec {__hf_n}>&10 {__hf_r}>&11; } 6>&- 8>&-
fi
__hf_f=(/proc/self/fd/{$__hf_n,$__hf_r} $__hf_f)
# mapfile takes bytes as they are, and is much faster than read. The text is
# kept where it would be for `bash -c TEXT`.
mapfile __hf_n </proc/self/fd/9
builtin printf -v BASH_EXECUTION_STRING %s "${__hf_n[@]}"
exec 6>&- 8>&- 9>&-
builtin unset -v HOLDFAST_SESSION __hf_n
# Runs a part of the above.
__hf_l() {
builtin local __hf_n
mapfile -s 1 -n "$((__hf_f[2]-3))" __hf_n <"${__hf_f[1]}"
builtin printf -v __hf_n %s "${__hf_n[@]}"
builtin eval "$__hf_n"
}
# The state begins with a call of this. $2...: the environment as the first job
# had it; what the state does not set again was unset in the session. LANG is
# not among them, as each change loads a locale. But a locale where a backslash
# can be the second byte of a character would undo the quoting.
__hf_c() {
exec 7>&-
[[ $__hf_w == *' workdir '* ]] || builtin cd -- "$1" || __hf_g=$1
shift
__hf_f[3]=$*
__hf_n=$'\x95\\\xa4\\'
[[ ${#__hf_n} == 4 ]] || builtin unset -v LANG
builtin export -n LANG
builtin unset -v OLDPWD "$@"
}
# All of this is parsed before the state's aliases come into force.
{
[[ $__hf_w == *' e:'* ]] && __hf_l e
{
# A state that sh has written says nothing to bash.
if builtin read -r __hf_n </proc/self/fd/7 && [[ $__hf_n == '#holdfast bash 1' ]]; then
. /proc/self/fd/7
builtin unset -f __hf_x
[[ ${__hf_e-} ]] && __hf_l E
else
compgen -e -X '@(_|PWD|SHLVL|LANG)' >$__hf_f
mapfile -t __hf_n <$__hf_f
__hf_f[3]=${__hf_n[*]}
exec 7>&-
fi
} 2>&-
[[ ${__hf_g-} ]] && builtin printf "holdfast: the session's directory %s is gone\n" "$__hf_g" >&2
# Saves. $1: empty for the last time; n after the text's end; p before the
# user's EXIT trap; x before an exec. Returns the $? it found.
# At the text's end the EXIT trap is to come. But set -v would show it, and in
# posix mode the user's own may have replaced it.
# What must not be carried is unset the last time, and else hidden by locals
# without value.
__hf_s() {
builtin local "__hf_r=$?" __hf_n=$'\x95\\\xa4\\'
[[ $BASHPID == $$ && ${#__hf_n} == 4 && (${1-} != n || $- == *v* || -o posix) ]] || builtin return "$__hf_r"
[[ ${1-} == x ]] || builtin trap - DEBUG RETURN
[[ ${1-} == n && ! -o posix ]] && builtin trap -- "${__hf_e--}" EXIT
[[ ${PWD-} -ef . || ! -e ${PWD-.} ]] || builtin cd -P .
[[ ! ${1-} && ${FUNCNAME[1]-} ]] && __hf_l u
{
builtin printf '#holdfast bash 1\n__hf_c %q %s\n' "$PWD" "${__hf_f[3]}"
builtin umask -p
[[ ${LANG+s} ]] || builtin printf 'unset -v LANG\n'
builtin local "__hf_b=$BASHOPTS" "__hf_o=:$SHELLOPTS${__hf_X:+:xtrace}"
if [[ ${1-} ]]; then
builtin local __hf_e __hf_f __hf_X BASH_ALIASES BASH_ARGV0 BASH_CMDS BASH_EXECUTION_STRING BASH_XTRACEFD OPTIND POSIXLY_CORRECT PWD RANDOM SECONDS SHLVL
else
builtin unset -v __hf_e __hf_f __hf_n __hf_X BASH BASHPID BASH_ALIASES BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_EXECUTION_STRING BASH_LOADABLES_PATH BASH_REMATCH BASH_SUBSHELL BASH_VERSION BASH_XTRACEFD COMP_WORDBREAKS DIRSTACK EPOCHREALTIME EPOCHSECONDS FUNCNAME HISTCMD HOSTTYPE LINENO MACHTYPE OPTIND OSTYPE POSIXLY_CORRECT PWD RANDOM SECONDS SHLVL
builtin unset -f trap __hf_s __hf_l __hf_x
fi
builtin declare -p
builtin declare -f
builtin declare -Fxrt
builtin alias -p
builtin printf '#end\n'
} >|"$__hf_f"
builtin return "$__hf_r"
}
trap() {
{ builtin local "__hf_r=$-"; builtin set +x; } 2>&-
__hf_l t "$@"
}
builtin trap '{ __hf_s&&[[ 1 ]]; } >&- 2>&-' EXIT
[[ $__hf_w == *' exec '* ]] && __hf_l x
builtin shopt -u extglob
# Options, last of all. xtrace only within the text, or it would show the eval.
__hf_i() {
builtin local IFS=': ' "__hf_k=${__hf_b-}" "__hf_v=${__hf_o-}"
builtin unset -f __hf_c __hf_i
builtin unset -v __hf_{b,e,g,n,o,r,w}
[[ ! $__hf_v || :$SHELLOPTS$BASHOPTS == "$__hf_v$__hf_k" ]] && builtin return
[[ $__hf_v == *:xtrace* ]] && __hf_X='\builtin unset -v __hf_X;\builtin set -x;' __hf_v=${__hf_v/:xtrace}
__hf_v=${__hf_v/:noexec}
{
builtin shopt -u $BASHOPTS
builtin shopt -s $__hf_k
} 2>&-
__hf_v=${__hf_v/:onecmd}
builtin set +o ${SHELLOPTS//:/ +o } ${__hf_v//:/ -o }
}
__hf_i
}
