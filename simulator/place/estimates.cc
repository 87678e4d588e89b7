#include "simulator/place/estimates.h"

#include <cstdlib>
#include <string>

#include "absl/strings/match.h"

namespace mallocmuzero::place {

void StripEstimates(xla::HloInstructionProto& instruction) {
  // A custom call's configuration is the program that it runs.
  if (instruction.opcode() == "custom-call") return;
  if (!absl::StrContains(instruction.backend_config(), "\"estimated_cycles\"")) return;
  if (getenv("PLACE_STRIP_WINDOW")) {
    std::string& s = *instruction.mutable_backend_config();
    const size_t a = s.find("\"window_config\":{");
    int depth = 0; size_t b = a + 16;
    do { if (s[b] == '{') ++depth; if (s[b] == '}') --depth; ++b; } while (depth > 0);
    if (b < s.size() && s[b] == ',') ++b;
    s.erase(a, b - a);
    return;
  }
  instruction.clear_backend_config();
}

}  // namespace mallocmuzero::place
