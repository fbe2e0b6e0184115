#!/bin/sh
# tuning.sh PROGRAM COMMAND... - run COMMAND PROGRAM FOLDER, with a folder that
# is there for as long as the test. The ranks may be of another user for some
# time (tuning.c), who must be able to enter it.
set -u
program=${1:?}
shift
folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-tuning.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
timeout -k 10 120 "$@" "$program" "$folder"
