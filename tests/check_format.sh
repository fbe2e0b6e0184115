#!/bin/sh
# check_format.sh ROOT - is all C and C++ laid out as .clang-format says, with
# comments, which that leaves alone, of at most 86 columns? Prints what is not. To lay
# all of it out:
#
#   clang-format -i $(find include src cxx tests examples bench integrations \
#       -name '*.[ch]' -o -name '*.[ch]pp')
#
# Versions of clang-format differ in what they make of one .clang-format, so
# only the one that the project uses is asked.
set -u
version=14
cd "${1:?}" || exit 1

files()
{
    find include src cxx tests examples bench integrations \( -name '*.[ch]' \
        -o -name '*.[ch]pp' \) -exec "$@" {} +
}

long=$(files awk 'length > 86 { print FILENAME ":" FNR ": longer than 86 columns" }')
[ -z "$long" ] || { echo "$long" && exit 1; }
for program in "clang-format-$version" clang-format; do
    "$program" --version 2>/dev/null | grep -q "version $version\." || continue
    found=$(files "$program" --dry-run -Werror 2>&1) && exit
    echo "$found" | sed -n 's/:.*clang-formatted.*//p' | sort -u |
        sed 's/^/not as clang-format lays it out: /'
    exit 1
done
echo "clang-format $version is not installed"
exit 77
