#include "base/file_io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include <filesystem>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/compression.h"
#include "base/testing/raw_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using testing::ReadRaw;
using testing::TemporaryPath;
using testing::WriteRaw;

std::string Zstd(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

TEST(FileIo, ReadsPlainFiles) {
  const std::string bytes(1000000, 'x');
  WriteRaw(TemporaryPath("plain"), bytes);
  EXPECT_EQ(*ReadFile(TemporaryPath("plain")), bytes);
  WriteRaw(TemporaryPath("empty"), "");
  EXPECT_EQ(*ReadFile(TemporaryPath("empty")), "");
}

TEST(FileIo, DecompressesByMagicWhateverTheName) {
  WriteRaw(TemporaryPath("looks_plain.txt"), Zstd("hello"));
  EXPECT_EQ(*ReadFile(TemporaryPath("looks_plain.txt")), "hello");
  WriteRaw(TemporaryPath("looks_compressed.zst"), "hello");
  EXPECT_EQ(*ReadFile(TemporaryPath("looks_compressed.zst")), "hello");
}

TEST(FileIo, DecompressesAllFrames) {
  const std::string large(3000000, 'y');
  WriteRaw(TemporaryPath("frames.zst"), Zstd("first ") + Zstd(large) + Zstd(""));
  EXPECT_EQ(*ReadFile(TemporaryPath("frames.zst")), "first " + large);
}

TEST(FileIo, RefusesBombs) {
  const std::string bomb = Zstd(std::string(1 << 20, '\0'));
  EXPECT_TRUE(Decompress(bomb, "f", 1 << 20).ok());
  EXPECT_EQ(Decompress(bomb, "f", (1 << 20) - 1).status().message(),
            "f: content is longer than 1048575 bytes");
}

TEST(FileIo, TruncatedOrDamagedZstdIsAnError) {
  const std::string whole = Zstd(std::string(5000, 'a') + "end");
  for (size_t size = 4; size < whole.size(); ++size) {
    EXPECT_FALSE(Decompress(whole.substr(0, size), "f").ok()) << size;
  }
  EXPECT_THAT(std::string(Decompress(whole + "garbage", "f").status().message()),
              HasSubstr("f: damaged zstd data: "));
}

TEST(FileIo, MissingFileAndFolderAreErrors) {
  EXPECT_TRUE(absl::IsNotFound(ReadFile(TemporaryPath("nothing")).status()));
  EXPECT_EQ(ReadFile(TemporaryPath("nothing")).status().message(),
            TemporaryPath("nothing") + ": cannot open: No such file or directory");
  EXPECT_EQ(ReadFile(::testing::TempDir()).status().message(),
            ::testing::TempDir() + ": cannot read: Is a directory");
}

std::string EmptyFolder(const std::string& name) {
  const std::string folder = TemporaryPath(name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  return folder;
}

std::set<std::string> NamesIn(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

// In a container every process has the same id, so an earlier process may have left any name that
// is made of the id and a count.
TEST(FileIo, LeftoversNamedAfterTheSameProcessIdDoNotBlockAWrite) {
  const std::string folder = EmptyFolder("same_process_id");
  for (int i = 0; i < 1000; ++i) {
    WriteRaw(absl::StrCat(folder, "/file.", getpid(), ".", i, ".tmp"), "left over");
  }
  const absl::Status written = WriteFileAtomically(folder + "/file", "new");
  EXPECT_TRUE(written.ok()) << written;
  EXPECT_EQ(ReadRaw(folder + "/file"), "new");
}

TEST(FileIo, WhatAKilledWriteLeavesIsSweptByTheNextProcess) {
  const std::string folder = EmptyFolder("killed_write");
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // The kernel kills the child in the middle of the write.
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    const rlimit small{.rlim_cur = 1000, .rlim_max = 1000};
    setrlimit(RLIMIT_FSIZE, &small);
    signal(SIGXFSZ, SIG_DFL);
    WriteFileAtomically(folder + "/killed", std::string(5000, 'x')).IgnoreError();
    _exit(0);
  }
  int ended = 0;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  ASSERT_TRUE(WIFSIGNALED(ended));
  ASSERT_EQ(NamesIn(folder).size(), 1);
  // Also what was to become another file.
  ASSERT_TRUE(WriteFileAtomically(folder + "/file", "new").ok());
  EXPECT_EQ(NamesIn(folder), std::set<std::string>{"file"});
}

TEST(FileIo, SweepingSparesWhatIsBeingWrittenAndTheFilesOfOthers) {
  const std::string folder = EmptyFolder("being_written");
  const std::string written = "file.mmz-0123456789abcdef.tmp";
  const std::string left = "file.mmz-fedcba9876543210.tmp";
  for (const std::string& name :
       {written, left, std::string("notes.tmp"), std::string("file.mmz-notes.tmp")}) {
    WriteRaw(absl::StrCat(folder, "/", name), "content");
  }
  const int writer = open((folder + "/" + written).c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(writer, 0);
  ASSERT_EQ(flock(writer, LOCK_EX), 0);
  ASSERT_TRUE(WriteFileAtomically(folder + "/file", "new").ok());
  EXPECT_EQ(NamesIn(folder),
            (std::set<std::string>{"file", written, "notes.tmp", "file.mmz-notes.tmp"}));
  close(writer);
}

TEST(FileIo, WritesReplaceAndLeaveNothingBehind) {
  const std::string folder = TemporaryPath("replace_folder");
  mkdir(folder.c_str(), 0755);
  const std::string path = folder + "/file";
  ASSERT_TRUE(WriteFileAtomically(path, "old").ok());
  ASSERT_TRUE(WriteFileAtomically(path, "new").ok());
  EXPECT_EQ(ReadRaw(path), "new");
  // The file is the only one in the folder, so that the folder can be removed after it.
  EXPECT_EQ(std::remove(path.c_str()), 0);
  EXPECT_EQ(std::remove(folder.c_str()), 0);
}

TEST(FileIo, FailedWriteIsAnErrorAndLeavesNothingBehind) {
  EXPECT_EQ(WriteFileAtomically(TemporaryPath("no_folder/file"), "x").message(),
            TemporaryPath("no_folder/file") + ": cannot create: No such file or directory");
  const std::string folder = TemporaryPath("is_a_folder");
  mkdir(folder.c_str(), 0755);
  EXPECT_THAT(std::string(WriteFileAtomically(folder, "x").message()),
              HasSubstr("is_a_folder: cannot replace: "));
}

// A full disk is not a mistake of the caller: the same call may succeed later.
TEST(FileIo, WhatCannotBeWrittenIsFoundBeforeTheWrite) {
  // No file can be made in /proc, even by root.
  for (const std::string& path : {TemporaryPath("none/file"), std::string("/proc/no_such_file")}) {
    EXPECT_EQ(CheckCanWrite(path), WriteFileAtomically(path, "bytes")) << path;
    EXPECT_FALSE(CheckCanWrite(path).ok()) << path;
  }
  EXPECT_TRUE(CheckCanWrite("/dev/null").ok());
}

TEST(FileIo, ACheckLeavesTheFolderAsItWas) {
  const std::string folder = TemporaryPath("checked");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  EXPECT_TRUE(CheckCanWrite(folder + "/new").ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  ASSERT_TRUE(WriteFileAtomically(folder + "/old", "old").ok());
  EXPECT_TRUE(CheckCanWrite(folder + "/old").ok());
  EXPECT_EQ(*ReadFile(folder + "/old"), "old");
}

TEST(FileIo, NoRoomIsAnErrorOfItsOwn) {
  const absl::Status full = WriteFileAtomically("/dev/full", "x");
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_EQ(full.message(), "/dev/full: cannot write: No space left on device");
}

// A device or a pipe is not replaced: the bytes are written to it.
TEST(FileIo, WhatIsNoRegularFileIsWrittenToAndNotReplaced) {
  const std::string fifo = TemporaryPath("fifo");
  std::remove(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int reader = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  const absl::Status written = WriteFileAtomically(fifo, "bytes");
  EXPECT_TRUE(written.ok()) << written;
  struct stat found = {};
  ASSERT_EQ(lstat(fifo.c_str(), &found), 0);
  EXPECT_TRUE(S_ISFIFO(found.st_mode));
  char bytes[8] = {};
  EXPECT_EQ(read(reader, bytes, sizeof(bytes)), 5);
  EXPECT_STREQ(bytes, "bytes");
  close(reader);
}

// A shell redirects an output so: mallocmuzero ... --output /dev/stdout >> file
TEST(FileIo, AnOpenFileOfThisProcessIsWrittenToWhereItStands) {
  const std::string path = TemporaryPath("redirected");
  WriteRaw(path, "before\n");
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const std::string link = TemporaryPath("link_to_redirected");
  std::remove(link.c_str());
  ASSERT_EQ(symlink(absl::StrCat("/dev/fd/", file).c_str(), link.c_str()), 0);
  EXPECT_EQ(CheckCanWrite(link), absl::OkStatus());
  EXPECT_EQ(WriteFileAtomically(link, "first\n"), absl::OkStatus());
  EXPECT_EQ(WriteFileAtomically(absl::StrCat("/proc/self/fd/", file), "second\n"),
            absl::OkStatus());
  EXPECT_EQ(ReadRaw(path), "before\nfirst\nsecond\n");
  close(file);
}

TEST(FileIo, ALinkStaysALinkToWhatIsReplaced) {
  const std::string folder = TemporaryPath("link_folder");
  mkdir(folder.c_str(), 0755);
  WriteRaw(folder + "/target", "old");
  for (const char* name : {"/link", "/link_to_link", "/link_to_nothing"}) {
    std::remove((folder + name).c_str());
  }
  ASSERT_EQ(symlink("target", (folder + "/link").c_str()), 0);
  ASSERT_EQ(symlink((folder + "/link").c_str(), (folder + "/link_to_link").c_str()), 0);
  ASSERT_EQ(symlink("new", (folder + "/link_to_nothing").c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(folder + "/link_to_link", "new").ok());
  EXPECT_EQ(ReadRaw(folder + "/target"), "new");
  ASSERT_TRUE(WriteFileAtomically(folder + "/link_to_nothing", "made").ok());
  EXPECT_EQ(ReadRaw(folder + "/new"), "made");
  for (const char* name : {"/link", "/link_to_link", "/link_to_nothing"}) {
    struct stat found = {};
    ASSERT_EQ(lstat((folder + name).c_str(), &found), 0);
    EXPECT_TRUE(S_ISLNK(found.st_mode)) << name;
  }
}

TEST(FileIo, ALinkOfAnotherUserInAFolderForAllIsNotFollowed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make files of other users";
  constexpr uid_t kOther = 65534;
  const std::string folder = TemporaryPath("folder_for_all");
  std::filesystem::remove_all(folder);
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  ASSERT_EQ(chmod(folder.c_str(), 01777), 0);
  const std::string target = TemporaryPath("target_of_another");
  WriteRaw(target, "old");
  const std::string link = folder + "/link";
  ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
  ASSERT_EQ(lchown(link.c_str(), kOther, kOther), 0);
  EXPECT_FALSE(CheckCanWrite(link).ok());
  EXPECT_EQ(WriteFileAtomically(link, "new").message(),
            link + ": cannot create: Permission denied");
  EXPECT_EQ(ReadRaw(target), "old");
  // Nor is one to a file that this process has open.
  const int file = open(target.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const std::string to_open = folder + "/to_open";
  ASSERT_EQ(symlink(absl::StrCat("/dev/fd/", file).c_str(), to_open.c_str()), 0);
  ASSERT_EQ(lchown(to_open.c_str(), kOther, kOther), 0);
  EXPECT_FALSE(WriteFileAtomically(to_open, "new").ok());
  EXPECT_EQ(ReadRaw(target), "old");
  close(file);
  ASSERT_EQ(lchown(link.c_str(), geteuid(), getegid()), 0);
  EXPECT_TRUE(WriteFileAtomically(link, "new").ok());
  EXPECT_EQ(ReadRaw(target), "new");
}

TEST(FileIo, LinksInACircleAreAnError) {
  std::remove(TemporaryPath("circle").c_str());
  ASSERT_EQ(symlink("circle", TemporaryPath("circle").c_str()), 0);
  EXPECT_EQ(WriteFileAtomically(TemporaryPath("circle"), "x").message(),
            TemporaryPath("circle") + ": cannot create: Too many levels of symbolic links");
}

TEST(FileIo, FilesThatAreWrittenTogetherStayIfOneCannotBeWritten) {
  const std::string one = TemporaryPath("one_of_two");
  const std::string other = TemporaryPath("other_of_two");
  const FileContent files[] = {{.path = one, .bytes = "1"}, {.path = other, .bytes = "2"}};
  ASSERT_TRUE(WriteFilesTogether(files).ok());
  EXPECT_EQ(ReadRaw(one) + ReadRaw(other), "12");
  const FileContent no_folder[] = {{.path = one, .bytes = "3"},
                                   {.path = TemporaryPath("no_folder/file"), .bytes = "4"}};
  EXPECT_EQ(WriteFilesTogether(no_folder).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadRaw(one), "1");
}

TEST(FileIo, ZstSuffixCompresses) {
  ASSERT_TRUE(WriteFileAtomically(TemporaryPath("out.zst"), std::string(100000, 'z')).ok());
  EXPECT_LT(ReadRaw(TemporaryPath("out.zst")).size(), 1000);
  EXPECT_EQ(*ReadFile(TemporaryPath("out.zst")), std::string(100000, 'z'));
}

}  // namespace
}  // namespace mallocmuzero
