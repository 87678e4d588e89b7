#include "actor/role/play_block.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/utf8.h"
#include "replay/client/replay_writer.h"

namespace mallocmuzero {
namespace {

absl::string_view NameOf(PlayBlock::On on) {
  switch (on) {
    case PlayBlock::On::kNothing:
      break;
    case PlayBlock::On::kLearner:
      return "learner";
    case PlayBlock::On::kReplay:
      return "replay";
    case PlayBlock::On::kSpool:
      return "spool";
    case PlayBlock::On::kSolvers:
      return "showing solvers' games";
  }
  return "";
}

}  // namespace

std::string ToString(const PlayBlock& block) {
  return absl::StrCat(NameOf(block.on), block.why.empty() ? "" : ": ", block.why);
}

std::string ForReport(const std::string& text) {
  constexpr size_t kMostBytes = 200;
  return ToUtf8(text.substr(0, kMostBytes));
}

PlayBlock HeldBackBlock() {
  return {.on = PlayBlock::On::kSpool, .why = "the shards take no more", .flow_control = true};
}

PlayBlock ShowingBlock() { return {.on = PlayBlock::On::kSolvers, .flow_control = true}; }

PlayBlock NoOlderGamesBlock() {
  return {.on = PlayBlock::On::kReplay, .why = "no games of older weights", .flow_control = true};
}

PlayBlock SpoolBlock(const ReplayWriter& writer) {
  std::string trouble = writer.trouble();
  if (!trouble.empty()) return {.on = PlayBlock::On::kSpool, .why = std::move(trouble)};
  return HeldBackBlock();
}

}  // namespace mallocmuzero
