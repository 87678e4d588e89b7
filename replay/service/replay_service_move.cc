// The calls of ReplayService by which the items of a shard move to other shards.

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/file_io.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/id_set.h"
#include "replay/service/insert_queue.h"
#include "replay/service/moved_items.h"
#include "replay/service/replay_service.h"
#include "replay/service/replay_table.h"
#include "replay/wire/item.h"
#include "replay/wire/wire.h"
#include "rpc/request_bytes.h"
#include "rpc/security.h"
#include "rpc/status.h"

namespace mallocmuzero {
namespace {

// A message of Export ends once it has this many bytes of items, or this many ids.
constexpr size_t kPartBytes = 1 << 20;
constexpr int kPartIds = 20000;

// The server's side of one Export call: sends the items, then the evicted ids. Deletes itself at
// the end.
class Exporter final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  using Run = std::function<void(std::function<void()>)>;

  // `run` calls a function that may wait for the disk.
  Exporter(const ReplayTable& table, const grpc::Status& status, Run run)
      : table_(table), run_(std::move(run)) {
    if (!status.ok()) {
      Finish(status);
      return;
    }
    slots_ = table.SlotsByAge();
    run_([this] { WriteNext(); });
  }

  void OnWriteDone(bool ok) override {
    if (ok) return run_([this] { WriteNext(); });
    Finish(grpc::Status::CANCELLED);
  }

  void OnDone() override { delete this; }

 private:
  void WriteNext() {
    part_.Clear();
    AddItems();
    if (part_.items().empty()) AddIds();
    // A part may have nothing but the number of damaged items.
    const bool is_end = part_.items().empty() && part_.evicted().empty() && damaged_ == told_;
    if (is_end) return Finish(grpc::Status::OK);
    part_.set_damaged(damaged_);
    told_ = damaged_;
    bytes_ = ToByteBuffer(part_);
    StartWrite(&bytes_);
  }

  void AddItems() {
    size_t bytes = 0;
    while (next_slot_ < slots_.size() && bytes < kPartBytes) {
      const ReplayTable::Exported item = table_.Export(slots_[next_slot_++]);
      const absl::StatusOr<grpc::Slice> wire = item.bytes.Load();
      if (!wire.ok()) {
        ++damaged_;
        continue;
      }
      AddMovedItem(item, *wire, part_);
      bytes += part_.items(part_.items_size() - 1).ByteSizeLong();
    }
  }

  void AddIds() {
    while (next_ids_ < IdSet::kParts && part_.evicted_size() < kPartIds) {
      std::vector<ItemId> stored;
      std::vector<ItemId> evicted;
      table_.ListIds(next_ids_++, stored, evicted);
      for (const ItemId& id : evicted) part_.add_evicted(id.data(), id.size());
    }
  }

  const ReplayTable& table_;
  const Run run_;
  std::vector<Slot> slots_;
  size_t next_slot_ = 0;
  size_t next_ids_ = 0;
  uint64_t damaged_ = 0;
  uint64_t told_ = 0;  // the number of damaged items in the last part
  v1::MovedItems part_;
  grpc::ByteBuffer bytes_;  // of the part that is being sent
};

absl::StatusOr<std::unique_ptr<InsertJob>> MakeJob(const v1::MovedItems& part) {
  absl::StatusOr<TableInsert> insert = ReadMovedItems(part);
  if (!insert.ok()) return insert.status();
  auto job = std::make_unique<InsertJob>();
  job->insert = *std::move(insert);
  for (const Item& item : job->insert.items) job->bytes += item.wire.size();
  return job;
}

}  // namespace

grpc::ServerUnaryReactor* ReplayService::Retire(grpc::CallbackServerContext* context,
                                                const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const grpc::Status status = CheckOrder(*context, *request);
  if (status.ok()) {
    *response = ToByteBuffer(v1::RetireResponse());
    Run([this, reactor] { reactor->Finish(ToGrpc(BecomeRetired())); });
  } else {
    reactor->Finish(status);
  }
  return reactor;
}

absl::Status ReplayService::BecomeRetired() {
  Streams streams;
  {
    const absl::MutexLock lock(&mutex_);
    retired_ = true;
    streams = sample_streams_;
    streams.insert(streams.end(), insert_streams_.begin(), insert_streams_.end());
  }
  EndStreams(streams, {grpc::StatusCode::UNAVAILABLE, "the shard was removed from the cluster"});
  if (retired_file_.empty()) return absl::OkStatus();
  return WriteFileAtomically(retired_file_, "This shard was removed from its cluster.\n");
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* ReplayService::Export(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request) {
  grpc::Status status = CheckOrder(*context, *request);
  if (status.ok() && !retired()) {
    status = {grpc::StatusCode::FAILED_PRECONDITION, "the shard is not retired"};
  }
  return new Exporter(table_, status, [this](std::function<void()> work) { Run(std::move(work)); });
}

grpc::ServerUnaryReactor* ReplayService::TakeOver(grpc::CallbackServerContext* context,
                                                  const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  grpc::Status status = security_->CheckAdministrator(*context);
  if (status.ok() && retired()) {
    status = {grpc::StatusCode::FAILED_PRECONDITION, "the shard was removed from the cluster"};
  }
  v1::TakeOverRequest order;
  if (status.ok()) status = ParseRequest(*request, order);
  absl::StatusOr<std::unique_ptr<InsertJob>> job = nullptr;
  if (status.ok()) {
    job = MakeJob(order.moved());
    status = ToGrpc(job.status());
  }
  if (!status.ok()) {
    reactor->Finish(status);
    return reactor;
  }
  (*job)->stream = reactor;
  (*job)->done = [this, reactor, response, sync = order.sync()](
                     absl::Status stored, const v1::InsertResponse& inserted) {
    v1::TakeOverResponse answer;
    answer.set_refused(inserted.refusals_size());
    if (!inserted.refusals().empty()) answer.set_why(inserted.refusals(0).message());
    *response = ToByteBuffer(answer);
    // The queue calls this where the table may be flushed.
    if (stored.ok() && sync) stored = table_.Sync();
    reactor->Finish(ToGrpc(stored));
  };
  inserts_.Add(*std::move(job));
  return reactor;
}

}  // namespace mallocmuzero
