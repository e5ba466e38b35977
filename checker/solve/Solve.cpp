// Bottom-up over the call graph, then top-down.
//
// Bottom-up: strongly connected components of the call graph, callees first
// (Tarjan). A component is solved again until its summaries stop growing, at
// most kRounds times; what is still moving then is cut by the limits of
// FunctionSolver and stays a superset.
//
// Top-down: what callers tell a function (Solution.h, Context). Locks on entry
// are an intersection, so they start from "all" and shrink; sharing is a
// union, so it starts from "no" and grows.

#include <algorithm>
#include <functional>

#include "checker/solve/Solution.h"

namespace locktidy {
namespace {

constexpr int kRounds = 4;

}  // namespace

Solution::Solution(const Program& p, const Models& m, const SolveOptions& options)
    : program(p), models(m), engine(p, m, options) {
  results.resize(p.functions.size());
  contexts.resize(p.functions.size());
  solveBottomUp();
  engine.findRefCounts();
  solveContexts();
  collectRows();
  findPrivatePointers();
  lockOrder();
  collectSections();
}

void Solution::solveBottomUp() {
  size_t n = program.functions.size();
  // Static approximation of the call graph: enough to order the solving.
  std::vector<std::vector<FuncId>> callees(n);
  for (FuncId f = 0; f < n; ++f) {
    const FunctionFacts& fn = program.functions[f];
    if (!fn.hasBody) continue;
    std::vector<FuncId>& out = callees[f];
    auto add = [&](const CallTarget& t) { out.insert(out.end(), t.bodies.begin(), t.bodies.end()); };
    for (const Call& c : fn.calls) {
      if (c.kind == CallKind::Virtual) add(program.overridersOf(c.callee, false));
      else if (c.kind == CallKind::Indirect) {
        if (c.target.path.root == Root::Global) add(program.targetsOf(c.target.path.entity));
        else add(program.bySignature(c.signature));
      } else add(program.targetsOf(c.callee));
      auto it = program.wrapped.find(c.selfType);
      if (it != program.wrapped.end())
        for (Str u : it->second)
          if (u) add(program.targetsOf(u));
      auto type = [&](Str t) {
        const TypeFact* fact = program.type(t);
        if (fact && fact->kind == TypeKind::Ref) fact = program.type(fact->pointee);
        if (!fact || fact->kind != TypeKind::Class) return;
        std::vector<Str> names(fact->args);
        names.push_back(fact->name);
        for (Str name : names)
          if (const ClassFact* cls = program.classOfType(name)) {
            if (cls->dtor) add(program.targetsOf(cls->dtor));
            if (cls->copyCtor) add(program.targetsOf(cls->copyCtor));
            if (Str op = cls->inSystemHeader ? 0 : program.callOperator(name)) add(program.targetsOf(op));
          }
      };
      type(c.selfType);
      for (const Arg& a : c.args) {
        type(a.type);
        if (a.value.path.root == Root::Global) add(program.targetsOf(a.value.path.entity));
      }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
  }
  // Tarjan, iterative: real call graphs are deep.
  std::vector<uint32_t> index(n, 0), low(n, 0);
  std::vector<bool> onStack(n, false);
  std::vector<FuncId> stack;
  uint32_t counter = 0;
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
        std::sort(component.begin(), component.end());
        components.push_back(std::move(component));
      }
    }
  }
  auto size = [&](FuncId f) {
    const Summary& s = engine.summaries[f];
    return s.effects.size() + s.links.size() * 1000 + s.acquired.size() + s.acquires.size() * 10;
  };
  for (const std::vector<FuncId>& component : components) {
    bool cycle = component.size() > 1;
    if (!cycle) {
      const std::vector<FuncId>& c = callees[component[0]];
      cycle = std::binary_search(c.begin(), c.end(), component[0]);
    }
    for (int round = 0; round < (cycle ? kRounds : 1); ++round) {
      bool changed = false;
      for (FuncId f : component) {
        size_t before = size(f);
        results[f] = solveFunction(engine, f);
        engine.summaries[f] = results[f].summary;
        if (cycle) {
          // A callee in the cycle never releases for its caller: a May must
          // not be taken away by something that is not yet proved.
          engine.summaries[f].released.clear();
        }
        changed |= size(f) != before;
      }
      if (!changed) break;
    }
    for (FuncId f : component) {
      engine.summaries[f].released = results[f].summary.released;
      order_.push_back(f);
    }
  }
}

