# Helpers that keep the per-folder CMakeLists.txt to a list of files.
include(GoogleTest)

# GCC forgets that a precompiled header was the system's, whose false alarms it keeps quiet.
set(MMZ_PRECOMPILED_WARNINGS ${MALLOCMUZERO_WARNINGS}
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-stringop-overread>")

# What nearly every file includes, parsed once: a third of the time that it takes to compile.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/headers.cc CONTENT "")
foreach(headers mmz_headers mmz_shared_headers)
  add_library(${headers} OBJECT ${CMAKE_BINARY_DIR}/headers.cc)
  target_compile_options(${headers} PRIVATE ${MMZ_PRECOMPILED_WARNINGS})
  target_link_libraries(${headers} PRIVATE
    protobuf::libprotobuf absl::flat_hash_map absl::statusor absl::strings)
  target_precompile_headers(${headers} PRIVATE
    <algorithm> <functional> <memory> <optional> <string> <utility> <vector>
    <absl/container/flat_hash_map.h> <absl/status/statusor.h> <absl/strings/str_cat.h>
    <google/protobuf/message.h> <google/protobuf/map.h>)
endforeach()

# mmz_shareable(TARGET...): compiles static libraries so that a shared library can link them. Python's
# extension of the game is one. Without semantic interposition, the code is as fast as in an executable.
function(mmz_shareable)
  set_target_properties(${ARGN} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  endforeach()
endfunction()
mmz_shareable(mmz_shared_headers)

# mmz_batches(RESULT NAME SIZE SOURCES...): files for the target NAME that include SIZE sources each,
# so that the compiler reads the headers of several sources once. They are like those of CMake's
# UNITY_BUILD, but include by paths from the repository root: ccache shares them between checkouts.
# scripts/lint takes the batches apart for clang-tidy.
function(mmz_batches result name size)
  if(NOT MALLOCMUZERO_BATCHES)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(batches "")
  set(content "")
  set(count 0)
  foreach(source IN LISTS ARGN)
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${path})
    string(APPEND content "#include \"${path}\"\n")
    math(EXPR count "${count} + 1")
    list(LENGTH batches number)
    math(EXPR left "${count} - ${size} * ${number}")
    list(LENGTH ARGN all)
    if(left EQUAL size OR count EQUAL all)
      set(batch ${CMAKE_BINARY_DIR}/batches/${name}_${number}.cc)
      file(CONFIGURE OUTPUT ${batch} CONTENT "${content}" @ONLY)
      list(APPEND batches ${batch})
      set(content "")
    endif()
  endforeach()
  set(${result} ${batches} PARENT_SCOPE)
endfunction()

# mmz_library(NAME [SHAREABLE] SOURCES... SEPARATE... DEPENDS... PRECOMPILE...): a static library of
# this repository. Includes are written from the repository root ("simulator/program.h"). SEPARATE are
# sources that are not compiled in batches: they have flags of their own, define names that another
# source has too, or include build_info.h, which each commit changes. PRECOMPILE names headers that
# most of its files include, instead of the usual ones. SHAREABLE: see mmz_shareable.
function(mmz_library name)
  cmake_parse_arguments(ARG "SHAREABLE" "" "SOURCES;SEPARATE;DEPENDS;PRECOMPILE" ${ARGN})
  mmz_batches(batches ${name} 8 ${ARG_SOURCES})
  if(MALLOCMUZERO_BATCHES)
    # GCC takes a class of an included file for one of a header, which must have no local types.
    set_source_files_properties(${batches} PROPERTIES
      COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
  add_library(${name} STATIC ${batches} ${ARG_SEPARATE})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${MMZ_PRECOMPILED_WARNINGS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  set(headers mmz_headers)
  if(ARG_SHAREABLE)
    mmz_shareable(${name})
    set(headers mmz_shared_headers)
  endif()
  if(ARG_PRECOMPILE)
    target_precompile_headers(${name} PRIVATE ${ARG_PRECOMPILE})
  else()
    target_precompile_headers(${name} REUSE_FROM ${headers})
  endif()
endfunction()

# Tests check what the libraries do, which are optimised; their own code runs once.
set(MMZ_TEST_OPTIMISATION $<$<CONFIG:Release>:-O1>)

if(MALLOCMUZERO_BUILD_TESTS)
  add_library(mmz_test_headers OBJECT ${CMAKE_BINARY_DIR}/headers.cc)
  target_compile_definitions(mmz_test_headers PRIVATE
    MALLOCMUZERO_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    MALLOCMUZERO_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_compile_options(mmz_test_headers PRIVATE
    ${MMZ_PRECOMPILED_WARNINGS} ${MMZ_TEST_OPTIMISATION})
  target_link_libraries(mmz_test_headers PRIVATE
    GTest::gmock protobuf::libprotobuf absl::statusor absl::strings)
  target_precompile_headers(mmz_test_headers PRIVATE
    <gmock/gmock.h> <gtest/gtest.h>
    <absl/status/statusor.h> <absl/strings/str_cat.h>
    <google/protobuf/message.h> <google/protobuf/map.h>)

  add_library(mmz_test_main STATIC base/testing/test_main.cc)
  target_compile_options(mmz_test_main PRIVATE ${MALLOCMUZERO_WARNINGS})
  target_link_libraries(mmz_test_main PUBLIC GTest::gmock)
endif()

# Seconds for one test. A sanitizer makes a test up to ten times as slow.
set(MMZ_TEST_TIMEOUT 300)
if(MALLOCMUZERO_SANITIZER)
  set(MMZ_TEST_TIMEOUT 1800)
endif()

# mmz_test(NAME SOURCES... SEPARATE... DEPENDS...): one GoogleTest binary; tests find committed data through
# MALLOCMUZERO_SOURCE_DIR and built programs through MALLOCMUZERO_BINARY_DIR. SEPARATE and PRECOMPILE as above.
function(mmz_test name)
  if(NOT MALLOCMUZERO_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;SEPARATE;DEPENDS;PRECOMPILE" ${ARGN})
  mmz_batches(batches ${name} 6 ${ARG_SOURCES})
  add_executable(${name} ${batches} ${ARG_SEPARATE})
  target_compile_options(${name} PRIVATE ${MMZ_PRECOMPILED_WARNINGS} ${MMZ_TEST_OPTIMISATION})
  target_compile_definitions(${name} PRIVATE
    MALLOCMUZERO_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    MALLOCMUZERO_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gmock mmz_test_main)
  if(ARG_PRECOMPILE)
    target_precompile_headers(${name} PRIVATE ${ARG_PRECOMPILE})
  else()
    target_precompile_headers(${name} REUSE_FROM mmz_test_headers)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${MMZ_TEST_TIMEOUT})
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

# mmz_fuzzer(NAME SOURCES... DEPENDS...): the libFuzzer target of NAME.cc in this folder, or, without
# MALLOCMUZERO_FUZZ, a test that runs it on its seeds, corpus/FORMAT for FORMAT_..._fuzz. SOURCES are
# those of libraries that only tests build.
function(mmz_fuzzer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${name}.cc ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${MALLOCMUZERO_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  if(MALLOCMUZERO_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  target_link_libraries(${name} PRIVATE mmz_run_seeds)
  target_compile_options(${name} PRIVATE ${MMZ_TEST_OPTIMISATION})
  string(REGEX REPLACE "_.*" "" format ${name})
  add_test(NAME FuzzSeeds.${name}
    COMMAND ${name} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${format})
  set_tests_properties(FuzzSeeds.${name} PROPERTIES TIMEOUT ${MMZ_TEST_TIMEOUT})
endfunction()
