// libFuzzer target: any bytes of a trajectory, packed as an item of a shard or not, give rows of
// finite numbers to learn from, or an error of one line.
//
// The first byte chooses the meaning of the others: an item, the payload of an item, a Trajectory
// in text format, or decisions of games with the results of searches. It also chooses how the
// learner makes its rows.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "env/program_set.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "learner/batch_maker.h"
#include "learner/role/game_book.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/train.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/item_codec.h"
#include "replay/return_units.h"
#include "replay/trajectory_buffer.h"
#include "replay/wire/item.h"
#include "replay/wire/wire.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/tiny_programs.h"

namespace mallocmuzero {
namespace {

template <typename Numbers>
void CheckFinite(const Numbers& numbers) {
  for (const float number : numbers) Require(std::isfinite(number));
}

void CheckRows(const UnrollBatch& batch) {
  CheckFinite(batch.observations);
  CheckFinite(batch.next_observations);
  CheckFinite(batch.rewards);
  CheckFinite(batch.values);
  for (const int64_t action : batch.actions) Require(action >= 0 && action < kActionCount);
  for (const float reached : batch.reached) Require(reached == 0 || reached == 1);
  for (size_t i = 0; i < batch.policies.size(); i += kActionCount) {
    const auto policy = absl::MakeConstSpan(batch.policies).subspan(i, kActionCount);
    for (const float share : policy) Require(share >= 0);
    const float sum = std::accumulate(policy.begin(), policy.end(), 0.0F);
    Require(sum == 0 || std::abs(sum - 1) < 0.01F);
  }
}

// A cluster's learner, which takes games in and makes batches of them.
class Learning {
 public:
  explicit Learning(uint8_t variant) : ranked_quantile_((variant & 1) != 0 ? 0.5 : 0) {
    options_.set_unroll_steps(3);
    options_.set_td_steps((variant & 2) != 0 ? 2 : 0);
    options_.set_cut_at_exploration((variant & 4) != 0);
    options_.set_consistency_weight((variant & 8) != 0 ? 1 : 0);
  }

  void Take(v1::Trajectory trajectory) {
    if (book_ == nullptr) {
      book_ = Must(GameBook::Create(TinyPrograms(), /*follows=*/false, ranked_quantile_));
    }
    const absl::Status accepted = book_->Accept(trajectory);
    if (!accepted.ok()) {
      CheckError(accepted);
      return Require(absl::IsInvalidArgument(accepted) || absl::IsNotFound(accepted));
    }
    const SharedTrajectory game =
        book_->WithSearchedReturns(std::make_shared<v1::Trajectory>(std::move(trajectory)));
    std::vector<BatchRow> rows;
    for (int d = 0; d < game->accesses_size(); ++d) {
      rows.push_back({.drawn = {.trajectory = game, .position = static_cast<uint32_t>(d)},
                      .imitate = d % 4 == 3});
    }
    UnrollBatch batch;
    const std::shared_ptr<const Baselines> baselines = book_->baselines();
    RequireOk(BatchMaker(TinyPrograms(), *baselines, options_, 1).Fill(rows, batch));
    CheckRows(batch);
    book_->Refresh(++step_);
    for (const ProgramStanding& standing : book_->Standings()) {
      Require(std::isfinite(standing.best_return.share()) && standing.scale > HbmShare(0));
      Require(!standing.mean_return || std::isfinite(standing.mean_return->share()));
    }
  }

