// Programs of several units, kept in fixtures/*.txt:
//
//   text that says what the file is about
//   === title of a program
//   units: a.cpp, a.cpp -DX        optional; else every .cpp, without flags
//   gap: order                     known gap: the order of units shows
//   -- name.h --
//   lines of the file
//
// Marks at the end of a line:
//   // want: RULE [TIER] ["part of the message"]
//   // ok                          nothing here, though something could be
//   // gap want: RULE [TIER]       known gap: should be a finding (of that tier), is none
//   // gap ok: RULE                known gap: should be silent, is not
//
// Each program is one test. Beside its marks it is held to what must be true
// of any program: the order of units does not matter; less code never gives
// more findings; splitting or joining units changes nothing; what is fixed is
// silent, and fixing again changes nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "checker/driver/Pipeline.h"
#include "checker/extract/Extract.h"
#include "checker/model/FactsIo.h"

namespace locktidy {
namespace {

namespace fs = std::filesystem;

struct UnitLine {
  std::string file;
  std::vector<std::string> flags;
};

struct ProgramText {
  std::string fixture, title;
  std::map<std::string, std::string> files;
  std::vector<UnitLine> units;
  bool orderGap = false;
};

void PrintTo(const ProgramText& p, std::ostream* out) { *out << p.fixture << ": " << p.title; }

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::vector<ProgramText> allPrograms() {
  std::vector<ProgramText> out;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(LOCKTIDY_SOURCE_DIR "/fixtures"))
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    std::ifstream in(path);
    std::string* file = nullptr;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("=== ")) {
        out.push_back({path.stem().string(), line.substr(4), {}, {}, false});
        file = nullptr;
      } else if (line.starts_with("-- ") && line.ends_with(" --") && line.size() > 6 && !out.empty()) {
        file = &out.back().files[line.substr(3, line.size() - 6)];
      } else if (file) {
        *file += line + "\n";
      } else if (line == "gap: order") {
        out.back().orderGap = true;
      } else if (line.starts_with("units: ")) {
        std::istringstream list(line.substr(7));
        for (std::string one; std::getline(list, one, ',');) {
          std::vector<std::string> w = words(one);
          out.back().units.push_back({w[0], {w.begin() + 1, w.end()}});
        }
      }
    }
  }
  for (ProgramText& p : out)
    if (p.units.empty())
      for (const auto& [name, text] : p.files)
        if (name.ends_with(".cpp")) p.units.push_back({name, {}});
  return out;
}

struct Mark {
  std::string file;
  uint32_t line = 0;
  bool gap = false, ok = false;
  std::string rule, tier, message;
  std::string at() const { return file + ":" + std::to_string(line); }
};

