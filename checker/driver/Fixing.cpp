// Verification bisects by group. All groups together are tried first, since
// almost always all of them are right. If a unit fails, each group is tried
// alone, and those that pass are tried together; if that fails (two groups that
// only together do not compile), they are added one after another in order, and
// the one that breaks a unit is left out. Every trial parses only the units that
// read a file it edits. Terminates: at most 2n + 2 trials for n groups.
#include "checker/driver/Fixing.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <string_view>

#include "checker/driver/System.h"

namespace locktidy {
namespace {

struct Group {
  std::string name;
  Safety safety = Safety::Safe;  // of its worst member
  bool wanted = false;           // some reported finding of it is asked for
  std::vector<Fix> fixes;
};

bool asksFor(const std::vector<std::string>& only, const Finding& finding) {
  if (only.empty()) return true;
  return std::any_of(only.begin(), only.end(), [&](const std::string& word) {
    return word == finding.rule || word == finding.code || word == finding.lock.name ||
           word == finding.id || word == finding.fingerprint;
  });
}

// In the order of the first finding of each group.
std::vector<Group> collectGroups(const Analysis& analysis, const std::vector<std::string>& only) {
  std::vector<Group> groups;
  std::map<std::string, size_t> index;
  auto add = [&](const Finding& finding, bool reported) {
    if (finding.fix.empty()) return;
    auto [it, isNew] = index.emplace(finding.fix.group, groups.size());
    if (isNew) groups.push_back({finding.fix.group, Safety::Safe, false, {}});
    Group& group = groups[it->second];
    group.safety = std::max({group.safety, finding.fix.safety, finding.safety});
    group.wanted |= reported && asksFor(only, finding);
    group.fixes.push_back(finding.fix);
  };
  for (const Finding& finding : analysis.out.result.findings) add(finding, true);
  for (const Finding& finding : analysis.hidden) add(finding, false);
  return groups;
}

class Verifier {
 public:
  Verifier(const Analysis& analysis, const Options& options)
      : analysis_(analysis), options_(options) {}

  EditPlan plan(const std::vector<const Group*>& groups) const {
    std::vector<Fix> fixes;
    for (const Group* group : groups)
      fixes.insert(fixes.end(), group->fixes.begin(), group->fixes.end());
    return planEdits(fixes, analysis_.root);
  }

  // Why these groups may not be applied together, or an empty string. Groups
  // that planning refuses are not in the trial, so they do not count here.
  std::string problem(const std::vector<const Group*>& groups) const {
    EditPlan edits = plan(groups);
    std::map<std::string, std::string> overlay;
    std::vector<std::string> files;
    for (const FileEdit& edit : edits.files) {
      overlay[absolutePath(edit.file, analysis_.root)] = edit.after;
      files.push_back(edit.file);
    }
    std::vector<ExtractJob> jobs;
    std::set<std::string> covered;
    for (const UnitInfo& unit : analysis_.units) {
      // A unit that did not parse before proves nothing now.
      if (unit.status != UnitStatus::Ok) continue;
      bool affected = false;
      for (const std::string& file : files) {
        if (std::find(unit.files.begin(), unit.files.end(), file) == unit.files.end()) continue;
        affected = true;
        covered.insert(file);
      }
      if (!affected) continue;
      jobs.push_back(unit.job);
      jobs.back().overlay = overlay;
    }
    for (const std::string& file : files)
      if (!covered.count(file))
        return file +
               ": no unit that parses without errors reads it, so the edit cannot be verified";
    return firstError(jobs);
  }

 private:
  std::string firstError(const std::vector<ExtractJob>& jobs) const {
    std::vector<std::string> errors(jobs.size());
    runInWorkers(
        jobs.size(), [&](size_t i) { return checkParses(jobs[i]); }, workerLimits(options_),
        [&](size_t i, JobOutcome outcome) {
          errors[i] = outcome.failure.empty()
                          ? outcome.bytes
                          : relativePath(jobs[i].file, analysis_.root) + ": " + outcome.failure;
        });
    for (const std::string& error : errors)
      if (!error.empty()) return error;  // of the first unit, whichever ended first
    return "";
  }

  const Analysis& analysis_;
  const Options& options_;
};

// The groups that can be applied together; the others go to `run.refused`.
std::vector<const Group*> verify(const Verifier& verifier, std::vector<const Group*> groups,
                                 FixRun& run) {
  if (groups.empty() || verifier.problem(groups).empty()) return groups;
  auto refuse = [&](const Group* group, const std::string& why) {
    run.refused.emplace_back(group->name, "does not compile with it: " + why);
  };
  std::vector<const Group*> alone;
  for (const Group* group : groups) {
    std::string why = verifier.problem({group});
    if (why.empty())
      alone.push_back(group);
    else
      refuse(group, why);
  }
  if (alone.size() < 2 || verifier.problem(alone).empty()) return alone;
  std::vector<const Group*> taken;
  for (const Group* group : alone) {
    taken.push_back(group);
    std::string why = verifier.problem(taken);
    if (why.empty()) continue;
    taken.pop_back();
    refuse(group, why);
  }
  return taken;
}

// ---------------------------------------------------------------------------
// Where lines went. Edits are small and local, so lines are followed in step and
// brought in step again after a difference; no general diff is needed.

std::vector<std::string_view> splitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

class MovedFile {
 public:
  explicit MovedFile(const FileEdit& edit)
      : sha256_(sha256Hex(edit.after)), before_(splitLines(edit.before)),
        after_(splitLines(edit.after)), beforeStart_(edit.before.data()),
        afterStart_(edit.after.data()) {
    follow();
  }

