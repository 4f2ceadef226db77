#include "core/small_vector.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tercel {
namespace {

using Small = SmallVector<int, 3>;

std::vector<int> listed(const Small& v) { return {v.begin(), v.end()}; }

TEST(SmallVector, Constructors) {
  EXPECT_TRUE(Small().empty());
  EXPECT_EQ(listed(Small(4, 7)), (std::vector<int>{7, 7, 7, 7}));
  EXPECT_EQ(listed(Small{1, 2, 3, 4}), (std::vector<int>{1, 2, 3, 4}));
  std::vector<int> source{5, 6};
  EXPECT_EQ(listed(Small(std::span<const int>(source))), source);
  EXPECT_EQ(listed(Small(source.begin(), source.end())), source);
}

// Copies and moves between vectors inline and on the heap, in every combination.
TEST(SmallVector, CopiesAndMoves) {
  const Small kinds[] = {{}, {1, 2}, {1, 2, 3}, {1, 2, 3, 4, 5}};
  for (const Small& from : kinds) {
    for (const Small& to : kinds) {
      Small copy = to;
      copy = from;
      EXPECT_EQ(copy, from);
      Small source = from, moved = to;
      moved = std::move(source);
      EXPECT_EQ(moved, from);
      EXPECT_TRUE(source.empty());
      source.push_back(9);
      EXPECT_EQ(listed(source), std::vector<int>{9});
      EXPECT_EQ(moved, from);
    }
    Small self = from;
    self = *&self;
    EXPECT_EQ(self, from);
  }
}

TEST(SmallVector, AgreesWithStdVector) {
  std::mt19937 random(3);
  Small small;
  std::vector<int> model;
  for (int step = 0; step < 20000; ++step) {
    int value = static_cast<int>(random() % 1000);
    size_t at = random() % (model.size() + 1);
    switch (random() % 8) {
      case 0:
      case 1:
        small.push_back(value);
        model.push_back(value);
        break;
      case 2:
        small.insert(at, value);
        model.insert(model.begin() + static_cast<std::ptrdiff_t>(at), value);
        break;
      case 3:
        if (at == model.size()) break;
        small.erase(at);
        model.erase(model.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 4:
        if (model.empty()) break;
        EXPECT_EQ(small.back(), model.back());
        small.pop_back();
        model.pop_back();
        break;
      case 5:
        small.resize(at, value);
        model.resize(at, value);
        break;
      case 6:
        small.resize(model.size() + value % 3, value);
        model.resize(model.size() + value % 3, value);
        break;
      default:
        if (value == 0) {
          small.clear();
          model.clear();
        }
    }
    ASSERT_EQ(listed(small), model);
  }
}

TEST(SmallVector, ElementOfItselfMayBePushed) {
  Small v{1, 2, 3};
  v.push_back(v[0]);
  EXPECT_EQ(listed(v), (std::vector<int>{1, 2, 3, 1}));
}

TEST(SmallVector, Equality) {
  EXPECT_EQ((Small{1, 2}), (Small{1, 2}));
  EXPECT_NE((Small{1, 2}), (Small{1, 2, 3}));
  EXPECT_NE((Small{1, 2}), (Small{2, 1}));
}

}  // namespace
}  // namespace tercel
