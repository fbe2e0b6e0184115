#!/bin/sh
# to_pmpi.sh NM OBJCOPY FROM TO - copy the archive FROM to TO with all its
# calls of MPI_... bound to PMPI_...
set -eu
"$1" --undefined-only --format=posix "$3" |
    sed -n 's/^\(MPI_[A-Za-z0-9_]*\) U.*/\1 P\1/p' | sort -u >"$4.symbols"
[ -s "$4.symbols" ] || { echo "no calls of MPI in $3" >&2; exit 1; }
"$2" --redefine-syms="$4.symbols" "$3" "$4"
