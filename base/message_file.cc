#include "base/message_file.h"

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/size32.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "mallocmuzero/v1/file.pb.h"

namespace mallocmuzero {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr int kHeaderFieldNumber = 1;
constexpr uint32_t kHeaderTag = kHeaderFieldNumber << 3 | 2;  // wire type 2: length and bytes

// Most messages inside each other; real files need 5.
constexpr int kMaxNesting = 32;

// InvalidArgument if a string is not UTF-8. Readers refuse such a message, but protobuf's writer
// only logs a warning.
absl::Status CheckUtf8(const Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  std::string scratch;
  for (const FieldDescriptor* f : fields) {
    const bool is_message = f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!is_message && f->type() != FieldDescriptor::TYPE_STRING) continue;
    const bool repeated = f->is_repeated();
    const int count = repeated ? reflection.FieldSize(message, f) : 1;
    for (int i = 0; i < count; ++i) {
      const auto error = [&](absl::string_view what) {
        return absl::InvalidArgumentError(
            absl::StrCat(f->name(), repeated ? absl::StrCat("[", i, "]") : "", what));
      };
      if (is_message) {
        const absl::Status inner = CheckUtf8(repeated ? reflection.GetRepeatedMessage(message, f, i)
                                                      : reflection.GetMessage(message, f));
        if (!inner.ok()) return error(absl::StrCat(".", inner.message()));
        continue;
      }
      const std::string& text = repeated
                                    ? reflection.GetRepeatedStringReference(message, f, i, &scratch)
                                    : reflection.GetStringReference(message, f, &scratch);
      if (IsUtf8(text)) continue;
      return error(absl::StrCat(": UTF-8 expected, found ", absl::CHexEscape(text.substr(0, 80))));
    }
  }
  return absl::OkStatus();
}

bool IsTextPath(absl::string_view path) {
  return absl::EndsWith(path, ".textproto") || absl::EndsWith(path, ".textproto.zst");
}

const FieldDescriptor* HeaderField(const Message& message) {
  return message.GetDescriptor()->FindFieldByNumber(kHeaderFieldNumber);
}

const v1::FileHeader& HeaderOf(const Message& message) {
  return static_cast<const v1::FileHeader&>(
      message.GetReflection()->GetMessage(message, HeaderField(message)));
}

// InvalidArgument if `header` does not belong to a message of the type of `message`.
absl::Status CheckHeaderFields(const v1::FileHeader& header, const Message& message,
                               absl::string_view name) {
  const std::string& expected = message.GetDescriptor()->full_name();
  if (!absl::StartsWith(header.message(), "mallocmuzero.")) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": not a file of this software: a header with message ", expected, " expected"));
  }
  if (header.message() != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": expected ", expected, ", found ",
                     absl::CHexEscape(header.message().substr(0, 80))));
  }
  const uint32_t newest = FileVersion(message);
  if (header.version() < 1 || header.version() > newest) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": header.version: ", newest == 1 ? "1" : absl::StrCat("1 to ", newest),
        " expected, found ", header.version(),
        header.version() > newest ? "; the file is from a newer build of this software" : ""));
  }
  return absl::OkStatus();
}

// The header at the start of binary `bytes`, which is read before anything else is trusted. Empty
// if there is none.
v1::FileHeader PeekHeader(absl::string_view bytes) {
  v1::FileHeader header;
  CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()), Size32(bytes));
  int size = 0;
  std::string text;
  if (stream.ReadTag() != kHeaderTag || !stream.ReadVarintSizeAsInt(&size) || size > bytes.size() ||
      !stream.ReadString(&text, size) || !header.ParseFromString(text)) {
    header.Clear();
  }
  return header;
}

