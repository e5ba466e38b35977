// Rows (every access others can see), the lock order, and the list of sections
// by lock. Verdicts on sections: Verdict.cpp.

#include <algorithm>

#include "checker/solve/Solution.h"

namespace locktidy {

// A step of a count of references in `func`, on members of `owner` (of any
// class, if null)?
bool Solution::stepsRefCount(FuncId func, const ClassFact* owner) const {
  for (const Effect& e : engine.summaries[func].effects) {
    if (e.kind != Eff::AtomicWrite || !e.rmw) continue;
    Str counter = engine.paths.lastField(e.path);
    if (counter && engine.isRefCount(counter) && (!owner || program.fieldOwner(counter) == owner)) return true;
  }
  return false;
}

// Bookkeeping of a class that counts references, done where the count is
// stepped (a flag "being destroyed"): part of taking or dropping a reference.
bool Solution::dropsReference(FuncId func, PathId path) const {
  constexpr size_t kCounterFields = 3;
  const ClassFact* owner = program.fieldOwner(engine.paths.lastField(path));
  return owner && owner->fields.size() <= kCounterFields && stepsRefCount(func, owner);
}

bool Solution::countedDrop(const LocalEffect& e) const {
  if (stepsRefCount(e.func, nullptr)) return true;
  for (uint32_t c = e.chain; c; c = engine.chains[c].next)
    if (engine.chains[c].caller != e.func && stepsRefCount(engine.chains[c].caller, nullptr)) return true;
  return false;
}

void Solution::collectRows() {
  for (FuncId f = 0; f < results.size(); ++f) {
    const FunctionFacts& fn = program.functions[f];
    if (!fn.hasBody) continue;
    const Context& x = contexts[f];
    // Implicit members that only library code runs: what they do is part of
    // the library call that a model describes.
    if ((fn.isImplicit || fn.isDefaulted) && !x.hasCallers) continue;
    for (const LocalEffect& e : results[f].effects) {
      if (e.placed || isPathless(e.kind)) continue;
      // Callers have it in their own terms.
      if (x.hasCallers && !x.runsLater && !engine.summaries[f].truncated && engine.namedByCaller(f, e.path, e.held))
        continue;
      bool callersMemory = false;
      for (PathId p : publicPlaces(f, e.path, &callersMemory)) addRow(f, e, p, callersMemory);
    }
  }
}

bool inLoop(const FunctionFacts& f, uint32_t block) {
  std::set<uint32_t> seen;
  std::vector<uint32_t> todo = f.blocks[block].succs;
  while (!todo.empty()) {
    uint32_t b = todo.back();
    todo.pop_back();
    if (b == block) return true;
    if (b < f.blocks.size() && seen.insert(b).second) todo.insert(todo.end(), f.blocks[b].succs.begin(), f.blocks[b].succs.end());
  }
  return false;
}

void Solution::addRow(FuncId site, const LocalEffect& e, PathId place, bool callersMemory) {
  const FunctionFacts& fn = program.functions[site];
  const Context& x = contexts[site];
  Row r;
  r.kind = e.kind == Eff::Free ? Eff::Write : e.kind;
  r.path = engine.paths.withoutIndexes(place);
  r.type = e.type;
  r.func = e.func;
  r.site = site;
  r.loc = e.loc;
  r.via = e.via;
  r.rmw = e.rmw;
  r.bump = e.bump;
  r.shallow = e.shallow;
  const PathNode& origin = engine.paths.rootOf(e.path);
  // (A lambda runs wherever the function around it hands it to.)
  r.orphan = !x.hasCallers && !fn.isMain && !fn.isLambda && (origin.root == Root::This || origin.root == Root::Param);
  if (r.orphan) r.owner = program.classOfType(fn.ownerType);
  // What is freed is nobody else's: no conflict by itself.
  r.init = e.init || e.kind == Eff::Free || dropsReference(e.func, r.path) ||
           (x.constructionOnly && origin.root == Root::This && engine.paths.derefs(e.path) == 0);
  const Segment& s = segment(r.path);
  if (callersMemory && wholeObject(s)) return;
  if (r.kind == Eff::Touch && wholeObject(s)) {
    // Code nobody knows got a whole object: it can reach the members of a
    // plain struct, not the private ones of a class.
    const ClassFact* c = program.classOfType(r.type);
    if (!c || c->inSystemHeader || !c->methods.empty()) return;
  }
  r.held = heldAt(e, site);
  if (!rowsSeen_.insert({r.kind, r.path, r.held, r.func, r.loc.file, r.loc.offset, site, r.init, r.shallow}).second) return;
  uint32_t id = static_cast<uint32_t>(rows.size());
  auto index = [&](Str field) {
    std::vector<uint32_t>& list = rowsByField_[field];
    if (list.empty() || list.back() != id) list.push_back(id);
  };
  for (const auto& [kind, field] : s)
    if (field && (kind == StepKind::Field || kind == StepKind::Root)) index(field);
  if (wholeObject(s))
    if (const ClassFact* c = program.classOfType(r.type))
      for (const FieldFact& fact : c->fields) index(fact.usr);
  if (r.writes() && (!r.init || e.kind == Eff::Free) && !r.atomic() && !countedDrop(e))
    for (PathId p = r.path; engine.paths.at(p).kind != StepKind::Root; p = engine.paths.at(p).parent)
      if (engine.paths.at(p).kind == StepKind::Deref)
        if (Str holder = pointerHolder(p))
          for (const HeldLock& h : r.held)
            if (Str lock = engine.lockClass(h.path); lock && h.mode == Mode::Exclusive) changedThrough_.insert({holder, lock});
  rows.push_back(std::move(r));
}

// The outermost member or global that holds the pointer which `pointee` (a path
// that ends in Deref) follows.
Str Solution::pointerHolder(PathId pointee) const {
  for (const auto& [kind, name] : segment(engine.paths.at(pointee).parent))
    if (kind == StepKind::Field || kind == StepKind::Root) return name;
  return 0;
}

void Solution::lockOrder() {
  // Edges between lock classes; a lock in a cycle is never made shared, since
  // queued writers close a cycle of readers.
  std::map<Str, std::set<Str>> edges;
  std::map<std::pair<Str, Str>, std::pair<FuncId, Loc>> where;
  auto add = [&](Str a, Str b, FuncId f, const Loc& loc) {
    if (a && a == b) nestedInItself_.insert(a);
    if (!a || !b || a == b) return;
    edges[a].insert(b);
    where.emplace(std::make_pair(a, b), std::make_pair(f, loc));
  };
  for (FuncId f = 0; f < results.size(); ++f) {
    for (const auto& o : results[f].orders) add(engine.lockClass(o.held), engine.lockClass(o.acquired), f, o.loc);
    for (const Acquisition& q : results[f].acquisitions)
      for (const HeldLock& h : contexts[f].entryHeld)
        if (!q.ambiguous && !q.isTry)
          add(engine.lockClass(h.path), engine.lockClass(q.lock), f, program.functions[f].calls[q.call].loc);
  }
  std::map<Str, uint32_t> index, low;
  std::vector<Str> stack;
  std::set<Str> on;
  uint32_t counter = 0;
  std::vector<std::pair<Str, std::set<Str>::const_iterator>> frames;
  for (const auto& [start, list] : edges) {
    if (index.count(start)) continue;
    index[start] = low[start] = ++counter;
    stack.push_back(start);
    on.insert(start);
    frames.emplace_back(start, list.begin());
    while (!frames.empty()) {
      auto& [v, it] = frames.back();
      auto found = edges.find(v);
      if (found != edges.end() && it != found->second.end()) {
        Str w = *it++;
        if (!index.count(w)) {
          index[w] = low[w] = ++counter;
          stack.push_back(w);
          on.insert(w);
          auto next = edges.find(w);
          static const std::set<Str> kEmpty;
          frames.emplace_back(w, next == edges.end() ? kEmpty.end() : next->second.begin());
        } else if (on.count(w)) {
          low[v] = std::min(low[v], index[w]);
        }
        continue;
      }
      Str done = v;
      frames.pop_back();
      if (!frames.empty()) low[frames.back().first] = std::min(low[frames.back().first], low[done]);
      if (low[done] != index[done]) continue;
      std::vector<Str> component;
      Str w;
      do {
        w = stack.back();
        stack.pop_back();
        on.erase(w);
        component.push_back(w);
      } while (w != done);
      if (component.size() > 1)
        for (Str member : component) {
          // A neighbour in the cycle, as evidence.
          std::string text;
          for (Str other : component) {
            auto there = where.find({member, other});
            if (there == where.end()) continue;
            const Loc& at = there->second.second;
            text = at.valid() ? program.text(program.files[at.file].path) + ":" + std::to_string(at.line) : std::string();
            break;
          }
          cyclic_.emplace(member, text);
        }
    }
  }
}

void Solution::collectSections() {
  for (FuncId f = 0; f < results.size(); ++f) {
    const FunctionFacts& fn = program.functions[f];
    for (uint32_t a = 0; a < results[f].acquisitions.size(); ++a) {
      const Acquisition& q = results[f].acquisitions[a];
      if (q.byDelta && !q.sure && !q.isTry) continue;  // perhaps held, perhaps not: no section
      // A wrapper that takes the lock for its caller: the section is there.
      if (q.heldAtExit) {
        bool wrapper = true;
        for (uint32_t e : q.region) {
          Eff k = results[f].effects[e].kind;
          wrapper &= k == Eff::Read || k == Eff::AtomicRead || k == Eff::Log || k == Eff::Alloc;
          const PathNode& root = engine.paths.rootOf(results[f].effects[e].path);
          wrapper |= root.root == Root::This && engine.isLockClass(fn.ownerType);
        }
        if (wrapper || engine.isGuardClass(fn.ownerType) || engine.isLockClass(fn.ownerType)) continue;
      }
      Section s;
      s.func = f;
      s.acquisition = a;
      s.mode = q.mode;
      const Call& c = fn.calls[q.call];
      bool manual = q.guardLocal == kNone;
      s.loc = manual ? c.loc : c.nameLoc.valid() ? c.nameLoc : c.loc;
      s.lock = engine.lockClass(q.lock);
      if (!s.lock) {
        // A lock reached by a pointer only: named by what holds the pointer.
        for (PathId p = q.lock; p; p = engine.paths.at(p).parent)
          if (engine.paths.at(p).kind == StepKind::Field) {
            s.lock = engine.paths.at(p).entity;
            break;
          }
      }
      sections.push_back(std::move(s));
    }
  }
  auto place = [&](const Section& s) {
    std::string file = s.loc.valid() ? program.text(program.files[s.loc.file].path) : std::string();
    return std::make_tuple(std::move(file), s.loc.line, s.loc.col, s.func, s.acquisition);
  };
  std::sort(sections.begin(), sections.end(), [&](const Section& a, const Section& b) { return place(a) < place(b); });

  for (uint32_t i = 0; i < sections.size(); ++i) {
    Section& s = sections[i];
    if (!s.lock) continue;
    LockClass& l = locks[s.lock];
    if (!l.id) {
      l.id = s.lock;
      if (const FieldFact* f = program.field(s.lock)) {
        const ClassFact* owner = program.fieldOwner(s.lock);
        l.name = program.text(owner->name) + "::" + program.text(f->name);
        l.type = f->type;
        l.loc = f->loc;
      } else if (const GlobalFact* g = program.global(s.lock)) {
        l.name = program.text(g->name);
        l.type = g->type;
        l.loc = g->loc;
      }
      const TypeFact* t = program.type(l.type);
      while (t && t->pointee && !engine.isLockClass(t->name)) t = program.type(t->pointee);
      while (t && t->kind == TypeKind::Class && !engine.isLockClass(t->name) && !t->args.empty() &&
             (models.hasClass(program.text(t->clsName)) || models.isUniqueOwner(program.text(t->clsName))))
        t = program.type(t->args[0]);
      if (t && engine.isLockClass(t->name)) l.type = t->name;
      l.hasShared = engine.hasSharedMode(l.type);
    }
    l.sections.push_back(i);
    if (s.mode == Mode::Shared) l.everShared = true, l.hasShared = true;
  }
  // What bars a whole lock.
  auto bar = [&](PathId p, const std::string& why) {
    Str id = engine.lockClass(p);
    auto it = locks.find(id);
    if (it != locks.end() && it->second.barred.empty()) it->second.barred = why;
  };
  std::vector<Str> handlers;
  for (FuncId f = 0; f < results.size(); ++f) {
    for (PathId p : results[f].waitedLocks) bar(p, "it is handed to a condition variable");
    for (PathId p : results[f].handedOut) bar(p, "its address is handed to code that is not in the program");
    for (const Acquisition& q : results[f].acquisitions)
      if (q.waits) bar(q.lock, "it is handed to a condition variable");
    handlers.insert(handlers.end(), results[f].signalHandlers.begin(), results[f].signalHandlers.end());
    handlers.insert(handlers.end(), results[f].forkHandlers.begin(), results[f].forkHandlers.end());
  }
  for (Str usr : handlers)
    for (FuncId f : program.targetsOf(usr).bodies) {
      for (const AcquireNote& n : engine.summaries[f].acquires) bar(n.path, "a signal or fork handler takes it");
      for (const Acquisition& q : results[f].acquisitions) bar(q.lock, "a signal or fork handler takes it");
      for (const LockDelta& d : engine.summaries[f].released) bar(d.path, "a signal or fork handler releases it");
    }
  for (auto& [id, l] : locks) {
    if (cyclic_.count(id) && l.barred.empty()) l.barred = "it is part of a cycle in the order in which locks are taken (another one is taken under it at " + cyclic_[id] + ")";
    for (const std::string& never : models.neverSuggest())
      if (program.className(l.type) == never || l.name == never)
        l.barred = "the configuration says never to suggest it";
  }
  for (Section& s : sections) judge(s);
  for (Section& s : sections) judgeSnapshot(s);
  // Under a lock that is to be shared as well, it does not run alone any more.
  for (bool changed = true; changed;) {
    changed = false;
    for (Section& s : sections)
      for (const Section& o : sections)
        if (s.outer != kNone && o.func == s.func && o.acquisition == s.outer && o.verdict.proved() && o.ineligible.empty() &&
            (s.mode == Mode::Exclusive || s.verdict.proved())) {
          s.ineligible.clear();
          s.outer = kNone;
          changed = true;
        }
  }
  for (auto& [id, l] : locks)
    for (uint32_t i : l.sections)
      if (const Section& s = sections[i]; s.mode == Mode::Exclusive && !s.verdict.proved() && !l.endlessWriter &&
                                          (acquisition(s).endless || contexts[s.func].endless))
        l.endlessWriter = i + 1;
}

}  // namespace locktidy
