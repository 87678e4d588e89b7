# mmz_build_info: build_info.h, which says the version and the commit of the sources, empty if
# unknown. A commit makes CMake configure again, so that what is built after it says its name. Where
# there is no .git, MALLOCMUZERO_COMMIT may tell. A repository around the sources is another one.
set(MALLOCMUZERO_COMMIT "" CACHE STRING "The commit of the sources, where git cannot tell")
set(MMZ_GIT_COMMIT "${MALLOCMUZERO_COMMIT}")
find_package(Git QUIET)
if(GIT_FOUND AND NOT MMZ_GIT_COMMIT AND EXISTS ${CMAKE_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} rev-parse HEAD
    OUTPUT_VARIABLE MMZ_GIT_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # The log of HEAD grows with every commit and checkout; in a worktree it is elsewhere.
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} rev-parse --git-path logs/HEAD
    OUTPUT_VARIABLE head_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_filename_component(head_log "${head_log}" ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
  if(EXISTS "${head_log}" AND NOT IS_DIRECTORY "${head_log}")
    set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
      "${head_log}")
  endif()
endif()

configure_file(${CMAKE_CURRENT_LIST_DIR}/build_info.h.in
  ${CMAKE_BINARY_DIR}/generated/build_info.h @ONLY)
add_library(mmz_build_info INTERFACE)
target_include_directories(mmz_build_info INTERFACE ${CMAKE_BINARY_DIR}/generated)
