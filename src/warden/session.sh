# SPDX-License-Identifier: Apache-2.0
exec {__hf_out}>&6 6>&-
[ -e /proc/self/fd/7 ] && . /proc/self/fd/7
trap '{ printf "#holdfast bash 1\n"; declare -p PWD; printf "#end\n"; } >/proc/self/fd/$__hf_out' EXIT
IFS= read -rd '' REPLY </proc/self/fd/9
exec 7>&- 8>&- 9>&-
eval "unset -v REPLY; $REPLY"
