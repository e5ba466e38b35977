// Bottom-up over the call graph, then top-down.
//
// Bottom-up: strongly connected components of the call graph, callees first
// (Tarjan). A component is solved again until its summaries stop changing (from
// some round on they only grow); one that still moves after kRounds has unknown
// effects.
//
// Top-down: what callers tell a function (Solution.h, Context). Locks on entry
// are an intersection, so they start from "all" and shrink; sharing is a
// union, so it starts from "no" and grows.

#include <algorithm>
#include <bitset>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "checker/solve/Solution.h"

namespace locktidy {
namespace {

constexpr int kRounds = 20;
constexpr int kFreeRounds = 6;  // from then on summaries only grow
constexpr size_t kLargeCycle = 1000;  // functions; above, summaries get shorter
constexpr size_t kMinEffects = 60;
constexpr int kLargeRounds = 4;
constexpr size_t kMaxParamTargets = 16;  // more: Unknown

// The order in which effects were found, and the chains that lead to them, do
// not count. Of a summary that was cut, only the "anything" counts.
bool sameSummary(const Summary& a, const Summary& b) {
  if (a.solved != b.solved || a.truncated != b.truncated || a.entersCycle != b.entersCycle || a.cycleNeeds != b.cycleNeeds ||
      a.links != b.links || a.acquired != b.acquired ||
      a.released != b.released)
    return false;
  auto notes = [](const Summary& s) {
    std::set<std::tuple<PathId, Mode, bool, PathId>> out;
    for (const AcquireNote& n : s.acquires) out.emplace(n.path, n.mode, n.weak, n.needs);
    return out;
  };
  if (notes(a) != notes(b)) return false;
  auto unknowns = [](const Summary& s) {
    std::set<PathId> needs;
    for (const Effect& x : s.effects)
      if (x.kind == Eff::Unknown) needs.insert(x.needs);
    return needs;
  };
  if (a.truncated) return unknowns(a) == unknowns(b);
  auto effects = [](const Summary& s) {
    std::set<std::tuple<Eff, PathId, std::vector<HeldLock>, Str, PathId, unsigned long>> out;
    for (const Effect& x : s.effects) {
      std::bitset<8> flags;
      for (bool f : {x.multiple, x.resultUsed, x.init, x.assumed, x.shallow, x.bump, x.maybe, x.placed})
        flags = flags << 1 | std::bitset<8>(f);
      out.emplace(x.kind, x.path, x.inner, x.via, x.needs, flags.to_ulong());
    }
    return out;
  };
  return effects(a) == effects(b);
}

// Adds to `now` what `before` said and `now` does not: the limits on targets
// make solving jump between answers, and in a cycle that may go on for ever.
void keepOld(Summary& now, const Summary& before, const PathTable& paths) {
  auto key = [](const Effect& x) { return std::make_tuple(x.kind, x.path, x.inner, x.via, x.init, x.shallow); };
  std::map<decltype(key(Effect())), size_t> have;
  for (size_t i = 0; i < now.effects.size(); ++i) have.emplace(key(now.effects[i]), i);
  for (const Effect& old : before.effects) {
    auto [it, fresh] = have.emplace(key(old), now.effects.size());
    if (fresh) {
      now.effects.push_back(old);
      continue;
    }
    now.effects[it->second].join(old, paths);
  }
  std::set<Link> links(now.links.begin(), now.links.end());
  links.insert(before.links.begin(), before.links.end());
  now.links.assign(links.begin(), links.end());
  std::set<std::tuple<PathId, Mode, bool, PathId>> notes;
  for (const AcquireNote& n : now.acquires) notes.emplace(n.path, n.mode, n.weak, n.needs);
  for (const AcquireNote& n : before.acquires)
    if (notes.emplace(n.path, n.mode, n.weak, n.needs).second) now.acquires.push_back(n);
  std::map<std::tuple<PathId, Mode, bool>, bool> acquired;
  for (const Summary* s : {static_cast<const Summary*>(&now), &before})
    for (const LockDelta& d : s->acquired) {
      auto [it, fresh] = acquired.emplace(std::make_tuple(d.path, d.mode, d.isTry), d.must);
      it->second = it->second && d.must;
    }
  now.acquired.clear();
  for (const auto& [k, must] : acquired) now.acquired.push_back({std::get<0>(k), std::get<1>(k), must, std::get<2>(k)});
  std::sort(now.acquired.begin(), now.acquired.end());
  now.truncated |= before.truncated;
}

// Once a function is solved its effects serve two ends: the sections in it, and
// rows for the accesses that only it can place (Sections.cpp). The rest, what
// its callees have placed, is most of a large program's memory.
void keepNeeded(FunctionResult& r) {
  std::vector<bool> keep(r.effects.size());
  for (size_t i = 0; i < r.effects.size(); ++i) keep[i] = !r.effects[i].placed && !isPathless(r.effects[i].kind);
  for (const Acquisition& q : r.acquisitions)
    for (uint32_t i : q.region) keep[i] = true;
  std::vector<uint32_t> moved(r.effects.size());
  std::vector<LocalEffect> kept;
  for (size_t i = 0; i < r.effects.size(); ++i) {
    if (!keep[i]) continue;
    moved[i] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(r.effects[i]));
  }
  kept.shrink_to_fit();
  r.effects = std::move(kept);
  for (Acquisition& q : r.acquisitions)
    for (std::vector<uint32_t>* list : {&q.region, &q.regionMust})
      for (uint32_t& i : *list) i = moved[i];
}

}  // namespace

