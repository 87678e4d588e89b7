#include "replay/service/segment_log.h"

#include <fcntl.h>
#include <grpcpp/support/slice.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "base/file_io.h"
#include "base/list_folder.h"
#include "base/size32.h"
#include "base/status_macros.h"
#include "base/sync_folder.h"
#include "replay/wire/crc32c.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

constexpr char kExtension[] = ".segment";
constexpr char kSpareExtension[] = ".spare";

// The most files kept to be overwritten.
constexpr size_t kMaxSpares = 2;

// The most parts of one pwritev(2) call: IOV_MAX on Linux.
constexpr size_t kMaxParts = 1024;

absl::Status ErrnoStatus(const std::string& path, int error) {
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  return IsNoRoom(error) ? absl::ResourceExhaustedError(message) : absl::UnavailableError(message);
}

std::string FileName(uint32_t number) { return absl::StrFormat("%08u%s", number, kExtension); }

}  // namespace

SegmentFile::SegmentFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {}

SegmentFile::~SegmentFile() { close(descriptor_); }

absl::StatusOr<std::shared_ptr<SegmentFile>> SegmentFile::Open(const std::string& path, int flags) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (descriptor < 0) return ErrnoStatus(path, errno);
  return std::shared_ptr<SegmentFile>(new SegmentFile(path, descriptor));
}

absl::Status SegmentFile::Rename(const std::string& path) {
  if (rename(path_.c_str(), path.c_str()) != 0) return ErrnoStatus(path_, errno);
  path_ = path;
  return absl::OkStatus();
}

