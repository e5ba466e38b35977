// Hash-consed access paths. Equal paths have equal ids, so that prefixes,
// substitution and sets are cheap.
//
// Canonical paths (what effects speak of) never start at a variable that only
// points somewhere: those are resolved (Aliases.cpp) first.
//
// Limits: at most kMaxSteps selectors; a field that is followed by Deref a
// second time folds back to its first occurrence (`n.next*.next*` is
// `n.next*`), so walks over linked structures terminate. A longer path is cut
// and ends in the step Any, "anything below".
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "checker/model/Facts.h"

namespace locktidy {

using PathId = uint32_t;
inline constexpr PathId kNoPath = 0;
inline constexpr int kMaxSteps = 10;
// Index of an Unknown root: an object of its own (a local or fresh one that
// others can see), no part of any other.
inline constexpr uint32_t kOwnIndex = 1;
// Element names that stand for a place in the function, not for a variable.
inline constexpr Str kElementName = 0x80000000;

enum class StepKind : uint8_t { Root, Field, Elem, Deref, Any };

struct PathNode {
  PathId parent = kNoPath;
  StepKind kind = StepKind::Root;
  Root root = Root::Unknown;  // Root only
  uint32_t index = 0;         // Root only: Param, Local, ...
  Str entity = 0;             // Root Global: USR; Field: USR; Elem: index name
  uint16_t depth = 0;
  PathId base = kNoPath;      // the root's id
  PathId plain = kNoPath;     // without names of elements; kNoPath: not asked yet
};

class PathTable {
 public:
  PathTable() { nodes_.emplace_back(); }

  PathId root(Root kind, uint32_t index = 0, Str entity = 0) {
    PathNode n;
    n.kind = StepKind::Root;
    n.root = kind;
    n.index = index;
    n.entity = entity;
    return add(n);
  }
  PathId unknown() { return root(Root::Unknown); }

  PathId step(PathId base, StepKind kind, Str entity = 0) {
    const PathNode& b = nodes_[base];
    if (b.kind == StepKind::Any) return base;
    if (b.depth >= kMaxSteps) kind = StepKind::Any, entity = 0;
    if (kind == StepKind::Deref && b.kind == StepKind::Field) {
      // Fold cycles: an earlier `.f *` with the same f.
      for (PathId p = b.parent; p; p = nodes_[p].parent) {
        const PathNode& n = nodes_[p];
        if (n.kind == StepKind::Deref && nodes_[n.parent].kind == StepKind::Field &&
            nodes_[n.parent].entity == b.entity)
          return p;
      }
    }
    PathNode n;
    n.parent = base;
    n.kind = kind;
    n.entity = entity;
    n.depth = static_cast<uint16_t>(b.depth + 1);
    n.base = b.kind == StepKind::Root ? base : b.base;
    return add(n);
  }
  PathId field(PathId base, Str f) { return step(base, StepKind::Field, f); }
  PathId elem(PathId base, Str index = 0) { return step(base, StepKind::Elem, index); }
  PathId deref(PathId base) { return step(base, StepKind::Deref); }

  const PathNode& at(PathId p) const { return nodes_[p]; }
  PathId base(PathId p) const { return nodes_[p].kind == StepKind::Root ? p : nodes_[p].base; }
  const PathNode& rootOf(PathId p) const { return nodes_[base(p)]; }

