#include "simulator/hlo/shape.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "base/enums.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/hlo/shape_parser.h"

namespace mallocmuzero::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Shape Parse(const std::string& text) {
  Lexer lexer(text, "shape");
  Shape shape;
  EXPECT_TRUE(ParseShape(lexer, shape) && lexer.AtEnd()) << text << ": " << lexer.status();
  return shape;
}

std::string ParseError(const std::string& text) {
  Lexer lexer(text, "shape");
  Shape shape;
  EXPECT_FALSE(ParseShape(lexer, shape)) << text;
  return std::string(lexer.status().message());
}

TEST(Shape, ReadsEveryPartOfALayout) {
  const Shape shape = Parse("s4[64,<=512]{1,0:T(64,128)(8,1)E(4)S(3)}");
  EXPECT_EQ(shape.element_type, ElementType::kS4);
  EXPECT_THAT(shape.dims, ElementsAre(64, 512));
  EXPECT_THAT(shape.layout.minor_to_major, ElementsAre(1, 0));
  EXPECT_THAT(shape.layout.tiles, ElementsAre(ElementsAre(64, 128), ElementsAre(8, 1)));
  EXPECT_EQ(shape.layout.element_size_in_bits, 4);
  EXPECT_EQ(shape.layout.memory_space, 3);
}

TEST(Shape, SkipsLayoutPartsThatChangeNothing) {
  const Shape shape =
      Parse("f32[4,8]{1,0:D(D,C~)T(8,128)L(16)#(u32)*(u64)S(1)SC(0:8)P(f32[4]{0})M(16)}");
  EXPECT_THAT(shape.layout.tiles, ElementsAre(ElementsAre(8, 128)));
  EXPECT_EQ(shape.layout.memory_space, 1);
  EXPECT_EQ(ShapeByteSize(shape), 8 * 128 * 4);
}

TEST(Shape, DefaultsToHbmAndRowMajor) {
  const Shape shape = Parse("bf16[2,3]");
  EXPECT_EQ(shape.layout.memory_space, 0);
  EXPECT_THAT(shape.layout.minor_to_major, IsEmpty());
  EXPECT_THAT(shape.layout.tiles, IsEmpty());
  EXPECT_EQ(ShapeByteSize(shape), 12);
}

TEST(Shape, ReadsTokensOpaqueValuesAndBuffers) {
  EXPECT_EQ(Parse("token[]").element_type, ElementType::kToken);
  EXPECT_EQ(ShapeByteSize(Parse("token[]")), 0);
  EXPECT_EQ(Parse("opaque[]").element_type, ElementType::kOpaque);
  EXPECT_EQ(Parse("b(f32[3]{0:T(128)})"), Parse("f32[3]{0:T(128)}"));
}

TEST(Shape, KnowsEveryElementType) {
  for (int i = 0; i < Underlying(ElementType::kTuple); ++i) {
    const auto type = static_cast<ElementType>(i);
    EXPECT_EQ(ElementTypeFromName(ElementTypeName(type)), type);
  }
  EXPECT_EQ(ElementBits(ElementType::kPred), 8);
  EXPECT_EQ(ElementBits(ElementType::kU2), 2);
  EXPECT_EQ(ElementBits(ElementType::kF4E2M1FN), 4);
  EXPECT_EQ(ElementBits(ElementType::kF8E4M3B11FNUZ), 8);
  EXPECT_EQ(ElementBits(ElementType::kBF16), 16);
  EXPECT_EQ(ElementBits(ElementType::kC128), 128);
  EXPECT_EQ(ElementTypeFromName("tuple"), absl::nullopt);
  EXPECT_EQ(ElementTypeFromName("f33"), absl::nullopt);
}

