#include "model/checkpoint.h"

#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/sha256.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "env/observation_layout.h"
#include "google/protobuf/stubs/logging.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

using TensorProto = v1::CheckpointHeader::Tensor;

constexpr absl::string_view kMagic = "MMZMODEL";
constexpr absl::string_view kOptimizerPrefix = "optimizer/";
constexpr size_t kLengthBytes = 8;
constexpr size_t kShaBytes = 32;
constexpr size_t kPreambleBytes = 8 + kLengthBytes + kShaBytes;

// The two parts of a file that passed the checks.
struct FileParts {
  v1::CheckpointHeader head;
  absl::string_view payload;  // into the file's bytes
};

absl::Status FileError(absl::string_view path, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", message));
}

std::string EncodeLength(uint64_t length) {
  std::string bytes(kLengthBytes, '\0');
  for (size_t k = 0; k < kLengthBytes; ++k) bytes[k] = length >> (8 * k);
  return bytes;
}

uint64_t DecodeLength(absl::string_view bytes) {
  uint64_t length = 0;
  for (size_t k = 0; k < kLengthBytes; ++k) {
    const uint8_t byte = bytes[k];
    length |= uint64_t{byte} << (8 * k);
  }
  return length;
}

// Bytes of an element; 0 for an unknown type.
uint64_t ElementBytes(TensorProto::Type type) {
  switch (type) {
    case TensorProto::TYPE_FLOAT32:
      return 4;
    case TensorProto::TYPE_INT64:
      return 8;
    case TensorProto::TYPE_UINT8:
      return 1;
    default:
      return 0;
  }
}

// The bytes of a tensor of that type and shape. An error if they exceed `limit` or if the type or
// the shape is invalid.
absl::StatusOr<uint64_t> TensorBytes(const TensorProto& tensor, uint64_t limit) {
  uint64_t bytes = ElementBytes(tensor.type());
  if (bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", tensor.name(), " is of unknown type ", tensor.type()));
  }
  for (const int64_t size : tensor.shape()) {
    if (size < 0 || (size > 0 && bytes > limit / size)) {
      return absl::InvalidArgumentError(absl::StrCat("cut short or damaged: tensor ", tensor.name(),
                                                     " is larger than the ", limit,
                                                     " bytes behind the head"));
    }
    bytes *= size;
  }
  return bytes;
}

// Tensors follow each other: the next one begins at `end`.
void AddTensor(const NamedTensor& tensor, absl::string_view prefix, v1::CheckpointHeader& head,
               uint64_t& end) {
  TensorProto& entry = *head.add_tensors();
  entry.set_name(absl::StrCat(prefix, tensor.name));
  entry.mutable_shape()->Assign(tensor.shape.begin(), tensor.shape.end());
  entry.set_type(tensor.type);
  entry.set_offset(end);
  end += tensor.bytes.size();
}

v1::CheckpointHeader MakeHead(const Checkpoint& checkpoint) {
  v1::CheckpointHeader head;
  FillHeader(head);
  *head.mutable_network() = checkpoint.network;
  *head.mutable_observation() = MakeObservationSpec();
  head.set_step(checkpoint.step);
  head.set_training_state(checkpoint.training_state);
  head.set_git_commit(checkpoint.git_commit);
  uint64_t end = 0;
  for (const NamedTensor& tensor : checkpoint.weights) AddTensor(tensor, "", head, end);
  for (const NamedTensor& tensor : checkpoint.optimizer) {
    AddTensor(tensor, kOptimizerPrefix, head, end);
  }
  return head;
}

std::string WholeFile(const v1::CheckpointHeader& head, const Checkpoint& checkpoint) {
  std::string content = SerializeDeterministically(head);
  const std::string length = EncodeLength(content.size());
  for (const NamedTensor& tensor : checkpoint.weights) content += tensor.bytes;
  for (const NamedTensor& tensor : checkpoint.optimizer) content += tensor.bytes;
  return absl::StrCat(kMagic, length, Sha256(content), content);
}

// OK if LoadCheckpoint accepts a file with such a head.
absl::Status CheckLimits(const v1::CheckpointHeader& head, const Checkpoint& checkpoint,
                         const CheckpointLimits& limits) {
  const uint64_t head_bytes = head.ByteSizeLong();
  uint64_t file_bytes = kPreambleBytes + head_bytes;
  for (const NamedTensor& tensor : checkpoint.weights) file_bytes += tensor.bytes.size();
  for (const NamedTensor& tensor : checkpoint.optimizer) file_bytes += tensor.bytes.size();
  if (head_bytes > limits.head) {
    return absl::OutOfRangeError(absl::StrCat("not saved: the checkpoint's head takes ", head_bytes,
                                              " bytes, ", limits.head, " can be read"));
  }
  if (file_bytes > limits.file) {
    return absl::OutOfRangeError(absl::StrCat("not saved: the checkpoint takes ", file_bytes,
                                              " bytes, ", limits.file, " can be read"));
  }
  return absl::OkStatus();
}