void Solution::solveContexts() {
  PathTable& paths = engine.paths;
  size_t n = program.functions.size();
  struct In { FuncId caller; const CallContext* c; };
  std::vector<std::vector<In>> in(n);
  for (FuncId f = 0; f < n; ++f)
    for (const CallContext& c : results[f].contexts) in[c.callee].push_back({f, &c});

  // Who takes the address counts as a caller nobody sees, unless every use is
  // an indirect call we matched.
  for (FuncId f = 0; f < n; ++f) {
    Context& x = contexts[f];
    const FunctionFacts& fn = program.functions[f];
    x.hasCallers = !in[f].empty();
    x.thisShared = in[f].empty();
    x.paramShared.assign(fn.params.size(), in[f].empty());
    x.paramTargets.resize(fn.params.size());
  }

  // Sharing: grows.
  auto rootShared = [&](FuncId caller, PathId p) {
    const PathNode& r = paths.rootOf(p);
    if (r.root == Root::This) {
      for (PathId q = p; paths.at(q).kind != StepKind::Root; q = paths.at(q).parent)
        if (paths.at(q).kind == StepKind::Deref) return true;
      return bool(contexts[caller].thisShared);
    }
    if (r.root == Root::Param && r.index < contexts[caller].paramShared.size()) {
      int derefs = 0;
      for (PathId q = p; paths.at(q).kind != StepKind::Root; q = paths.at(q).parent)
        derefs += paths.at(q).kind == StepKind::Deref;
      if (derefs > 1) return true;
      return bool(contexts[caller].paramShared[r.index]);
    }
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      FuncId f = *it;
      Context& x = contexts[f];
      for (const In& site : in[f]) {
        const CallContext& c = *site.c;
        bool self = c.selfShared && (c.later || c.self == kNoPath || rootShared(site.caller, c.self));
        if (self && !x.thisShared) x.thisShared = changed = true;
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
            for (PathId u : expand)
              if (into.size() < 16 && std::find(into.begin(), into.end(), u) == into.end()) {
                into.push_back(u);
                changed = true;
              }
          }
          if (any && !x.paramShared[i]) x.paramShared[i] = changed = true;
        }
      }
    }
  }

  // Construction only: grows from constructors and destructors.
  auto partOfThis = [&](PathId p) {
    if (p == kNoPath || paths.rootOf(p).root != Root::This) return false;
    for (PathId q = p; paths.at(q).kind != StepKind::Root; q = paths.at(q).parent)
      if (paths.at(q).kind == StepKind::Deref) return false;
    return true;
  };
  // Greatest fixpoint: assume so where there are callers, take away.
  for (FuncId f : order_) contexts[f].constructionOnly = !in[f].empty() && !program.functions[f].isLambda;
  for (bool changed = true; changed;) {
    changed = false;
    for (FuncId f : order_) {
      Context& x = contexts[f];
      if (!x.constructionOnly) continue;
      for (const In& site : in[f]) {
        const FunctionFacts& caller = program.functions[site.caller];
        bool building = caller.isCtor || caller.isDtor || contexts[site.caller].constructionOnly;
        if (site.c->later || !building || !partOfThis(site.c->self)) {
          x.constructionOnly = false;
          changed = true;
          break;
        }
      }
    }
  }

  // Locks on entry: shrink.
  std::vector<bool> top(n, false);
  for (FuncId f : order_) top[f] = !in[f].empty();
  auto mapped = [&](const In& site, std::vector<HeldLock> held) {
    std::vector<HeldLock> out;
    for (HeldLock h : held) {
      PathId p = paths.withoutIndexes(h.path);
      PathId self = site.c->self ? paths.withoutIndexes(site.c->self) : kNoPath;
      const PathNode& r = paths.rootOf(p);
      if (self && paths.hasPrefix(p, self)) {
        p = paths.replacePrefix(p, self, paths.root(Root::This));
      } else if (r.root != Root::Global && r.root != Root::Unknown) {
        bool found = false;
        for (size_t i = 0; i < site.c->paramTargets.size() && !found; ++i) {
          if (site.c->paramTargets[i].size() != 1) continue;
          PathId t = paths.withoutIndexes(site.c->paramTargets[i][0]);
          if (!paths.hasPrefix(p, t)) continue;
          p = paths.replacePrefix(p, t, paths.deref(paths.root(Root::Param, static_cast<uint32_t>(i))));
          found = true;
        }
        // Somebody else's lock.
        if (!found) p = paths.replacePrefix(p, paths.base(p), paths.unknown());
      }
      out.push_back({p, h.mode});
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  };
  for (int round = 0; round < 12; ++round) {
    bool changed = false;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      FuncId f = *it;
      if (in[f].empty()) continue;
      bool first = true;
      std::vector<HeldLock> meet;
      for (const In& site : in[f]) {
        if (!site.c->later && top[site.caller]) continue;
        std::vector<HeldLock> held;
        if (!site.c->later) {
          held = site.c->held;
          for (const HeldLock& h : contexts[site.caller].entryHeld) held.push_back(h);
          held = mapped(site, held);
        }
        if (first) {
          meet = held;
          first = false;
        } else {
          std::vector<HeldLock> both;
          std::set_intersection(meet.begin(), meet.end(), held.begin(), held.end(), std::back_inserter(both));
          // The same lock in another function's terms, or in another mode,
          // still counts: by class, and in the weaker mode.
          for (const HeldLock& a : meet) {
            if (std::binary_search(both.begin(), both.end(), a)) continue;
            for (const HeldLock& b : held)
              if (engine.lockClass(a.path) && engine.lockClass(a.path) == engine.lockClass(b.path)) {
                PathId p = a.path == b.path ? a.path : paths.replacePrefix(a.path, paths.base(a.path), paths.unknown());
                both.push_back({p, std::min(a.mode, b.mode)});
                break;
              }
          }
          std::sort(both.begin(), both.end());
          both.erase(std::unique(both.begin(), both.end()), both.end());
          meet = std::move(both);
        }
      }
      if (first) continue;
      if (top[f] || meet != contexts[f].entryHeld) {
        top[f] = false;
        contexts[f].entryHeld = std::move(meet);
        changed = true;
      }
    }
    if (!changed) break;
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
        contexts[f].entryHeld.push_back({p, k == "requires_capability" ? Mode::Exclusive : Mode::Shared});
      }
    }

  // Thread roots. Bit 0: main. Functions nobody calls are called by whoever
  // links against them: any thread.
  uint32_t nextRoot = 1;
  std::vector<bool> rootMany;
  for (FuncId f = 0; f < n; ++f) {
    const FunctionFacts& fn = program.functions[f];
    if (!fn.hasBody) continue;
    Context& x = contexts[f];
    if (fn.isMain) x.roots |= 1;
    size_t later = 0;
    bool loop = false;
    for (const In& site : in[f])
      if (site.c->later) {
        ++later;
        loop |= site.c->inLoop;
      }
    if (later) {
      uint32_t bit = nextRoot < 63 ? nextRoot++ : 63;
      x.roots |= uint64_t{1} << bit;
      x.manyThreads |= later > 1 || loop || bit == 63;
    } else if (in[f].empty() && !fn.isMain) {
      x.manyThreads = true;
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      Context& x = contexts[*it];
      for (const In& site : in[*it]) {
        if (site.c->later) {
          // A thread started by something that runs on many threads.
          if (contexts[site.caller].manyThreads && !x.manyThreads) x.manyThreads = changed = true;
          continue;
        }
        const Context& c = contexts[site.caller];
        if ((x.roots | c.roots) != x.roots) x.roots |= c.roots, changed = true;
        if (c.manyThreads && !x.manyThreads) x.manyThreads = changed = true;
      }
    }
  }
}

}  // namespace locktidy