// The sizes that the compiler itself gives (argument_size_in_bytes of a function with that
// argument, libtpu 0.0.51, the same for TPUv4i and v6e).
TEST(ShapeByteSize, EqualsWhatTheCompilerAllocates) {
  const std::pair<std::string, int64_t> kSizes[] = {
      {"bf16[1000,300]{0,1:T(8,128)(2,1)}", 622592},  // 304 x 1024 x 2
      {"f32[3]{0:T(128)}", 512},                      // 128 x 4
      {"s32[]{:T(128)}", 512},                        // 128 x 4
      {"s4[64,512]{1,0:T(64,128)(8,1)E(4)}", 16384},  // 64 x 512 / 2
      {"s4[3,1000]{1,0:T(8,128)(8,1)E(4)}", 4096},    // 8 x 1024 / 2
      {"u4[300]{0:T(1024)(128)(8,1)E(4)}", 512},      // 1024 / 2
      {"pred[100]{0:T(512)(128)(4,1)}", 512},         // 512
      {"pred[7,300]{1,0:T(8,128)(4,1)}", 3072},       // 8 x 384
      {"f32[5,7,9]{2,1,0:T(8,128)}", 20480},          // 5 x 8 x 128 x 4
      {"bf16[1025]{0:T(1024)(128)(2,1)}", 4096},      // 2048 x 2
      {"s8[2,3,4,5]{3,2,1,0:T(4,128)(4,1)}", 3072},   // 2 x 3 x 4 x 128
      {"f8e4m3fn[13,512]{1,0:T(8,128)(4,1)}", 8192},  // 16 x 512
      {"c64[4,4]{1,0:T(4,128)}", 4096},               // 4 x 128 x 8
      {"f32[0,5]{1,0}", 0},
  };
  for (const auto& [text, bytes] : kSizes) EXPECT_EQ(ShapeByteSize(Parse(text)), bytes) << text;
}

TEST(ShapeByteSize, RoundsTheMostMinorDimensionsUpToTheTile) {
  // 1000 sublanes stay 1000 and 300 lanes become 384; (2,1) only pairs rows within the tile.
  EXPECT_EQ(ShapeByteSize(Parse("bf16[1000,300]{1,0:T(8,128)(2,1)}")), 1000 * 384 * 2);
  EXPECT_EQ(ShapeByteSize(Parse("pred[5,130]{1,0:T(4,128)(4,1)}")), 8 * 256);
  EXPECT_EQ(ShapeByteSize(Parse("bf16[]{:T(256)}")), 512);
  // If the array has fewer dimensions than the tile, the missing ones count as 1, and are padded.
  EXPECT_EQ(ShapeByteSize(Parse("f32[130]{0:T(8,128)}")), 8 * 256 * 4);
}

TEST(ShapeByteSize, FollowsThePermutationOfThreeDimensions) {
  EXPECT_EQ(ShapeByteSize(Parse("f32[5,7,9]{0,1,2:T(8,128)}")), 9 * 8 * 128 * 4);
  EXPECT_EQ(ShapeByteSize(Parse("f32[5,7,9]{1,2,0:T(8,128)}")), 5 * 16 * 128 * 4);
  EXPECT_EQ(ShapeByteSize(Parse("bf16[4096,27,64]{0,2,1:T(8,128)(2,1)}")), 27 * 64 * 4096 * 2);
}

TEST(ShapeByteSize, MergesDimensionsWhereTheTileSaysSo) {
  // 3 and 5 merge to 15, which is rounded up to 16.
  EXPECT_EQ(ShapeByteSize(Parse("f32[2,3,5]{2,1,0:T(*,8)}")), 2 * 16 * 4);
  // 5 is rounded up to 8; 2 and 3 merge to 6, which is rounded up to 8.
  EXPECT_EQ(ShapeByteSize(Parse("f32[2,3,5]{2,1,0:T(*,4,8)}")), 8 * 8 * 4);
}

TEST(ShapeByteSize, PacksSmallElementsAndSaturates) {
  EXPECT_EQ(ShapeByteSize(Parse("s4[7]{0}")), 4);
  EXPECT_EQ(ShapeByteSize(Parse("s2[9]{0}")), 3);
  Shape huge;
  huge.element_type = ElementType::kF32;
  huge.dims = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_EQ(ShapeByteSize(huge), std::numeric_limits<int64_t>::max());
  huge.dims.push_back(0);
  EXPECT_EQ(ShapeByteSize(huge), 0);
}

TEST(Shape, VisitsLeavesInOrderWithTheirIndex) {
  const Shape shape = Parse("((f32[1], s32[2]), token[], (), (bf16[3]))");
  std::vector<std::string> visited;
  ForEachLeaf(shape, [&](absl::Span<const int32_t> index, const Shape& leaf) {
    std::string where;
    for (const int32_t i : index) absl::StrAppend(&where, i, "/");
    visited.push_back(absl::StrCat(where, ElementTypeName(leaf.element_type)));
    EXPECT_EQ(SubShape(shape, index), &leaf);
  });
  EXPECT_THAT(visited, ElementsAre("0/0/f32", "0/1/s32", "1/token", "3/0/bf16"));
  EXPECT_EQ(SubShape(shape, {3, 1}), nullptr);
  EXPECT_EQ(SubShape(shape, {0, 0, 0}), nullptr);
  EXPECT_EQ(SubShape(shape, {-1}), nullptr);

  int leaves = 0;
  ForEachLeaf(Parse("f32[2]"), [&](absl::Span<const int32_t> index, const Shape&) {
    EXPECT_THAT(index, IsEmpty());
    ++leaves;
  });
  EXPECT_EQ(leaves, 1);
}

