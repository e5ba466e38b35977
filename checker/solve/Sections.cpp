// Rows, overlap, and the verdict on each section.
//
// May two places be the same memory? Two paths are compared by the containment
// chain after their last Deref: memory is a forest of objects that contain one
// another, and a pointer leads to some object of the right class. So
// `this->map_[].hits` and `entry->hits` may be the same (the pointer may lead
// into the map), `this->a_.hits` and `this->b_.hits` are not, and a write of a
// whole object covers what is inside it.

#include <algorithm>

#include "checker/solve/Solution.h"

namespace locktidy {

using Segment = std::vector<std::pair<StepKind, Str>>;

Segment Solution::segment(PathId path) const {
  auto it = segmentCache_.find(path);
  if (it != segmentCache_.end()) return it->second;
  Segment out;
  for (PathId p = path;; p = engine.paths.at(p).parent) {
    const PathNode& n = engine.paths.at(p);
    if (n.kind == StepKind::Deref) break;
    if (n.kind == StepKind::Root) {
      if (n.root == Root::Global) out.emplace_back(StepKind::Root, n.entity);
      break;
    }
    out.emplace_back(n.kind, n.kind == StepKind::Field ? n.entity : 0);
  }
  std::reverse(out.begin(), out.end());
  segmentCache_[path] = out;
  return out;
}

namespace {

// `a` from position k on against `b` from its start: equal as far as both go?
// A shallow access (bookkeeping of a container) does not meet what is deeper.
bool aligned(const Segment& a, size_t k, const Segment& b, bool shallowA, bool shallowB) {
  if (shallowA && b.size() > a.size() - k) return false;
  if (shallowB && a.size() - k > b.size()) return false;
  for (size_t i = 0; k + i < a.size() && i < b.size(); ++i) {
    if (a[k + i].first == StepKind::Any || b[i].first == StepKind::Any) return true;
    if (a[k + i] != b[i]) return false;
  }
  return true;
}

bool alignedSomewhere(const Segment& a, const Segment& b, bool shallowA, bool shallowB) {
  if (b.empty()) return false;
  if (b[0].first == StepKind::Root) return !a.empty() && a[0] == b[0] && aligned(a, 0, b, shallowA, shallowB);
  for (size_t k = 0; k < a.size(); ++k)
    if (a[k] == b[0] && aligned(a, k, b, shallowA, shallowB)) return true;
  return false;
}

}  // namespace

bool Solution::mayOverlap(PathId a, Str typeA, PathId b, Str typeB, bool shallowA, bool shallowB) const {
  if (a == b) return true;
  Segment x = segment(a), y = segment(b);
  if (!x.empty() && !y.empty()) {
    // Two places in one object are told apart by their chains alone.
    return alignedSomewhere(x, y, shallowA, shallowB) || alignedSomewhere(y, x, shallowB, shallowA);
  }
  // A whole object of class T reached by pointer covers every field of T.
  auto covers = [&](Str type, const Segment& s) {
    const ClassFact* c = program.classOfType(type);
    if (!c) return false;
    for (const auto& [kind, f] : s)
      if (kind == StepKind::Field && program.fieldOwner(f) == c) return true;
    return false;
  };
  if (x.empty() && y.empty()) {
    if (!typeA || typeA != typeB) return false;
    return program.classOfType(typeA) != nullptr;
  }
  return x.empty() ? covers(typeA, y) : covers(typeB, x);
}

std::vector<uint32_t> Solution::overlapping(PathId path, Str type, bool shallow) const {
  auto key = std::make_tuple(path, type, shallow);
  auto cached = overlapCache_.find(key);
  if (cached != overlapCache_.end()) return cached->second;
  std::vector<uint32_t> candidates, out;
  auto take = [&](Str field) {
    auto it = rowsByField_.find(field);
    if (it != rowsByField_.end()) candidates.insert(candidates.end(), it->second.begin(), it->second.end());
  };
  Segment s = segment(path);
  for (const auto& [kind, f] : s)
    if (kind == StepKind::Field || kind == StepKind::Root) take(f);
  if (s.empty())
    if (const ClassFact* c = program.classOfType(type))
      for (const FieldFact& f : c->fields) take(f.usr);
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  for (uint32_t r : candidates)
    if (mayOverlap(path, type, rows[r].path, rows[r].type, shallow, rows[r].shallow)) out.push_back(r);
  overlapCache_[key] = out;
  return out;
}

bool Solution::holds(const std::vector<HeldLock>& held, Str lock, Mode mode) const {
  for (const HeldLock& h : held)
    if (h.mode >= mode && engine.lockClass(h.path) == lock) return true;
  return false;
}

std::vector<HeldLock> Solution::heldAt(const LocalEffect& e, FuncId func) const {
  std::vector<HeldLock> held = e.held;
  for (const HeldLock& h : contexts[func].entryHeld) held.push_back(h);
  // A lock of another instance of the accessed object's class does not protect
  // it: `this->mu_` held while `other->x` is written.
  std::erase_if(held, [&](const HeldLock& h) {
    Str lock = engine.lockClass(h.path);
    const ClassFact* lockOwner = program.fieldOwner(lock);
    if (!lockOwner) return false;
    PathId owner = kNoPath;
    for (PathId p = h.path; p; p = engine.paths.at(p).parent)
      if (engine.paths.at(p).kind == StepKind::Field && engine.paths.at(p).entity == lock) {
        owner = engine.paths.at(p).parent;
        break;
      }
    if (!owner || engine.paths.rootOf(owner).root == Root::Unknown) return false;
    owner = engine.paths.withoutIndexes(owner);
    // The accessed object of the lock owner's class, if the path names one.
    for (PathId p = e.path; p && engine.paths.at(p).kind != StepKind::Root; p = engine.paths.at(p).parent) {
      const PathNode& n = engine.paths.at(p);
      if (n.kind != StepKind::Field || program.fieldOwner(n.entity) != lockOwner) continue;
      PathId object = engine.paths.withoutIndexes(n.parent);
      if (engine.paths.rootOf(object).root == Root::Unknown) return false;
      return object != owner;
    }
    return false;
  });
  return held;
}

std::vector<PathId> Solution::publicPlaces(FuncId func, PathId path, bool* callersMemory) const {
  PathTable& paths = engine.paths;
  const PathNode& r = paths.rootOf(path);
  const Context& x = contexts[func];
  auto derefs = [&](PathId p) {
    int n = 0;
    for (; paths.at(p).kind != StepKind::Root; p = paths.at(p).parent) n += paths.at(p).kind == StepKind::Deref;
    return n;
  };
  if (r.root == Root::This) {
    if (!x.thisShared && derefs(path) == 0) return {};
    return {path};
  }
  if (r.root == Root::Param) {
    if (r.index >= x.paramShared.size()) return {path};
    if (!x.hasCallers) {
      if (callersMemory && derefs(path) == 1) *callersMemory = true;
      return {path};
    }
    if (!x.paramShared[r.index] && derefs(path) <= 1) return {};
    PathId pointee = paths.deref(paths.base(path));
    if (!paths.hasPrefix(path, pointee)) return {path};
    std::vector<PathId> out;
    for (PathId t : x.paramTargets[r.index]) out.push_back(paths.replacePrefix(path, pointee, t));
    if (out.empty()) out.push_back(path);
    return out;
  }
  return {path};
}

// Bookkeeping of a class that counts references, done where the count is
// stepped (a flag "being destroyed"): part of taking or dropping a reference.
bool Solution::dropsReference(FuncId func, PathId path) const {
  constexpr size_t kCounterFields = 3;
  Str field = 0;
  for (PathId p = path; p && !field; p = engine.paths.at(p).parent)
    if (engine.paths.at(p).kind == StepKind::Field) field = engine.paths.at(p).entity;
  const ClassFact* owner = program.fieldOwner(field);
  if (!owner || owner->fields.size() > kCounterFields) return false;
  for (const Effect& e : engine.summaries[func].effects) {
    if (e.kind != Eff::AtomicWrite || !e.rmw) continue;
    for (PathId p = e.path; p; p = engine.paths.at(p).parent)
      if (engine.paths.at(p).kind == StepKind::Field) {
        Str counter = engine.paths.at(p).entity;
        if (engine.isRefCount(counter) && program.fieldOwner(counter) == owner) return true;
        break;
      }
  }
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
      if (!e.direct) continue;
      switch (e.kind) {
        case Eff::Read:
        case Eff::Write:
        case Eff::AtomicRead:
        case Eff::AtomicWrite:
        case Eff::Touch: break;
        default: continue;
      }
      bool callersMemory = false;
      for (PathId p : publicPlaces(f, e.path, &callersMemory)) {
        if (callersMemory && segment(p).empty()) continue;
        Row r;
        r.kind = e.kind;
        r.path = engine.paths.withoutIndexes(p);
        r.type = e.type;
        r.held = heldAt(e, f);
        r.func = f;
        r.loc = e.loc;
        r.via = e.via;
        r.rmw = e.rmw;
        r.bump = e.bump;
        r.shallow = e.shallow;
        const PathNode& origin = engine.paths.rootOf(e.path);
        r.orphan = !x.hasCallers && !fn.isMain && (origin.root == Root::This || origin.root == Root::Param);
        if (r.orphan) r.owner = program.classOfType(fn.ownerType);
        r.init = e.init;
        r.init |= dropsReference(f, r.path);
        if (x.constructionOnly && engine.paths.rootOf(e.path).root == Root::This) {
          bool deref = false;
          for (PathId q = e.path; engine.paths.at(q).kind != StepKind::Root; q = engine.paths.at(q).parent)
            deref |= engine.paths.at(q).kind == StepKind::Deref;
          r.init |= !deref;
        }
        Segment s = segment(r.path);
        if (r.kind == Eff::Touch && s.empty()) {
          // Code nobody knows got a whole object: it can reach the members of a
          // plain struct, not the private ones of a class.
          const ClassFact* c = program.classOfType(r.type);
          if (!c || c->inSystemHeader || !c->methods.empty()) continue;
        }
        uint32_t id = static_cast<uint32_t>(rows.size());
        rows.push_back(std::move(r));
        bool any = false;
        for (const auto& [kind, field] : s)
          if (kind == StepKind::Field || kind == StepKind::Root) {
            std::vector<uint32_t>& list = rowsByField_[field];
            if (list.empty() || list.back() != id) list.push_back(id);
            any = true;
          }
        if (!any)
          if (const ClassFact* c = program.classOfType(rows[id].type))
            for (const FieldFact& fact : c->fields) rowsByField_[fact.usr].push_back(id);
      }
    }
  }
}

