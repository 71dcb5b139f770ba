#!/bin/sh
# Installs what the tests of the page need besides Python, where it can, and says what is missing;
# those tests are then skipped. Never fails.
cd "$(dirname "$0")/.." || exit 0

has_browser() {
  command -v chromium || command -v chromium-browser || command -v google-chrome
}

if ! has_browser >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing chromium, for the tests of the page"
  quick="--quiet --option Acquire::http::Timeout=15 --option Acquire::Retries=0"
  export DEBIAN_FRONTEND=noninteractive
  { timeout 120 apt-get update $quick
    timeout 600 apt-get install $quick --yes --no-install-recommends chromium; } >/dev/null 2>&1
fi
has_browser >/dev/null ||
  echo "no browser: the page is not tested; apt-get install chromium"

axe=${AXE:-node_modules/axe-core}/axe.min.js
if [ ! -f "$axe" ] && [ -z "$AXE" ] && command -v npm >/dev/null; then
  timeout 60 npm install --no-save --no-audit --no-fund axe-core@4 >/dev/null 2>&1
fi
[ -f "$axe" ] ||
  echo "no axe-core: the accessibility of the page is not tested; npm install --no-save axe-core"
exit 0
