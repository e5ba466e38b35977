// May two places be the same memory, and who surely holds what at an access?
//
// Two paths are compared by the containment chain after their last Deref:
// memory is a forest of objects that contain one another, and a pointer leads
// to some object of the right class. So `this->map_[].hits` and `entry->hits`
// may be the same (the pointer may lead into the map), `this->a_.hits` and
// `this->b_.hits` are not, and a write of a whole object covers what is inside.

#include <algorithm>

#include "checker/solve/Solution.h"

namespace locktidy {

using Segment = Solution::Segment;

const Segment& Solution::segment(PathId path) const {
  auto it = segmentCache_.find(path);
  if (it != segmentCache_.end()) return it->second;
  Segment out;
  for (PathId p = path;; p = engine.paths.at(p).parent) {
    const PathNode& n = engine.paths.at(p);
    if (n.kind == StepKind::Deref) break;
    if (n.kind == StepKind::Root) {
      if (n.root == Root::Global) out.emplace_back(StepKind::Root, n.entity);
      if (n.root == Root::Unknown && n.index == kOwnIndex) out.push_back(kOwnObject);
      break;
    }
    out.emplace_back(n.kind, n.kind == StepKind::Field ? n.entity : 0);
  }
  std::reverse(out.begin(), out.end());
  return segmentCache_.emplace(path, std::move(out)).first->second;
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
  const Segment &x = segment(a), &y = segment(b);
  if (!wholeObject(x) && !wholeObject(y)) {
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
  if (wholeObject(x) && wholeObject(y)) {
    if (!typeA || typeA != typeB) return false;
    return program.classOfType(typeA) != nullptr;
  }
  return wholeObject(x) ? covers(typeA, y) : covers(typeB, x);
}

const std::vector<uint32_t>& Solution::overlapping(PathId path, Str type, bool shallow) const {
  auto key = std::make_tuple(path, type, shallow);
  auto cached = overlapCache_.find(key);
  if (cached != overlapCache_.end()) return cached->second;
  std::vector<uint32_t> candidates, out;
  auto take = [&](Str field) {
    auto it = rowsByField_.find(field);
    if (it != rowsByField_.end()) candidates.insert(candidates.end(), it->second.begin(), it->second.end());
  };
  const Segment& s = segment(path);
  for (const auto& [kind, f] : s)
    if (f && (kind == StepKind::Field || kind == StepKind::Root)) take(f);
  if (wholeObject(s))
    if (const ClassFact* c = program.classOfType(type))
      for (const FieldFact& f : c->fields) take(f.usr);
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  for (uint32_t r : candidates)
    if (mayOverlap(path, type, rows[r].path, rows[r].type, shallow, rows[r].shallow)) out.push_back(r);
  return overlapCache_.emplace(key, std::move(out)).first->second;
}

const std::vector<uint32_t>& Solution::distinctOverlapping(PathId path, Str type, bool shallow) const {
  auto key = std::make_tuple(path, type, shallow);
  auto cached = distinctCache_.find(key);
  if (cached != distinctCache_.end()) return cached->second;
  std::set<std::tuple<bool, bool, bool, bool, const ClassFact*, std::vector<HeldLock>>> seen;
  std::vector<uint32_t> out;
  for (uint32_t id : overlapping(path, type, shallow)) {
    const Row& r = rows[id];
    if (seen.emplace(r.writes(), r.atomic(), r.init, r.orphan, r.owner, r.held).second) out.push_back(id);
  }
  return distinctCache_.emplace(key, std::move(out)).first->second;
}

bool Solution::holds(const std::vector<HeldLock>& held, Str lock, Mode mode) const {
  for (const HeldLock& h : held)
    if (h.mode >= mode && engine.lockClass(h.path) == lock) return true;
  return false;
}

std::vector<HeldLock> Solution::heldAt(const LocalEffect& e, FuncId func) const {
  const PathTable& paths = engine.paths;
  const Context& x = contexts[func];
  std::vector<HeldLock> held = e.held;
  const std::vector<HeldLock>& entry = paths.rootOf(e.path).root == Root::This ? x.entryHeldShared : x.entryHeld;
  held.insert(held.end(), entry.begin(), entry.end());
  // A lock of another instance of the accessed object's class does not protect
  // it: `this->mu_` held while `other->x` is written, `shards_[i].mu` and
  // `shards_[j].x`, `locks_[i]` and `data_[j]`.
  std::erase_if(held, [&](const HeldLock& h) {
    PathId own = h.path;  // the lock itself, without parts of it
    for (PathId p = own; paths.at(p).kind != StepKind::Root; p = paths.at(p).parent) {
      if (paths.at(own).kind != StepKind::Field) own = paths.at(p).parent;
      if (paths.at(p).kind == StepKind::Elem && !sameElement(paths.at(p).entity, e.path) &&
          engine.holdsMany(engine.typeOf(paths.at(p).parent, func)))
        return true;
    }
    const ClassFact* lockOwner = program.fieldOwner(engine.lockClass(h.path));
    if (!lockOwner || paths.at(own).kind == StepKind::Root) return false;
    PathId owner = paths.at(own).parent;
    if (paths.rootOf(owner).root == Root::Unknown) return false;
    // The accessed object of the lock owner's class, if the path names one.
    for (PathId p = e.path; p && paths.at(p).kind != StepKind::Root; p = paths.at(p).parent) {
      const PathNode& n = paths.at(p);
      if (n.kind != StepKind::Field || program.fieldOwner(n.entity) != lockOwner) continue;
      return paths.rootOf(n.parent).root != Root::Unknown && n.parent != owner;
    }
    return false;
  });
  return held;
}

// Does the path go through the element `index`, known by name?
bool Solution::sameElement(Str index, PathId path) const {
  if (!index) return false;
  for (; engine.paths.at(path).kind != StepKind::Root; path = engine.paths.at(path).parent)
    if (engine.paths.at(path).kind == StepKind::Elem && engine.paths.at(path).entity == index) return true;
  return false;
}

std::vector<PathId> Solution::publicPlaces(FuncId func, PathId path, bool* callersMemory) const {
  PathTable& paths = engine.paths;
  const PathNode& r = paths.rootOf(path);
  const Context& x = contexts[func];
  const int derefs = paths.derefs(path);
  if (r.root == Root::This) {
    if (!x.thisShared && derefs == 0) return {};
    return {path};
  }
  if (r.root == Root::Param) {
    if (r.index >= x.paramShared.size()) return {path};
    if (!x.hasCallers) {
      if (callersMemory && derefs == 1) *callersMemory = true;
      return {path};
    }
    PathId pointee = paths.deref(paths.base(path));
    if (!paths.hasPrefix(path, pointee)) {
      // Through a pointer inside a parameter passed by value.
      PathId first = paths.firstDeref(path);
      auto known = x.members.find(paths.withoutIndexes(first));
      if (!first || known == x.members.end()) return {path};
      std::vector<PathId> out;
      for (PathId t : known->second) out.push_back(paths.replacePrefix(path, first, t));
      return out;
    }
    if (!x.paramShared[r.index] && derefs <= 1) return {};
    std::vector<PathId> out;
    for (PathId t : x.paramTargets[r.index]) out.push_back(paths.replacePrefix(path, pointee, t));
    if (out.empty()) out.push_back(path);
    return out;
  }
  return {path};
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
        if (Str from = paths.lastField(n.parent, true)) {
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
    if (paths.derefs(lock) == 0) return true;
  }
  if (paths.at(owner).kind == StepKind::Field) owner = paths.at(owner).parent;
  // Paths of other instances say nothing of this one; the caller compares
  // classes for those.
  for (PathId p = path; p && p != owner; p = paths.at(p).parent) {
    const PathNode& n = paths.at(p);
    if (n.kind == StepKind::Root) return false;
    if (n.kind != StepKind::Deref) continue;
    Str through = paths.lastField(n.parent, true);
    if (!through || !privatePointers_.count(through)) return false;
  }
  return true;
}

}  // namespace locktidy