TEST(Shape, CountsPointersOfAllTuples) {
  const Shape shape = Parse("((f32[1], s32[2]), token[])");
  EXPECT_EQ(ShapeByteSize(shape), 0);
  EXPECT_EQ(TuplePointerBytes(shape, 8), (2 + 2) * 8);
  EXPECT_EQ(TuplePointerBytes(Parse("f32[8]"), 8), 0);
}

TEST(Shape, CountsItsArrays) {
  EXPECT_EQ(LeafCount(Parse("f32[8]")), 1);
  EXPECT_EQ(LeafCount(Parse("()")), 0);
  EXPECT_EQ(LeafCount(Parse("(f32[8], (s32[], token[]), ())")), 3);
}

TEST(Shape, PrintsWhatItRead) {
  for (const std::string text :
       {"bf16[1000,300]{1,0:T(8,128)(2,1)S(3)}", "s4[64,512]{1,0:T(64,128)(8,1)E(4)}", "f32[]",
        "s32[]{:T(128)}", "u32[]{:S(2)}", "f32[2,3,5]{2,1,0:T(*,8)}",
        "((bf16[4096,1024]{1,0:T(8,128)}), f32[2]{0}, token[], ())"}) {
    EXPECT_EQ(ShapeToString(Parse(text)), text);
  }
}

TEST(Shape, RefusesWhatIsNoShape) {
  EXPECT_THAT(ParseError("f33[2]"), HasSubstr("shape:1:1: expected a shape, found 'f33'"));
  EXPECT_THAT(ParseError("f32"), HasSubstr("1:4: expected '[', found end of text"));
  EXPECT_THAT(ParseError("f32[-1]"), HasSubstr("1:5: expected a dimension"));
  EXPECT_THAT(ParseError("f32[?]"), HasSubstr("1:5: expected a dimension"));
  EXPECT_THAT(ParseError("f32[2]{1}"), HasSubstr("1:8: expected a permutation of 1 dimension"));
  EXPECT_THAT(ParseError("f32[2,2]{0,0}"), HasSubstr("a permutation of 2 dimension numbers"));
  EXPECT_THAT(ParseError("f32[2,2]{0}"), HasSubstr("a permutation of 2 dimension numbers"));
  EXPECT_THAT(ParseError("f32[2]{0:T(0)}"), HasSubstr("1:12: expected a tile dimension"));
  EXPECT_THAT(ParseError("f32[2]{0:S(-1)}"), HasSubstr("1:12: expected a memory space"));
  EXPECT_THAT(ParseError("f32[2]{0:?}"), HasSubstr("1:10: expected a part of a layout"));
  EXPECT_THAT(ParseError("(f32[2], f32[2]"), HasSubstr("1:16: expected ')', found end of text"));
}

TEST(Shape, RefusesSizesAndDepthsWithoutBound) {
  EXPECT_THAT(ParseError("f32[4294967296,4294967296]"), HasSubstr("less than 2^63 bits"));
  EXPECT_THAT(ParseError("f32[9223372036854775808]"), HasSubstr("expected a dimension"));
  // The array is small, but not when it is rounded up to the tile.
  EXPECT_THAT(ParseError("f32[9223372036854775,1]{1,0:T(8,2147483647)}"), HasSubstr("2^63"));
  EXPECT_THAT(ParseError(std::string(100000, '(')), HasSubstr("at most 64 nested tuples"));
  Parse(std::string(64, '(') + std::string(64, ')'));
  std::string many = "f32[1";
  for (int i = 0; i < 64; ++i) many += ",1";
  EXPECT_THAT(ParseError(many + "]"), HasSubstr("at most 64 dimensions"));
  // The size of an array takes a look at each dimension of its tile, and is asked for often.
  std::string tile = "f32[1]{0:T(1";
  for (int i = 1; i < 64; ++i) tile += ",1";
  Parse(tile + ")}");
  EXPECT_THAT(ParseError(tile + ",1)}"), HasSubstr("at most 64 dimensions of a tile"));
}

}  // namespace
}  // namespace mallocmuzero::hlo
