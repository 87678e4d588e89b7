// A library to preload (LD_PRELOAD) that knows which bytes of a folder a power cut would leave, and
// that can make the folder's disk hang.
//
// FAULTS_FOLDER names the folder. FAULTS_SYNCED names another folder, the record, in which the
// library keeps what was synced:
//   files/KEY    the bytes of a file at its last fsync or fdatasync
//   folders/KEY  the entries of a folder at its last fsync, one a line: "KEY NAME"
// KEY is an inode number and the time of birth, since inode numbers are used again. While the file
// FAULTS_HANG exists, writes and syncs in the folder wait.
//
// power.py restores the folder from the record after the process was killed. A sync in this library
// copies what was written since the last one and does not ask the real disk for anything.
//
// Two simplifications: folders are made and renamed durably, and writes by mmap are not seen.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kPathBytes = 2 * PATH_MAX, kBuckets = 4096, kMostRanges = 1024, kHangMicroseconds = 20000 };

typedef struct {
  off_t begin, end;
} Range;

// What this process has written to a file since the file's last sync.
typedef struct File {
  struct File* next;
  char key[64];
  bool is_inside;     // in FAULTS_FOLDER
  bool all_is_dirty;  // also before the first sync, since an earlier process may have written to it
  size_t count;
  Range ranges[kMostRanges];
} File;

static const char* folder;  // null: the library does nothing
static size_t folder_bytes;
static const char* record;
static const char* hang;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static File* files[kBuckets];  // guarded by the mutex

static void Begin(void) __attribute__((constructor));
static void Begin(void) {
  folder = getenv("FAULTS_FOLDER");
  record = getenv("FAULTS_SYNCED");
  hang = getenv("FAULTS_HANG");
  if (record == NULL || hang == NULL) folder = NULL;
  if (folder != NULL) folder_bytes = strlen(folder);
}

// A failure of the library itself must not look like one of the process.
static void Check(bool ok, const char* what) {
  if (ok) return;
  dprintf(STDERR_FILENO, "power_cut: %s: %s\n", what, strerror(errno));
  abort();
}

static bool IsInside(const char* path) {
  return strncmp(path, folder, folder_bytes) == 0 &&
         (path[folder_bytes] == '/' || path[folder_bytes] == '\0');
}

static bool PathOf(int descriptor, char* path) {
  char link[64];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  const ssize_t bytes = readlink(link, path, kPathBytes - 1);
  if (bytes < 0) return false;
  path[bytes] = '\0';
  return true;
}

static void KeyOf(const struct statx* info, char key[64]) {
  snprintf(key, 64, "%llu-%lld-%u", (unsigned long long)info->stx_ino,
           (long long)info->stx_btime.tv_sec, info->stx_btime.tv_nsec);
}

static bool Stat(int at, const char* name, struct statx* info) {
  const int flags = AT_SYMLINK_NOFOLLOW | (name[0] == '\0' ? AT_EMPTY_PATH : 0);
  return statx(at, name, flags, STATX_BASIC_STATS | STATX_BTIME, info) == 0;
}

// Returns the entry of a regular file; makes one if there is none. Needs the mutex. Entries of
// removed files stay: a run makes few.
static File* Find(int descriptor, const struct statx* info) {
  char key[64];
  KeyOf(info, key);
  File** bucket = &files[info->stx_ino % kBuckets];
  for (File* file = *bucket; file != NULL; file = file->next) {
    if (strcmp(file->key, key) == 0) return file;
  }
  char path[kPathBytes];
  File* file = calloc(1, sizeof(File));
  Check(file != NULL, "calloc");
  memcpy(file->key, key, sizeof(key));
  file->is_inside = PathOf(descriptor, path) && IsInside(path);
  file->all_is_dirty = true;
  file->next = *bucket;
  *bucket = file;
  return file;
}

