#include "simulator/core/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <fstream>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/mapping.pb.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

v1::Program SmallProgram() {
  testing::ProgramBuilder builder;
  const uint32_t weights = builder.AddBuffer(100, {.live_in = true});
  builder.AddInstruction(10, {testing::Read(weights, 5)});
  return builder.BuildProto();
}

template <typename T>
std::string ReadError(const std::string& path) {
  return std::string(ReadMessage<T>(path).status().message());
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
  // Nothing but the file: the folder can be removed after it.
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

// A device or a pipe stays what it is: the bytes go into it.
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

TEST(MessageFile, ProgramsAreCompressedAndReproducible) {
  ASSERT_TRUE(WriteMessage(Path("a.program"), SmallProgram()).ok());
  ASSERT_TRUE(WriteMessage(Path("b.program"), SmallProgram()).ok());
  EXPECT_EQ(ReadRaw(Path("a.program")).substr(0, 4), "\x28\xB5\x2F\xFD");
  EXPECT_EQ(ReadRaw(Path("a.program")), ReadRaw(Path("b.program")));
}

TEST(MessageFile, WriterFillsTheHeader) {
  ASSERT_TRUE(WriteMessage(Path("h.mapping"), v1::Mapping()).ok());
  const absl::StatusOr<v1::Mapping> back = ReadMessage<v1::Mapping>(Path("h.mapping"));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->header().message(), "mallocmuzero.v1.Mapping");
  EXPECT_EQ(back->header().version(), 1);
}

// A reader would refuse it.
TEST(MessageFile, TextThatIsNotUtf8IsNotWritten) {
  std::remove(Path("not_utf_8.program").c_str());
  v1::Program program = SmallProgram();
  program.mutable_instructions(0)->set_op_name("a\xff");
  const absl::Status status = WriteMessage(Path("not_utf_8.program"), program);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            Path("not_utf_8.program") + ": instructions[0].op_name: UTF-8 expected, found a\\xff");
  EXPECT_TRUE(absl::IsNotFound(ReadFile(Path("not_utf_8.program")).status()));
  program.mutable_instructions(0)->set_op_name("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_TRUE(WriteMessage(Path("utf_8.program"), program).ok());
}

TEST(MessageFile, EmptyFileIsNamed) {
  WriteRaw(Path("e.program"), "");
  EXPECT_EQ(ReadError<v1::Program>(Path("e.program")),
            Path("e.program") + ": empty file, expected mallocmuzero.v1.Program");
}

TEST(MessageFile, OtherMessageIsNamed) {
  for (const char* name : {"o.mapping", "o.textproto"}) {
    ASSERT_TRUE(WriteMessage(Path(name), v1::Mapping()).ok());
    EXPECT_EQ(ReadError<v1::Program>(Path(name)),
              Path(name) + ": expected mallocmuzero.v1.Program, found mallocmuzero.v1.Mapping");
  }
}

// A field that the expected message lacks must not hide that it is another message.
TEST(MessageFile, OtherMessageInTextIsNamedBeforeItsFields) {
  v1::Mapping mapping;
  mapping.set_solver("x");
  ASSERT_TRUE(WriteMessage(Path("f.textproto"), mapping).ok());
  EXPECT_EQ(
      ReadError<v1::Program>(Path("f.textproto")),
      Path("f.textproto") + ": expected mallocmuzero.v1.Program, found mallocmuzero.v1.Mapping");
}

TEST(MessageFile, OtherVersionIsNamed) {
  v1::Mapping mapping;
  FillHeader(mapping);
  mapping.mutable_header()->set_version(7);
  WriteRaw(Path("v.mapping"), mapping.SerializeAsString());
  EXPECT_EQ(ReadError<v1::Mapping>(Path("v.mapping")),
            Path("v.mapping") +
                ": header.version: 1 expected, found 7; the file is from a newer build of this "
                "software");
}

TEST(MessageFile, OlderVersionsAreRead) {
  v1::Program program = SmallProgram();
  EXPECT_EQ(program.header().version(), 2);
  program.mutable_header()->set_version(1);
  WriteRaw(Path("v.program"), program.SerializeAsString());
  EXPECT_TRUE(ReadMessage<v1::Program>(Path("v.program")).ok());
  for (const uint32_t version : {0, 3}) {
    program.mutable_header()->set_version(version);
    WriteRaw(Path("v.program"), program.SerializeAsString());
    EXPECT_THAT(ReadError<v1::Program>(Path("v.program")),
                HasSubstr(absl::StrCat(": header.version: 1 to 2 expected, found ", version)));
  }
}

