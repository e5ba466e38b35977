// What others can see (step 2). Locals and fresh objects are private until a
// pointer to them is stored where others can see it, or handed to unknown code
// (which is a definition of Unknown); from that point on they are shared.
//
// Needs all definitions: run when aliases are complete. Contents are followed
// through at most six copies.

#include <algorithm>

#include "checker/solve/FunctionState.h"

namespace locktidy {

void FunctionSolver::findEscapes() {
  const std::vector<std::pair<PathId, std::vector<Def>>> all = sortedDefs();
  for (const auto& [dst, defs] : all) {
    if (!visiblePlace(dst)) continue;
    for (const Def& d : defs) {
      if (d.bind) escape(d.src, d.at);
      else escapeContents(d.src, d.at);
    }
  }
  while (!escapeTodo_.empty()) {
    auto [root, at] = escapeTodo_.front();
    escapeTodo_.pop_front();
    escapeContents(root, at);
    // Later stores into an escaped object escape too.
    for (const auto& [dst, defs] : all)
      if (paths_.base(dst) == root)
        for (const Def& d : defs) {
          if (d.bind) escape(d.src, d.at);
          else escapeContents(d.src, d.at);
        }
  }
}

void FunctionSolver::escape(PathId target, Point at) {
  PathId root = paths_.base(target);
  if (!privateRoot(paths_.at(root))) return;
  if (containsDeref(target)) return;
  std::vector<Point>& points = escaped_[root];
  if (std::find(points.begin(), points.end(), at) != points.end()) return;
  points.push_back(at);
  escapeTodo_.push_back({root, at});
}

// Everything that what is stored below `place` refers to.
void FunctionSolver::escapeContents(PathId place, Point at, int depth) {
  if (depth > 6) {
    out_.incomplete = "pointers in it are too entangled";
    return;
  }
  for (const auto& [dst, defs] : defs_) {
    bool below = paths_.hasPrefix(dst, place);
    bool above = !below && paths_.hasPrefix(place, dst) && !containsDeref(place);
    if (!below && !above) continue;
    for (const Def& d : defs) {
      if (d.bind) {
        if (below || above) escape(d.src, at);
      } else if (d.src != place) {
        auto key = std::make_pair(d.src, at);
        if (contentsSeen_.insert(key).second) escapeContents(d.src, at, depth + 1);
      }
    }
  }
}

bool FunctionSolver::isShared(PathId p, Point at) {
  const PathNode& r = paths_.rootOf(p);
  switch (r.root) {
    case Root::This:
    case Root::Unknown: return true;
    case Root::Param: return containsDeref(p);
    case Root::Global: {
      const GlobalFact* g = p_.global(r.entity);
      if (p_.byUsr.count(r.entity)) return false;  // a function
      return !(g && g->isThreadLocal && !containsDeref(p));
    }
    case Root::Local:
    case Root::Fresh: {
      if (containsDeref(p)) return true;
      auto it = escaped_.find(paths_.base(p));
      if (it == escaped_.end()) return false;
      for (const Point& e : it->second)
        if (precedes(e, at)) return true;
      return false;
    }
    default: return containsDeref(p);
  }
}

// A path others can understand: private roots that escaped become Unknown.
PathId FunctionSolver::publicPath(PathId p) {
  PathId root = paths_.base(p);
  switch (paths_.at(root).root) {
    case Root::Local:
    case Root::Fresh: return paths_.replacePrefix(p, root, paths_.root(Root::Unknown, kOwnIndex));
    case Root::Result:
    case Root::Ret: return paths_.replacePrefix(p, root, paths_.unknown());
    default: return p;
  }
}

bool FunctionSolver::visiblePlace(PathId p) const {
  const PathNode& r = paths_.rootOf(p);
  switch (r.root) {
    case Root::Global:
    case Root::Unknown: return true;
    case Root::This: return !f_.isCtor;
    case Root::Param: return containsDeref(p);
    default: return false;
  }
}

}  // namespace locktidy
