# MMZ_GIT_COMMIT: the commit of the sources at the time of configuring, so that a commit builds
# nothing anew; empty if unknown.
find_package(Git QUIET)
set(MMZ_GIT_COMMIT "")
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} rev-parse HEAD
    OUTPUT_VARIABLE MMZ_GIT_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
