// LT401: state is written while its lock is held only shared.
#include <map>

#include "rules/Describe.h"
#include "rules/LockForms.h"
#include "rules/Rule.h"

namespace locktidy {
namespace {

// Is the place annotated as guarded by this lock?
bool annotated(const Solution& s, PathId path, Str lock) {
  for (PathId p = path; p && s.engine.paths.at(p).kind != StepKind::Root; p = s.engine.paths.at(p).parent) {
    const PathNode& n = s.engine.paths.at(p);
    const FieldFact* f = n.kind == StepKind::Field ? s.program.field(n.entity) : nullptr;
    if (!f) continue;
    for (const AttrFact& a : f->attrs) {
      const std::string& k = s.program.text(a.kind);
      if (k != "guarded_by" && k != "pt_guarded_by") continue;
      for (const Path& arg : a.args)
        if (!arg.steps.empty() && arg.steps.back().field == lock) return true;
    }
  }
  return false;
}

struct Write {
  PathId path = kNoPath;
  const LocalEffect* effect = nullptr;
  const Section* section = nullptr;
};

// Is the row the access `e` of section `x` itself, seen from its own function
// or from one that the calls in between go through?
bool isAccess(const Solution& s, const Row& row, const LocalEffect& e, const Section& x) {
  if (row.func != e.func || row.loc.file != e.loc.file || row.loc.offset != e.loc.offset) return false;
  if (row.site == x.func || row.site == e.func) return true;
  for (uint32_t c = e.chain; c; c = s.engine.chains[c].next)
    if (s.engine.chains[c].caller == row.site) return true;
  return false;
}

// Does the rest of the program treat the place as this lock's state?
bool isState(const Solution& s, PathId p, const LocalEffect& e, const Section& x) {
  bool elsewhere = annotated(s, p, x.lock);
  bool sure = elsewhere;
  // It must hang off an object that has such a lock, somewhere where the lock
  // is held: a caller's own memory that is handed in twice does not.
  const ClassFact* owner = s.program.fieldOwner(x.lock);
  bool connected = elsewhere || !owner;
  auto inOwner = [&](PathId path) {
    for (; s.engine.paths.at(path).kind != StepKind::Root; path = s.engine.paths.at(path).parent)
      if (s.engine.paths.at(path).kind == StepKind::Field && s.program.fieldOwner(s.engine.paths.at(path).entity) == owner)
        return true;
    return false;
  };
  connected = connected || inOwner(p);
  const Acquisition& q = s.acquisition(x);
  for (uint32_t id : s.overlapping(p, e.type)) {
    const Row& row = s.rows[id];
    if (row.init) continue;
    bool here = isAccess(s, row, e, x);
    if (!s.holds(row.held, x.lock, Mode::Shared)) {
      if (here && e.func != x.func) continue;  // seen from other callers, too
      if (!sure) return false;                 // another discipline than this lock
      continue;
    }
    connected = connected || inOwner(row.path);
    if (here) continue;
    // Another section, of another function or of the same one.
    bool inside = false;
    if (row.site == x.func)
      for (uint32_t i : q.region) {
        const LocalEffect& o = s.results[x.func].effects[i];
        inside |= o.loc.file == row.loc.file && o.loc.offset == row.loc.offset;
      }
    elsewhere |= !inside;
  }
  return elsewhere && connected;
}

// A common exclusive lock at every access to the place that the shared lock
// does not keep away anyhow.
bool commonLock(const Solution& s, PathId p, const LocalEffect& e, Str lock) {
  for (const HeldLock& h : e.held) {
    Str m = s.engine.lockClass(h.path);
    if (!m || m == lock || h.mode != Mode::Exclusive) continue;
    bool all = true;
    for (uint32_t id : s.overlapping(p, e.type)) {
      const Row& row = s.rows[id];
      all &= row.init || s.holds(row.held, m, row.writes() ? Mode::Exclusive : Mode::Shared) ||
             s.holds(row.held, lock, Mode::Exclusive);
    }
    if (all) return true;
  }
  return false;
}

// Does the place lie in a slot of its own thread's?
bool ownSlot(const Solution& s, PathId path) {
  for (PathId p = path; s.engine.paths.at(p).kind != StepKind::Root; p = s.engine.paths.at(p).parent) {
    const PathNode& n = s.engine.paths.at(p);
    if (n.kind != StepKind::Elem || !n.entity) continue;
    const GlobalFact* g = s.program.global(n.entity);
    if (g && g->isThreadLocal) return true;
  }
  return false;
}

bool reacquires(const Solution& s, const Section& x) {
  const Acquisition& q = s.acquisition(x);
  for (const AcquireNote& n : q.nested)
    if (s.engine.lockClass(n.path) == x.lock) return true;
  return false;
}

Finding describe(const Solution& s, const Write& w, int ordinal) {
  const Section& x = *w.section;
  const LocalEffect& e = *w.effect;
  const LockClass& lock = s.locks.at(x.lock);
  Finding f;
  f.rule = "write-under-shared-lock";
  f.code = "LT401";
  f.level = Level::Error;
  f.at = placeOf(s, e.loc, 1);
  std::string what = s.engine.describe(w.path);
  f.label = "written here" + (e.via ? " by `" + s.program.text(e.via) + "`" : std::string());
  f.message = "`" + what + "` is written while `" + lock.name + "` is held only shared";
  f.lock = lockNote(s, x.lock);
  f.cost = costName(x.verdict.cost);
  SectionNote note = sectionNote(s, x);
  note.verdict = "writing";
  note.reason = "the lock is taken shared here";
  f.sections.push_back(note);
  f.because.push_back("the lock is surely held shared, and no lock exclusively, when the write happens");
  f.because.push_back("`" + what + "` is accessed in other sections of `" + lock.name + "`, so readers can meet the write");
  f.writes = 1;
  Rewrite rewrite = rewriteMode(s, x, Mode::Exclusive);
  const Acquisition& q = s.acquisition(x);
  if (rewrite.possible && !reacquires(s, x) && !q.guardEscapes && !q.heldAtExit && !q.foreignRelease && !q.ambiguous &&
      !q.isTry) {
    f.safety = Safety::Likely;
    f.fix.title = rewrite.title;
    f.fix.edits = rewrite.edits;
    f.assumes.push_back("taking `" + lock.name + "` exclusively here deadlocks nowhere the program does not show");
  } else {
    f.safety = Safety::Candidate;
    f.help.push_back("take `" + lock.name + "` exclusively around the write" +
                     (rewrite.possible ? std::string() : "; no edit: " + rewrite.why));
  }
  f.rank = 90;
  identify(f, {s.program.text(x.lock), s.program.text(s.function(e.func).usr), what, std::to_string(ordinal)});
  f.fix.safety = f.safety;
  f.fix.group = s.program.text(s.function(x.func).usr) + "#" + std::to_string(x.loc.offset);
  f.fix.group = "w" + sha256Hex(f.fix.group).substr(0, 7);
  return f;
}

std::vector<Finding> check(const Solution& s, const RuleOptions&) {
  // One finding a statement: by the line that is written on.
  std::map<std::pair<uint32_t, uint32_t>, Write> found;
  for (const Section& x : s.sections) {
    if (x.mode != Mode::Shared || !x.lock || s.acquisition(x).ambiguous) continue;
    for (uint32_t index : s.acquisition(x).regionMust) {
      const LocalEffect& e = s.results[x.func].effects[index];
      // What only one of several possible callees does, or one that only its
      // type lets us think of, is no proof of a bug.
      if (e.kind != Eff::Write || e.init || e.assumed || e.maybe || !e.loc.valid()) continue;
      if (s.holds(e.held, x.lock, Mode::Exclusive) || ownSlot(s, e.path)) continue;
      // A parameter of a caller nobody sees, a private object: nobody else's.
      bool callers = false;
      for (PathId p : s.publicPlaces(x.func, e.path, &callers)) {
        // A path that was cut could be anything below.
        StepKind last = s.engine.paths.at(p).kind;
        if (callers || last == StepKind::Root || last == StepKind::Any) continue;
        if (commonLock(s, p, e, x.lock) || !isState(s, p, e, x)) continue;
        found.try_emplace({e.loc.file, e.loc.line}, Write{p, &e, &x});
      }
    }
  }
  std::vector<Finding> out;
  std::map<std::string, int> ordinals;  // tells the writes of one place in one function apart
  for (const auto& [place, w] : found) {
    std::string key = s.engine.describe(w.path) + s.program.text(s.function(w.effect->func).usr);
    out.push_back(describe(s, w, ordinals[key]++));
  }
  return out;
}

}  // namespace

extern const Rule rule_write_under_shared_lock;
const Rule rule_write_under_shared_lock{
    "write-under-shared-lock", "LT401", "state is written while its lock is held only shared",
    "0.1.0", Level::Error, true, check};

}  // namespace locktidy
