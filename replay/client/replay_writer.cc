#include "replay/client/replay_writer.h"

#include <grpcpp/support/slice.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/acknowledged_log.h"
#include "replay/client/item_codec.h"
#include "replay/client/item_writer.h"
#include "replay/client/shard_address.h"
#include "replay/client/shard_roster.h"
#include "replay/client/shard_writer.h"
#include "replay/client/spool_file.h"
#include "replay/wire/item.h"
#include "rpc/peer_state.h"
#include "rpc/security.h"

namespace mallocmuzero {
namespace {

// How long a writer with a spool folder waits for the next acknowledgement before it gives up.
constexpr absl::Duration kPatience = absl::Seconds(1);

absl::Status Check(const ReplayWriterOptions& options) {
  MMZ_RETURN_IF_ERROR(CheckShards(options.shards));
  if (options.spool_bytes == 0 || options.spool_bytes > kMostSpoolBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("spool_bytes: ", options.spool_bytes, ", must be 1 to ", kMostSpoolBytes));
  }
  const bool is_name = !options.name.empty() && options.name[0] != '.' &&
                       std::all_of(options.name.begin(), options.name.end(), [](char c) {
                         return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
                       });
  if (!is_name) {
    return absl::InvalidArgumentError(
        absl::StrCat("name: '", options.name, "', must be letters, digits, hyphens, dots"));
  }
  return absl::OkStatus();
}

}  // namespace

class ReplayWriter::Impl {
 public:
  Impl(const ReplayWriterOptions& options, std::unique_ptr<AcknowledgedLog> acknowledged_log,
       std::unique_ptr<SpoolFile> spool_file)
      : acknowledged_log_(std::move(acknowledged_log)),
        spool_file_(std::move(spool_file)),
        items_({.roster = RosterOf(options.shards),
                .awaits_roster = options.awaits_roster,
                .security = options.security,
                .spool_bytes = options.spool_bytes,
                .registry = options.registry,
                .on_settled = [this](const SpooledItem& item) { OnSettled(item); },
                .on_acknowledged =
                    [this](const SpooledItem& item) {
                      if (acknowledged_log_ != nullptr) acknowledged_log_->Append(item.id);
                    }}) {}

  ~Impl() {
    items_.Close(absl::ZeroDuration(), absl::ZeroDuration());
    items_.TakeRest();
  }

  // Sends the trajectories that an earlier writer of this name has left in its spool file. The file
  // is removed once all of them are settled.
  absl::Status ReadSpool() {
    if (spool_file_ == nullptr) return absl::OkStatus();
    absl::StatusOr<v1::ReplaySpool> spool = spool_file_->Read();
    if (absl::IsNotFound(spool.status())) return absl::OkStatus();
    if (!spool.ok()) return spool.status();
    size_t count = 0;
    for (const v1::InsertRequest& request : spool->requests()) count += request.items_size();
    from_file_ = count;
    found_ = count;
    if (count == 0) spool_file_->Remove();
    for (int r = 0; r < spool->requests_size(); ++r) {
      const v1::InsertRequest& request = spool->requests(r);
      for (const v1::ReplayItem& item : request.items()) {
        const std::string wire = item.SerializeAsString();
        items_.Force({.id = item.id(),
                      .wire = grpc::Slice(wire.data(), wire.size()),
                      .replace = request.replace(),
                      .from_file = true,
                      .shard = r < spool->shards_size() ? spool->shards(r) : std::string()});
      }
    }
    return absl::OkStatus();
  }

  // `shard` is empty for a new trajectory.
  bool Write(const v1::Trajectory& trajectory, const std::string& shard) {
    absl::StatusOr<grpc::Slice> wire = EncodeTrajectory(trajectory);
    if (!wire.ok()) return false;
    // A demonstration has the same id from every actor, so all must send it to the same shard.
    return items_.Write({.id = trajectory.id(),
                         .wire = *std::move(wire),
                         .replace = !shard.empty(),
                         .shard = shard},
                        /*by_id=*/trajectory.source() == v1::Trajectory::DEMONSTRATION);
  }

  void SetRoster(const v1::ShardRoster& roster) {
    if (CheckRoster(roster).ok()) items_.SetRoster(roster);
  }

  absl::Status Close(absl::Duration grace) {
    items_.Close(grace, spool_file_ == nullptr ? grace : kPatience);
    const std::vector<SpooledItem> rest = items_.TakeRest();
    const absl::Status kept = Keep(rest);
    // Releases the lock, so that another writer of this name may start.
    spool_file_ = nullptr;
    return kept;
  }