absl::StatusOr<grpc::Slice> SegmentFile::Read(const SegmentPlace& place) const {
  grpc::Slice slice(place.bytes);
  // Writing is safe: no other slice shares these bytes yet.
  auto* data = const_cast<uint8_t*>(slice.begin());
  for (size_t done = 0; done < place.bytes;) {
    const ssize_t n = pread(descriptor_, data + done, place.bytes - done,
                            static_cast<off_t>(place.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(path_, errno);
    if (n == 0) return absl::DataLossError(absl::StrCat(path_, ": cut short"));
    done += n;
  }
  if (Crc32c(ViewOf(slice)) != place.crc32c) {
    return absl::DataLossError(absl::StrCat(path_, ": wrong checksum at byte ", place.offset));
  }
  return slice;
}

SegmentLog::SegmentLog(SegmentLogOptions options) : options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<SegmentLog>> SegmentLog::Open(SegmentLogOptions options) {
  std::unique_ptr<SegmentLog> log(new SegmentLog(std::move(options)));
  MMZ_RETURN_IF_ERROR(log->Scan());
  return log;
}

absl::Status SegmentLog::Scan() {
  const absl::StatusOr<std::vector<std::filesystem::directory_entry>> entries =
      ListFolder(options_.folder);
  if (!entries.ok()) return absl::UnavailableError(entries.status().message());
  const absl::MutexLock lock(&mutex_);
  for (const std::filesystem::directory_entry& entry : *entries) {
    const std::string name = entry.path().filename().string();
    uint32_t number = 0;
    if (absl::EndsWith(name, kSpareExtension)) unlink(entry.path().c_str());
    // A file with another form of the number is none of the log's.
    if (!absl::EndsWith(name, kExtension) ||
        !absl::SimpleAtoi(name.substr(0, name.size() - std::strlen(kExtension)), &number) ||
        name != FileName(number)) {
      continue;
    }
    absl::StatusOr<std::shared_ptr<SegmentFile>> file =
        SegmentFile::Open(entry.path().string(), O_RDONLY);
    if (!file.ok()) return file.status();
    struct stat info {};
    if (fstat((*file)->descriptor(), &info) != 0) return ErrnoStatus(name, errno);
    const uint64_t size = info.st_size;
    segments_[number] = {.file = *std::move(file), .size = size};
    next_ = std::max(next_, number + 1);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<SegmentFile>> SegmentLog::MakeFile(uint32_t number) {
  const std::string path = absl::StrCat(options_.folder, "/", FileName(number));
  std::shared_ptr<SegmentFile> spare;
  {
    const absl::MutexLock lock(&mutex_);
    if (!spares_.empty()) {
      spare = std::move(spares_.back());
      spares_.pop_back();
    }
  }
  if (spare == nullptr) return SegmentFile::Open(path, O_RDWR | O_CREAT | O_TRUNC);
  MMZ_RETURN_IF_ERROR(spare->Rename(path));
  return spare;
}

absl::Status SegmentLog::Sync(const SegmentPlace& place) const {
  const std::shared_ptr<const SegmentFile> file = File(place);
  if (fdatasync(file->descriptor()) != 0) return ErrnoStatus(file->path(), errno);
  return SyncFolder(options_.folder);
}

absl::Status SegmentLog::SyncAll() const {
  std::vector<std::shared_ptr<SegmentFile>> files;
  {
    const absl::MutexLock lock(&mutex_);
    for (const auto& [number, segment] : segments_) files.push_back(segment.file);
  }
  for (const std::shared_ptr<SegmentFile>& file : files) {
    if (fdatasync(file->descriptor()) != 0) return ErrnoStatus(file->path(), errno);
  }
  return SyncFolder(options_.folder);
}

absl::Status SegmentLog::BeginSegment() {
  uint32_t number = 0;
  {
    const absl::MutexLock lock(&mutex_);
    if (active_ != 0 && segments_[active_].size < options_.segment_bytes) return absl::OkStatus();
    number = next_;
  }
  absl::StatusOr<std::shared_ptr<SegmentFile>> file = MakeFile(number);
  if (!file.ok()) return file.status();
  // The file's name must reach the disk too, so the folder is synced.
  if (options_.sync) MMZ_RETURN_IF_ERROR(SyncFolder(options_.folder));
  std::shared_ptr<SegmentFile> unused;
  {
    const absl::MutexLock lock(&mutex_);
    const uint32_t full = std::exchange(active_, number);
    if (full != 0 && segments_[full].used == 0) unused = TakeOut(full);
    segments_[number] = {.file = *std::move(file)};
    next_ = number + 1;
  }
  Discard(unused);
  return absl::OkStatus();
}

absl::Status SegmentLog::Write(const SegmentFile& file, uint64_t offset,
                               absl::Span<const Item* const> items) const {
  std::vector<iovec> parts;
  parts.reserve(items.size());
  for (const Item* item : items) {
    parts.push_back({const_cast<uint8_t*>(item->wire.begin()), item->wire.size()});
  }
  for (size_t next = 0; next < parts.size();) {
    const int count = std::min(kMaxParts, parts.size() - next);
    const ssize_t n = pwritev(file.descriptor(), &parts[next], count, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(file.path(), errno);
    offset += n;
    size_t written = n;
    while (next < parts.size() && written >= parts[next].iov_len) written -= parts[next++].iov_len;
    if (written > 0) {
      parts[next].iov_base = static_cast<uint8_t*>(parts[next].iov_base) + written;
      parts[next].iov_len -= written;
    }
  }
  if (options_.sync && fdatasync(file.descriptor()) != 0) return ErrnoStatus(file.path(), errno);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SegmentPlace>> SegmentLog::Append(absl::Span<const Item* const> items) {
  std::vector<SegmentPlace> places;
  if (items.empty()) return places;
  MMZ_RETURN_IF_ERROR(BeginSegment());
  uint32_t number = 0;
  uint64_t begin = 0;
  std::shared_ptr<SegmentFile> file;
  {
    const absl::MutexLock lock(&mutex_);
    number = active_;
    begin = segments_[number].size;
    file = segments_[number].file;
  }
  uint64_t end = begin;
  places.reserve(items.size());
  for (const Item* item : items) {
    places.push_back({.segment = number,
                      .bytes = Size32<uint32_t>(item->wire),
                      .offset = end,
                      .crc32c = item->crc32c});
    end += item->wire.size();
  }
  // `size` stays as it is after a failed write, so the next write overwrites what this one has
  // left.
  MMZ_RETURN_IF_ERROR(Write(*file, begin, items));
  const absl::MutexLock lock(&mutex_);
  segments_[number].size = end;
  segments_[number].used += end - begin;
  return places;
}

bool SegmentLog::Use(const SegmentPlace& place) {
  const absl::MutexLock lock(&mutex_);
  const auto found = segments_.find(place.segment);
  if (found == segments_.end() || place.bytes > found->second.size ||
      place.offset > found->second.size - place.bytes) {
    return false;
  }
  found->second.used += place.bytes;
  return true;
}

void SegmentLog::Release(const SegmentPlace& place) {
  std::shared_ptr<SegmentFile> unused;
  {
    const absl::MutexLock lock(&mutex_);
    Segment& segment = segments_[place.segment];
    segment.used -= place.bytes;
    if (segment.used == 0 && place.segment != active_) unused = TakeOut(place.segment);
  }
  Discard(unused);
}

// Returns the file, which no longer belongs to the log; null while files are pinned.
std::shared_ptr<SegmentFile> SegmentLog::TakeOut(uint32_t number) {
  const auto found = segments_.find(number);
  std::shared_ptr<SegmentFile> file = std::move(found->second.file);
  segments_.erase(found);
  if (pins_ == 0) return file;
  unlink_later_.push_back(file->path());
  return nullptr;
}

// Keeps the file as a spare or removes it. Does nothing for null.
void SegmentLog::Discard(const std::shared_ptr<SegmentFile>& file) {
  if (file != nullptr && !Spare(file)) unlink(file->path().c_str());
}

// Keeps a file to be overwritten. Returns false if enough are kept, or if the file is being read,
// is part of a copy of the shard, or is of an earlier run (opened read-only).
bool SegmentLog::Spare(const std::shared_ptr<SegmentFile>& file) {
  {
    const absl::MutexLock lock(&mutex_);
    if (spares_.size() >= kMaxSpares) return false;
  }
  struct stat info {};
  if (file.use_count() > 1 || fcntl(file->descriptor(), F_GETFL) % 4 != O_RDWR ||
      fstat(file->descriptor(), &info) != 0 || info.st_nlink != 1) {
    return false;
  }
  if (!file->Rename(absl::StrCat(file->path(), kSpareExtension)).ok()) return false;
  const absl::MutexLock lock(&mutex_);
  spares_.push_back(file);
  return true;
}

bool SegmentLog::FreeSpares() {
  std::vector<std::shared_ptr<SegmentFile>> spares;
  {
    const absl::MutexLock lock(&mutex_);
    spares = std::exchange(spares_, {});
  }
  for (const std::shared_ptr<SegmentFile>& file : spares) unlink(file->path().c_str());
  return !spares.empty();
}

void SegmentLog::RemoveUnused() {
  std::vector<std::shared_ptr<SegmentFile>> files;
  {
    const absl::MutexLock lock(&mutex_);
    std::vector<uint32_t> unused;
    for (const auto& [number, segment] : segments_) {
      if (segment.used == 0 && number != active_) unused.push_back(number);
    }
    for (const uint32_t number : unused) files.push_back(TakeOut(number));
  }
  for (const std::shared_ptr<SegmentFile>& file : files) Discard(file);
}

std::shared_ptr<const SegmentFile> SegmentLog::File(const SegmentPlace& place) const {
  const absl::MutexLock lock(&mutex_);
  return segments_.at(place.segment).file;
}

void SegmentLog::Pin() {
  const absl::MutexLock lock(&mutex_);
  ++pins_;
}

void SegmentLog::Unpin() {
  std::vector<std::string> unused;
  {
    const absl::MutexLock lock(&mutex_);
    if (--pins_ > 0) return;
    unused = std::exchange(unlink_later_, {});
  }
  for (const std::string& path : unused) unlink(path.c_str());
}

absl::Status SegmentLog::LinkInto(const std::string& folder) const {
  std::vector<std::string> paths;
  {
    const absl::MutexLock lock(&mutex_);
    paths = unlink_later_;
    for (const auto& [number, segment] : segments_) paths.push_back(segment.file->path());
  }
  for (const std::string& path : paths) {
    const std::string copy =
        absl::StrCat(folder, "/", std::filesystem::path(path).filename().string());
    if (link(path.c_str(), copy.c_str()) == 0) continue;
    if (errno != EXDEV) return ErrnoStatus(copy, errno);
    return absl::FailedPreconditionError(
        absl::StrCat(copy, ": is on another disk than ", path,
                     ": a copy is beside data_dir, which must not be where its disk is mounted"));
  }
  return absl::OkStatus();
}

uint32_t SegmentLog::WorstSegment() const {
  const absl::MutexLock lock(&mutex_);
  uint64_t size = 0;
  uint64_t used = 0;
  uint32_t worst = UINT32_MAX;
  double least = 1;
  for (const auto& [number, segment] : segments_) {
    if (number == active_ || segment.size == 0) continue;
    size += segment.size;
    used += segment.used;
    const double share = static_cast<double>(segment.used) / static_cast<double>(segment.size);
    if (share < least) {
      least = share;
      worst = number;
    }
  }
  // Moving items is not worth it to save a few files.
  return size > 2 * used + 4 * options_.segment_bytes ? worst : UINT32_MAX;
}

uint64_t SegmentLog::bytes() const {
  const absl::MutexLock lock(&mutex_);
  uint64_t sum = 0;
  for (const auto& [number, segment] : segments_) sum += segment.size;
  return sum + spares_.size() * options_.segment_bytes;
}

}  // namespace mallocmuzero
