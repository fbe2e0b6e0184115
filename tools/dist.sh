#!/bin/sh
# dist.sh ROOT FILE - write the release's tarball, rota-VERSION.tar.gz, of the
# commit that ROOT is at. The same commit makes the same bytes anywhere.
set -eu
root=$(cd "${1:?}" && pwd)
file=${2:?}
version=$(sed -n 's/^#define ROTA_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' \
    "$root/include/rota.h" | paste -sd .)

# Times are those of the commit; nothing is of the user, the umask or the clock.
git -C "$root" -c "safe.directory=$root" -c tar.umask=0022 archive \
    --format=tar "--prefix=rota-$version/" HEAD | gzip -n -9 >"$file.tmp"
mv "$file.tmp" "$file"