// The bytes behind the head must be those of the tensors, one after the other.
absl::Status CheckPayloadSize(const FileParts& parts) {
  uint64_t end = 0;
  for (const TensorProto& tensor : parts.head.tensors()) {
    const absl::StatusOr<uint64_t> bytes = TensorBytes(tensor, parts.payload.size());
    if (!bytes.ok()) return bytes.status();
    if (tensor.offset() != end) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", tensor.name(), " begins at ",
                                                     tensor.offset(), ", must begin at ", end));
    }
    end += *bytes;
  }
  if (end == parts.payload.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(end > parts.payload.size() ? "cut short" : "damaged", ": tensors take ", end,
                   " bytes, there are ", parts.payload.size()));
}

absl::StatusOr<FileParts> TakeApart(absl::string_view bytes, const std::string& path) {
  if (!absl::StartsWith(bytes, kMagic.substr(0, bytes.size())) || bytes.empty()) {
    return FileError(path, "not a checkpoint: one begins with \"MMZMODEL\"");
  }
  if (bytes.size() < kPreambleBytes) return FileError(path, "cut short: checkpoint without a head");
  const uint64_t length = DecodeLength(bytes.substr(kMagic.size(), kLengthBytes));
  const absl::string_view sha = bytes.substr(kPreambleBytes - kShaBytes, kShaBytes);
  const absl::string_view content = bytes.substr(kPreambleBytes);
  if (length > content.size()) {
    return FileError(path, absl::StrCat("cut short: the head takes ", length, " bytes, there are ",
                                        content.size()));
  }
  if (length > CheckpointLimits().head) {
    return FileError(path, absl::StrCat("damaged: a head of ", length, " bytes"));
  }
  const google::protobuf::LogSilencer silencer;  // this function reports the error itself
  FileParts parts = {.head = {}, .payload = content.substr(length)};
  if (!ParseBytes(content.substr(0, length), parts.head)) {
    return FileError(path, "damaged: the head cannot be read");
  }
  // This check comes before the checksum, so that an older file is reported as such.
  MMZ_RETURN_IF_ERROR(CheckHeader(parts.head, path));
  MMZ_RETURN_IF_ERROR(StatusAt(path, CheckPayloadSize(parts)));
  if (Sha256(content) != sha) {
    return FileError(path, "damaged: the SHA-256 of its content is not the one it states");
  }
  return parts;
}

NamedTensor ToTensor(const TensorProto& entry, absl::string_view payload) {
  // CheckPayloadSize has checked the size.
  const uint64_t size = TensorBytes(entry, payload.size()).value_or(0);
  return {.name = std::string(absl::StripPrefix(entry.name(), kOptimizerPrefix)),
          .shape = {entry.shape().begin(), entry.shape().end()},
          .type = entry.type(),
          .bytes = std::string(payload.substr(entry.offset(), size))};
}

}  // namespace

absl::Status SaveCheckpoint(const std::string& path, const Checkpoint& checkpoint,
                            const CheckpointLimits& limits) {
  const v1::CheckpointHeader head = MakeHead(checkpoint);
  MMZ_RETURN_IF_ERROR(StatusAt(path, CheckLimits(head, checkpoint, limits)));
  return WriteFileAtomically(path, WholeFile(head, checkpoint));
}

std::string SerializeCheckpoint(const Checkpoint& checkpoint) {
  return WholeFile(MakeHead(checkpoint), checkpoint);
}

absl::StatusOr<Checkpoint> LoadCheckpoint(const std::string& path) {
  const absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  return ParseCheckpoint(*bytes, path);
}

absl::StatusOr<Checkpoint> ParseCheckpoint(absl::string_view bytes, const std::string& name) {
  const absl::StatusOr<FileParts> parts = TakeApart(bytes, name);
  if (!parts.ok()) return parts.status();
  const v1::CheckpointHeader& head = parts->head;
  MMZ_RETURN_IF_ERROR(StatusAt(name, CheckObservationSpec(head.observation())));
  MMZ_RETURN_IF_ERROR(StatusAt(name, ValidateNetworkConfig(head.network())));
  MMZ_RETURN_IF_ERROR(StatusAt(name, CheckPlayable(head.network())));
  Checkpoint checkpoint;
  checkpoint.network = head.network();
  checkpoint.step = head.step();
  checkpoint.training_state = head.training_state();
  checkpoint.git_commit = head.git_commit();
  for (const TensorProto& entry : head.tensors()) {
    const bool of_optimizer = absl::StartsWith(entry.name(), kOptimizerPrefix);
    (of_optimizer ? checkpoint.optimizer : checkpoint.weights)
        .push_back(ToTensor(entry, parts->payload));
  }
  return checkpoint;
}

}  // namespace mallocmuzero
