# SPDX-License-Identifier: Apache-2.0
# What a bash job of a session runs around the user's text: it takes over the
# state that the previous job left (descriptor 7), runs the text (9), and on
# the way out writes the new state (6). The warden starts
# > bash -c 'IFS= read -rd "" REPLY </proc/self/fd/8; eval "$REPLY"'
# with this on 8, less its whole-line comments.
# A state is shell text in bash's own quoting: declare -p, declare -f, alias.
# Nothing here forks. Helper names begin with __hf_, and `builtin` keeps the
# user's functions of the same name out. What runs under the user's options
# has 1 and 2 closed: that hides xtrace, and what a DEBUG trap would print.
# The text must be evaluated from line 1, else its line numbers are wrong: so
# this line runs all that follows, which is a here-document that is never
# read, and then the text. Aliases come into force only after it was parsed.
# BASH_EXECUTION_STRING holds the text as it does for `bash -c TEXT`.
: || : <<':'; eval "${REPLY#*[2]>&-}"; eval "${__hf_X-}$BASH_EXECUTION_STRING"; { __hf_s n&&:; } >&- 2>&-
__hf_o=:$SHELLOPTS __hf_b=$BASHOPTS:expand_aliases __hf_w=" ${HOLDFAST_SESSION-} " __hf_e=()
# Posix mode (from the environment) would refuse a function named trap.
set +o posix
shopt -s extglob
# 10 is the copy of 6 that bash keeps while 6 is closed: close-on-exec, and so
# is a duplicate of it. The user's programs never see it.
{ exec {__hf_f}>&10; } 6>&-
[[ /proc/self/fd/$__hf_f -ef /proc/self/fd/6 ]] || exec {__hf_f}>&6
__hf_f=/proc/self/fd/$__hf_f
# mapfile takes bytes as they are, and is much faster than read.
mapfile __hf_n </proc/self/fd/9
printf -v BASH_EXECUTION_STRING %s "${__hf_n[@]}"
exec 6>&- 8>&- 9>&-
unset -v HOLDFAST_SESSION REPLY
for __hf_n in $__hf_w; do
[[ $__hf_n == e:[a-zA-Z_]*([a-zA-Z0-9_]) ]] && __hf_n=${__hf_n#e:} && __hf_e+=("$__hf_n=${!__hf_n-}")
done
# Called by the state, before it sets OLDPWD or any function.
__hf_c() {
exec 7>&-
[[ $__hf_w == *' workdir '* ]] || cd -- "$1" || __hf_g=$1
unset -v OLDPWD
}
# Variables of the environment that the state does not have were unset in the
# session. LANG stays, as each change loads a locale: the state unsets it.
# But a locale where a backslash can be the second byte of a character would
# undo the quoting.
if [[ -e /proc/self/fd/7 ]]; then
{
compgen -e -X '@(_|PWD|SHLVL|LANG)' >$__hf_f
mapfile -t __hf_n <$__hf_f
unset -v "${__hf_n[@]}"
__hf_n=$'\x95\\\xa4\\'
[[ ${#__hf_n} == 4 ]] || unset -v LANG
. /proc/self/fd/7
for __hf_n in "${__hf_e[@]}"; do
builtin unset -v "${__hf_n%%=*}"
builtin export "$__hf_n"
done
} >&- 2>&-
[[ ${__hf_g-} ]] && builtin printf "holdfast: the session's directory %s is gone\n" "$__hf_g" >&2
fi
# Saves. $1: empty for the last time; n after the text's end; p before the
# user's EXIT trap; x before an exec. Returns the $? it found.
# At the text's end the EXIT trap is to come. But set -v would show it, and in
# posix mode the user's own may have replaced it.
__hf_s() {
local __hf_r=$? __hf_n=$'\x95\\\xa4\\' __hf_l __hf_v
[[ $BASHPID == $$ && ${#__hf_n} == 4 && (${1-} != n || $- == *v* || -o posix) ]] || return $__hf_r
[[ ${1-} == n && ! -o posix ]] && builtin trap -- "${__hf_e--}" EXIT
[[ ${PWD-} -ef . ]] || builtin cd .
# Exit within functions: their locals are still there. Mark all globals with
# the trace attribute; what does not show it is a local: unset it, and what
# it hid comes to light. A mark without value is a global made by the mark.
if [[ ! ${1-} ]]; then
builtin unset -f trap __hf_s __hf_x
if [[ ${FUNCNAME[1]-} ]]; then
compgen -v -X '__hf_*' >|"$__hf_f"
mapfile -t __hf_n <"$__hf_f"
builtin declare -gt "${__hf_n[@]}"
for __hf_l in "${FUNCNAME[@]}"; do
builtin declare -p "${__hf_n[@]}" >|"$__hf_f"
mapfile -t __hf_v <"$__hf_f"
__hf_n=()
for __hf_l in "${__hf_v[@]}"; do
case $__hf_l in declare\ -*)
__hf_v=${__hf_l%%=*}
__hf_n+=("${__hf_v##* }")
[[ $__hf_l == declare\ -*([!\ ])@(n|t*=)* ]] || builtin unset -v "${__hf_v##* }"
esac
done
done
builtin declare -g +t "${__hf_n[@]}"
fi
fi
# Locals without value hide what must not be carried.
{
builtin printf '#holdfast bash 1\n__hf_c %q\n' "$PWD"
builtin umask -p
[[ ${LANG+s} ]] || builtin printf 'unset -v LANG\n'
local __hf_o=:$SHELLOPTS${__hf_X:+:xtrace} __hf_b=$BASHOPTS __hf_e __hf_f __hf_w __hf_X BASH_ALIASES BASH_ARGV0 BASH_CMDS BASH_EXECUTION_STRING BASH_XTRACEFD OPTIND POSIXLY_CORRECT PWD RANDOM SECONDS SHLVL
builtin declare -p
builtin declare -f
builtin declare -Fxrt
builtin alias -p
builtin printf '#end\n'
} >|"$__hf_f"
return $__hf_r
}
# Before each command of a text that has "exec" in it.
__hf_x() {
[[ $BASH_COMMAND == *exec* ]] || builtin declare -F -- "${BASH_COMMAND%%[ $'\n']*}" >|"$__hf_f" && __hf_s x
}
# The user's trap: ours is put away while the builtin works, and what it left
# for EXIT is wrapped. In a subshell only what is listed must look right.
# A function cannot reset DEBUG, ERR, RETURN for its caller, but have them
# ignored.
trap() {
{ local __hf_r=0 __hf_t=$- __hf_n __hf_k='{ __hf_s&&:; } >&- 2>&-'; builtin set +x; } 2>&-
if [[ $BASHPID == $$ ]]; then
builtin trap -- "${__hf_e--}" EXIT
builtin trap "$@" || __hf_r=$?
builtin trap -p EXIT >|"$__hf_f"
IFS= builtin read -rd '' __hf_n <"$__hf_f" || :
builtin unset -v __hf_e
if [[ $__hf_n ]]; then
__hf_n=${__hf_n#trap -- }
builtin eval "__hf_e=${__hf_n% EXIT*}"
__hf_k="${__hf_k/s/s p};$__hf_e"$'\n'$__hf_k
fi
builtin trap -- "$__hf_k" EXIT
for __hf_n in DEBUG ERR RETURN; do
[[ " $* " == @( | -- )'- '*" $__hf_n "* ]] && builtin trap '' $__hf_n
done
elif [[ $# == 0 || $1 == -p* ]]; then
__hf_n=$(builtin trap "$@") || __hf_r=$?
__hf_n=${__hf_n/"trap -- '$__hf_k' EXIT"}
__hf_n=${__hf_n/"${__hf_k/s/s p};"}
__hf_n=${__hf_n/$'\n'"$__hf_k"}
__hf_n=${__hf_n#$'\n'}
[[ ! $__hf_n ]] || builtin printf '%s\n' "$__hf_n"
else
builtin trap "$@" || __hf_r=$?
fi
{ [[ $__hf_t != *x* ]] || builtin set -x; return $__hf_r; } 2>&-
}
# Options last. xtrace only within the text, or it would show our eval.
__hf_i() {
local IFS=': ' __hf_n=$__hf_o
builtin trap -- '{ __hf_s&&:; } >&- 2>&-' EXIT
[[ $__hf_w == *' exec '* ]] && builtin trap -- '{ __hf_x "$_"; } >&- 2>&-' DEBUG
[[ $__hf_n == *:xtrace* ]] && __hf_X='\builtin unset -v __hf_X;\builtin set -x;'
for __hf_o in xtrace noexec onecmd; do
__hf_n=${__hf_n/:$__hf_o}
done
builtin shopt -u $BASHOPTS
builtin shopt -s $__hf_b
builtin unset -v __hf_{b,e,g,l,o,r,w}
builtin unset -f __hf_c __hf_i
builtin set +o ${SHELLOPTS//:/ +o } ${__hf_n//:/ -o }
}
__hf_i
builtin unset -v __hf_n
:
