# Sourced by scripts that take Pythons as arguments.

# find_pythons PYTHON...: puts the paths of their executables into `pythons`, which hold in all folders
# and with any PATH.
find_pythons() {
  local python path
  pythons=()
  for python in "$@"; do
    path="$("$python" -c 'import sys; print(sys.executable)')"
    pythons+=("$path")
  done
}
