// What `fix` does around the edits; the edits themselves are in EditsTest.cpp.
#include "checker/driver/Fixing.h"

#include <gtest/gtest.h>

using namespace locktidy;

namespace {

Finding findingAt(const std::string& file, uint32_t line, uint32_t offset) {
  Finding finding;
  finding.at = {file, line, 3, offset, 2};
  finding.lock.at = {"other.h", line, 1, offset, 2};
  finding.sections.push_back({});
  finding.sections[0].at = finding.at;
  finding.fix.edits.push_back({file, "old", offset, 2, line, 3, "ab", "cd"});
  return finding;
}

TEST(MovePlaces, FollowsLinesPastEditsAndIncludes) {
  EditPlan plan;
  plan.files.push_back(
      {"a.cpp", "#include <mutex>\n\nlock a;\n}\nlock b;\n}\nlast;\n",
       "#include <mutex>\n#include <shared_mutex>\n\nshared a;\n}\nlock b;\n}\nlast;\n"});
  Result result;
  result.findings = {findingAt("a.cpp", 1, 0), findingAt("a.cpp", 3, 18), findingAt("a.cpp", 5, 28),
                     findingAt("a.cpp", 7, 38), findingAt("b.cpp", 5, 28)};
  movePlaces(result, plan);
  std::vector<std::pair<uint32_t, uint32_t>> places;
  for (const Finding& finding : result.findings) {
    places.emplace_back(finding.at.line, finding.at.offset);
    EXPECT_EQ(finding.sections[0].at.line, finding.at.line);
    EXPECT_EQ(finding.fix.edits[0].offset, finding.at.offset);
    EXPECT_EQ(finding.fix.edits[0].sha256,
              finding.at.file == "a.cpp" ? sha256Hex(plan.files[0].after) : "old");
  }
  EXPECT_EQ(places, (std::vector<std::pair<uint32_t, uint32_t>>{
                        {1, 0}, {4, 42}, {6, 54}, {8, 64}, {5, 28}}));
  EXPECT_EQ(result.findings[2].lock.at.line, 5u);  // of a file that did not change
}

TEST(MovePlaces, AnyContentsEnd) {
  EditPlan plan;
  plan.files.push_back({"a.cpp", "a\nb\nc\n", ""});
  plan.files.push_back({"b.cpp", "", "x\ny\n"});
  Result result;
  result.findings = {findingAt("a.cpp", 3, 4), findingAt("b.cpp", 1, 0), findingAt("b.cpp", 9, 9)};
  movePlaces(result, plan);
  EXPECT_EQ(result.findings[0].at.line, 1u);
  EXPECT_EQ(result.findings[2].at.line, 9u);
}

TEST(HiddenUnsafe, CountsGroupsByTheirWorstMember) {
  Result result;
  Finding finding = findingAt("a.cpp", 1, 0);
  auto add = [&](const char* group, Safety safety) {
    finding.fix.group = group;
    finding.safety = finding.fix.safety = safety;
    result.findings.push_back(finding);
  };
  add("one", Safety::Safe);
  add("two", Safety::Safe);
  add("two", Safety::Likely);
  add("three", Safety::Likely);
  add("four", Safety::Likely);
  add("four", Safety::Candidate);
  EXPECT_EQ(countHiddenUnsafe(result), 2u);
}

}  // namespace
