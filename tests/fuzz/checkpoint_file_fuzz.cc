// libFuzzer target: any bytes of a checkpoint, from a file or from a learner, give the checkpoint
// that was written, or an error of one line.
//
// After a byte 'f', the bytes are those of the file. After any other byte, they are a
// CheckpointHeader in text format and the bytes of its tensors, with a line "---" between them. The
// fuzzer adds what the text lacks of the header, and the length and the SHA-256.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/message_file.h"
#include "base/sha256.h"
#include "env/observation_layout.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "mallocmuzero/v1/network.pb.h"
#include "model/checkpoint.h"
#include "model/network_config.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero {
namespace {

bool AreEqual(const Checkpoint& a, const Checkpoint& b) {
  return SerializeCheckpoint(a) == SerializeCheckpoint(b);
}

void Read(absl::string_view bytes) {
  const absl::StatusOr<Checkpoint> checkpoint = ParseCheckpoint(bytes, "fuzz.checkpoint");
  if (!checkpoint.ok()) {
    CheckError(checkpoint.status());
    const bool is_named = absl::StartsWith(checkpoint.status().message(), "fuzz.checkpoint: ");
    return Require(absl::IsInvalidArgument(checkpoint.status()) && is_named);
  }
  const std::string written = SerializeCheckpoint(*checkpoint);
  Require(AreEqual(Must(ParseCheckpoint(written, "fuzz.checkpoint")), *checkpoint));
  // A byte more or less is noticed.
  CheckError(ParseCheckpoint(absl::StrCat(written, "x"), "fuzz.checkpoint").status());
  CheckError(
      ParseCheckpoint(absl::string_view(written).substr(0, written.size() - 1), "fuzz.checkpoint")
          .status());
}

std::string File(v1::CheckpointHeader head, absl::string_view tensors) {
  FillHeader(head);
  if (!head.has_observation()) *head.mutable_observation() = MakeObservationSpec();
  if (!head.has_network()) *head.mutable_network() = Must(NetworkPreset("tiny"));
  const std::string text = SerializeDeterministically(head);
  std::string length;
  for (int k = 0; k < 8; ++k) length.push_back(static_cast<char>(text.size() >> (8 * k)));
  const std::string content = absl::StrCat(text, tensors);
  return absl::StrCat("MMZMODEL", length, Sha256(content), content);
}

void ReadText(absl::string_view bytes) {
  constexpr absl::string_view kBorder = "---\n";
  const size_t border = bytes.find(kBorder);
  v1::CheckpointHeader head;
  if (!google::protobuf::TextFormat::ParseFromString(std::string(bytes.substr(0, border)), &head)) {
    return;
  }
  const bool has_tensors = border != absl::string_view::npos;
  Read(File(head, has_tensors ? bytes.substr(border + kBorder.size()) : ""));
}

}  // namespace
}  // namespace mallocmuzero

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const google::protobuf::LogSilencer silencer;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  data[0] == 'f' ? mallocmuzero::Read(bytes) : mallocmuzero::ReadText(bytes);
  return 0;
}
