#!/bin/sh
# Installs .tools/jinja, an environment of Python with the Jinja whose language templates have, for make jinja-fuzz.
set -eu
cd "$(dirname "$0")/.."

version=3.1.6
environment=$PWD/.tools/jinja
advice="give a Python that has Jinja: make jinja-fuzz PYTHON=/path/to/python3"

usable() {
  "$environment/bin/python" -c "import jinja2; raise SystemExit(jinja2.__version__ != '$version')" 2>/dev/null
}

usable && exit 0
rm -rf "$environment"
python3 -m venv "$environment" >/dev/null || { echo "install-jinja: no python3 with venv; $advice" >&2; exit 1; }
"$environment/bin/pip" install --quiet --disable-pip-version-check "jinja2==$version" ||
  { echo "install-jinja: pip could not install Jinja; $advice" >&2; exit 1; }
usable || { echo "install-jinja: Jinja does not run here; $advice" >&2; exit 1; }
