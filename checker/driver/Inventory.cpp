#include "checker/driver/Inventory.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "rules/Describe.h"
#include "rules/mutex-could-be-atomic/Removal.h"
#include "rules/mutex-could-be-shared/Proposal.h"

namespace locktidy {
namespace {



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

void explainLock(const Solution& s, const LockClass& l, const RuleOptions& options, std::string& out) {
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
  if (std::string why = whyNotShared(s, l, options); !why.empty() && l.barred.empty()) out += "  not proposed to be shared: " + why + "\n";
  if (std::string why = whyNotAtomic(s, l, options); !why.empty() && l.barred.empty()) out += "  not proposed to be atomic: " + why + "\n";
  for (uint32_t i : l.sections) explainSection(s, s.sections[i], out);
}

const char* verdictOf(const Section& x) {
  switch (x.verdict.reading) {
    case Reading::ReadOnly: return "read-only";
    case Reading::Writing: return "writing";
    case Reading::Undecided: break;
  }
  return "undecided";
}

const char* modeOf(const Section& x) {
  return x.mode == Mode::Shared ? "shared" : x.mode == Mode::Upgrade ? "upgrade" : "exclusive";
}

bool below(const Solution& s, const Loc& loc, const std::vector<std::string>& paths) {
  if (paths.empty()) return true;
  if (!loc.valid()) return false;
  const std::string& file = s.program.text(s.program.files[loc.file].path);
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
    return path == "." || file == path || file.starts_with(path + "/");
  });
}

struct Listed {
  const LockClass* lock;
  size_t reading = 0, writing = 0, undecided = 0, shared = 0;
};

// Locks that most sections hold exclusively only to read come first.
std::vector<Listed> ranked(const Solution& s, const std::vector<std::string>& paths) {
  std::vector<Listed> all;
  for (const auto& [id, lock] : s.locks) {
    if (lock.sections.empty() || !below(s, lock.loc, paths)) continue;
    Listed x{&lock};
    for (uint32_t i : lock.sections) {
      const Section& section = s.sections[i];
      if (section.mode == Mode::Shared) ++x.shared;
      else if (section.verdict.reading == Reading::ReadOnly) ++x.reading;
      else if (section.verdict.reading == Reading::Writing) ++x.writing;
      else ++x.undecided;
    }
    all.push_back(x);
  }
  std::sort(all.begin(), all.end(), [&](const Listed& a, const Listed& b) {
    if (a.reading != b.reading) return a.reading > b.reading;
    if (a.lock->name != b.lock->name) return a.lock->name < b.lock->name;
    return s.program.text(a.lock->id) < s.program.text(b.lock->id);
  });
  return all;
}

}  // namespace

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

std::string whyOf(const Solution& s, const std::string& what, const RuleOptions& options) {
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
        if (it != s.locks.end()) explainLock(s, it->second, options, out);
      }
    }
    for (const auto& [id, l] : s.locks)
      if (l.loc.valid() && l.loc.line == line && sameFile(l.loc) && locks.insert(id).second) explainLock(s, l, options, out);
    return out;
  }
  for (const auto& [id, l] : s.locks)
    if (l.name == what || l.name.ends_with("::" + what) || s.program.text(id) == what) explainLock(s, l, options, out);
  return out;
}

std::string locksText(const Solution& s, const std::vector<std::string>& paths) {
  std::string out;
  for (const Listed& x : ranked(s, paths)) {
    out += x.lock->name + "  " + lineOf(s, x.lock->loc) + "  " + s.program.text(x.lock->type) + "\n";
    auto count = [&](size_t n, const char* what) {
      if (n) out += std::string("  ") + std::to_string(n) + " " + what;
    };
    count(x.reading, "read-only");
    count(x.writing, "writing");
    count(x.undecided, "undecided");
    count(x.shared, "shared already");
    out += "\n";
    if (!x.lock->barred.empty()) out += "  left alone: " + x.lock->barred + "\n";
    for (uint32_t i : x.lock->sections) {
      const Section& section = s.sections[i];
      out += "    " + lineOf(s, section.loc) + "  " + modeOf(section) + "  " + verdictOf(section) + "  " +
             s.program.title(section.func) + "\n";
    }
  }
  if (out.empty()) out = paths.empty() ? "no locks are acquired in this program\n" : "no locks that are acquired are declared there\n";
  return out;
}

std::string locksJson(const Solution& s, const std::vector<std::string>& paths) {
  using nlohmann::json;
  auto place = [&](json& node, const Loc& loc) {
    node["file"] = loc.valid() ? s.program.text(s.program.files[loc.file].path) : "";
    node["line"] = loc.line;
  };
  json list = json::array();
  for (const Listed& x : ranked(s, paths)) {
    json lock = {{"name", x.lock->name},
                 {"type", s.program.text(x.lock->type)},
                 {"shared_mode", x.lock->hasShared},
                 {"left_alone", x.lock->barred},
                 {"sections", json::array()}};
    place(lock, x.lock->loc);
    for (uint32_t i : x.lock->sections) {
      const Section& section = s.sections[i];
      const Verdict& v = section.verdict;
      json node = {{"function", s.program.title(section.func)},
                   {"mode", modeOf(section)},
                   {"verdict", verdictOf(section)},
                   {"category", v.category},
                   {"reason", v.reason},
                   {"unblock", v.unblock},
                   {"not_eligible", section.ineligible},
                   {"assumptions", v.assumptions},
                   {"cost", "T" + std::to_string(v.cost)},
                   {"accesses", json::array()}};
      place(node, section.loc);
      for (const Decider& d : v.deciders) {
        json access = {{"why", d.why}};
        place(access, d.loc);
        node["accesses"].push_back(std::move(access));
      }
      lock["sections"].push_back(std::move(node));
    }
    list.push_back(std::move(lock));
  }
  return json({{"schema", 1}, {"locks", list}}).dump(2) + "\n";
}

}  // namespace locktidy