Solution::Solution(const Program& p, const Models& m, const SolveOptions& options)
    : program(p), models(m), engine(p, m, options) {
  results.resize(p.functions.size());
  contexts.resize(p.functions.size());
  solveBottomUp();
  engine.findRefCounts();
  for (const FunctionFacts& f : p.functions)
    for (const Call& c : f.calls) used_.insert(c.callee);
  for (const AddressTaken& a : p.addressTaken) used_.insert(a.function);
  solveContexts();
  collectRows();
  findPrivatePointers();
  lockOrder();
  collectSections();
}

void Solution::solveBottomUp() {
  size_t n = program.functions.size();
  // Static approximation of the call graph: enough to order the solving. What
  // it misses is Unknown when it is met (Engine::solved).
  std::vector<std::vector<FuncId>> callees(n);
  for (FuncId f = 0; f < n; ++f) {
    const FunctionFacts& fn = program.functions[f];
    if (!fn.hasBody) continue;
    std::vector<FuncId>& out = callees[f];
    auto add = [&](const CallTarget& t) { out.insert(out.end(), t.bodies.begin(), t.bodies.end()); };
    for (const Call& c : fn.calls) {
      CallTarget target = program.targetsOfCall(c, false);
      add(target);
      // What a body of the program calls in turn are edges of its own; what a
      // library calls can only be guessed from the types it is given.
      auto ours = [&](FuncId g) { return !program.functions[g].inSystemHeader; };
      if (!target.bodies.empty() && std::all_of(target.bodies.begin(), target.bodies.end(), ours)) continue;
      auto type = [&](Str t) {
        const TypeFact* fact = program.type(t);
        if (fact && fact->kind == TypeKind::Ref) fact = program.type(fact->pointee);
        if (!fact) return;
        if (fact->kind == TypeKind::Pointer || fact->kind == TypeKind::Function) {
          const TypeFact* pointee = fact->kind == TypeKind::Pointer ? program.type(fact->pointee) : fact;
          if (pointee && pointee->kind == TypeKind::Function) add(program.bySignature(pointee->name));
          return;
        }
        for (FuncId g : engine.hiddenCallees(fact->name)) out.push_back(g);
      };
      type(c.selfType);
      type(c.resultType);
      for (const Arg& a : c.args) {
        type(a.type);
        if (a.value.path.root == Root::Global) add(program.targetsOf(a.value.path.entity));
      }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
  }
  // Tarjan, iterative: real call graphs are deep.
  std::vector<uint32_t> index(n, 0), low(n, 0), finished(n, 0);
  std::vector<bool> onStack(n, false);
  std::vector<FuncId> stack;
  uint32_t counter = 0, finish = 0;
  struct Frame { FuncId f; size_t next; };
  std::vector<std::vector<FuncId>> components;
  for (FuncId start = 0; start < n; ++start) {
    if (index[start] || !program.functions[start].hasBody) continue;
    std::vector<Frame> frames{{start, 0}};
    index[start] = low[start] = ++counter;
    stack.push_back(start);
    onStack[start] = true;
    while (!frames.empty()) {
      Frame& fr = frames.back();
      if (fr.next < callees[fr.f].size()) {
        FuncId t = callees[fr.f][fr.next++];
        if (!index[t]) {
          index[t] = low[t] = ++counter;
          stack.push_back(t);
          onStack[t] = true;
          frames.push_back({t, 0});
        } else if (onStack[t]) {
          low[fr.f] = std::min(low[fr.f], index[t]);
        }
        continue;
      }
      FuncId f = fr.f;
      finished[f] = ++finish;
      frames.pop_back();
      if (!frames.empty()) low[frames.back().f] = std::min(low[frames.back().f], low[f]);
      if (low[f] == index[f]) {
        std::vector<FuncId> component;
        FuncId t;
        do {
          t = stack.back();
          stack.pop_back();
          onStack[t] = false;
          component.push_back(t);
        } while (t != f);
        // Callees first, as far as a cycle has an order: it settles in fewer rounds.
        std::sort(component.begin(), component.end(), [&](FuncId a, FuncId b) { return finished[a] < finished[b]; });
        components.push_back(std::move(component));
      }
    }
  }
  component_.assign(n, 0);
  for (const std::vector<FuncId>& component : components) {
    bool cycle = component.size() > 1 || std::binary_search(callees[component[0]].begin(), callees[component[0]].end(),
                                                            component[0]);
    if (cycle) engine.solving.insert(component.begin(), component.end());
    bool settled = false;
    // Of very large cycles every summary is cut anyhow; shorter ones are faster.
    engine.maxEffects = std::clamp(kMaxEffects * kLargeCycle / component.size(), kMinEffects, kMaxEffects);
    std::vector<bool> dirty(component.size(), true);
    std::unordered_map<FuncId, std::vector<uint32_t>> callersIn;  // positions in `component`
    if (cycle)
      for (uint32_t i = 0; i < component.size(); ++i)
        for (FuncId callee : callees[component[i]])
          if (engine.solving.count(callee)) callersIn[callee].push_back(i);
    for (int round = 0; round < (cycle ? component.size() > kLargeCycle ? kLargeRounds : kRounds : 1) && !settled; ++round) {
      settled = true;
      for (uint32_t i = 0; i < component.size(); ++i) {
        // Twice all of them: what one calls may be found only while solving.
        if (round > 1 && !dirty[i]) continue;
        dirty[i] = false;
        FuncId f = component[i];
        Summary before = std::move(engine.summaries[f]);
        engine.summaries[f] = before;
        results[f] = solveFunction(engine, f);
        if (cycle) keepNeeded(results[f]);
        engine.summaries[f] = results[f].summary;
        if (cycle) {
          // A callee in the cycle never releases for its caller: a May must
          // not be taken away by something that is not yet proved.
          engine.summaries[f].released.clear();
          if (round >= kFreeRounds) keepOld(engine.summaries[f], before, engine.paths);
        }
        if (sameSummary(before, engine.summaries[f])) continue;
        settled = false;
        for (uint32_t caller : callersIn[f]) dirty[caller] = true;
      }
    }
    if (cycle && !settled)
      for (FuncId f : component)
        if (results[f].summary.entersCycle) results[f].summary.effects.push_back(unknownEffect(f));
    for (FuncId f : component) {
      std::vector<LockDelta> released = results[f].summary.released;
      if (cycle && settled) results[f].summary = engine.summaries[f];
      results[f].summary.released = std::move(released);
      engine.summaries[f] = std::move(results[f].summary);
      results[f].summary = Summary();
      engine.summaries[f].effects.shrink_to_fit();
      keepNeeded(results[f]);
      component_[f] = static_cast<uint32_t>(&component - components.data());
      order_.push_back(f);
    }
    engine.solving.clear();
  }
}

Effect Solution::unknownEffect(FuncId f) const {
  Effect u;
  u.path = engine.paths.unknown();
  u.func = f;
  u.loc = program.functions[f].loc;
  u.needs = results[f].summary.cycleNeeds;
  return u;
}

bool Solution::rootShared(FuncId caller, PathId p) const {
  const PathTable& paths = engine.paths;
  const PathNode& r = paths.rootOf(p);
  const Context& x = contexts[caller];
  if (r.root == Root::This) return paths.derefs(p) > 0 || x.thisShared;
  if (r.root == Root::Param && r.index < x.paramShared.size()) {
    PathId first = paths.firstDeref(p);
    if (first && paths.at(paths.at(first).parent).kind != StepKind::Root) {
      auto it = x.members.find(first);
      return it == x.members.end() || !it->second.empty();
    }
    return paths.derefs(p) > 1 || x.paramShared[r.index];
  }
  return true;
}

// A call on the very object that its caller constructs or destroys.
bool Solution::building(const Site& site) const {
  const FunctionFacts& caller = program.functions[site.caller];
  if (site.c->later || !(caller.isCtor || caller.isDtor || contexts[site.caller].constructionOnly)) return false;
  PathId self = site.c->self;
  return self != kNoPath && engine.paths.rootOf(self).root == Root::This && engine.paths.derefs(self) == 0;
}

void Solution::solveContexts() {
  PathTable& paths = engine.paths;
  size_t n = program.functions.size();
  callers_.assign(n, {});
  for (FuncId f = 0; f < n; ++f)
    for (const CallContext& c : results[f].contexts) callers_[c.callee].push_back({f, &c});

  // Recursion alone is no caller.
  std::set<uint32_t> called;
  for (FuncId f = 0; f < n; ++f)
    for (const Site& site : callers_[f])
      if (site.c->later || component_[site.caller] != component_[f]) called.insert(component_[f]);
  for (FuncId f = 0; f < n; ++f) {
    Context& x = contexts[f];
    x.hasCallers = program.functions[f].hasBody && called.count(component_[f]) && !callers_[f].empty();
    for (const Site& site : callers_[f]) x.runsLater |= site.c->later;
    x.thisShared = !x.hasCallers;
    x.paramShared.assign(program.functions[f].params.size(), !x.hasCallers);
    x.paramTargets.resize(program.functions[f].params.size());
  }

  // Sharing: grows.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      FuncId f = *it;
      Context& x = contexts[f];
      for (const Site& site : callers_[f]) {
        const CallContext& c = *site.c;
        bool self = c.selfShared && (c.later || c.self == kNoPath || rootShared(site.caller, c.self));
        if (self && !x.thisShared) x.thisShared = changed = true;
        for (const auto& [path, targets] : c.members) {
          std::vector<PathId>& into = x.members[path];
          for (PathId t : targets) {
            if (!c.later && !rootShared(site.caller, t)) continue;
            if (paths.rootOf(t).root == Root::This) t = paths.replacePrefix(t, paths.base(t), paths.unknown());
            t = paths.withoutIndexes(t);
            if (into.size() >= kMaxParamTargets || std::find(into.begin(), into.end(), t) != into.end()) continue;
            into.push_back(into.size() + 1 < kMaxParamTargets ? t : paths.unknown());
            changed = true;
          }
        }
        for (size_t i = 0; i < c.paramShared.size() && i < x.paramShared.size(); ++i) {
          if (!c.paramShared[i]) continue;
          bool any = c.later || c.paramTargets[i].empty();
          for (PathId t : c.paramTargets[i]) {
            bool s = c.later || rootShared(site.caller, t);
            any |= s;
            if (!s) continue;
            // Targets through the caller's own parameters are what its callers pass.
            std::vector<PathId> expand{t};
            const PathNode& r = paths.rootOf(t);
            if (r.root == Root::Param && r.index < contexts[site.caller].paramTargets.size()) {
              PathId pointee = paths.deref(paths.base(t));
              if (paths.hasPrefix(t, pointee)) {
                expand.clear();
                for (PathId u : contexts[site.caller].paramTargets[r.index])
                  expand.push_back(paths.replacePrefix(t, pointee, u));
              }
            } else if (r.root == Root::This) {
              // Another function's This: the fields say which object it may be.
              expand = {paths.replacePrefix(t, paths.base(t), paths.unknown())};
            }
            std::vector<PathId>& into = x.paramTargets[i];
            for (PathId& u : expand) u = paths.withoutIndexes(u);
            for (PathId u : expand)
              if (into.size() < kMaxParamTargets && std::find(into.begin(), into.end(), u) == into.end()) {
                into.push_back(into.size() + 1 < kMaxParamTargets ? u : paths.unknown());
                changed = true;
              }
          }
          if (any && !x.paramShared[i]) x.paramShared[i] = changed = true;
        }
      }
    }
  }

  // Construction only. Greatest fixpoint: assume so where there are callers,
  // take away.
  for (FuncId f : order_) contexts[f].constructionOnly = contexts[f].hasCallers && !program.functions[f].isLambda;
  for (bool changed = true; changed;) {
    changed = false;
    for (FuncId f : order_) {
      Context& x = contexts[f];
      if (!x.constructionOnly) continue;
      for (const Site& site : callers_[f])
        if (!building(site)) {
          x.constructionOnly = false;
          changed = true;
          break;
        }
    }
  }
  solveEntryHeld();
  solveThreads();
  solvePhases();
}