// Returns whether the descriptor is of a regular file or a folder in FAULTS_FOLDER.
static bool IsWatched(int descriptor, struct statx* info) {
  if (folder == NULL || !Stat(descriptor, "", info)) return false;
  if (S_ISDIR(info->stx_mode)) {
    char path[kPathBytes];
    return PathOf(descriptor, path) && IsInside(path);
  }
  if (!S_ISREG(info->stx_mode)) return false;
  pthread_mutex_lock(&mutex);
  const bool is_inside = Find(descriptor, info)->is_inside;
  pthread_mutex_unlock(&mutex);
  return is_inside;
}

static void WaitWhileItHangs(void) {
  while (access(hang, F_OK) == 0) usleep(kHangMicroseconds);
}

static void Prepare(int descriptor) {
  const int error = errno;
  struct statx info;
  if (IsWatched(descriptor, &info)) WaitWhileItHangs();
  errno = error;
}

// Notes that `bytes` were written before or at `end`. Called after the write.
static void Note(int descriptor, off_t begin, ssize_t bytes) {
  const int error = errno;
  struct statx info;
  if (bytes > 0 && IsWatched(descriptor, &info)) {
    pthread_mutex_lock(&mutex);
    File* file = Find(descriptor, &info);
    Range* last = file->count > 0 ? &file->ranges[file->count - 1] : NULL;
    if (last != NULL && last->end == begin) {
      last->end += bytes;
    } else if (file->count < kMostRanges) {
      file->ranges[file->count++] = (Range){begin, begin + bytes};
    } else {
      file->all_is_dirty = true;
    }
    pthread_mutex_unlock(&mutex);
  }
  errno = error;
}

// Notes a write that ended at the descriptor's position.
static ssize_t NoteBeforePosition(int descriptor, ssize_t bytes) {
  if (bytes > 0 && folder != NULL) {
    const int error = errno;
    const off_t end = lseek(descriptor, 0, SEEK_CUR);
    errno = error;
    if (end >= 0) Note(descriptor, end - bytes, bytes);
  }
  return bytes;
}

static void Copy(int from, int to, Range range) {
  static char buffer[1 << 16];  // guarded by the mutex
  while (range.begin < range.end) {
    const size_t most = sizeof(buffer);
    const size_t left = (size_t)(range.end - range.begin);
    const ssize_t bytes = pread(from, buffer, left < most ? left : most, range.begin);
    Check(bytes >= 0, "pread");
    if (bytes == 0) return;
    Check(syscall(SYS_pwrite64, to, buffer, bytes, range.begin) == bytes, "pwrite");
    range.begin += bytes;
  }
}

static void SyncFile(int descriptor, const struct statx* info) {
  char name[kPathBytes];
  pthread_mutex_lock(&mutex);
  File* file = Find(descriptor, info);
  snprintf(name, sizeof(name), "/proc/self/fd/%d", descriptor);
  // The descriptor may be one that only writes.
  const int from = open(name, O_RDONLY | O_CLOEXEC);
  Check(from >= 0, name);
  snprintf(name, sizeof(name), "%s/files/%s", record, file->key);
  const int to = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  Check(to >= 0, name);
  struct statx present;
  Check(Stat(from, "", &present), "statx");
  if (file->all_is_dirty) {
    Copy(from, to, (Range){0, (off_t)present.stx_size});
  } else {
    for (size_t i = 0; i < file->count; ++i) Copy(from, to, file->ranges[i]);
  }
  Check(syscall(SYS_ftruncate, to, present.stx_size) == 0, "ftruncate");
  file->all_is_dirty = false;
  file->count = 0;
  close(from);
  close(to);
  pthread_mutex_unlock(&mutex);
}

static void WriteEntries(int descriptor, FILE* list) {
  const int again = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = again >= 0 ? fdopendir(again) : NULL;
  Check(entries != NULL, "opendir");
  for (const struct dirent* entry; (entry = readdir(entries)) != NULL;) {
    struct statx info;
    char key[64];
    if (!Stat(descriptor, entry->d_name, &info) || S_ISDIR(info.stx_mode)) continue;
    KeyOf(&info, key);
    fprintf(list, "%s %s\n", key, entry->d_name);
  }
  closedir(entries);
}

