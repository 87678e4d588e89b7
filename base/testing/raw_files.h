// Files of a test, written and read byte by byte: no compression, no header, no check.

#ifndef MALLOCMUZERO_BASE_TESTING_RAW_FILES_H_
#define MALLOCMUZERO_BASE_TESTING_RAW_FILES_H_

#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace mallocmuzero::testing {

// The path of a file of that name in the folder for temporary files.
inline std::string TemporaryPath(const std::string& name) {
  return ::testing::TempDir() + "/" + name;
}

// Replaces the file.
inline void WriteRaw(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// The content of the file; empty if there is none.
inline std::string ReadRaw(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_BASE_TESTING_RAW_FILES_H_
