# Sourced by run and test: installs what is missing with apt, saying what. Needs root or sudo only when something is.
# Usage: need PACKAGE...
need() {
  local missing=() p
  for p in "$@"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  echo "Installing with apt: ${missing[*]}"
  local sudo=""
  [ "$(id -u)" -eq 0 ] || sudo="sudo"
  $sudo apt-get update -q >/dev/null
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null
}

# npm bundles the page of `overlapsim report`; without it the build goes on and `report` says what is missing.
want_npm() {
  command -v npm >/dev/null || need npm || echo "npm could not be installed: going on without the page of \`overlapsim report\`"
}

build_packages=(g++ cmake ninja-build ccache mold libboost-graph-dev nlohmann-json3-dev libfmt-dev libcli11-dev libtbb-dev zlib1g-dev libceres-dev)

# Objects of one checkout serve another.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
export CCACHE_NOHASHDIR=1
