#!/bin/sh
# Fetch the front-end files we serve ourselves: run with npm on the path, then commit static/vendor.
# Bump a version here, run, rename the directory in templates/document.html, look at the pages.
set -eu
TABLER=1.6.1
HTMX=2.0.11

root=$(cd "$(dirname "$0")/.." && pwd)
vendor=$root/static/vendor
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

unpack() { # unpack NAME VERSION -> $work/package
    rm -rf "$work/package"
    (cd "$work" && npm pack --silent "$1@$2" >archive && tar xzf "$(cat archive)")
}

unpack @tabler/core "$TABLER"
mkdir -p "$vendor/tabler-core-$TABLER"
# The source map is not shipped, and hashed static names refuse a reference to a missing file.
sed '/^\/\*# sourceMappingURL=/d' "$work/package/dist/css/tabler.min.css" >"$vendor/tabler-core-$TABLER/tabler.min.css"

unpack htmx.org "$HTMX"
mkdir -p "$vendor/htmx-$HTMX"
cp "$work/package/dist/htmx.min.js" "$work/package/LICENSE" "$vendor/htmx-$HTMX/"

cd "$vendor"
find . -type f ! -name CHECKSUMS | LC_ALL=C sort | xargs sha256sum >CHECKSUMS
