# shellcheck shell=sh
# debian.sh - sourced: what Debian's mirror has, the one that this system's apt uses.
#
# No function needs rights or changes the system's configuration.

# rota_mirror: prints its address; returns 1 where apt names none.
rota_mirror()
{
    apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' \
        2>/dev/null | awk '$2 == "Debian" || $1 ~ /\/debian\/*$/ {
            print $1; found = 1; exit} END {exit !found}'
}

# rota_release: prints the name of the Debian release that runs here.
rota_release()
(
    . /etc/os-release && echo "$VERSION_CODENAME"
)

# rota_source PACKAGE FOLDER [RELEASE...]: the source of the first of these Debian
# releases whose source can be had, by default of the one that runs here alone, as its
# authors published it (PACKAGE_VERSION.orig.tar.*), into FOLDER, unless it is there.
rota_source()
(
    package=$1 folder=$2
    shift 2
    ls "$folder/$package"_*.orig.tar.* >/dev/null 2>&1 && exit
    [ $# -gt 0 ] || set -- "$(rota_release)"
    mkdir -p "$folder" && cd "$folder" && mirror=$(rota_mirror) || exit 1
    for release in "$@"; do
        rota_source_of "$package" "$mirror" "$release" && got=yes || got=
        rm -rf apt
        [ -z "$got" ] || exit 0
    done
    exit 1
)

# rota_source_of PACKAGE MIRROR RELEASE: into the current folder, with lists of apt's
# in its folder apt.
rota_source_of()
{
    mkdir -p apt/lists/partial apt/cache/archives/partial || return
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
        "$2 $3 main" >apt/sources.list
    for words in update "source --download-only --tar-only $1"; do
        # shellcheck disable=SC2086 # several words
        apt-get -qq -o Dir::Etc::sourcelist="$PWD/apt/sources.list" \
            -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$PWD/apt/lists" \
            -o Dir::Cache="$PWD/apt/cache" -o APT::Sandbox::User="$(id -un)" \
            $words || return
    done
    # A download that fails may leave a part of it.
    ls "$1"_*.orig.tar.* >/dev/null 2>&1
}
