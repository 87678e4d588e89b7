"""The version of this package, which is that of the binary as well.

It must agree with `project(mallocmuzero VERSION ...)` in CMakeLists.txt.
"""

VERSION = "0.1.0"
