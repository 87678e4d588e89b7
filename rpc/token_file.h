// A file of tokens, which may change while the process runs.

#ifndef MALLOCMUZERO_RPC_TOKEN_FILE_H_
#define MALLOCMUZERO_RPC_TOKEN_FILE_H_

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace mallocmuzero {

// The first line is the token that this process sends. The first two lines are the tokens that it
// accepts, so that a token can be replaced while processes with the old one and with the new one
// call each other. Looks at the file again when it is used, at most once a second. A file that has
// become unreadable or malformed leaves the tokens as they were. A disk that hangs blocks one
// caller; the others go on with the tokens that they have. Thread-safe.
class TokenFile {
 public:
  // InvalidArgument if the file cannot be read or a token has fewer than 16 characters. Errors name
  // the file and `field`, never a token.
  static absl::StatusOr<std::unique_ptr<TokenFile>> Open(absl::string_view field,
                                                         const std::string& path);

  // Like Open, but a file that is missing has no tokens until it is there.
  static absl::StatusOr<std::unique_ptr<TokenFile>> OpenLater(absl::string_view field,
                                                              const std::string& path);

  // The token that this process sends; empty if there is none.
  std::string token();

  // Whether `text` is `prefix` and one of the accepted tokens. Takes a time that does not depend on
  // where the texts differ.
  bool Accepts(absl::string_view prefix, absl::string_view text);

 private:
  TokenFile(std::string field, std::string path)
      : field_(std::move(field)), path_(std::move(path)) {}

  absl::StatusOr<std::vector<std::string>> Read() const;
  void SetTokens(std::vector<std::string> tokens) ABSL_LOCKS_EXCLUDED(mutex_);
  void Refresh() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string field_;
  const std::string path_;
  absl::Mutex mutex_;
  std::vector<std::string> tokens_ ABSL_GUARDED_BY(mutex_);
  bool is_reading_ ABSL_GUARDED_BY(mutex_) = false;  // a caller looks at the file
  std::chrono::steady_clock::time_point next_look_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_TOKEN_FILE_H_