// A member pointer is private if everything ever stored in it is a fresh object
// that is stored nowhere else, or comes from another private pointer. Then two
// owners never share a pointee, and a lock beside the pointer protects it.
void Solution::findPrivatePointers() {
  PathTable& paths = engine.paths;
  struct Source { bool outside = false; std::set<Str> fields; };
  std::map<Str, Source> sources;
  for (FuncId f = 0; f < results.size(); ++f) {
    // Fresh objects of this function and the members they were stored in; one
    // that leaves any other way belongs to nobody alone.
    std::map<PathId, std::set<Str>> homes;
    std::set<PathId> leaked;
    for (const FunctionResult::Store& s : results[f].stores) {
      PathId base = paths.base(s.target);
      if (paths.at(base).root != Root::Fresh) continue;
      if (s.field) homes[base].insert(s.field);
      else leaked.insert(base);
    }
    for (const FunctionResult::Store& s : results[f].stores) {
      if (!s.field) continue;
      Source& into = sources[s.field];
      const PathNode& n = paths.at(s.target);
      PathId base = paths.base(s.target);
      if (paths.at(base).root == Root::Fresh && n.kind == StepKind::Root) {
        const std::set<Str>& h = homes[base];
        // Several members of one class (head and tail of a list) are one home.
        const ClassFact* owner = program.fieldOwner(s.field);
        for (Str other : h)
          if (program.fieldOwner(other) != owner) into.outside = true;
        into.outside |= leaked.count(base) != 0;
        continue;
      }
      if (n.kind == StepKind::Deref) {
        Str from = 0;
        for (PathId p = n.parent; p && !from; p = paths.at(p).parent) {
          if (paths.at(p).kind == StepKind::Field) from = paths.at(p).entity;
          if (paths.at(p).kind == StepKind::Deref || paths.at(p).kind == StepKind::Root) break;
        }
        if (from) {
          into.fields.insert(from);
          continue;
        }
      }
      into.outside = true;
    }
  }
  for (const auto& [field, s] : sources)
    if (!s.outside) privatePointers_.insert(field);
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [field, s] : sources) {
      if (!privatePointers_.count(field)) continue;
      for (Str from : s.fields)
        if (from != field && !privatePointers_.count(from)) {
          privatePointers_.erase(field);
          changed = true;
          break;
        }
    }
  }
}

