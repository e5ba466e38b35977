#include "rules/Describe.h"

#include <algorithm>
#include <cstdlib>

namespace locktidy {

Place placeOf(const Solution& s, const Loc& loc, uint32_t length) {
  Place p;
  if (!loc.valid()) return p;
  p.file = s.program.text(s.program.files[loc.file].path);
  p.line = loc.line;
  p.column = loc.col;
  p.offset = loc.offset;
  p.length = length;
  return p;
}

std::string lineOf(const Solution& s, const Loc& loc) {
  if (!loc.valid()) return "?";
  return s.program.text(s.program.files[loc.file].path) + ":" + std::to_string(loc.line);
}

std::string fileSha(const Solution& s, const Loc& loc) {
  return loc.valid() ? s.program.text(s.program.files[loc.file].sha256) : std::string();
}

AccessNote accessNote(const Solution& s, const Decider& d) {
  AccessNote n;
  n.path = d.path;
  n.kind = d.kind;
  n.via = d.via;
  n.at = placeOf(s, d.loc);
  int limit = 8;
  for (uint32_t c = d.chain; c && limit--; c = s.engine.chains[c].next)
    n.chain.push_back({s.program.title(s.engine.chains[c].caller),
                       placeOf(s, s.engine.chains[c].at)});
  return n;
}

const char* costName(int cost) {
  static const char* kNames[] = {"T0", "T1", "T2", "T3"};
  return kNames[std::clamp(cost, 0, 3)];
}

uint32_t sectionLength(const Solution& s, const Section& section) {
  const Acquisition& q = s.acquisition(section);
  const FunctionFacts& f = s.function(section.func);
  if (q.guardLocal != kNone && f.calls[q.call].kind == CallKind::Construct)
    return static_cast<uint32_t>(s.program.text(f.locals[q.guardLocal].name).size());
  const Anchor& name = f.calls[q.call].calleeName;
  return name.valid() ? name.length : 1;
}

SectionNote sectionNote(const Solution& s, const Section& section) {
  SectionNote n;
  n.function = s.program.title(section.func);
  n.mode = section.mode == Mode::Shared ? "shared" : section.mode == Mode::Upgrade ? "upgrade" : "exclusive";
  const Verdict& v = section.verdict;
  n.verdict = v.proved() ? "read-only" : v.reading == Reading::Writing ? "writing" : "undecided";
  n.reason = v.reason;
  n.cost = costName(v.cost);
  n.at = placeOf(s, section.loc, sectionLength(s, section));
  for (const Decider& d : v.deciders) n.accesses.push_back(accessNote(s, d));
  return n;
}

LockNote lockNote(const Solution& s, Str lock) {
  LockNote n;
  auto it = s.locks.find(lock);
  if (it == s.locks.end()) return n;
  n.name = it->second.name;
  n.usr = s.program.text(lock);
  n.type = s.program.text(it->second.type);
  size_t colon = n.name.rfind("::");
  n.at = placeOf(s, it->second.loc, static_cast<uint32_t>(n.name.size() - (colon == std::string::npos ? 0 : colon + 2)));
  return n;
}

void identify(Finding& f, const std::vector<std::string>& parts) {
  f.fingerprint = "v1:" + f.rule;
  for (const std::string& p : parts) f.fingerprint += ":" + p;
  f.id = sha256Hex(f.fingerprint).substr(0, 8);
}

void addEdit(const Solution& s, const Anchor& a, const std::string& text, std::vector<Edit>& edits) {
  const std::string& old = s.program.text(a.text);
  if (old == text) return;
  // The smallest edit: what the texts share at both ends stays, on whole tokens.
  Edit e;
  e.file = s.program.text(s.program.files[a.begin.file].path);
  e.sha256 = fileSha(s, a.begin);
  e.offset = a.begin.offset;
  e.length = a.length;
  e.line = a.begin.line;
  e.column = a.begin.col;
  e.oldText = old;
  e.newText = text;
  for (const Edit& have : edits)
    if (have.file == e.file && have.offset == e.offset) return;
  edits.push_back(std::move(e));
}

int standardOf(const std::string& language) {
  if (!language.starts_with("c++")) return 0;
  int year = std::atoi(language.c_str() + 3);
  return year >= 90 ? year - 100 : year;  // 98 comes before 11
}

std::pair<int, int> standardsSeeing(const Solution& s, const Loc& loc) {
  int oldest = 99, newest = -99;
  for (const Program::Unit& u : s.program.units) {
    if (!loc.valid() || std::find(u.files.begin(), u.files.end(), loc.file) == u.files.end()) continue;
    int level = standardOf(s.program.text(u.language));
    oldest = std::min(oldest, level);
    newest = std::max(newest, level);
  }
  return {oldest, newest};
}

void textAssumptions(const Solution& s, const Section& section, std::vector<std::string>& assumes) {
  const Program& p = s.program;
  auto lock = s.locks.find(section.lock);
  if (lock == s.locks.end()) return;
  const ClassFact* owner = p.fieldOwner(section.lock);
  // Names of the lock and of what its sections access.
  std::set<Str> names, globals;
  auto addField = [&](Str usr) {
    if (const FieldFact* f = p.field(usr)) names.insert(f->name);
    else if (const GlobalFact* g = p.global(usr)) {
      const std::string& full = p.text(g->name);
      size_t at = full.rfind("::");
      Str name = p.strings.find(at == std::string::npos ? full : full.substr(at + 2));
      names.insert(name);
      if (!owner && !g->isConst) globals.insert(name);
    }
  };
  addField(section.lock);
  std::set<uint32_t> files;
  if (lock->second.loc.valid()) files.insert(lock->second.loc.file);
  for (uint32_t i : lock->second.sections) {
    const Section& other = s.sections[i];
    if (other.loc.valid()) files.insert(other.loc.file);
    const Acquisition& q = s.acquisition(other);
    for (uint32_t e : q.region) {
      PathId path = s.results[other.func].effects[e].path;
      for (PathId k = path; k && s.engine.paths.at(k).kind != StepKind::Root; k = s.engine.paths.at(k).parent) {
        const PathNode& n = s.engine.paths.at(k);
        if (n.kind != StepKind::Field) continue;
        // State of the lock's owner, not whatever the section happens to read.
        if (!owner || p.fieldOwner(n.entity) == owner) addField(n.entity);
      }
      const PathNode& root = s.engine.paths.rootOf(path);
      if (root.root == Root::Global) addField(root.entity);
    }
  }
  names.erase(0);
  globals.erase(0);
  // Elsewhere, text of the same unit can name a global lock and what it guards,
  // and a member of the owner if it names that too. (Not whatever constant a
  // section reads: short names are everywhere.)
  std::set<uint32_t> near;
  for (const Program::Unit& u : p.units)
    if (lock->second.loc.valid() && std::find(u.files.begin(), u.files.end(), lock->second.loc.file) != u.files.end())
      near.insert(u.files.begin(), u.files.end());
  const Str ownerName = owner ? p.strings.find(std::string(lastName(p.text(owner->name)))) : 0;
  for (const InactiveText& t : p.inactive) {
    if (!t.begin.valid()) continue;
    bool own = files.count(t.begin.file);
    if (!own && !near.count(t.begin.file)) continue;
    own |= ownerName && std::find(t.names.begin(), t.names.end(), ownerName) != t.names.end();
    for (Str n : t.names)
      if ((own ? names : globals).count(n)) {
        assumes.push_back(p.text(p.files[t.begin.file].path) + ":" + std::to_string(t.begin.line) +
                          (t.isTemplate ? " is a template that nobody instantiates and names `"
                                        : " is inactive here and names `") +
                          p.text(n) + "`");
        break;
      }
  }
  for (const Program::Unit& u : p.units) {
    if (u.status == UnitStatus::Ok) continue;
    // A unit that did not parse could name anything it includes; one without
    // any facts could include the declaring header.
    bool could = u.files.empty();
    for (uint32_t f : u.files) could |= files.count(f) != 0;
    if (could)
      assumes.push_back(p.text(u.mainFile) + " was not analysed completely and could name `" + lock->second.name + "`");
  }
}

}  // namespace locktidy
