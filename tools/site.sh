#!/bin/sh
# site.sh FOLDER - the documentation as one site of HTML, FOLDER/site, by
# mkdocs: README.md, docs/ and a page of the interface made from rota.h. A
# warning is an error. Exit code 77, with the reason: skipped.
set -eu
folder=${1:?}
root=$(cd "$(dirname "$0")/.." && pwd)

command -v mkdocs >/dev/null || {
    echo "skipped: mkdocs is not installed"
    exit 77
}
rm -rf "$folder"
mkdir -p "$folder"
python3 -B "$root/tools/site.py" "$root" "$folder"
cd "$folder"
mkdocs build --strict --quiet
echo "$folder/site/index.html"
