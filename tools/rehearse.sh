#!/usr/bin/env bash
# Make everything that a release publishes, and publish it to stand-ins on this machine, into out/rehearsal:
#
#     tools/rehearse.sh 0.1.0
#
# Needs cargo for the core, npm for the page "Try it", and docker for the images; what is missing is named and left out.
set -euo pipefail
cd "$(dirname "$0")/.."
VERSION=${1:?the version, such as 0.1.0}
BIN=$PWD/.venv/bin OUT=$PWD/out/rehearsal
rm -rf "$OUT"
mkdir -p "$OUT/dist" "$OUT/bare"
say() { printf '\n== %s\n' "$*"; }
has() { command -v "$1" > /dev/null || { echo "NO $1: left out"; return 1; }; }

say "A checkout of the tag v$VERSION"
git clone --quiet --no-hardlinks . "$OUT/source"
if has cargo; then
  (cd "$OUT/source" && python3 -m tools.require_core && git -c user.name=x -c user.email=x commit -qam "Require the core")
fi
git -C "$OUT/source" tag "v$VERSION"
python3 -m venv "$OUT/tools"
"$OUT/tools/bin/pip" install --quiet build maturin pypiserver twine
cd "$OUT/source"

say "Sdists and wheels"
"$OUT/tools/bin/python" -m build --outdir "$OUT/dist" . > "$OUT/build.log" 2>&1
if has cargo; then
  (cd core && "$OUT/tools/bin/maturin" build --quiet --release --locked --sdist --out "$OUT/dist")
  MUSL=x86_64-unknown-linux-musl
  if rustup target list --installed | grep -qx "$MUSL"; then
    "$OUT/tools/bin/pip" install --quiet ziglang
    (cd core && PATH="$OUT/tools/bin:$PATH" maturin build --quiet --release --locked --zig --target="$MUSL" \
      --compatibility=musllinux_1_2 --out="$OUT/dist")
  else
    echo "NO $MUSL: its wheel is left out (rustup target add)"
  fi
  say "Crate"
  cargo publish --dry-run --quiet --manifest-path=core/Cargo.toml --package=wikianchor-engine
fi
"$OUT/tools/bin/twine" check --strict "$OUT"/dist/*

say "Site"
"$BIN/python" -m tools.reference
"$BIN/python" -m tools.gallery
NO_MKDOCS_2_WARNING=1 "$BIN/mkdocs" build --strict --quiet --site-dir="$OUT/site"
if has npm; then "$BIN/python" -m tools.site_engine "$OUT/site"; fi

say "Images and bills of materials"
cp docker/*.cdx.json "$OUT"
if docker info > /dev/null 2>&1; then
  for image in worker gpu; do docker build --quiet --file="docker/$image.Dockerfile" .; done
else
  echo "NO docker daemon: left out"
fi

say "An index"
PORT=$("$BIN/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir "$OUT/index"
"$OUT/tools/bin/pypi-server" run --interface=127.0.0.1 --port="$PORT" --passwords=. --authenticate=. "$OUT/index" &
trap 'kill %1' EXIT
until curl --silent --output /dev/null "http://127.0.0.1:$PORT/"; do sleep 0.2; done
"$OUT/tools/bin/twine" upload --disable-progress-bar --username=x --password=x \
  --repository-url="http://127.0.0.1:$PORT/" "$OUT"/dist/*

PATH="$(printf '%s:' "$HOME"/.pyenv/versions/*/bin)$PATH"
for python in python3.10 python3.11 python3.12 python3.13 python3.14; do
  command -v "$python" > /dev/null || continue
  say "$python, bare, from the index"
  bare=$OUT/bare/$python
  "$python" -m venv "$bare"
  # With the core, which it requires where an index has a wheel of it.
  "$bare/bin/pip" install --quiet --extra-index-url="http://127.0.0.1:$PORT/simple/" "wikianchor==$VERSION"
  (cd "$bare" && HOME=$bare PATH=$bare/bin:/usr/bin:/bin bash -ec \
    'wikianchor --version; wikianchor demo --quiet; wikianchor verify out/demo --against=demo/dumps --quiet')
done

say "Cards, to the stand-in of the Hub and a directory"
demo=$(find "$OUT/bare" -path '*/out/demo' | head -1)
"$BIN/wikianchor" publish "$demo/pairs" --to="$OUT/dataset" > "$OUT/publish.log"
"$BIN/wikianchor" train ease --data="$demo/pairs" --new=tiny --max_steps=2 --output="$OUT/model" 2> "$OUT/train.log"
head -3 "$OUT/dataset/README.md" "$OUT/model/model/README.md"
"$BIN/python" -m pytest --quiet tests/commands/test_publish.py -k hub
say "Nothing was published. Files: $OUT"