TEST(MessageFile, ForeignFilesAreNamed) {
  for (const std::string& bytes : {std::string("HloModule jit_f, is_scheduled=true\n"),
                                   std::string("\x7f"
                                               "ELF\x02\x01"),
                                   std::string("\x0a\x05hello"), std::string(100, '\0')}) {
    WriteRaw(Path("foreign"), bytes);
    EXPECT_EQ(ReadError<v1::Program>(Path("foreign")),
              Path("foreign") +
                  ": not a file of this software: a header with message mallocmuzero.v1.Program "
                  "expected");
  }
}

TEST(MessageFile, TextErrorsHaveLineAndColumn) {
  WriteRaw(Path("t.textproto"),
           "header { message: \"mallocmuzero.v1.Mapping\" version: 1 }\nsolver: 5\n");
  EXPECT_EQ(ReadError<v1::Mapping>(Path("t.textproto")),
            Path("t.textproto") + ":2:9: Expected string, got: 5");
  WriteRaw(Path("u.textproto"), "solvent: \"x\"\n");
  EXPECT_THAT(ReadError<v1::Mapping>(Path("u.textproto")),
              HasSubstr("u.textproto:1:8: Message type \"mallocmuzero.v1.Mapping\" has no field"));
}

// What LoadProgram does, without a file.
absl::StatusOr<Program> LoadBytes(const std::string& bytes) {
  const absl::StatusOr<std::string> content = Decompress(bytes, "f");
  if (!content.ok()) return content.status();
  v1::Program proto;
  absl::Status status = ParseMessage(*content, /*text=*/false, "f", proto);
  if (!status.ok()) return status;
  return Program::FromProto(proto);
}

TEST(MessageFile, EveryTruncationIsAnError) {
  ASSERT_TRUE(WriteMessage(Path("whole.program"), SmallProgram()).ok());
  for (const std::string& whole :
       {ReadRaw(Path("whole.program")), SerializeDeterministically(SmallProgram())}) {
    ASSERT_TRUE(LoadBytes(whole).ok());
    for (size_t size = 0; size < whole.size(); ++size) {
      const absl::Status status = LoadBytes(whole.substr(0, size)).status();
      ASSERT_FALSE(status.ok()) << size;
      EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
    }
  }
}

TEST(MessageFile, ErrorsOfTheContentNameTheFile) {
  const std::string whole = SerializeDeterministically(SmallProgram());
  WriteRaw(Path("cut.program"), whole.substr(0, whole.size() - 35));  // the fingerprint
  EXPECT_EQ(LoadProgram(Path("cut.program")).status().message(),
            Path("cut.program") +
                ": fingerprint: does not match the content; the program is damaged or was edited");
}

// A flip may hit a bit that means nothing (true has many encodings): then the program is the same.
TEST(MessageFile, EveryFlippedBitIsAnErrorOrChangesNothing) {
  const std::string whole = SerializeDeterministically(SmallProgram());
  size_t errors = 0;
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const absl::StatusOr<Program> program = LoadBytes(damaged);
    if (program.ok()) {
      EXPECT_EQ(SerializeDeterministically(program->proto()), whole) << bit;
    } else {
      ++errors;
    }
  }
  EXPECT_GT(errors, 7 * whole.size());
}

TEST(MessageFile, EveryFlippedBitOfACompressedFileIsAnErrorOrChangesNothing) {
  ASSERT_TRUE(WriteMessage(Path("whole.program"), SmallProgram()).ok());
  const std::string whole = ReadRaw(Path("whole.program"));
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const absl::StatusOr<Program> program = LoadBytes(damaged);
    if (program.ok()) {
      EXPECT_EQ(program->proto().fingerprint(), SmallProgram().fingerprint()) << bit;
    }
  }
}

TEST(MessageFile, RandomBytesAreAnError) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    v1::Program program;
    EXPECT_FALSE(ParseMessage(bytes, /*text=*/round % 2 == 0, "f", program).ok());
  }
}

TEST(Fingerprint, IsSha256) {
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(absl::BytesToHexString(Sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace mallocmuzero
