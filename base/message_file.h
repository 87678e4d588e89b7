// Protobuf messages that are stored in a file of their own.

#ifndef MALLOCMUZERO_BASE_MESSAGE_FILE_H_
#define MALLOCMUZERO_BASE_MESSAGE_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "google/protobuf/message.h"

namespace mallocmuzero {

// The FileHeader.version that this build writes for a message: its option file_version
// (file.proto), or 1. It reads that version and older ones.
uint32_t FileVersion(const google::protobuf::Message& message);

// The message's fields in ascending order, map entries sorted: equal messages give equal bytes.
std::string SerializeDeterministically(const google::protobuf::Message& message);

// Sets message.header to the message's own full name and FileVersion. The message must have a
// field "header" of type FileHeader.
void FillHeader(google::protobuf::Message& message);

// InvalidArgument, starting with `name`, if message.header is not what FillHeader would set, or
// would have set in an older version.
absl::Status CheckHeader(const google::protobuf::Message& message, absl::string_view name);

// Reads a message written by WriteMessage into `message`; see ReadMessage.
absl::Status ReadMessageInto(const std::string& path, google::protobuf::Message& message);

// Parses `bytes` as a message of the type of `message`; text format if `text`. `name` stands for
// the file in messages. Checks the header as ReadMessage does.
absl::Status ParseMessage(absl::string_view bytes, bool text, absl::string_view name,
                          google::protobuf::Message& message);

// Writes `message` with its header filled in: text format if the path ends in ".textproto" or
// ".textproto.zst", else binary. ".program" and ".zst" are compressed. Equal messages give equal
// files. InvalidArgument, which names the field, if a string is not UTF-8: no reader would take it.
absl::Status WriteMessageFrom(const std::string& path, const google::protobuf::Message& message);

// Reads the message T (one with a FileHeader) from `path`, in text format if the path ends in
// ".textproto" or ".textproto.zst", else in binary. A missing, empty, damaged or foreign file,
// another message or another version is an error of one line that names the file.
template <typename T>
absl::StatusOr<T> ReadMessage(const std::string& path) {
  static_assert(T::kHeaderFieldNumber == 1, "not a message that is stored in a file");
  T message;
  MMZ_RETURN_IF_ERROR(ReadMessageInto(path, message));
  return message;
}

template <typename T>
absl::Status WriteMessage(const std::string& path, const T& message) {
  static_assert(T::kHeaderFieldNumber == 1, "not a message that is stored in a file");
  return WriteMessageFrom(path, message);
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_MESSAGE_FILE_H_
