// Real programs for tests and benchmarks: those of workloads/ and those imported from tests/data.

#ifndef MALLOCMUZERO_ENV_TESTING_CORPUS_PROGRAMS_H_
#define MALLOCMUZERO_ENV_TESTING_CORPUS_PROGRAMS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "simulator/core/program.h"

namespace mallocmuzero::testing {

// The programs of workloads/<chip>/, by path.
std::vector<std::string> CorpusPaths(const std::string& source_dir);

// The names of the folders of tests/data/hlo.
std::vector<std::string> BundledNames(const std::string& source_dir);

// Imports one of them for tpu_v4i, with its default and all its samples.
absl::StatusOr<Program> ImportBundled(const std::string& source_dir, const std::string& name);

// Imports a program of several devices, of tests/data/hlo_sharded, for a chip such as "tpu_v5e".
absl::StatusOr<Program> ImportSharded(const std::string& source_dir, const std::string& name,
                                      const std::string& chip);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_ENV_TESTING_CORPUS_PROGRAMS_H_
