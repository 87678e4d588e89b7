// Bytes of HLO text parsed per second on one core, over all programs under tests/data/hlo.

#include <benchmark/benchmark.h>

#include "simulator/hlo/module.h"
#include "simulator/hlo/testing/corpus.h"

namespace mallocmuzero::hlo {
namespace {

void ParseCorpusBenchmark(benchmark::State& state) {
  const absl::StatusOr<std::vector<CorpusFile>> corpus =
      ReadCorpus(MALLOCMUZERO_SOURCE_DIR "/tests/data/hlo");
  if (!corpus.ok() || corpus->empty()) {
    state.SkipWithError("no programs under tests/data/hlo");
    return;
  }
  int64_t bytes = 0;
  int64_t instructions = 0;
  for (auto _ : state) {
    for (const CorpusFile& file : *corpus) {
      const absl::StatusOr<Module> module = ParseModule(file.text, file.path);
      if (!module.ok()) {
        state.SkipWithError(module.status().ToString().c_str());
        return;
      }
      bytes += file.text.size();
      for (const Computation& computation : module->computations) {
        instructions += computation.instructions.size();
      }
    }
  }
  state.SetBytesProcessed(bytes);
  state.SetItemsProcessed(instructions);
}
BENCHMARK(ParseCorpusBenchmark)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mallocmuzero::hlo
