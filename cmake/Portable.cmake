# Executables that run on other distributions than the one that builds them.

option(MALLOCMUZERO_PORTABLE
  "Link mallocmuzero with the static forms of its libraries, so that it needs nothing but glibc" ON)

# mmz_portable(TARGET): links an executable with static libraries, the C++ library included. It must not
# link libraries that others of its libraries use in their shared form.
function(mmz_portable target)
  # A sanitizer brings its own shared C++ library, and other systems have other linkers.
  if(NOT MALLOCMUZERO_PORTABLE OR MALLOCMUZERO_SANITIZER OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
  endif()
  set_target_properties(${target} PROPERTIES RULE_LAUNCH_LINK "\"${CMAKE_SOURCE_DIR}/cmake/link_static.sh\"")
endfunction()
