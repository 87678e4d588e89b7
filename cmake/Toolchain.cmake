# Compiler settings shared by every target: language level, warnings, sanitizers, ccache, mold.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
# An installed binary, too, finds a LibTorch that is not where the system's libraries are.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(MALLOCMUZERO_CCACHE ccache)
if(MALLOCMUZERO_CCACHE)
  # What ccache asks for where headers are precompiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros ${MALLOCMUZERO_CCACHE})
endif()

# Some libraries ask for these; precompiled headers want the same flags everywhere.
add_compile_options(-pthread -D_GLIBCXX_USE_CXX11_ABI=1)

find_program(MALLOCMUZERO_MOLD mold)
if(MALLOCMUZERO_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(MALLOCMUZERO_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "MALLOCMUZERO_FUZZ: clang expected, which has libFuzzer; scripts/fuzz uses it")
  endif()
  # All code is compiled for coverage, and a fuzzer finds errors in any of it.
  set(MALLOCMUZERO_SANITIZER address,undefined)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

if(MALLOCMUZERO_SANITIZER)
  # -O1 keeps stacks readable and compiles in half the time; our own assertions count here.
  add_compile_options(-fsanitize=${MALLOCMUZERO_SANITIZER} -fno-omit-frame-pointer -g1 -O1 -UNDEBUG)
  add_link_options(-fsanitize=${MALLOCMUZERO_SANITIZER})
  if(MALLOCMUZERO_SANITIZER MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

set(MALLOCMUZERO_WARNINGS -Wall -Wextra -Werror -Wno-sign-compare -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  list(APPEND MALLOCMUZERO_WARNINGS -Wthread-safety)
else()
  # GCC 12 sees overlapping copies and strings out of bounds where there are none (bug 105651).
  list(APPEND MALLOCMUZERO_WARNINGS -Wno-restrict -Wno-array-bounds)
endif()
