#include "actor/role/actor_name.h"

#include <unistd.h>

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/sha256.h"

namespace mallocmuzero {

std::string ActorName(uint32_t index, bool reanalyse) {
  char host[128] = "unknown";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(reanalyse ? "reanalyse." : "actor.", index, "@", host, "-", getpid(), "-",
                      absl::Hex(absl::ToUnixSeconds(absl::Now())));
}

uint64_t DrawRun(const std::string& actor_name, uint64_t seed) {
  const std::string hash =
      Sha256(absl::StrCat(actor_name, "/", absl::GetCurrentTimeNanos(), "/", seed));
  uint64_t run = 0;
  std::memcpy(&run, hash.data(), sizeof(run));
  return run;
}

}  // namespace mallocmuzero
