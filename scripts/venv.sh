# Sourced by scripts that need Python packages: makes build/venv with tools/xla and its test
# packages in it, once for each content of pyproject.toml.
venv="$root/build/venv"

# install_python_packages EXTRA: the optional dependencies EXTRA of tools/xla.
install_python_packages() {
  local stamp="$venv/installed-$1"
  if [ -e "$stamp" ] && [ "$stamp" -nt "$root/tools/xla/pyproject.toml" ]; then return; fi
  echo "python: installing tools/xla[$1] into build/venv" >&2
  mkdir -p "$root/build"
  [ -x "$venv/bin/pip" ] || /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check -e "$root/tools/xla[$1]"
  touch "$stamp"
}

install_python_packages test