  absl::Status audit() const {
    return acknowledged_log_ == nullptr ? absl::OkStatus() : acknowledged_log_->status();
  }
  const ItemWriter& items() const { return items_; }
  size_t found() const { return found_; }
  size_t left() const { return left_; }

 private:
  absl::Status Keep(const std::vector<SpooledItem>& rest) {
    if (rest.empty()) return absl::OkStatus();
    const absl::Status status = spool_file_ == nullptr
                                    ? absl::FailedPreconditionError("there is no spool folder")
                                    : WriteSpool(rest);
    if (status.ok()) {
      left_ = rest.size();
      return absl::OkStatus();
    }
    return absl::UnavailableError(
        absl::StrCat(rest.size(), " trajectories are lost: ", status.message()));
  }

  absl::Status WriteSpool(const std::vector<SpooledItem>& rest) const {
    v1::ReplaySpool spool;
    for (const SpooledItem& item : rest) {
      v1::InsertRequest& request = *spool.add_requests();
      request.set_replace(item.replace);
      spool.add_shards(item.shard);
      if (!ParseBytes(ViewOf(item.wire), *request.add_items())) {
        return absl::InternalError("an item that cannot be read");
      }
    }
    return spool_file_->Write(spool);
  }

  void OnSettled(const SpooledItem& item) {
    if (item.from_file && --from_file_ == 0) spool_file_->Remove();
  }

  const std::unique_ptr<AcknowledgedLog> acknowledged_log_;  // null if no log is wanted
  std::unique_ptr<SpoolFile> spool_file_;                    // null without a folder or after Close
  std::atomic<size_t> from_file_ = 0;  // items of the spool file that are not settled
  size_t found_ = 0;                   // items in the spool file at the start
  std::atomic<size_t> left_ = 0;       // items that Close wrote to the spool file
  ItemWriter items_;
};

absl::StatusOr<std::unique_ptr<ReplayWriter>> ReplayWriter::Start(ReplayWriterOptions options) {
  MMZ_RETURN_IF_ERROR(Check(options));
  if (options.security == nullptr) options.security = std::make_shared<Security>();
  std::unique_ptr<AcknowledgedLog> acknowledged_log;
  if (!options.acknowledged_log.empty()) {
    absl::StatusOr<std::unique_ptr<AcknowledgedLog>> opened =
        AcknowledgedLog::Open(options.acknowledged_log);
    if (!opened.ok()) return opened.status();
    acknowledged_log = *std::move(opened);
  }
  std::unique_ptr<SpoolFile> spool_file;
  if (!options.spool_dir.empty()) {
    absl::StatusOr<std::unique_ptr<SpoolFile>> opened =
        SpoolFile::Open(options.spool_dir, options.name);
    if (!opened.ok()) return opened.status();
    spool_file = *std::move(opened);
  }
  std::unique_ptr<ReplayWriter> writer(new ReplayWriter(
      std::make_unique<Impl>(options, std::move(acknowledged_log), std::move(spool_file))));
  MMZ_RETURN_IF_ERROR(writer->impl_->ReadSpool());
  return writer;
}

ReplayWriter::ReplayWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ReplayWriter::~ReplayWriter() = default;

bool ReplayWriter::Write(const v1::Trajectory& trajectory) {
  return impl_->Write(trajectory, /*shard=*/"");
}

bool ReplayWriter::Replace(const v1::Trajectory& trajectory, const std::string& shard) {
  return impl_->Write(trajectory, shard);
}

void ReplayWriter::SetRoster(const v1::ShardRoster& roster) { impl_->SetRoster(roster); }

size_t ReplayWriter::found_in_spool() const { return impl_->found(); }

size_t ReplayWriter::left_in_spool() const { return impl_->left(); }

size_t ReplayWriter::spooled_bytes() const { return impl_->items().spooled_bytes(); }

size_t ReplayWriter::held_back() const { return impl_->items().held_back(); }

bool ReplayWriter::blocked() const { return impl_->items().blocked(); }

std::string ReplayWriter::trouble() const { return impl_->items().trouble(); }

std::vector<PeerState> ReplayWriter::peers() const { return impl_->items().peers(); }

absl::Status ReplayWriter::audit() const { return impl_->audit(); }

uint64_t ReplayWriter::acknowledged() const { return impl_->items().acknowledged(); }

uint64_t ReplayWriter::refused() const { return impl_->items().refused(); }

absl::Status ReplayWriter::Close(absl::Duration grace) { return impl_->Close(grace); }

}  // namespace mallocmuzero
