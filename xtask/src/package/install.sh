#!/bin/sh
# Installs Substrate VERSION into $PREFIX (default: ~/.local). Nothing else is changed: `substrate up` sets it up.
#
#   PREFIX                where to: programs go into $PREFIX/bin
#   SUBSTRATE_DOWNLOADS   where from: an address, or a folder with the tarballs
set -eu
version=VERSION
prefix=${PREFIX:-$HOME/.local}
from=${SUBSTRATE_DOWNLOADS:-URL}

fail() {
  echo "error: $1" >&2
  exit 1
}

case "$(uname -s)-$(uname -m)" in
CASES
  *) fail "there is no package for $(uname -s) on $(uname -m); build it from its source" ;;
esac

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
case $from in
  /*) cp "$from/$name.tar.gz" "$folder/" || fail "there is no $from/$name.tar.gz" ;;
  *)
    if command -v curl >/dev/null 2>&1; then
      curl --proto '=https' --tlsv1.2 -fsSL "$from/$name.tar.gz" -o "$folder/$name.tar.gz"
    elif command -v wget >/dev/null 2>&1; then
      wget --https-only -q "$from/$name.tar.gz" -O "$folder/$name.tar.gz"
    else
      fail "curl or wget is needed"
    fi ;;
esac
if command -v sha256sum >/dev/null 2>&1; then
  found=$(sha256sum "$folder/$name.tar.gz")
else
  found=$(shasum -a 256 "$folder/$name.tar.gz")
fi
[ "${found%% *}" = "$sha256" ] || fail "$name.tar.gz is not the file that was released"

tar -xzf "$folder/$name.tar.gz" -C "$folder"
mkdir -p "$prefix"
# Each program is moved into place, since the old one may be running.
mkdir -p "$prefix/bin"
for program in substrate substrate-hook; do
  cp "$folder/$name/bin/$program" "$prefix/bin/.$program.part"
  mv "$prefix/bin/.$program.part" "$prefix/bin/$program"
done
cp -R "$folder/$name/share" "$prefix/"
echo "installed substrate $version to $prefix/bin"
case ":$PATH:" in
  *":$prefix/bin:"*) echo "next: substrate up" ;;
  *) echo "next: put $prefix/bin on your PATH, then run: substrate up" ;;
esac
