#include "checker/driver/Pipeline.h"

#include <algorithm>
#include <map>
#include <memory>

#include "rules/Describe.h"
#include "rules/Rule.h"

namespace locktidy {
namespace {

// Everything `why` needs after the findings are out.
struct World {
  Models models;
  Program program;
  std::unique_ptr<Solution> solution;
};

std::string lineOf(const Solution& s, const Loc& loc) {
  if (!loc.valid()) return "?";
  return s.program.text(s.program.files[loc.file].path) + ":" + std::to_string(loc.line);
}

std::string statisticsOf(const Solution& s) {
  size_t exclusive = 0, readOnly = 0, writing = 0, undecided = 0;
  std::map<std::string, size_t> reasons, writes, ineligible;
  for (const Section& x : s.sections) {
    if (x.mode != Mode::Exclusive) continue;
    ++exclusive;
    switch (x.verdict.reading) {
      case Reading::ReadOnly: ++readOnly; break;
      case Reading::Writing: ++writing; ++writes[x.verdict.category]; break;
      case Reading::Undecided: ++undecided; ++reasons[x.verdict.category]; break;
    }
    if (x.verdict.proved() && !x.ineligible.empty()) ++ineligible[x.ineligible];
  }
  auto share = [&](size_t n) {
    return exclusive ? std::to_string(100 * n / exclusive) + " %" : std::string("-");
  };
  std::string out = "exclusive sections: " + std::to_string(exclusive) + " of " + std::to_string(s.locks.size()) + " locks\n";
  out += "  decided    " + std::to_string(readOnly + writing) + "  " + share(readOnly + writing) + "\n";
  out += "  read-only  " + std::to_string(readOnly) + "  " + share(readOnly) + "\n";
  out += "  writing    " + std::to_string(writing) + "  " + share(writing) + "\n";
  out += "  undecided  " + std::to_string(undecided) + "  " + share(undecided) + "\n";
  auto list = [&](const char* title, const std::map<std::string, size_t>& counts) {
    if (counts.empty()) return;
    out += std::string(title) + "\n";
    std::vector<std::pair<size_t, std::string>> sorted;
    for (const auto& [k, n] : counts) sorted.emplace_back(n, k);
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (size_t i = 0; i < sorted.size() && i < 12; ++i)
      out += "  " + std::to_string(sorted[i].first) + "  " + sorted[i].second + "\n";
  };
  list("undecided because", reasons);
  list("writing because", writes);
  list("read-only, yet not proposed because", ineligible);
  return out;
}

std::string unknownOf(const Solution& s) {
  std::vector<std::pair<size_t, std::string>> sorted;
  for (const auto& [name, n] : s.unknownCallees) sorted.emplace_back(n, name);
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::string out = "calls of which nothing is known, by the exclusive sections they silence:\n";
  for (const auto& [n, name] : sorted) out += "  " + std::to_string(n) + "  " + name + "\n";
  if (sorted.empty()) out += "  none\n";
  return out;
}

void explainSection(const Solution& s, const Section& x, std::string& out) {
  const Verdict& v = x.verdict;
  const char* mode = x.mode == Mode::Shared ? "shared   " : x.mode == Mode::Upgrade ? "upgrade  " : "exclusive";
  std::string verdict = v.proved() ? "read-only" : v.reading == Reading::Writing ? "blocked" : "undecided";
  out += "  " + lineOf(s, x.loc) + "  " + mode + "  " + verdict + "  " +
         s.program.title(x.func) + "\n";
  if (!v.proved() || x.mode == Mode::Shared) {
    if (x.mode != Mode::Shared || !v.proved()) out += "      " + v.reason;
    if (x.mode != Mode::Shared || !v.proved()) {
      if (!v.deciders.empty() && v.deciders.front().loc.valid()) out += " (" + lineOf(s, v.deciders.front().loc) + ")";
      out += "\n";
    }
    for (const Decider& d : v.deciders) {
      int limit = 6;
      std::string chain;
      for (uint32_t c = d.chain; c && limit--; c = s.engine.chains[c].next)
        chain += (chain.empty() ? "        through " : " -> ") +
                 s.program.title(s.engine.chains[c].caller) + " at " +
                 lineOf(s, s.engine.chains[c].at);
      if (!chain.empty() && &d == &v.deciders.front()) out += chain + "\n";
    }
    if (!v.unblock.empty()) out += "      -> " + v.unblock + "\n";
  }
  if (x.mode == Mode::Exclusive && !x.ineligible.empty()) out += "      not eligible: " + x.ineligible + "\n";
  for (const std::string& a : v.assumptions)
    if (v.proved()) out += "      assuming that " + a + "\n";
}

void explainLock(const Solution& s, const LockClass& l, std::string& out) {
  size_t reads = 0, blocked = 0, shared = 0;
  for (uint32_t i : l.sections) {
    const Section& x = s.sections[i];
    if (x.mode == Mode::Shared) ++shared;
    else if (x.verdict.proved()) ++reads;
    else ++blocked;
  }
  out += l.name + "  (" + lineOf(s, l.loc) + ")  " + s.program.text(l.type) + ": " + std::to_string(l.sections.size()) +
         " sections, " + std::to_string(shared) + " shared, " + std::to_string(reads) + " exclusive and read-only, " +
         std::to_string(blocked) + " blocked or undecided\n";
  if (!l.barred.empty()) out += "  the whole lock is left alone: " + l.barred + "\n";
  if (!l.hasShared) out += "  its type has no shared mode; no rule for exclusive-only locks is built yet\n";
  for (uint32_t i : l.sections) explainSection(s, s.sections[i], out);
}

std::string whyOf(const Solution& s, const std::string& what) {
  std::string out;
  size_t colon = what.rfind(':');
  bool place = colon != std::string::npos && colon + 1 < what.size() && colon > 0 && what[colon - 1] != ':' &&
               what.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  if (place) {
    std::string file = what.substr(0, colon);
    uint32_t line = static_cast<uint32_t>(std::stoul(what.substr(colon + 1).substr(0, 9)));
    auto sameFile = [&](const Loc& loc) {
      const std::string& path = s.program.text(s.program.files[loc.file].path);
      return path == file || path.ends_with("/" + file) || file.ends_with("/" + path);
    };
    std::set<Str> locks;
    for (const Section& x : s.sections) {
      if (!x.loc.valid() || !sameFile(x.loc) || !x.lock) continue;
      // The section's own line, a line its lock is held on, or what blocks it.
      bool hit = x.loc.line == line;
      const Acquisition& q = s.acquisition(x);
      for (uint32_t e : q.region) hit |= s.results[x.func].effects[e].loc.line == line && s.results[x.func].effects[e].loc.valid() && sameFile(s.results[x.func].effects[e].loc);
      for (const Decider& d : x.verdict.deciders) hit |= d.loc.valid() && d.loc.line == line && sameFile(d.loc);
      if (hit && locks.insert(x.lock).second) {
        auto it = s.locks.find(x.lock);
        if (it != s.locks.end()) explainLock(s, it->second, out);
      }
    }
    for (const auto& [id, l] : s.locks)
      if (l.loc.valid() && l.loc.line == line && sameFile(l.loc) && locks.insert(id).second) explainLock(s, l, out);
    return out;
  }
  for (const auto& [id, l] : s.locks)
    if (l.name == what || l.name.ends_with("::" + what) || s.program.text(id) == what) explainLock(s, l, out);
  return out;
}

}  // namespace

AnalysisOutput analyse(std::vector<TuFacts> units, const Models& models, const AnalysisOptions& options) {
  AnalysisOutput output;
  output.result.root = options.root;
  auto world = std::make_shared<World>();
  world->models = models;
  world->program = link(std::move(units), world->models);
  SolveOptions how;
  how.openWorld = options.openWorld;
  how.trustConst = options.trustConst;
  world->solution = std::make_unique<Solution>(world->program, world->models, how);
  const Solution& s = *world->solution;

  RuleOptions ruleOptions;
  ruleOptions.openWorld = options.openWorld;
  for (const RuleEntry& entry : allRules()) {
    if (std::find(options.select.begin(), options.select.end(), entry.rule->id) == options.select.end()) continue;
    for (Finding& f : entry.rule->check(s, ruleOptions)) output.result.findings.push_back(std::move(f));
  }
  std::sort(output.result.findings.begin(), output.result.findings.end(), [](const Finding& a, const Finding& b) {
    return std::tie(a.at.file, a.at.line, a.at.column, a.rule, a.fingerprint) <
           std::tie(b.at.file, b.at.line, b.at.column, b.rule, b.fingerprint);
  });
  output.result.coverage.locks = static_cast<uint32_t>(s.locks.size());
  output.result.coverage.unresolvedCalls = static_cast<uint32_t>(s.unknownCallees.size());
  output.statistics = statisticsOf(s);
  output.unknownReport = unknownOf(s);
  output.why = [world](const std::string& what) { return whyOf(*world->solution, what); };
  return output;
}

const std::vector<RuleInfo>& ruleInfos() {
  static const std::vector<RuleInfo> kRules = [] {
    std::vector<RuleInfo> out;
    for (const RuleEntry& e : allRules())
      out.push_back({std::string(e.rule->id), std::string(e.rule->code), std::string(e.rule->summary), e.rule->level,
                     e.rule->selected, e.manual});
    std::sort(out.begin(), out.end(), [](const RuleInfo& a, const RuleInfo& b) { return a.code < b.code; });
    return out;
  }();
  return kRules;
}

}  // namespace locktidy
