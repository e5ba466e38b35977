// What leaves the function: pointers that are stored, returned or deleted (for
// Solution), and the summary its callers substitute: links, effects, locks.
//
// A summary speaks of This, Param, Global, Ret and Unknown, without indexes.
// More than kMaxLinks links become "everything may refer to everything", effects
// beyond kMaxEffects one Unknown; after kMaxHandovers the function is incomplete.

#include <algorithm>
#include <tuple>

#include "checker/solve/FunctionState.h"

namespace locktidy {

// What pointers and references are stored in members: Solution decides from
// this which members own what they point to.
void FunctionSolver::recordStores() {
  const std::vector<std::pair<PathId, std::vector<Def>>> all = sortedDefs();
  for (const auto& [dst, defs] : all) {
    const PathNode& r = paths_.rootOf(dst);
    if (r.root == Root::Local && r.index >= kArgBase) continue;
    Str field = paths_.lastField(dst, true);
    // Private variables only pass a value on.
    if (!field && !visiblePlace(dst) && r.root != Root::Ret) continue;
    for (const Def& d : defs) {
      PathSet targets;
      if (d.bind) insert(targets, d.src);
      else pointees(d.src, d.at, targets);
      for (PathId t : targets) out_.stores.push_back({field, t});
    }
  }
}

void FunctionSolver::handovers() {
  recordStores();
  const std::vector<std::pair<PathId, std::vector<Def>>> all = sortedDefs();
  for (const auto& [dst, defs] : all) {
    const PathNode& r = paths_.rootOf(dst);
    bool ret = r.root == Root::Ret;
    // Out-parameters count as leaving too.
    if (!ret && !visiblePlace(dst)) continue;
    for (const Def& d : defs) {
      PathSet targets;
      if (d.bind) insert(targets, d.src);
      else pointees(d.src, d.at, targets);
      for (PathId t : targets) {
        if (out_.handovers.size() > kMaxHandovers) {
          out_.incomplete = "too many references leave it";
          return;
        }
        const PathNode& tr = paths_.rootOf(t);
        if (tr.root == Root::Local || tr.root == Root::Fresh || tr.root == Root::Result) continue;
        const std::vector<Event>& evs = f_.blocks[d.at.block].events;
        Loc loc = d.at.event < evs.size() ? evs[d.at.event].loc : f_.loc;
        if (d.at.event < evs.size() && evs[d.at.event].kind == EventKind::Call &&
            evs[d.at.event].call < f_.calls.size())
          loc = f_.calls[evs[d.at.event].call].loc;
        out_.handovers.push_back({publicPath(t), loc, d.at.block, d.at.event, ret ? "returned" : "stored"});
      }
    }
  }
  for (uint32_t call = 0; call < f_.calls.size(); ++call) {
    const Call& c = f_.calls[call];
    std::string_view n = p_.text(c.name);
    if (n != "operator delete" && n != "free") continue;
    if (c.args.empty()) continue;
    PathSet targets;
    pointees(argSlot(call, 0), callPoint_[call], targets);
    for (PathId t : targets)
      out_.handovers.push_back({publicPath(t), c.loc, callPoint_[call].block, callPoint_[call].event, "deleted"});
  }
}

bool FunctionSolver::exportable(PathId p) const {
  switch (paths_.rootOf(p).root) {
    case Root::This:
    case Root::Param:
    case Root::Global:
    case Root::Unknown:
    case Root::Fresh: return true;
    default: return false;
  }
}

void FunctionSolver::exportLink(PathId dst, PathId src, bool bind) {
  dst = paths_.withoutIndexes(dst);
  src = paths_.withoutIndexes(src);
  // Paths below private objects that escaped mean something unknown.
  const PathNode& r = paths_.rootOf(src);
  if (!exportable(src)) {
    if (r.root == Root::Local && !containsDeref(src)) return;  // dangling or by value
    src = paths_.unknown();
    bind = true;
  }
  linkSet_.insert({dst, src, bind});
}

void FunctionSolver::flatten(PathId dst, PathId src, Point at, int depth) {
  if (linkSet_.size() > 4 * kMaxLinks) return;  // becomes "everything" anyhow
  if (depth > 6) {
    exportLink(dst, paths_.unknown(), true);
    return;
  }
  const PathNode& r = paths_.rootOf(src);
  if (r.root != Root::Local && r.root != Root::Result && r.root != Root::Fresh) {
    exportLink(dst, src, false);
    return;
  }
  if (containsDeref(src)) {
    exportLink(dst, paths_.unknown(), true);
    return;
  }
  auto visit = [&](PathId key, const std::vector<Def>& defs) {
    if (paths_.hasPrefix(key, src)) {
      PathId to = paths_.replacePrefix(key, src, dst);
      for (const Def& d : defs) {
        if (!precedes(d, at)) continue;
        if (d.bind) exportLink(to, d.src, true);
        else if (flattenSeen_.insert({to, d.src}).second) flatten(to, d.src, d.at, depth + 1);
      }
    } else if (paths_.hasPrefix(src, key)) {
      for (const Def& d : defs) {
        if (!precedes(d, at)) continue;
        if (d.bind) {
          exportLink(dst, d.src, true);
        } else {
          PathId s = paths_.replacePrefix(src, key, d.src);
          if (flattenSeen_.insert({dst, s}).second) flatten(dst, s, d.at, depth + 1);
        }
      }
    }
  };
  std::vector<PathId> keys;
  for (const auto& [k, d] : defs_)
    if (paths_.base(k) == paths_.base(src)) keys.push_back(k);
  std::sort(keys.begin(), keys.end());
  for (PathId k : keys) visit(k, defs_[k]);
}

void FunctionSolver::summarise() {
  Summary& s = out_.summary;
  // Links.
  std::vector<PathId> keys;
  for (const auto& [k, d] : defs_) keys.push_back(k);
  std::sort(keys.begin(), keys.end());
  for (PathId dst : keys) {
    const PathNode& r = paths_.rootOf(dst);
    bool out = r.root == Root::This || r.root == Root::Global || r.root == Root::Ret || r.root == Root::Unknown ||
               (r.root == Root::Param && containsDeref(dst));
    if (!out) continue;
    std::vector<Def> defs = defs_[dst];
    for (const Def& d : defs) {
      if (d.bind) exportLink(dst, d.src, true);
      else flatten(dst, d.src, d.at);
    }
  }
  if (linkSet_.size() > kMaxLinks) {
    // Too many to say: everything may refer to everything.
    linkSet_.clear();
    PathId unknown = paths_.unknown();
    linkSet_.insert({paths_.root(Root::Ret), unknown, true});
    for (uint32_t i = 0; i < f_.params.size(); ++i) linkSet_.insert({unknown, paths_.root(Root::Param, i), false});
    linkSet_.insert({unknown, paths_.root(Root::This), true});
  }
  s.links.assign(linkSet_.begin(), linkSet_.end());

  // Effects: once per kind, place and inner locks.
  std::map<std::tuple<Eff, PathId, std::vector<HeldLock>, bool, bool, Str>, size_t> seen;
  std::set<Str> dropped;
  Effect rest = make(Eff::Unknown, paths_.unknown(), f_.loc);  // for what cannot be kept
  auto publish = [&](const LocalEffect& l) {
    const PathNode& r = paths_.rootOf(l.path);
    if (r.root == Root::Ret || r.root == Root::Result) return;
    Effect x = l;
    x.path = paths_.withoutIndexes(l.path);
    x.inner = l.held;
    x.scans |= inLoop(l.block);
    if (x.needs) x.needs = paths_.withoutIndexes(x.needs);
    x.placed = l.placed || isPathless(l.kind) || !e_.namedByCaller(id_, l.path, l.held);
    for (HeldLock& h : x.inner) h.path = paths_.withoutIndexes(h.path);
    bool named = x.kind == Eff::Unknown || x.kind == Eff::Drop || x.kind == Eff::Hostile;
    // A few destructors by name are an explanation; hundreds are one fact.
    if (x.kind == Eff::Drop && dropped.insert(x.via).second && dropped.size() > kMaxNamedDrops) {
      dropped.erase(x.via);
      x.via = 0;
      x.type = 0;
    }
    auto key = std::make_tuple(x.kind, x.path, x.inner, x.init, x.shallow, named ? x.via : Str{0});
    auto [it, fresh] = seen.emplace(key, s.effects.size());
    if (fresh) {
      if (s.effects.size() < e_.maxEffects) {
        s.effects.push_back(std::move(x));
      } else {
        rest.needs = s.truncated ? paths_.bothNeed(rest.needs, x.needs) : x.needs;
        s.truncated = true;
      }
      return;
    }
    if (it->second >= e_.maxEffects) {
      rest.needs = paths_.bothNeed(rest.needs, x.needs);
      return;
    }
    Effect& have = s.effects[it->second];
    have.join(x, paths_);
    have.multiple = true;  // a second site
  };
  // What is written here first: what cannot be kept then comes from calls, and
  // still says which object they need.
  for (bool direct : {true, false})
    for (const LocalEffect& l : out_.effects)
      if (l.direct == direct) publish(l);
  if (!out_.incomplete.empty()) s.effects.push_back(make(Eff::Unknown, paths_.unknown(), f_.loc));
  // More than can be kept: say so rather than forget.
  if (s.truncated) s.effects.push_back(rest);

  // Lock delta.
  for (const auto& [acq, must] : exit_.held) {
    const Acquisition& q = out_.acquisitions[acq];
    // What a callee may have left held is told to its caller, and no further:
    // where a lock is given back at all, it is there.
    if (q.byDelta && !q.sure) continue;
    for (PathId l : q.locks) {
      PathId p = paths_.withoutIndexes(publicPath(l));
      if (paths_.rootOf(l).root == Root::Local && !containsDeref(l)) continue;
      s.acquired.push_back({p, q.mode, must && !q.ambiguous, q.isTry});
    }
  }
  for (const auto& [l, must] : exit_.released) {
    if (paths_.rootOf(l).root == Root::Local && !containsDeref(l)) continue;
    s.released.push_back({paths_.withoutIndexes(publicPath(l)), Mode::Exclusive, must, false, releasesAny_[l]});
  }
  std::sort(s.acquired.begin(), s.acquired.end());
  s.acquired.erase(std::unique(s.acquired.begin(), s.acquired.end()), s.acquired.end());
  std::sort(s.released.begin(), s.released.end());
  s.released.erase(std::unique(s.released.begin(), s.released.end()), s.released.end());
  s.solved = true;
}

}  // namespace locktidy
