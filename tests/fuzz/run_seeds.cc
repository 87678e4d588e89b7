// Runs a fuzzer on the files of one folder, its seeds, without libFuzzer.
//   FUZZER FOLDER

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    // A seed that ends the process is the last that is printed.
    std::fprintf(stderr, "%s\n", entry.path().c_str());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string seed{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file) return 1;
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(seed.data()), seed.size());
    ++seeds;
  }
  return seeds > 0 ? 0 : 1;
}