// Locks that every caller surely holds: an intersection over the calls, which
// starts from "all" and shrinks.
void Solution::solveEntryHeld() {
  PathTable& paths = engine.paths;
  size_t n = program.functions.size();
  // A caller's lock in the callee's terms.
  auto mapped = [&](const Site& site, std::vector<HeldLock> held) {
    std::vector<HeldLock> out;
    for (HeldLock h : held) {
      PathId p = h.path;
      const PathNode& r = paths.rootOf(p);
      if (site.c->self && paths.hasPrefix(p, site.c->self)) {
        p = paths.replacePrefix(p, site.c->self, paths.root(Root::This));
      } else if (r.root != Root::Global && r.root != Root::Unknown) {
        bool found = false;
        for (size_t i = 0; i < site.c->paramTargets.size() && !found; ++i) {
          if (site.c->paramTargets[i].size() != 1) continue;
          PathId t = site.c->paramTargets[i][0];
          if (!paths.hasPrefix(p, t)) continue;
          p = paths.replacePrefix(p, t, paths.deref(paths.root(Root::Param, static_cast<uint32_t>(i))));
          found = true;
        }
        // Somebody else's lock.
        if (!found) p = paths.replacePrefix(p, paths.base(p), paths.unknown());
      }
      out.push_back({paths.withoutIndexes(p), h.mode});
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  };
  // The same lock in another function's terms, or in another mode, still
  // counts: by class, and in the weaker mode.
  auto meet = [&](const std::vector<HeldLock>& x, const std::vector<HeldLock>& y) {
    std::vector<HeldLock> both;
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
    for (const HeldLock& a : x) {
      if (std::binary_search(both.begin(), both.end(), a)) continue;
      for (const HeldLock& b : y)
        if (engine.lockClass(a.path) && engine.lockClass(a.path) == engine.lockClass(b.path)) {
          PathId p = a.path == b.path ? a.path : paths.replacePrefix(a.path, paths.base(a.path), paths.unknown());
          both.push_back({p, std::min(a.mode, b.mode)});
          break;
        }
    }
    std::sort(both.begin(), both.end());
    both.erase(std::unique(both.begin(), both.end()), both.end());
    return both;
  };
  std::vector<bool> top(n, false);
  for (FuncId f : order_) top[f] = contexts[f].hasCallers;
  for (int round = 0; round < 12; ++round) {
    bool changed = false;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      FuncId f = *it;
      Context& x = contexts[f];
      if (!x.hasCallers) continue;
      bool any = false, anyShared = false;
      std::vector<HeldLock> all, shared;
      for (const Site& site : callers_[f]) {
        if (!site.c->later && top[site.caller]) continue;
        auto heldBy = [&](const std::vector<HeldLock>& entry) {
          std::vector<HeldLock> held;
          if (site.c->later) return held;
          held = site.c->held;
          held.insert(held.end(), entry.begin(), entry.end());
          return mapped(site, std::move(held));
        };
        const Context& caller = contexts[site.caller];
        std::vector<HeldLock> held = heldBy(caller.entryHeld);
        all = any ? meet(all, held) : held;
        any = true;
        PathId self = site.c->self;
        bool seen = site.c->selfShared && (site.c->later || self == kNoPath || rootShared(site.caller, self));
        if (!seen || building(site)) continue;
        if (self != kNoPath && paths.rootOf(self).root == Root::This) held = heldBy(caller.entryHeldShared);
        shared = anyShared ? meet(shared, held) : held;
        anyShared = true;
      }
      if (!any) continue;
      if (!anyShared) shared = all;
      if (top[f] || all != x.entryHeld || shared != x.entryHeldShared) {
        top[f] = false;
        x.entryHeld = std::move(all);
        x.entryHeldShared = std::move(shared);
        changed = true;
      }
    }
    if (!changed) break;
    if (round == 11)  // still moving: nothing is sure
      for (FuncId f : order_) contexts[f].entryHeld.clear(), contexts[f].entryHeldShared.clear();
  }
  // What an annotation requires is held, whoever calls.
  for (FuncId f = 0; f < n; ++f)
    for (const AttrFact& a : program.functions[f].attrs) {
      const std::string& k = program.text(a.kind);
      if (k != "requires_capability" && k != "requires_shared_capability") continue;
      for (const Path& arg : a.args) {
        PathId p = arg.root == Root::This ? paths.root(Root::This)
                   : arg.root == Root::Global ? paths.root(Root::Global, 0, arg.entity)
                   : arg.root == Root::Param ? paths.root(Root::Param, arg.index) : paths.unknown();
        for (const Step& s : arg.steps)
          p = s.sel == Sel::Field ? engine.fieldOf(p, s.field) : s.sel == Sel::Elem ? paths.elem(p) : paths.deref(p);
        HeldLock held{p, k == "requires_capability" ? Mode::Exclusive : Mode::Shared};
        contexts[f].entryHeld.push_back(held);
        contexts[f].entryHeldShared.push_back(held);
      }
    }
}

