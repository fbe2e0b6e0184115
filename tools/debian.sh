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

# rota_source PACKAGE FOLDER: the source of the Debian release that runs here, as its
# authors published it (PACKAGE_VERSION.orig.tar.*), into FOLDER, unless it is there.
rota_source()
(
    ls "$2/$1"_*.orig.tar.* >/dev/null 2>&1 && exit
    mkdir -p "$2/apt/lists/partial" "$2/apt/cache/archives/partial" &&
        cd "$2" && mirror=$(rota_mirror) || exit 1
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
        "$mirror $release main" >apt/sources.list
    for words in update "source --download-only --tar-only $1"; do
        # shellcheck disable=SC2086 # several words
        apt-get -qq -o Dir::Etc::sourcelist="$PWD/apt/sources.list" \
            -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$PWD/apt/lists" \
            -o Dir::Cache="$PWD/apt/cache" -o APT::Sandbox::User="$(id -un)" \
            $words || exit 1
    done
    rm -rf apt
)
