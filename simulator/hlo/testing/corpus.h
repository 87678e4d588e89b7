// The compiled programs under tests/data, for tests and benchmarks.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_TESTING_CORPUS_H_
#define MALLOCMUZERO_SIMULATOR_HLO_TESTING_CORPUS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero::hlo {

struct CorpusFile {
  std::string path;
  std::string text;  // decompressed text, or the bytes of a message
};

// All files below `folder` whose names end with `ending`, which must end with .zst, sorted by path.
absl::StatusOr<std::vector<CorpusFile>> ReadCorpus(const std::string& folder,
                                                   absl::string_view ending = ".hlo.zst");

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_TESTING_CORPUS_H_
