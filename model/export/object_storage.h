// Copies files to and from object storage with an S3 API, by the program rclone.

#ifndef MALLOCMUZERO_MODEL_EXPORT_OBJECT_STORAGE_H_
#define MALLOCMUZERO_MODEL_EXPORT_OBJECT_STORAGE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// All functions take URLs such as s3://bucket/some/prefix. They read the variables of AWS's tools:
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_CA_BUNDLE, and
// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL for storage that is not Amazon's. Keys appear on no
// command line. Errors name the URL: InvalidArgument for a wrong one, FailedPrecondition if there
// is no rclone, NotFound if there is no such object, Unavailable with rclone's message otherwise.

// Whether `path` begins with s3://.
bool IsObjectUrl(absl::string_view path);

// InvalidArgument if there is an object whose name begins with that of `url` and a slash, or if
// `url` names no prefix in a bucket.
absl::Status CheckNewPrefix(const std::string& url);

// Uploads all files of a folder. `last` is the name of the file that is uploaded when all others
// are there.
absl::Status UploadFolder(const std::string& folder, absl::string_view last,
                          const std::string& url);

// Downloads all objects below `url` into the folder, which exists.
absl::Status DownloadFolder(const std::string& url, const std::string& folder);

// Downloads one object into a new file.
absl::Status DownloadFile(const std::string& url, const std::string& file);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_EXPORT_OBJECT_STORAGE_H_
