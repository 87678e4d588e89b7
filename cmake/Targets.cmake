# Helpers that keep the per-folder CMakeLists.txt to a list of files.
include(GoogleTest)

# GCC forgets that a precompiled header was the system's, whose false alarms it keeps quiet.
set(MMZ_PRECOMPILED_WARNINGS ${MALLOCMUZERO_WARNINGS}
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-stringop-overread>")

# What nearly every file includes, parsed once: a third of the time that it takes to compile.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/headers.cc CONTENT "")
add_library(mmz_headers OBJECT ${CMAKE_BINARY_DIR}/headers.cc)
target_compile_options(mmz_headers PRIVATE ${MMZ_PRECOMPILED_WARNINGS})
target_link_libraries(mmz_headers PRIVATE
  protobuf::libprotobuf absl::flat_hash_map absl::statusor absl::strings)
target_precompile_headers(mmz_headers PRIVATE
  <algorithm> <functional> <memory> <optional> <string> <utility> <vector>
  <absl/container/flat_hash_map.h> <absl/status/statusor.h> <absl/strings/str_cat.h>
  <google/protobuf/message.h> <google/protobuf/map.h>)

# mmz_library(NAME SOURCES... DEPENDS... PRECOMPILE...): a static library of this repository.
# Includes are written from the repository root ("simulator/program.h"). PRECOMPILE names headers
# that most of its files include, instead of the usual ones.
function(mmz_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRECOMPILE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${MMZ_PRECOMPILED_WARNINGS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  if(ARG_PRECOMPILE)
    target_precompile_headers(${name} PRIVATE ${ARG_PRECOMPILE})
  else()
    target_precompile_headers(${name} REUSE_FROM mmz_headers)
  endif()
endfunction()

if(MALLOCMUZERO_BUILD_TESTS)
  add_library(mmz_test_headers OBJECT ${CMAKE_BINARY_DIR}/headers.cc)
  target_compile_definitions(mmz_test_headers PRIVATE
    MALLOCMUZERO_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    MALLOCMUZERO_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_compile_options(mmz_test_headers PRIVATE ${MMZ_PRECOMPILED_WARNINGS})
  target_link_libraries(mmz_test_headers PRIVATE
    GTest::gmock protobuf::libprotobuf absl::statusor absl::strings)
  target_precompile_headers(mmz_test_headers PRIVATE
    <gmock/gmock.h> <gtest/gtest.h>
    <absl/status/statusor.h> <absl/strings/str_cat.h>
    <google/protobuf/message.h> <google/protobuf/map.h>)
endif()

# mmz_test(NAME SOURCES... DEPENDS...): one GoogleTest binary; tests find committed data through
# MALLOCMUZERO_SOURCE_DIR and built programs through MALLOCMUZERO_BINARY_DIR. PRECOMPILE as above.
function(mmz_test name)
  if(NOT MALLOCMUZERO_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRECOMPILE" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${MMZ_PRECOMPILED_WARNINGS})
  target_compile_definitions(${name} PRIVATE
    MALLOCMUZERO_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    MALLOCMUZERO_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  if(ARG_PRECOMPILE)
    target_precompile_headers(${name} PRIVATE ${ARG_PRECOMPILE})
  else()
    target_precompile_headers(${name} REUSE_FROM mmz_test_headers)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()

# mmz_benchmark(NAME SOURCES... DEPENDS...): one Google Benchmark binary in build/bin.
function(mmz_benchmark name)
  if(NOT MALLOCMUZERO_BUILD_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${MALLOCMUZERO_WARNINGS})
  target_compile_definitions(${name} PRIVATE MALLOCMUZERO_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} benchmark::benchmark_main)
endfunction()
