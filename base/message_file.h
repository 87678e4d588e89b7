// Stores protobuf messages, each in a file of its own.

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
// (file.proto), or 1. Readers accept this version and older ones.
uint32_t FileVersion(const google::protobuf::Message& message);

// Serialises a message so that equal messages give equal bytes: fields in ascending order, map
// entries sorted.
std::string SerializeDeterministically(const google::protobuf::Message& message);

// Sets message.header to the message's own full name and FileVersion. The message must have a
// field "header" of type FileHeader.
void FillHeader(google::protobuf::Message& message);

// InvalidArgument, starting with `name`, if message.header is not what FillHeader sets in this
// version or set in an older one.
absl::Status CheckHeader(const google::protobuf::Message& message, absl::string_view name);

// Parses the binary `bytes` into `message`, whose header is not checked if it has one. False if
// they are no complete message, or too many for protobuf: 2 GiB or more.
bool ParseBytes(absl::string_view bytes, google::protobuf::MessageLite& message);

// Reads a file that WriteMessage wrote into `message`; see ReadMessage for formats and errors.
absl::Status ReadMessageInto(const std::string& path, google::protobuf::Message& message);

// Parses `bytes` into `message`, in text format if `text`, else in binary. Error messages name the
// file as `name`. Checks the header as ReadMessage does.
absl::Status ParseMessage(absl::string_view bytes, bool text, absl::string_view name,
                          google::protobuf::Message& message);

// Writes `message` with its header filled in: in text format if the path ends in ".textproto" or
// ".textproto.zst", else in binary. Files that end in ".program" or ".zst" are compressed. Equal
// messages give equal files. InvalidArgument, with the field in the message, if a string is not
// UTF-8, because no reader would accept it. OutOfRange if it takes 2 GiB or more in binary, which
// protobuf cannot write. After these errors the file is as it was.
absl::Status WriteMessageFrom(const std::string& path, const google::protobuf::Message& message);

// Reads the message T, which must have a FileHeader, from `path`: in text format if the path ends
// in ".textproto" or ".textproto.zst", else in binary. If the file is missing, empty, damaged, of
// another format, or contains another message or a newer version, the error is one line that names
// the file.
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
