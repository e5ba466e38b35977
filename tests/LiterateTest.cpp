// Every rule's page is its manual, its examples and its tests at once. Each
// fenced `cpp` block of a page is one test: a translation unit that goes
// through extraction, linking, solving and the rules.
//
//   // want: RULE [TIER] ["part of the message"]   this line has the finding
//   // ok                                          this line has none
//
// A block has exactly the findings it wants; a line marked `ok` must be one
// the tool knows (an acquisition or an access inside a section), so that the
// mark cannot outlive the code it speaks of. A ```cpp fixed block holds the
// lines, in one piece, that `fix --unsafe` changes in the block before it.
// The comment <!-- preamble ... --> of a page is compiled before each block.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "checker/driver/Pipeline.h"
#include "checker/extract/Extract.h"

namespace locktidy {
namespace {

namespace fs = std::filesystem;

struct Example {
  std::string rule, preamble, title;
  uint32_t line = 0;  // of the page: the block's first
  std::string text, fixed;
  bool hasFixed = false;
};

void PrintTo(const Example& e, std::ostream* out) { *out << e.rule << ", line " << e.line; }

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::vector<Example> examplesOf(const RuleInfo& rule) {
  std::vector<Example> out;
  std::string preamble, title;
  std::string* into = nullptr;  // the block that is being read
  std::string skipped;
  bool comment = false;
  std::vector<std::string> lines = linesOf(std::string(rule.manual));
  for (uint32_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (comment ? line == "-->" : line.starts_with("```") && into) {
      into = nullptr;
      comment = false;
    } else if (into) {
      *into += line + "\n";
    } else if (line == "<!-- preamble") {
      into = &preamble;
      comment = true;
    } else if (line == "```cpp fixed" && !out.empty()) {
      EXPECT_FALSE(out.back().hasFixed) << rule.id << ", line " << i + 1 << ": a second fixed block";
      out.back().hasFixed = true;
      into = &out.back().fixed;
    } else if (line == "```cpp") {
      out.push_back({rule.id, preamble, title, i + 2, "", "", false});
      into = &out.back().text;
    } else if (line.starts_with("```")) {
      into = &skipped;
    } else if (line.starts_with("#")) {
      title = line.substr(std::min(line.size(), line.find_first_not_of("# ")));
    }
  }
  return out;
}

std::vector<Example> allExamples() {
  std::vector<Example> out;
  for (const RuleInfo& rule : ruleInfos())
    for (Example& e : examplesOf(rule)) out.push_back(std::move(e));
  return out;
}

struct Want {
  uint32_t line = 0;  // of the block, from 1
  std::string rule, tier, message;
};

struct Marks {
  std::vector<Want> wants;
  std::vector<uint32_t> oks;
};

Marks marksOf(const std::string& text) {
  static const std::regex kWant(R"re(want: ([a-z-]+)(?: (safe|likely|candidate))?(?: "([^"]*)")?)re");
  static const std::regex kOk(R"(// ok\b)");
  Marks marks;
  std::vector<std::string> lines = linesOf(text);
  for (uint32_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    for (std::sregex_iterator m(line.begin(), line.end(), kWant), end; m != end; ++m)
      marks.wants.push_back({i + 1, (*m)[1], (*m)[2], (*m)[3]});
    if (std::regex_search(line, kOk)) marks.oks.push_back(i + 1);
  }
  return marks;
}

// The code of a line, without its mark and the space before that.
std::string codeOf(const std::string& line) {
  static const std::regex kMark(R"(\s*(// (want:|ok\b).*)?$)");
  return std::regex_replace(line, kMark, "", std::regex_constants::format_first_only);
}
std::vector<std::string> codeLines(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string& line : linesOf(text)) out.push_back(codeOf(line));
  while (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

const Models& shippedModels() {
  static const Models models = [] {
    Models m;
    std::string error;
    EXPECT_TRUE(m.loadDirectory(LOCKTIDY_SOURCE_DIR "/rules/models", error)) << error;
    return m;
  }();
  return models;
}

class LiterateTest : public testing::TestWithParam<Example> {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() /
           ("locktidy-page-" + GetParam().rule + std::to_string(GetParam().line) + "-" + std::to_string(getpid()));
    fs::create_directories(dir_);
    write("preamble.h", GetParam().preamble);
  }
  void TearDown() override { fs::remove_all(dir_); }

  void write(const std::string& name, const std::string& text) { std::ofstream(dir_ / name) << text; }

  AnalysisOutput run(const std::string& text, const std::vector<std::string>& select) {
    write("example.cpp", text);
    ExtractJob job;
    job.directory = job.root = dir_.string();
    job.file = (dir_ / "example.cpp").string();
    job.resourceDir = findResourceDir();
    job.arguments = {"c++", "-std=c++20", "-include", "preamble.h", "-c", "example.cpp"};
    std::vector<TuFacts> units(1, extractTu(job));
    EXPECT_EQ(units[0].status, UnitStatus::Ok) << units[0].strings[units[0].failure];
    AnalysisOptions options;
    options.root = dir_.string();
    options.select = select;
    return analyse(std::move(units), shippedModels(), options);
  }

  // The place of a line of the block, as an editor finds it.
  std::string at(uint32_t line) {
    return "rules/" + GetParam().rule + "/rule.md:" + std::to_string(GetParam().line + line - 1) + " (" +
           GetParam().title + ")";
  }

  // Takes from `findings` what is wanted and complains about the rest.
  void compare(std::vector<Finding> findings, const std::vector<Want>& wants, const AnalysisOutput& out) {
    for (const Want& w : wants) {
      auto it = std::find_if(findings.begin(), findings.end(),
                             [&](const Finding& f) { return f.rule == w.rule && f.at.line == w.line; });
      if (it == findings.end()) {
        ADD_FAILURE() << at(w.line) << ": no finding of " << w.rule << "\n"
                      << out.why("example.cpp:" + std::to_string(w.line)) << out.unknownReport;
        continue;
      }
      if (!w.tier.empty()) {
        std::string assumes;
        for (const std::string& a : it->assumes) assumes += "\n  assuming " + a;
        EXPECT_EQ(toString(it->safety), w.tier) << at(w.line) << assumes;
      }
      EXPECT_NE(it->message.find(w.message), std::string::npos) << at(w.line) << ": " << it->message;
      findings.erase(it);
    }
    for (const Finding& f : findings) ADD_FAILURE() << at(f.at.line) << ": unexpected: " << f.message;
  }

  fs::path dir_;
};

TEST_P(LiterateTest, Example) {
  const Example& example = GetParam();
  Marks marks = marksOf(example.text);
  ASSERT_FALSE(marks.wants.empty() && marks.oks.empty()) << at(1) << ": a block that claims nothing";
  std::set<std::string> rules{example.rule};
  for (const Want& w : marks.wants) rules.insert(w.rule);
  std::vector<std::string> select(rules.begin(), rules.end());

  AnalysisOutput out = run(example.text, select);
  compare(out.result.findings, marks.wants, out);
  for (uint32_t line : marks.oks)
    EXPECT_NE(out.why("example.cpp:" + std::to_string(line)), "") << at(line) << ": nothing to be silent about";

  // Fixes: likely ones too, as with --unsafe.
  std::vector<Fix> fixes;
  std::set<std::pair<uint32_t, std::string>> fixed;
  for (const Finding& f : out.result.findings) {
    if (f.safety == Safety::Candidate || f.fix.empty()) continue;
    fixes.push_back(f.fix);
    fixed.insert({f.at.line, f.rule});
  }
  if (fixes.empty()) {
    EXPECT_FALSE(example.hasFixed) << at(1) << ": a fixed block, but nothing is fixed";
    return;
  }
  EditPlan plan = planEdits(fixes, dir_.string());
  EXPECT_TRUE(plan.refused.empty()) << at(1) << ": " << plan.refused.front().second;
  ASSERT_EQ(plan.files.size(), 1u) << at(1);
  const std::string& after = plan.files[0].after;
  std::vector<std::string> before = codeLines(example.text), lines = codeLines(after);
  // Includes that the fix adds are not shown.
  for (const Fix& fix : fixes)
    for (const IncludeEdit& include : fix.includes) {
      auto it = std::find(lines.begin(), lines.end(), "#include " + include.header);
      if (it == lines.end()) continue;
      it = lines.erase(it);
      if (it != lines.end() && it->empty()) lines.erase(it);
    }
  if (example.hasFixed) {
    std::vector<std::string> shown = codeLines(example.fixed);
    // Where lines are taken out, the block shows the whole.
    if (before.size() != lines.size()) {
      ASSERT_EQ(shown, lines) << at(1) << after;
      before = lines;
    }
    auto found = std::search(lines.begin(), lines.end(), shown.begin(), shown.end());
    ASSERT_NE(found, lines.end()) << at(1) << ": `fix` gives\n" << after;
    for (size_t i = 0; i < lines.size(); ++i)
      if (before[i] != lines[i])
        EXPECT_TRUE(i >= size_t(found - lines.begin()) && i < size_t(found - lines.begin()) + shown.size())
            << at(static_cast<uint32_t>(i + 1)) << ": changed, but not in the fixed block:\n" << lines[i];
  }

  // What was fixed is silent. Rules that fixed nothing are not asked: a write
  // that is exclusive now can make a reader beside it worth sharing.
  std::set<std::string> fixedRules;
  for (const auto& [line, rule] : fixed) fixedRules.insert(rule);
  std::vector<Want> left;
  for (const Want& w : marks.wants)
    if (fixedRules.count(w.rule) && !fixed.count({w.line, w.rule})) left.push_back(w);
  AnalysisOutput again = run(after, {fixedRules.begin(), fixedRules.end()});
  compare(again.result.findings, left, again);
}

INSTANTIATE_TEST_SUITE_P(Pages, LiterateTest, testing::ValuesIn(allExamples()), [](const auto& info) {
  std::string name = info.param.rule + "_line_" + std::to_string(info.param.line);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LiterateTest);

TEST(RulePages, HaveTheSectionsOfAManual) {
  for (const RuleInfo& rule : ruleInfos()) {
    std::string page(rule.manual);
    EXPECT_TRUE(page.starts_with("# " + rule.id + "\n")) << rule.id;
    EXPECT_NE(page.find(rule.code), std::string::npos) << rule.id;
    size_t from = 0;
    for (const char* section :
         {"What it finds", "Why it matters", "When it is wrong", "Examples", "Fix safety", "Options"}) {
      size_t at = page.find(std::string("\n## ") + section + "\n", from);
      EXPECT_NE(at, std::string::npos) << rule.id << ": no section " << section << ", or not in its order";
      if (at != std::string::npos) from = at;
    }
    // (What never has an edit is advice that a few examples show.)
    bool advice = page.find("Always a `candidate`") != std::string::npos;
    EXPECT_GE(examplesOf(rule).size(), advice ? 2u : 8u) << rule.id;
    bool wants = false, oks = false, fixes = false;
    for (const Example& e : examplesOf(rule)) {
      Marks marks = marksOf(e.text);
      wants |= !marks.wants.empty();
      oks |= !marks.oks.empty();
      fixes |= e.hasFixed;
    }
    EXPECT_TRUE(wants && oks && (fixes || advice)) << rule.id << ": a page shows findings, silence and a fix";
  }
}

TEST(RulePages, AreEmbeddedAsTheyAre) {
  for (const RuleInfo& rule : ruleInfos()) {
    std::ifstream in(LOCKTIDY_SOURCE_DIR "/rules/" + rule.id + "/rule.md", std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(in), {});
    EXPECT_EQ(text, rule.manual) << rule.id << ": build again";
  }
}

}  // namespace
}  // namespace locktidy
