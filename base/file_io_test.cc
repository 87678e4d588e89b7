#include "base/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "base/compression.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

void WriteRaw(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string ReadRaw(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string Zstd(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

TEST(FileIo, ReadsPlainFiles) {
  const std::string bytes(1000000, 'x');
  WriteRaw(Path("plain"), bytes);
  EXPECT_EQ(*ReadFile(Path("plain")), bytes);
  WriteRaw(Path("empty"), "");
  EXPECT_EQ(*ReadFile(Path("empty")), "");
}

TEST(FileIo, DecompressesByMagicWhateverTheName) {
  WriteRaw(Path("looks_plain.txt"), Zstd("hello"));
  EXPECT_EQ(*ReadFile(Path("looks_plain.txt")), "hello");
  WriteRaw(Path("looks_compressed.zst"), "hello");
  EXPECT_EQ(*ReadFile(Path("looks_compressed.zst")), "hello");
}

TEST(FileIo, DecompressesAllFrames) {
  const std::string large(3000000, 'y');
  WriteRaw(Path("frames.zst"), Zstd("first ") + Zstd(large) + Zstd(""));
  EXPECT_EQ(*ReadFile(Path("frames.zst")), "first " + large);
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
  EXPECT_TRUE(absl::IsNotFound(ReadFile(Path("nothing")).status()));
  EXPECT_EQ(ReadFile(Path("nothing")).status().message(),
            Path("nothing") + ": cannot open: No such file or directory");
  EXPECT_EQ(ReadFile(::testing::TempDir()).status().message(),
            ::testing::TempDir() + ": cannot read: Is a directory");
}

TEST(FileIo, WritesReplaceAndLeaveNothingBehind) {
  const std::string folder = Path("replace_folder");
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
  EXPECT_EQ(WriteFileAtomically(Path("no_folder/file"), "x").message(),
            Path("no_folder/file") + ": cannot create: No such file or directory");
  const std::string folder = Path("is_a_folder");
  mkdir(folder.c_str(), 0755);
  EXPECT_THAT(std::string(WriteFileAtomically(folder, "x").message()),
              HasSubstr("is_a_folder: cannot replace: "));
}

// A device or a pipe is not replaced: the bytes are written to it.
TEST(FileIo, WhatIsNoRegularFileIsWrittenToAndNotReplaced) {
  const std::string fifo = Path("fifo");
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

TEST(FileIo, ALinkStaysALinkToWhatIsReplaced) {
  const std::string folder = Path("link_folder");
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

TEST(FileIo, LinksInACircleAreAnError) {
  std::remove(Path("circle").c_str());
  ASSERT_EQ(symlink("circle", Path("circle").c_str()), 0);
  EXPECT_EQ(WriteFileAtomically(Path("circle"), "x").message(),
            Path("circle") + ": cannot create: Too many levels of symbolic links");
}

TEST(FileIo, ZstSuffixCompresses) {
  ASSERT_TRUE(WriteFileAtomically(Path("out.zst"), std::string(100000, 'z')).ok());
  EXPECT_LT(ReadRaw(Path("out.zst")).size(), 1000);
  EXPECT_EQ(*ReadFile(Path("out.zst")), std::string(100000, 'z'));
}

}  // namespace
}  // namespace mallocmuzero