  const std::string& sha256() const { return sha256_; }
  void move(uint32_t& line, uint32_t& offset) const {
    if (!line || line > std::min(map_.size(), before_.size())) return;
    size_t from = line - 1, to = map_[from];
    int64_t shift = (after_[to].data() - afterStart_) - (before_[from].data() - beforeStart_);
    line = static_cast<uint32_t>(to + 1);
    offset = static_cast<uint32_t>(offset + shift);
  }

 private:
  bool same(size_t i, size_t j) const {
    if (i >= before_.size() || j >= after_.size()) return i >= before_.size() && j >= after_.size();
    return before_[i] == after_[j];
  }
  void follow() {
    size_t i = 0, j = 0;
    while (i < before_.size()) {
      // A line that fixes add is an include, often close to a line they change.
      if (j < after_.size() && before_[i] != after_[j] && after_[j].substr(0, 8) == "#include") {
        ++j;
        continue;
      }
      if (j < after_.size() && before_[i] == after_[j]) {
        map_.push_back(j++);
        ++i;
        continue;
      }
      // Out of step. Two equal lines in a row, so that a lone brace does not
      // decide; if there are none nearby, lines are taken one for one.
      size_t skipBefore = 1, skipAfter = 1;
      for (size_t total = 1, found = 0; total <= 200 && !found; ++total) {
        for (size_t k = 0; k <= total && !found; ++k) {
          if (!same(i + k, j + total - k) || !same(i + k + 1, j + total - k + 1)) continue;
          skipBefore = k, skipAfter = total - k, found = 1;
        }
      }
      for (size_t k = 0; k < skipBefore; ++k)
        map_.push_back(std::min(j + std::min(k, skipAfter ? skipAfter - 1 : 0), after_.size() - 1));
      i += skipBefore;
      j = std::min(j + skipAfter, after_.size());
    }
  }

  std::string sha256_;
  std::vector<std::string_view> before_, after_;
  const char* beforeStart_;
  const char* afterStart_;
  std::vector<size_t> map_;  // line of `before` to line of `after`, from 0
};

}  // namespace

size_t countHiddenUnsafe(const Result& result) {
  std::map<std::string, Safety> groups;
  for (const Finding& finding : result.findings) {
    if (finding.fix.empty()) continue;
    Safety& safety = groups[finding.fix.group];
    safety = std::max({safety, finding.fix.safety, finding.safety});
  }
  return static_cast<size_t>(std::count_if(groups.begin(), groups.end(), [](const auto& group) {
    return group.second == Safety::Likely;
  }));
}

FixRun planFixes(const Analysis& analysis, const Options& options) {
  FixRun run;
  std::vector<Group> groups = collectGroups(analysis, options.only);
  std::vector<const Group*> chosen;
  for (const Group& group : groups) {
    if (!group.wanted || group.safety == Safety::Candidate) continue;
    if (group.safety == Safety::Likely && !options.unsafe)
      ++run.hiddenUnsafe;
    else
      chosen.push_back(&group);
  }
  run.chosen = chosen.size();

  Verifier verifier(analysis, options);
  // Conflicts and stale files first: a group that cannot be planned needs no parse.
  EditPlan first = verifier.plan(chosen);
  for (const auto& refused : first.refused) {
    run.refused.push_back(refused);
    std::erase_if(chosen, [&](const Group* group) { return group->name == refused.first; });
  }
  if (options.verify == Verify::Parse) chosen = verify(verifier, std::move(chosen), run);
  run.plan = verifier.plan(chosen);
  for (const auto& refused : run.plan.refused) run.refused.push_back(refused);
  run.landed.insert(run.plan.applied.begin(), run.plan.applied.end());
  return run;
}

bool applyFixes(FixRun& run, const std::string& root, std::string& error) {
  if (run.plan.files.empty()) return true;
  sigset_t stops, before;
  ::sigemptyset(&stops);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&stops, signal);
  ::sigprocmask(SIG_BLOCK, &stops, &before);
  bool written = writePlan(run.plan, root, error);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (written) return true;
  for (const std::string& group : run.plan.applied) run.refused.emplace_back(group, error);
  run.landed.clear();
  return false;
}

void movePlaces(Result& result, const EditPlan& plan) {
  std::map<std::string, MovedFile> moved;
  for (const FileEdit& edit : plan.files) moved.emplace(edit.file, MovedFile(edit));
  auto movePlace = [&](Place& place) {
    auto it = moved.find(place.file);
    if (it != moved.end()) it->second.move(place.line, place.offset);
  };
  for (Finding& finding : result.findings) {
    movePlace(finding.at);
    movePlace(finding.lock.at);
    for (SectionNote& section : finding.sections) {
      movePlace(section.at);
      for (AccessNote& access : section.accesses) {
        movePlace(access.at);
        for (CallStep& step : access.chain) movePlace(step.at);
      }
    }
    for (Edit& edit : finding.fix.edits) {
      auto it = moved.find(edit.file);
      if (it == moved.end()) continue;
      it->second.move(edit.line, edit.offset);
      edit.sha256 = it->second.sha256();
    }
  }
}

}  // namespace locktidy
