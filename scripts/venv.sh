# Sourced by scripts that need Python packages: keeps them in build/venv.
venv="$root/build/venv"

# install_python_packages REQUIREMENT...: installs into build/venv, and again after a change of the
# pyproject.toml of tools/xla or tools/gym. Anything pip accepts; no spaces.
install_python_packages() {
  local stamp="$venv/installed-$(echo "$*" | tr -c '[:alnum:]\n' _)"
  if [ "$stamp" -nt "$root/tools/xla/pyproject.toml" ] && [ "$stamp" -nt "$root/tools/gym/pyproject.toml" ]; then
    return
  fi
  echo "python: installing $* into build/venv" >&2
  mkdir -p "$root/build"
  [ -x "$venv/bin/pip" ] || /usr/bin/python3 -m venv "$venv"
  (cd "$root" && "$venv/bin/pip" install -q --disable-pip-version-check "$@")
  touch "$stamp"
}
