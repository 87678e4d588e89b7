// libFuzzer target: any bytes of a file give a message that survives being written and read again,
// or an error of one line.
//
// The first byte chooses the message, the second one the format: binary, text or JSON.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/compression.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/message_json.h"
#include "google/protobuf/message.h"
#include "google/protobuf/stubs/logging.h"
#include "mallocmuzero/v1/checkpoint.pb.h"
#include "mallocmuzero/v1/export.pb.h"
#include "mallocmuzero/v1/hardware.pb.h"
#include "mallocmuzero/v1/mapping.pb.h"
#include "mallocmuzero/v1/network.pb.h"
#include "mallocmuzero/v1/program.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/shards.pb.h"
#include "mallocmuzero/v1/train.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "tests/fuzz/memory_folder.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero {
namespace {

using google::protobuf::Message;

constexpr int64_t kMostBytes = int64_t{1} << 20;

// The messages that are stored in files of their own.
const Message* const kStored[] = {
    &v1::CheckpointHeader::default_instance(), &v1::CheckpointManifest::default_instance(),
    &v1::ExportManifest::default_instance(),   &v1::Hardware::default_instance(),
    &v1::Mapping::default_instance(),          &v1::Program::default_instance(),
    &v1::ReplaySpool::default_instance(),      &v1::ShardRoster::default_instance(),
    &v1::TrainConfig::default_instance(),      &v1::TrajectorySegment::default_instance(),
};

// Writes the message and reads it again.
void CheckWritten(const Message& message, bool text) {
  static const MemoryFolder folder("message_file_fuzz");
  const std::string path = folder.path() + (text ? "/file.textproto" : "/file.program");
  const absl::Status written = WriteMessageFrom(path, message);
  if (!written.ok()) {
    CheckError(written);
    return Require(absl::StrContains(written.message(), "UTF-8 expected"), written.message());
  }
  const std::unique_ptr<Message> again(message.New());
  RequireOk(ReadMessageInto(path, *again));
  const std::unique_ptr<Message> filled(message.New());
  filled->CopyFrom(message);
  FillHeader(*filled);
  // Text has no sign and no payload of a NaN.
  if (text) return Require(again->DebugString() == filled->DebugString());
  Require(SerializeDeterministically(*again) == SerializeDeterministically(*filled));
}

void ReadStored(const Message& kind, absl::string_view bytes, bool text) {
  const absl::StatusOr<std::string> content = Decompress(std::string(bytes), "fuzz", kMostBytes);
  if (!content.ok()) return CheckError(content.status());
  const std::unique_ptr<Message> message(kind.New());
  const absl::Status status = ParseMessage(*content, text, "fuzz", *message);
  if (!status.ok()) {
    Require(absl::StartsWith(status.message(), "fuzz:"), status.message());
    return CheckError(status);
  }
  CheckWritten(*message, text);
}

void ReadJson(const Message& kind, absl::string_view bytes) {
  const std::unique_ptr<Message> message(kind.New());
  const absl::Status status = MessageFromJson(bytes, *message);
  if (!status.ok()) return CheckError(status);
  const absl::StatusOr<std::string> json = MessageToJson(*message);
  if (!json.ok()) return CheckError(json.status());
  RequireOk(MessageFromJson(*json, *message));
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using mallocmuzero::kStored;
  if (size < 2) return 0;
  const google::protobuf::LogSilencer silencer;
  const google::protobuf::Message& kind = *kStored[data[0] % std::size(kStored)];
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  switch (data[1] % 3) {
    case 0:
      mallocmuzero::ReadStored(kind, bytes, /*text=*/false);
      break;
    case 1:
      mallocmuzero::ReadStored(kind, bytes, /*text=*/true);
      break;
    default:
      mallocmuzero::ReadJson(kind, bytes);
      mallocmuzero::ReadJson(mallocmuzero::v1::TrainMetrics::default_instance(), bytes);
  }
  return 0;
}