bool Solution::ownedByLockOwner(PathId path, PathId lock) const {
  PathTable& paths = engine.paths;
  // The lock's owner: what is left of the lock's path without its own member.
  PathId owner = lock;
  while (owner && paths.at(owner).kind != StepKind::Field && paths.at(owner).kind != StepKind::Root)
    owner = paths.at(owner).parent;
  if (paths.rootOf(lock).root == Root::Global) {
    // One lock for the whole program, however the data is reached, unless the
    // global only leads to it.
    bool deref = false;
    for (PathId p = lock; paths.at(p).kind != StepKind::Root; p = paths.at(p).parent)
      deref |= paths.at(p).kind == StepKind::Deref;
    if (!deref) return true;
  }
  if (paths.at(owner).kind == StepKind::Field) owner = paths.at(owner).parent;
  owner = paths.withoutIndexes(owner);
  path = paths.withoutIndexes(path);
  // Paths of other instances say nothing of this one; the caller compares
  // classes for those.
  for (PathId p = path; p && p != owner; p = paths.at(p).parent) {
    const PathNode& n = paths.at(p);
    if (n.kind == StepKind::Root) return false;
    if (n.kind != StepKind::Deref) continue;
    Str through = 0;
    for (PathId k = n.parent; k && !through; k = paths.at(k).parent) {
      if (paths.at(k).kind == StepKind::Field) through = paths.at(k).entity;
      if (paths.at(k).kind == StepKind::Deref || paths.at(k).kind == StepKind::Root) break;
    }
    if (!through || !privatePointers_.count(through)) return false;
  }
  return true;
}