std::vector<Mark> marksOf(const ProgramText& p) {
  static const std::regex kMark(
      R"re(// (gap )?(want|ok)(?:: ([a-z-]+))?(?: (safe|likely|candidate))?(?: "([^"]*)")?)re");
  std::vector<Mark> out;
  for (const auto& [name, text] : p.files) {
    std::istringstream in(text);
    uint32_t n = 0;
    for (std::string line; std::getline(in, line);) {
      ++n;
      for (std::sregex_iterator i(line.begin(), line.end(), kMark), end; i != end; ++i) {
        const std::smatch& m = *i;
        out.push_back({name, n, m[1].matched, m[2] == "ok", m[3], m[4], m[5]});
      }
    }
  }
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

// A finding as far as it must not change when the same code is arranged
// differently.
std::string essence(const Finding& f) {
  return f.at.file + ":" + std::to_string(f.at.line) + ":" + std::to_string(f.at.column) + " " + f.rule + " " +
         std::string(toString(f.safety)) + " " + f.message;
}
std::multiset<std::string> essences(const AnalysisOutput& out) {
  std::multiset<std::string> set;
  for (const Finding& f : out.result.findings) set.insert(essence(f));
  return set;
}
std::string listed(const std::multiset<std::string>& set) {
  std::string text;
  for (const std::string& s : set) text += "  " + s + "\n";
  return text;
}

// Makes a definition a declaration, as if the body were in no unit.
void dropBody(FunctionFacts& f) {
  f.hasBody = f.opaque = false;
  f.opaqueReason = 0;
  f.blocks.clear();
  f.calls.clear();
  f.locals.clear();
  f.entry = 0;
  f.bodyBegin = f.bodyEnd = Loc();
}

class ProgramsTest : public testing::TestWithParam<ProgramText> {
 protected:
  void SetUp() override {
    dir_ = fs::temp_directory_path() / ("locktidy-program-" + std::to_string(getpid()));
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    write(GetParam().files);
  }
  void TearDown() override { fs::remove_all(dir_); }

  void write(const std::map<std::string, std::string>& files) {
    for (const auto& [name, text] : files) std::ofstream(dir_ / name) << text;
  }

  std::vector<TuFacts> extract(const std::vector<UnitLine>& units) {
    std::vector<TuFacts> out;
    for (const UnitLine& u : units) {
      ExtractJob job;
      job.directory = job.root = dir_.string();
      job.file = (dir_ / u.file).string();
      job.resourceDir = findResourceDir();
      job.arguments = {"c++", "-std=c++20"};
      if (u.file.ends_with(".c")) job.arguments = {"cc", "-std=gnu11"};
      job.arguments.insert(job.arguments.end(), u.flags.begin(), u.flags.end());
      job.arguments.insert(job.arguments.end(), {"-c", u.file});
      out.push_back(extractTu(job));
      EXPECT_EQ(out.back().status, UnitStatus::Ok) << out.back().strings[out.back().failure];
      EXPECT_EQ(validateFacts(out.back()), "");
    }
    return out;
  }

  AnalysisOutput run(std::vector<TuFacts> units) {
    AnalysisOptions options;
    options.root = dir_.string();
    // Three rules speak of how locks are held; the others are asked where a
    // program names them.
    static const std::set<std::string> kAlways{"exclusive-lock-on-read", "mutex-could-be-shared", "write-under-shared-lock"};
    for (const RuleInfo& rule : ruleInfos()) {
      bool named = kAlways.count(rule.id) != 0;
      for (const auto& [file, text] : GetParam().files) named |= text.find(rule.id) != std::string::npos;
      if (named) options.select.push_back(rule.id);
    }
    return analyse(std::move(units), shippedModels(), options);
  }

  void checkMarks(const AnalysisOutput& out);
  void checkFixes(const std::vector<Finding>& findings, Safety most);
  void checkOrder(const std::vector<TuFacts>& units, const std::string& json);
  void checkLostBodies(const std::vector<TuFacts>& units, const std::vector<Finding>& all);
  void checkSplitUnits(const std::vector<TuFacts>& units, const std::multiset<std::string>& all);
  void checkOneUnit(const std::multiset<std::string>& all);

  fs::path dir_;
};

void ProgramsTest::checkMarks(const AnalysisOutput& out) {
  std::vector<Finding> left = out.result.findings;
  auto take = [&](const Mark& m) -> std::optional<Finding> {
    for (auto it = left.begin(); it != left.end(); ++it)
      if (it->at.file == m.file && it->at.line == m.line && (m.rule.empty() || it->rule == m.rule)) {
        Finding f = *it;
        left.erase(it);
        return f;
      }
    return std::nullopt;
  };
  for (const Mark& m : marksOf(GetParam())) {
    if (m.ok && !m.gap) {
      EXPECT_NE(out.why(m.at()), "") << m.at() << ": nothing to be silent about";
      continue;
    }
    if (m.gap) {
      bool found = std::any_of(out.result.findings.begin(), out.result.findings.end(), [&](const Finding& f) {
        return f.at.file == m.file && f.at.line == m.line && f.rule == m.rule &&
               (m.tier.empty() || toString(f.safety) == m.tier);
      });
      EXPECT_EQ(m.ok, found) << m.at() << ": this gap is closed; change its mark to `" << (m.ok ? "ok" : "want") << "`";
      if (m.ok) take(m);
      continue;
    }
    std::optional<Finding> f = take(m);
    if (!f) {
      ADD_FAILURE() << m.at() << ": no finding of " << m.rule << "\n" << out.why(m.at()) << out.unknownReport;
      continue;
    }
    std::string assumes;
    for (const std::string& a : f->assumes) assumes += "\n  assuming " + a;
    if (!m.tier.empty()) EXPECT_EQ(toString(f->safety), m.tier) << m.at() << assumes;
    EXPECT_NE(f->message.find(m.message), std::string::npos) << m.at() << ": " << f->message;
  }
  for (const Finding& f : left) ADD_FAILURE() << "unexpected: " << essence(f);
}

void ProgramsTest::checkFixes(const std::vector<Finding>& findings, Safety most) {
  std::vector<Fix> fixes;
  std::multiset<std::string> left;
  std::set<std::string> places;
  auto place = [](const Finding& f) { return f.rule + " " + f.at.file + ":" + std::to_string(f.at.line); };
  for (const Finding& f : findings) {
    if (f.safety > most || f.fix.empty()) {
      left.insert(essence(f));
      continue;
    }
    fixes.push_back(f.fix);
    places.insert(place(f));
  }
  EditPlan plan = planEdits(fixes, dir_.string());
  for (const auto& [group, reason] : plan.refused) ADD_FAILURE() << group << " refused: " << reason;
  if (plan.files.empty()) return;
  std::map<std::string, std::string> files;
  for (const FileEdit& f : plan.files) files[f.file] = f.after;
  write(files);
  AnalysisOutput again = run(extract(GetParam().units));
  write(GetParam().files);
  for (const Finding& f : again.result.findings)
    EXPECT_FALSE(places.count(place(f))) << "fixed, and found again: " << essence(f);
  // Where only safe fixes were made, nothing else comes up either. (A write that
  // becomes exclusive can make a reader beside it worth sharing.)
  if (most == Safety::Safe) EXPECT_EQ(listed(essences(again)), listed(left)) << "after fix";
}

void ProgramsTest::checkOrder(const std::vector<TuFacts>& units, const std::string& json) {
  std::vector<size_t> order(units.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  bool differs = false;
  for (int tries = 0; tries < 6 && std::next_permutation(order.begin(), order.end()); ++tries) {
    std::vector<TuFacts> shuffled;
    std::string names;
    for (size_t i : order) {
      shuffled.push_back(units[i]);
      names += " " + GetParam().units[i].file;
    }
    std::string other = emitJson(run(std::move(shuffled)).result);
    differs |= other != json;
    if (!GetParam().orderGap) EXPECT_EQ(other, json) << "order:" << names;
  }
  EXPECT_EQ(differs, GetParam().orderGap) << "this gap is closed; take `gap: order` out";
}

// Every function that something in the program calls, one after the other.
void ProgramsTest::checkLostBodies(const std::vector<TuFacts>& units, const std::vector<Finding>& all) {
  std::set<std::string> called, bodies;
  for (const TuFacts& u : units)
    for (const FunctionFacts& f : u.functions) {
      if (f.hasBody && !f.inSystemHeader) bodies.insert(u.strings[f.usr]);
      for (const Call& c : f.calls)
        if (c.callee) called.insert(u.strings[c.callee]);
    }
  for (const std::string& usr : bodies) {
    if (!called.count(usr)) continue;
    std::vector<TuFacts> fewer = units;
    std::string name;
    for (TuFacts& u : fewer)
      for (FunctionFacts& f : u.functions)
        if (u.strings[f.usr] == usr) {
          name = u.strings[f.display];
          // A constructor that is implicit or defaulted has no text to lose.
          if (!f.isImplicit && !f.isDefaulted) dropBody(f);
        }
    for (const Finding& f : run(std::move(fewer)).result.findings) {
      bool known = std::any_of(all.begin(), all.end(), [&](const Finding& have) {
        return have.rule == f.rule && have.at.file == f.at.file && have.at.offset == f.at.offset &&
               have.safety <= f.safety;
      });
      EXPECT_TRUE(known) << "without the body of " << name << ": " << essence(f);
    }
  }
}

// Every unit's functions in two units.
void ProgramsTest::checkSplitUnits(const std::vector<TuFacts>& units, const std::multiset<std::string>& all) {
  std::vector<TuFacts> halves;
  for (const TuFacts& u : units)
    for (size_t half = 0; half < 2; ++half) {
      TuFacts part = u;
      part.strings.push_back(u.strings[u.mainFile] + (half ? "~2" : "~1"));
      part.mainFile = static_cast<Str>(part.strings.size() - 1);
      size_t n = 0;
      for (FunctionFacts& f : part.functions)
        if (f.hasBody && n++ % 2 != half) dropBody(f);
      halves.push_back(std::move(part));
    }
  EXPECT_EQ(listed(essences(run(std::move(halves)))), listed(all)) << "every unit split in two";
}

// All units as one, which includes them.
void ProgramsTest::checkOneUnit(const std::multiset<std::string>& all) {
  std::string text;
  std::set<std::string> names;
  for (const UnitLine& u : GetParam().units) {
    // Configurations and anonymous namespaces do not go together in one unit.
    if (!u.flags.empty() || GetParam().files.at(u.file).find("namespace {") != std::string::npos) return;
    text += "#include \"" + u.file + "\"\n";
    names.insert(u.file);
  }
  write({{"all-in-one.cc", text}});
  EXPECT_EQ(listed(essences(run(extract({{"all-in-one.cc", {}}})))), listed(all)) << "all units in one";
}

TEST_P(ProgramsTest, Holds) {
  std::vector<TuFacts> units = extract(GetParam().units);
  ASSERT_FALSE(units.empty());
  AnalysisOutput out = run(units);
  std::multiset<std::string> all = essences(out);
  checkMarks(out);
  checkOrder(units, emitJson(out.result));
  for (const Mark& m : marksOf(GetParam()))
    if (m.gap) return;
  checkLostBodies(units, out.result.findings);
  checkSplitUnits(units, all);
  checkOneUnit(all);
  checkFixes(out.result.findings, Safety::Safe);
  if (std::any_of(out.result.findings.begin(), out.result.findings.end(),
                  [](const Finding& f) { return f.safety == Safety::Likely; }))
    checkFixes(out.result.findings, Safety::Likely);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, ProgramsTest, testing::ValuesIn(allPrograms()), [](const auto& info) {
  std::string name = info.param.fixture + "__" + info.param.title;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace locktidy