 private:
  const double ranked_quantile_;
  std::unique_ptr<GameBook> book_;  // null before the first game
  v1::LearnerOptions options_;
  uint64_t step_ = 0;
};

void Unpack(const v1::ReplayItem& item, Learning& learning) {
  absl::StatusOr<v1::Trajectory> trajectory = DecodeTrajectory(item);
  if (!trajectory.ok()) return CheckError(trajectory.status());
  learning.Take(*std::move(trajectory));
}

void TakeItem(absl::string_view bytes, Learning& learning) {
  const absl::StatusOr<ItemMetadata> metadata = ReadItem(bytes);
  if (!metadata.ok()) return CheckError(metadata.status());
  v1::ReplayItem item;
  if (item.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) Unpack(item, learning);
}

void TakePayload(absl::string_view bytes, Learning& learning) {
  if (bytes.empty()) return;
  v1::ReplayItem item;
  item.set_id(std::string(kItemIdBytes, 'A'));
  item.set_positions(1 + static_cast<uint8_t>(bytes[0]) % 16);
  item.set_encoding((bytes[0] & 16) != 0 ? v1::ReplayItem::TRAJECTORY
                                         : v1::ReplayItem::TRAJECTORY_ZSTD);
  item.set_payload(std::string(bytes.substr(1)));
  Unpack(item, learning);
}

// The SHA-256 "p" stands for that of the first program, the version 1 of the rules for the present.
void TakeText(absl::string_view text, Learning& learning) {
  v1::Trajectory trajectory;
  if (!google::protobuf::TextFormat::ParseFromString(std::string(text), &trajectory)) return;
  if (trajectory.program_sha256() == "p") trajectory.set_program_sha256(TinyPrograms()[0].sha256());
  if (trajectory.rules_version() == 1) trajectory.set_rules_version(kGameRulesVersion);
  const absl::StatusOr<grpc::Slice> packed = EncodeTrajectory(trajectory);
  if (!packed.ok()) return CheckError(packed.status());
  v1::ReplayItem item;
  Require(item.ParseFromArray(packed->begin(), static_cast<int>(packed->size())));
  const v1::Trajectory unpacked = Must(DecodeTrajectory(item));
  Require(unpacked.SerializeAsString() == trajectory.SerializeAsString());
  learning.Take(std::move(trajectory));
}

// Takes the bytes one after the other; 0 when there are no more.
class Bytes {
 public:
  explicit Bytes(absl::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }

  uint8_t Next() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(bytes_[0]);
    bytes_.remove_prefix(1);
    return byte;
  }

  // A number that a search may have found, or that no search finds.
  float NextNumber() {
    constexpr float kMost = std::numeric_limits<float>::max();
    constexpr std::array<float, 8> kOdd = {std::numeric_limits<float>::quiet_NaN(),
                                           std::numeric_limits<float>::infinity(),
                                           -std::numeric_limits<float>::infinity(),
                                           kMost,
                                           -kMost,
                                           std::numeric_limits<float>::denorm_min(),
                                           1e6F,
                                           -1e6F};
    const uint8_t byte = Next();
    return byte < kOdd.size() ? kOdd[byte] : (static_cast<float>(byte) - 128) / 32;
  }

 private:
  absl::string_view bytes_;
};

v1::Trajectory PlayGame(Bytes& bytes, char id) {
  const uint8_t kind = bytes.Next();
  const PlayedProgram& program = TinyPrograms()[kind % 2];
  v1::Trajectory trajectory;
  trajectory.set_id(std::string(kItemIdBytes, id));
  trajectory.set_program_sha256(program.sha256());
  trajectory.set_rules_version(kGameRulesVersion);
  trajectory.set_source((kind & 2) != 0 ? v1::Trajectory::DEMONSTRATION
                                        : v1::Trajectory::SELF_PLAY);
  trajectory.set_network_step(kind / 16);
  Game game(program.rules());
  trajectory.set_initial_return(game.initial_return());
  while (!game.finished()) {
    std::vector<Action> legal;
    for (const Action action : kActions) {
      if (game.IsLegal(action)) legal.push_back(action);
    }
    const uint8_t byte = bytes.Next();
    const Action action = legal[byte % legal.size()];
    trajectory.mutable_actions()->push_back(static_cast<char>(action));
    trajectory.mutable_legal_actions()->push_back(static_cast<char>(game.legal_actions()));
    trajectory.add_accesses(game.access().number());
    trajectory.add_root_values(bytes.NextNumber());
    if ((kind & 4) != 0) trajectory.add_searched_returns(bytes.NextNumber());
    for (int a = 0; a < kActionCount; ++a) {
      const bool is_chosen = a == byte / 8 % kActionCount;
      trajectory.add_policies(byte >= 240 ? bytes.NextNumber() : is_chosen ? 1 : 0);
    }
    trajectory.add_rewards(game.Apply(action));
  }
  return trajectory;
}

void TakeGames(absl::string_view text, Learning& learning) {
  Bytes bytes(text);
  for (char id = 'A'; id < 'E' && !bytes.empty(); ++id) learning.Take(PlayGame(bytes, id));
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const google::protobuf::LogSilencer silencer;
  mallocmuzero::Learning learning(data[0] / 4);
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      mallocmuzero::TakeItem(bytes, learning);
      break;
    case 1:
      mallocmuzero::TakePayload(bytes, learning);
      break;
    case 2:
      mallocmuzero::TakeText(bytes, learning);
      break;
    default:
      mallocmuzero::TakeGames(bytes, learning);
  }
  return 0;
}