static void SyncFolder(int descriptor, const struct statx* info) {
  char key[64];
  char name[kPathBytes];
  char temporary[kPathBytes + 8];
  KeyOf(info, key);
  snprintf(name, sizeof(name), "%s/folders/%s", record, key);
  snprintf(temporary, sizeof(temporary), "%s.tmp", name);
  pthread_mutex_lock(&mutex);
  FILE* list = fopen(temporary, "we");
  Check(list != NULL, temporary);
  WriteEntries(descriptor, list);
  Check(fclose(list) == 0 && rename(temporary, name) == 0, name);
  pthread_mutex_unlock(&mutex);
}

// Returns false if the file is not in the folder.
static bool Sync(int descriptor) {
  const int error = errno;
  struct statx info;
  const bool is_watched = IsWatched(descriptor, &info);
  if (is_watched) {
    WaitWhileItHangs();
    if (S_ISDIR(info.stx_mode)) {
      SyncFolder(descriptor, &info);
    } else {
      SyncFile(descriptor, &info);
    }
  }
  errno = error;
  return is_watched;
}

static void* Next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  Check(found != NULL, name);
  return found;
}

// Calls the function of that name in the C library. Threads that look it up at once find the same.
#define NEXT(result, name, parameters, ...)                  \
  static result(*next) parameters;                           \
  if (next == NULL) next = (result(*) parameters)Next(name); \
  const result done = next(__VA_ARGS__)

ssize_t write(int descriptor, const void* data, size_t bytes) {
  Prepare(descriptor);
  NEXT(ssize_t, "write", (int, const void*, size_t), descriptor, data, bytes);
  return NoteBeforePosition(descriptor, done);
}

ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  Prepare(descriptor);
  NEXT(ssize_t, "writev", (int, const struct iovec*, int), descriptor, parts, count);
  return NoteBeforePosition(descriptor, done);
}

ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t begin) {
  Prepare(descriptor);
  NEXT(ssize_t, "pwrite", (int, const void*, size_t, off_t), descriptor, data, bytes, begin);
  Note(descriptor, begin, done);
  return done;
}

ssize_t pwritev(int descriptor, const struct iovec* parts, int count, off_t begin) {
  Prepare(descriptor);
  NEXT(ssize_t, "pwritev", (int, const struct iovec*, int, off_t), descriptor, parts, count, begin);
  Note(descriptor, begin, done);
  return done;
}

int ftruncate(int descriptor, off_t bytes) {
  struct statx info;
  const bool is_watched = IsWatched(descriptor, &info);
  if (is_watched) WaitWhileItHangs();
  NEXT(int, "ftruncate", (int, off_t), descriptor, bytes);
  if (is_watched) {
    pthread_mutex_lock(&mutex);
    Find(descriptor, &info)->all_is_dirty = true;
    pthread_mutex_unlock(&mutex);
  }
  return done;
}

int fsync(int descriptor) {
  if (Sync(descriptor)) return 0;
  NEXT(int, "fsync", (int), descriptor);
  return done;
}

int fdatasync(int descriptor) {
  if (Sync(descriptor)) return 0;
  NEXT(int, "fdatasync", (int), descriptor);
  return done;
}

ssize_t pwrite64(int, const void*, size_t, off_t) __attribute__((alias("pwrite")));
ssize_t pwritev64(int, const struct iovec*, int, off_t) __attribute__((alias("pwritev")));
int ftruncate64(int, off_t) __attribute__((alias("ftruncate")));

// For power.py: writes the key of the file at `path` into `key`. Returns false if there is no file.
bool FaultsKeyOf(const char* path, char key[64]) {
  struct statx info;
  if (!Stat(AT_FDCWD, path, &info)) return false;
  KeyOf(&info, key);
  return true;
}