  // Is `prefix` an initial part of `p` (or p itself)?
  bool hasPrefix(PathId p, PathId prefix) const {
    while (nodes_[p].depth > nodes_[prefix].depth) p = nodes_[p].parent;
    return p == prefix;
  }
  // The longest initial part of both; kNoPath if they start apart.
  PathId commonPrefix(PathId a, PathId b) const {
    while (a != b) {
      if (nodes_[a].depth < nodes_[b].depth) std::swap(a, b);
      if (nodes_[a].kind == StepKind::Root) return kNoPath;
      a = nodes_[a].parent;
    }
    return a;
  }
  // An object that callers may know not to exist (a null pointer leads to it).
  bool mayBeAbsent(PathId p) const {
    const PathNode& r = rootOf(p);
    return r.root == Root::This || (r.root == Root::Param && derefs(p) > 0);
  }
  // What needs one such object or the other needs this one.
  PathId bothNeed(PathId a, PathId b) const {
    PathId both = a == b ? a : a && b ? commonPrefix(a, b) : kNoPath;
    return both && mayBeAbsent(both) ? both : kNoPath;
  }
  // `p` with its initial part `from` replaced by `to`. Precondition: hasPrefix.
  PathId replacePrefix(PathId p, PathId from, PathId to) {
    if (p == from) return to;
    PathNode n = nodes_[p];
    PathId parent = replacePrefix(n.parent, from, to);
    return step(parent, n.kind, n.entity);
  }
  // The initial part up to and with the first Deref; kNoPath without one.
  PathId firstDeref(PathId p) const {
    PathId found = kNoPath;
    for (; nodes_[p].kind != StepKind::Root; p = nodes_[p].parent)
      if (nodes_[p].kind == StepKind::Deref) found = p;
    return found;
  }
  // How many pointers the path follows.
  int derefs(PathId p) const {
    int n = 0;
    for (; nodes_[p].kind != StepKind::Root; p = nodes_[p].parent) n += nodes_[p].kind == StepKind::Deref;
    return n;
  }
  // The last member named, whether or not pointers were followed since
  // (`inObject`: only without following one). 0: none.
  Str lastField(PathId p, bool inObject = false) const {
    for (; nodes_[p].kind != StepKind::Root; p = nodes_[p].parent) {
      if (nodes_[p].kind == StepKind::Field) return nodes_[p].entity;
      if (inObject && nodes_[p].kind == StepKind::Deref) return 0;
    }
    return 0;
  }
  // Forgets which element: for paths that leave their function.
  PathId withoutIndexes(PathId p) {
    if (nodes_[p].plain) return nodes_[p].plain;
    PathNode n = nodes_[p];
    PathId plain = p;
    if (n.kind != StepKind::Root)
      plain = step(withoutIndexes(n.parent), n.kind, n.kind == StepKind::Elem ? 0 : n.entity);
    nodes_[p].plain = plain;
    return plain;
  }
  size_t size() const { return nodes_.size(); }

 private:
  static bool same(const PathNode& a, const PathNode& b) {
    return a.parent == b.parent && a.kind == b.kind && a.root == b.root && a.index == b.index && a.entity == b.entity;
  }
  static size_t hash(const PathNode& n) {
    uint64_t h = (uint64_t{n.parent} << 32 | n.entity) * 0x9e3779b97f4a7c15ull;
    h ^= (uint64_t{n.index} << 16 | static_cast<uint64_t>(n.kind) << 8 | static_cast<uint64_t>(n.root)) *
         0xc2b2ae3d27d4eb4full;
    return (h ^ h >> 32) * 0x9e3779b97f4a7c15ull >> 20;
  }
  PathId add(const PathNode& n) {
    if (nodes_.size() * 2 >= slots_.size()) grow();
    size_t mask = slots_.size() - 1, i = hash(n) & mask;
    for (; slots_[i]; i = (i + 1) & mask)
      if (same(nodes_[slots_[i]], n)) return slots_[i];
    slots_[i] = static_cast<PathId>(nodes_.size());
    nodes_.push_back(n);
    return slots_[i];
  }
  void grow() {
    slots_.assign(slots_.size() * 2, kNoPath);
    size_t mask = slots_.size() - 1;
    for (PathId id = 1; id < nodes_.size(); ++id) {
      size_t i = hash(nodes_[id]) & mask;
      while (slots_[i]) i = (i + 1) & mask;
      slots_[i] = id;
    }
  }
  std::vector<PathNode> nodes_;
  // Ids by hash, open addressing: solving spends much of its time in here.
  std::vector<PathId> slots_ = std::vector<PathId>(1024, kNoPath);
};

}  // namespace locktidy