// Keeps the first error, as "line:column: text".
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (text_.empty()) text_ = absl::StrCat(line + 1, ":", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

absl::Status ParseText(absl::string_view bytes, absl::string_view name, Message& message) {
  FirstError error;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxNesting);
  google::protobuf::io::ArrayInputStream stream(bytes.data(), Size32(bytes));
  const bool parsed = parser.Parse(&stream, &message);
  // The header comes first in the text. If it names another message, the error is about that, not
  // about the first field that this message does not have.
  const bool has_header = !HeaderOf(message).message().empty();
  if (parsed || has_header) {
    MMZ_RETURN_IF_ERROR(CheckHeader(message, name));
  }
  if (!parsed) return absl::InvalidArgumentError(absl::StrCat(name, ":", error.text()));
  return absl::OkStatus();
}

absl::Status ParseBinary(absl::string_view bytes, absl::string_view name, Message& message) {
  MMZ_RETURN_IF_ERROR(CheckHeaderFields(PeekHeader(bytes), message, name));
  CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()), Size32(bytes));
  stream.SetRecursionLimit(kMaxNesting);
  if (!message.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": damaged or cut short: no complete ",
                                                   message.GetDescriptor()->full_name()));
  }
  return CheckHeader(message, name);  // a damaged file may contain a second header
}

}  // namespace

uint32_t FileVersion(const Message& message) {
  const google::protobuf::MessageOptions& options = message.GetDescriptor()->options();
  return options.HasExtension(v1::file_version) ? options.GetExtension(v1::file_version) : 1;
}

std::string SerializeDeterministically(const Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  {
    CodedOutputStream output(&stream);
    output.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&output);
  }
  return bytes;
}

void FillHeader(Message& message) {
  auto& header = static_cast<v1::FileHeader&>(
      *message.GetReflection()->MutableMessage(&message, HeaderField(message)));
  header.set_message(message.GetDescriptor()->full_name());
  header.set_version(FileVersion(message));
}

absl::Status CheckHeader(const Message& message, absl::string_view name) {
  return CheckHeaderFields(HeaderOf(message), message, name);
}

absl::Status ParseMessage(absl::string_view bytes, bool text, absl::string_view name,
                          Message& message) {
  if (bytes.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": empty file, expected ", message.GetDescriptor()->full_name()));
  }
  if (bytes.size() > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", bytes.size(),
                                                   " bytes, a message has at most ",
                                                   std::numeric_limits<int>::max()));
  }
  // libprotobuf would print its own messages about damaged input; the status has the error.
  const google::protobuf::LogSilencer silencer;
  return text ? ParseText(bytes, name, message) : ParseBinary(bytes, name, message);
}

bool ParseBytes(absl::string_view bytes, google::protobuf::MessageLite& message) {
  return std::in_range<int>(bytes.size()) && message.ParseFromArray(bytes.data(), Size32(bytes));
}

absl::Status ReadMessageInto(const std::string& path, Message& message) {
  const absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  return ParseMessage(*bytes, IsTextPath(path), path, message);
}

absl::Status WriteMessageFrom(const std::string& path, const Message& message) {
  const std::unique_ptr<Message> filled(message.New());
  filled->CopyFrom(message);
  FillHeader(*filled);
  MMZ_RETURN_IF_ERROR(StatusAt(path, CheckUtf8(*filled)));
  // Protobuf writes nothing of a larger message in binary.
  if (const size_t size = filled->ByteSizeLong(); size > std::numeric_limits<int>::max()) {
    return absl::OutOfRangeError(absl::StrCat(path, ": ", size, " bytes, a message has at most ",
                                              std::numeric_limits<int>::max()));
  }
  std::string bytes;
  if (!IsTextPath(path)) {
    bytes = SerializeDeterministically(*filled);
  } else if (!TextFormat::PrintToString(*filled, &bytes)) {
    return absl::InternalError(absl::StrCat(path, ": cannot print as text"));
  }
  return WriteFileAtomically(path, bytes, absl::EndsWith(path, ".program"));
}

}  // namespace mallocmuzero