void Solution::lockOrder() {
  // Edges between lock classes; a lock in a cycle is never made shared, since
  // queued writers close a cycle of readers.
  std::map<Str, std::set<Str>> edges;
  std::map<std::pair<Str, Str>, std::pair<FuncId, Loc>> where;
  auto add = [&](Str a, Str b, FuncId f, const Loc& loc) {
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
}

// A declared member function of the class that could run and has no body.
std::string Solution::missingMember(const ClassFact& c) const {
  for (Str usr : c.methods) {
    auto it = program.byUsr.find(usr);
    if (it == program.byUsr.end()) continue;
    bool fine = false, called = false;
    const FunctionFacts& f = program.functions[it->second.front()];
    for (FuncId id : it->second) {
      fine |= program.functions[id].hasBody;
      called |= contexts[id].hasCallers;
    }
    fine |= f.isPure || f.isDefaulted || f.isImplicit;
    // Members of a template instance get bodies when somebody uses them.
    fine |= c.isTemplateInstance && !called;
    // Declared and never defined: how copying was switched off before C++11.
    if (!f.params.empty() && (f.isCtor || program.text(f.name).ends_with("operator="))) {
      const TypeFact* t = program.type(f.params[0].type);
      fine |= t && t->kind == TypeKind::Ref && t->pointee == c.type;
    }
    if (!fine) return program.text(f.display);
  }
  return {};
}

void Solution::judge(Section& s) {
  const Acquisition& q = acquisition(s);
  const FunctionResult& r = results[s.func];
  const Context& cx = contexts[s.func];
  PathTable& paths = engine.paths;
  Verdict& v = s.verdict;
  auto decide = [&](const LocalEffect& e, const char* kind, const std::string& why) {
    Decider d;
    d.path = e.path && paths.rootOf(e.path).root != Root::Unknown ? engine.describe(e.path) : std::string();
    if (d.path.empty() && e.path && paths.at(e.path).kind != StepKind::Root) d.path = engine.describe(e.path);
    d.kind = kind;
    d.via = program.text(e.via);
    d.why = why;
    d.func = e.func;
    d.loc = e.loc;
    d.chain = e.chain;
    return d;
  };
  auto block = [&](Reading reading, const std::string& category, const LocalEffect& e, const char* kind,
                   const std::string& why) {
    // A write outranks what is merely undecided.
    if (v.reason.empty() || (reading == Reading::Writing && v.reading != Reading::Writing)) {
      v.reading = reading;
      v.category = category;
      v.reason = why;
    }
    if (v.deciders.size() < 8) v.deciders.push_back(decide(e, kind, why));
  };
  auto stop = [&](Reading reading, const std::string& category, const std::string& why) {
    if (v.reason.empty()) {
      v.reading = reading;
      v.category = category;
      v.reason = why;
    }
  };
  // Protected by another lock that every access holds?
  auto innerLock = [&](PathId p, Str type, const std::vector<HeldLock>& held) -> Str {
    for (const HeldLock& h : held) {
      Str m = engine.lockClass(h.path);
      if (!m || m == s.lock || h.mode != Mode::Exclusive) continue;
      // Held already when this section begins: not an inner lock.
      bool all = true;
      for (uint32_t id : overlapping(p, type)) {
        const Row& row = rows[id];
        if (row.init) continue;
        if (!holds(row.held, m, row.writes() ? Mode::Exclusive : Mode::Shared)) {
          all = false;
          break;
        }
      }
      if (all) return m;
    }
    return 0;
  };

  if (!q.region.empty() || true) {
    std::set<std::tuple<Eff, PathId, Str>> seen;
    size_t synchronised = 0, atomics = 0;
    bool assumed = false;
    std::set<std::string> dropTypes;
    std::vector<std::pair<PathId, const LocalEffect*>> reads;
    std::map<std::string, bool> unknownNames;
    std::set<Str> syncLocks;
    for (uint32_t index : q.region) {
      const LocalEffect& e = r.effects[index];
      if (e.event == 0 && false) continue;
      assumed |= e.assumed;
      if (e.via) ++v.calls;
      switch (e.kind) {
        case Eff::Log:
        case Eff::Alloc: continue;
        case Eff::Blocks: v.cost = std::max(v.cost, 3); continue;
        case Eff::External:
          block(Reading::Writing, "external effect", e, "external",
                e.via ? "calls `" + program.text(e.via) + "`, which touches something outside memory"
                      : "a volatile access");
          continue;
        case Eff::Wait:
          block(Reading::Writing, "waits", e, "wait", "waits for another thread in `" + program.text(e.via) + "`");
          continue;
        case Eff::Hostile:
          block(Reading::Writing, "thread-hostile call", e, "write",
                "calls `" + program.text(e.via) + "`, which uses a hidden static buffer");
          continue;
        case Eff::Unknown: {
          std::string name = e.via ? program.text(e.via) : "something that could not be analysed";
          if (name.empty()) name = "a function pointer";
          unknownNames[name] = true;
          block(Reading::Undecided, "unknown call", e, "unknown", "calls `" + name + "`, of which nothing is known");
          continue;
        }
        case Eff::Sync: ++synchronised; if (e.multiple) ++synchronised; continue;
        case Eff::Drop: dropTypes.insert(program.text(e.type)); continue;
        case Eff::Read:
        case Eff::AtomicRead: {
          bool callers = false;
          for (PathId p : publicPlaces(s.func, e.path, &callers)) reads.emplace_back(p, &e);
          continue;
        }
        case Eff::Touch:
        case Eff::Write:
        case Eff::AtomicWrite: {
          bool callers = false;
          std::vector<PathId> places = publicPlaces(s.func, e.path, &callers);
          if (places.empty()) continue;
          // What hangs off the object that owns the lock is never the caller's own.
          if (callers && paths.base(e.path) == paths.base(q.lock)) callers = false;
          if (callers) {
            v.assumptions.push_back("callers pass memory of their own to `" + program.text(program.functions[s.func].display) + "`");
            continue;
          }
          if (e.kind == Eff::Touch) continue;  // comes with Unknown
          for (PathId p : places) {
            if (e.kind == Eff::AtomicWrite) {
              Str field = 0;
              for (PathId k = p; k && !field; k = paths.at(k).parent)
                if (paths.at(k).kind == StepKind::Field) field = paths.at(k).entity;
              if (field && engine.isRefCount(field)) continue;
              ++atomics;
              if (e.multiple) ++atomics;
              if (e.resultUsed)
                block(Reading::Writing, "atomic decision", e, "atomic",
                      "uses the result of an atomic update of `" + engine.describe(p) + "`");
              continue;
            }
            if (Str inner = innerLock(p, e.type, e.held)) {
              if (syncLocks.insert(inner).second || e.multiple) {}
              ++synchronised;
              (void)inner;
              continue;
            }
            if (dropsReference(e.func, p)) continue;
            if (!seen.insert({e.kind, p, e.type}).second) continue;
            std::string what = engine.describe(p);
            std::string via = e.via ? " by `" + program.text(e.via) + "`" : "";
            block(Reading::Writing, "write", e, "write", "`" + what + "` is written" + via);
            if (e.bump) v.unblock = "an atomic counter would make this section read-only";
          }
          continue;
        }
      }
    }
    // Inner critical sections count once each, however many writes are in them.
    if (!syncLocks.empty()) {
      size_t acquisitions = 0;
      for (const AcquireNote& n : q.nested)
        if (syncLocks.count(engine.lockClass(n.path))) ++acquisitions;
      // Distinct call sites of the inner lock, as far as notes tell them apart.
      synchronised = std::max<size_t>(acquisitions, syncLocks.size());
      for (uint32_t index : q.region) {
        const LocalEffect& e = r.effects[index];
        if (e.kind == Eff::Sync) ++synchronised;
        // Two calls of one locked operation are two steps.
        if (e.kind == Eff::Write && e.multiple)
          for (const HeldLock& h : e.held)
            if (syncLocks.count(engine.lockClass(h.path))) synchronised = std::max<size_t>(synchronised, 2);
      }
    }
    for (const auto& [name, yes] : unknownNames)
      if (s.mode == Mode::Exclusive) ++unknownCallees[name];
    if (atomics + synchronised >= 2)
      stop(Reading::Writing, "order of synchronised effects",
           "makes several synchronised changes, whose order may matter");
    if (atomics == 1) v.assumptions.push_back("nothing depends on the order of the one atomic update in it");
    if (assumed) v.assumptions.push_back("calls through function objects and pointers reach only functions of the program with that type");
    for (const std::string& t : dropTypes)
      v.assumptions.push_back("dropping a reference does not run a destructor that writes guarded state (`" + t + "`)");

    // Nested locks.
    for (const AcquireNote& n : q.nested) {
      Str m = engine.lockClass(n.path);
      if ((m && m == s.lock) || n.path == q.lock) {
        if (v.reason.empty()) {
          v.reading = Reading::Writing;
          v.category = "takes the lock again";
          v.reason = "takes the same lock again";
          Decider d;
          d.kind = "acquire";
          d.why = v.reason;
          d.func = n.func;
          d.loc = n.loc;
          d.chain = n.chain;
          v.deciders.push_back(d);
        }
      }
    }

    // Conflicts with the rest of the program.
    std::set<std::pair<PathId, bool>> readSeen;
    bool guarded = false;
    for (const auto& [p, e] : reads) {
      if (!readSeen.insert({p, e->shallow}).second) continue;
      ++v.reads;
      std::vector<HeldLock> held = heldAt(*e, s.func);
      bool writtenHere = false;
      bool owned = ownedByLockOwner(e->path, q.lock);
      uint32_t unlockedRead = kNone;
      for (uint32_t id : overlapping(p, e->type, e->shallow)) {
        const Row& row = rows[id];
        if (row.init) continue;
        // Nobody in the program calls it, and it is no member of the lock's
        // owner: what a library offers for single objects is no suspect.
        if (row.orphan && row.owner != program.fieldOwner(s.lock)) continue;
        if (e->kind == Eff::AtomicRead && row.atomic()) continue;
        bool exclusive = holds(row.held, s.lock, Mode::Exclusive);
        if (!row.writes()) {
          if (!holds(row.held, s.lock, Mode::Shared)) unlockedRead = id;
          continue;
        }
        if (exclusive) {
          writtenHere = true;
          if (owned) continue;
          LocalEffect w;
          w.path = row.path;
          w.func = row.func;
          w.loc = row.loc;
          w.via = row.via;
          block(Reading::Undecided, "reached through a pointer others may hold", w, "write",
                "`" + engine.describe(p) + "` is reached through a pointer that others may hold, and written");
          break;
        }
        bool common = false;
        for (const HeldLock& h : held) {
          Str m = engine.lockClass(h.path);
          if (m && m != s.lock && holds(row.held, m, Mode::Exclusive)) common = true;
        }
        if (common) continue;
        bool shared = holds(row.held, s.lock, Mode::Shared);
        LocalEffect w;
        w.path = row.path;
        w.func = row.func;
        w.loc = row.loc;
        w.via = row.via;
        block(Reading::Undecided, shared ? "written under the shared lock" : "accessed without the lock", w, "write",
              "`" + engine.describe(p) + "`, which it reads, is " +
                  (shared ? "written elsewhere under the shared lock" : "also written without the lock"));
        break;
      }
      if (writtenHere) {
        if (unlockedRead != kNone) {
          // Reads without the lock of guarded state: the discipline is mixed.
          const Row& row = rows[unlockedRead];
          LocalEffect w;
          w.path = row.path;
          w.func = row.func;
          w.loc = row.loc;
          w.via = row.via;
          block(Reading::Undecided, "accessed without the lock", w, "read",
                "`" + engine.describe(p) + "` is also read without the lock");
        } else {
          guarded = true;
          if (v.reason.empty() && v.deciders.size() < 6) v.deciders.push_back(decide(*e, "read", ""));
        }
      }
    }
    if (!guarded) stop(Reading::Undecided, "nothing guarded is read", "reads nothing that the lock guards");

    // Absence of other writes needs every member of the class that owns the
    // lock: one without a body could write anything in it.
    if (v.reason.empty())
      if (const ClassFact* owner = program.fieldOwner(s.lock); owner && !owner->inSystemHeader)
        if (const std::string missing = missingMember(*owner); !missing.empty())
          stop(Reading::Undecided, "a member has no body", "`" + missing + "` has no body in the program");

    // References to guarded state that leave, and objects handed over.
    for (const auto& h : r.handovers) {
      if (!q.blocks.count(h.block)) continue;
      // Only after the acquisition in its own block.
      if (engine.paths.hasPrefix(q.lock, h.target) && paths.at(h.target).kind != StepKind::Root &&
          std::string_view(h.how) != "returned") {
        stop(Reading::Writing, "hands the object over", "the object that owns the lock is handed over in it");
        continue;
      }
      if (std::string_view(h.how) == "deleted") {
        if (engine.paths.hasPrefix(q.lock, h.target))
          stop(Reading::Writing, "hands the object over", "the object that owns the lock is deleted in it");
        continue;
      }
      Segment seg = segment(h.target);
      if (seg.empty()) continue;
      for (uint32_t id : overlapping(h.target, 0)) {
        const Row& row = rows[id];
        if (row.init || !row.writes() || row.atomic()) continue;
        if (!holds(row.held, s.lock, Mode::Exclusive)) continue;
        Segment w = segment(row.path);
        if (w.size() < seg.size()) continue;  // the container, not what is referred to
        LocalEffect leave;
        leave.path = h.target;
        leave.func = s.func;
        leave.loc = h.loc;
        block(Reading::Undecided, "a reference to guarded state leaves", leave, "escape",
              "a reference to `" + engine.describe(h.target) + "` leaves the section");
        break;
      }
    }

    // Cost: the classes of WHEN_IT_PAYS.md, from what is known here.
    bool loop = false;
    size_t calls = 0;
    for (uint32_t index : q.region) {
      const LocalEffect& e = r.effects[index];
      loop |= e.multiple && !(e.direct && !e.via && !q.blocks.count(e.block));
      calls += e.via != 0;
    }
    v.cost = std::max(v.cost, loop ? 2 : calls ? 1 : 0);
  }
  std::sort(v.assumptions.begin(), v.assumptions.end());
  v.assumptions.erase(std::unique(v.assumptions.begin(), v.assumptions.end()), v.assumptions.end());
  if (v.reason.empty()) {
    v.reading = Reading::ReadOnly;
    v.category = "read-only";
    v.reason = "only reads";
  }

  // Eligibility, apart from what the section does.
  auto no = [&](const std::string& why) {
    if (s.ineligible.empty()) s.ineligible = why;
  };
  auto lock = locks.find(s.lock);
  if (!s.lock || lock == locks.end()) no("which lock it is could not be told");
  else if (!lock->second.barred.empty()) no(lock->second.barred);
  if (q.ambiguous) no("which lock it is could not be told");
  if (q.many) no("it takes several locks at once");
  if (q.isTry || q.timed) no("a try or timed acquisition is a gate: its failure decides something");
  if (q.adopted) no("the lock is taken in one place and adopted in another");
  if (q.waits) no("it is handed to a condition variable");
  if (q.guardEscapes) no("the guard is moved, stored, captured or passed on");
  if (q.heldAtExit) no("the lock is still held when the function returns");
  if (q.foreignRelease) no("not every release surely belongs to this acquisition");
  if (program.functions[s.func].isDtor) no("a destructor takes the lock to wait for those who still hold it");
  if (program.functions[s.func].isCoroutine) no("the lock may be held across a suspension");
  std::vector<HeldLock> outer = q.outerMust;
  for (const HeldLock& h : cx.entryHeld) outer.push_back(h);
  for (const HeldLock& h : outer)
    if (h.mode == Mode::Exclusive && engine.lockClass(h.path) && engine.lockClass(h.path) != s.lock)
      no("it always runs under another exclusive lock, `" + engine.describe(h.path) + "`");
  for (const HeldLock& h : cx.entryHeld)
    if (engine.lockClass(h.path) == s.lock) no("the lock is held already when the function is entered");
  // One thread only.
  if (lock != locks.end()) {
    uint64_t roots = 0;
    bool many = false;
    for (uint32_t i : lock->second.sections) {
      roots |= contexts[sections[i].func].roots;
      many |= contexts[sections[i].func].manyThreads;
    }
    if (!many && roots && (roots & (roots - 1)) == 0) no("only one thread ever takes the lock");
  }
}

}  // namespace locktidy
