#include "cluster/peer_log.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace mallocmuzero {
namespace {

constexpr absl::Duration kQuiet = absl::Minutes(1);

}  // namespace

std::vector<PeerLog::Line> PeerLog::Note(absl::Span<const PeerState> peers, absl::Time now) {
  std::vector<Line> lines;
  for (const PeerState& state : peers) {
    Peer& peer = peers_[state.name];
    const auto tell = [&](const std::string& trouble) {
      peer.told = trouble;
      peer.told_at = now;
      lines.push_back({LogLevel::kWarning, absl::StrCat(state.name, ": ", trouble, "; tries on")});
    };
    const bool was_away = std::exchange(peer.away, !state.trouble.empty());
    if (std::exchange(peer.losses, state.losses) < state.losses) {
      if (!was_away) peer.lost_at = now;
      tell(state.last_loss);
    }
    if (!peer.away) {
      if (!std::exchange(peer.told, {}).empty()) {
        const absl::Duration lost = absl::Trunc(now - peer.lost_at, absl::Seconds(1));
        const std::string when = lost == absl::ZeroDuration()
                                     ? "at once"
                                     : absl::StrCat("after ", absl::FormatDuration(lost));
        lines.push_back({LogLevel::kInfo, absl::StrCat(state.name, " is there again ", when)});
      }
      continue;
    }
    if (!was_away) peer.lost_at = now;
    if (peer.told == state.trouble || now - peer.told_at < kQuiet) continue;
    tell(state.trouble);
  }
  return lines;
}

}  // namespace mallocmuzero
