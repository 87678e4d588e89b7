# Helpers that keep the per-folder CMakeLists.txt to a list of files.
include(GoogleTest)

# mmz_library(NAME SOURCES... DEPENDS...): a static library of this repository. Includes are
# written from the repository root ("simulator/program.h").
function(mmz_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${MALLOCMUZERO_WARNINGS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
endfunction()

# mmz_test(NAME SOURCES... DEPENDS...): one GoogleTest binary; tests find committed data through
# MALLOCMUZERO_SOURCE_DIR and built programs through MALLOCMUZERO_BINARY_DIR.
function(mmz_test name)
  if(NOT MALLOCMUZERO_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${MALLOCMUZERO_WARNINGS})
  target_compile_definitions(${name} PRIVATE
    MALLOCMUZERO_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    MALLOCMUZERO_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
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
