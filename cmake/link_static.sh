#!/bin/sh
# Runs a link command with the static form of each shared library that has one: /lib/libz.so.1 becomes
# /lib/libz.a. CMake puts this in front of the command (RULE_LAUNCH_LINK). The executable then needs
# only the libraries of glibc, and runs on other distributions.
#   link_static.sh COMPILER ARGUMENT...
set -eu
count=$#
while [ "$count" -gt 0 ]; do
  word=$1
  shift
  case "$word" in
    -fuse-ld=mold) word= ;;
    /*.so | /*.so.*)
      archive="${word%%.so*}.a"
      if [ -f "$archive" ]; then word=$archive; fi
      ;;
  esac
  if [ -n "$word" ]; then set -- "$@" "$word"; fi
  count=$((count - 1))
done
# libprotobuf uses libz; its shared form names libz itself. --gc-sections by the default linker drops unused
# parts of the C++ library that ask for arc4random, which glibc lacks before version 2.36. mold drops them
# too, but still asks for it.
exec "$@" -static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,-Bstatic -lz -Wl,-Bdynamic