// Thread roots. Bit 0: main. Functions nobody calls are called by whoever
// links against them: any thread.
void Solution::solveThreads() {
  // Functions that may run more than once in one run of the program.
  std::vector<int> known(program.functions.size(), 0);  // 1: being decided, 2: once, 3: more
  std::function<bool(FuncId)> repeats = [&](FuncId f) {
    if (known[f]) return known[f] != 2;  // recursion: more than once
    known[f] = 1;
    size_t calls = 0;
    bool more = !contexts[f].hasCallers && !program.functions[f].isMain;
    for (const Site& site : callers_[f]) more = more || ++calls > 1 || site.c->inLoop || repeats(site.caller);
    known[f] = more ? 3 : 2;
    return more;
  };
  uint32_t nextRoot = 1;
  for (FuncId f = 0; f < program.functions.size(); ++f) {
    const FunctionFacts& fn = program.functions[f];
    if (!fn.hasBody) continue;
    Context& x = contexts[f];
    if (fn.isMain) x.roots |= 1;
    size_t later = 0;
    bool loop = false;
    for (const Site& site : callers_[f])
      if (site.c->later) {
        ++later;
        loop |= site.c->inLoop || repeats(site.caller);
      }
    if (later) {
      uint32_t bit = nextRoot < 63 ? nextRoot++ : 63;
      x.roots |= uint64_t{1} << bit;
      x.manyThreads |= later > 1 || loop || bit == 63;
    } else if (!x.hasCallers && !fn.isMain) {
      x.manyThreads = true;
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      Context& x = contexts[*it];
      for (const Site& site : callers_[*it]) {
        const Context& c = contexts[site.caller];
        if (!site.c->later && (x.roots | c.roots) != x.roots) x.roots |= c.roots, changed = true;
        if (!site.c->later && !x.endless && (site.c->endless || c.endless)) x.endless = changed = true;
        // A thread started by something that runs on many threads, too.
        if (c.manyThreads && !x.manyThreads) x.manyThreads = changed = true;
      }
    }
  }
}

