// The compiled programs under tests/data/hlo, for tests and benchmarks.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_TESTING_CORPUS_H_
#define MALLOCMUZERO_SIMULATOR_HLO_TESTING_CORPUS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace mallocmuzero::hlo {

struct CorpusFile {
  std::string path;
  std::string text;  // decompressed
};

// All *.hlo.zst files below `folder`, sorted by path.
absl::StatusOr<std::vector<CorpusFile>> ReadCorpus(const std::string& folder);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_TESTING_CORPUS_H_