// Which functions only run while there is one thread: those that main and the
// initialisers of globals call before anything starts another.
void Solution::solvePhases() {
  std::vector<char> starts(program.functions.size());
  for (FuncId f = 0; f < program.functions.size(); ++f) {
    const FunctionFacts& fn = program.functions[f];
    for (const Site& site : callers_[f])
      if (site.c->later) starts[site.caller] = 1, contexts[f].phase = Context::Running;
    bool initialiser = fn.isImplicit && program.text(fn.display).starts_with("initializer of");
    if (fn.hasBody && !contexts[f].hasCallers && !fn.isMain && !initialiser && contexts[f].phase == Context::StartUp)
      contexts[f].phase = Context::Perhaps;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (FuncId f = 0; f < program.functions.size(); ++f)
      for (const Site& site : callers_[f])
        if (starts[f] && !site.c->later && !starts[site.caller]) starts[site.caller] = 1, changed = true;
  }
  // Calls of a function that come after one that starts a thread.
  auto after = [&](FuncId f) {
    std::set<uint32_t> first, out;
    for (const CallContext& c : results[f].contexts)
      if (c.later || starts[c.callee]) first.insert(c.call);
    const FunctionFacts& fn = program.functions[f];
    std::set<uint32_t> reached;
    std::vector<uint32_t> todo;
    for (uint32_t b = 0; b < fn.blocks.size(); ++b) {
      bool seen = false;
      for (const Event& e : fn.blocks[b].events) {
        if (e.kind != EventKind::Call) continue;
        if (seen) out.insert(e.call);
        seen |= first.count(e.call) != 0;
      }
      if (seen) todo.insert(todo.end(), fn.blocks[b].succs.begin(), fn.blocks[b].succs.end());
    }
    while (!todo.empty()) {
      uint32_t b = todo.back();
      todo.pop_back();
      if (b >= fn.blocks.size() || !reached.insert(b).second) continue;
      for (const Event& e : fn.blocks[b].events)
        if (e.kind == EventKind::Call) out.insert(e.call);
      todo.insert(todo.end(), fn.blocks[b].succs.begin(), fn.blocks[b].succs.end());
    }
    return out;
  };
  std::map<FuncId, std::set<uint32_t>> late;
  for (FuncId f = 0; f < program.functions.size(); ++f)
    if (starts[f]) late[f] = after(f);
  for (bool changed = true; changed;) {
    changed = false;
    for (FuncId f = 0; f < program.functions.size(); ++f)
      for (const Site& site : callers_[f]) {
        if (site.c->later) continue;
        Context::Phase phase = contexts[site.caller].phase;
        if (auto it = late.find(site.caller); it != late.end() && it->second.count(site.c->call)) phase = std::max(phase, Context::Perhaps);
        if (phase > contexts[f].phase) contexts[f].phase = phase, changed = true;
      }
  }
}

}  // namespace locktidy
