// What a place refers to (step 1): definitions `place <- target` from Bind and
// Copy events, from callees' links, from models and policies; and resolving a
// place at a point by them.
//
// Definitions are never killed, so the result is a superset; a place is
// resolved only by those that can come before the point that asks. More than
// kMaxTargets targets of one place, a chain of more than eight copies, and
// whatever is asked after kMaxWork steps are Unknown. Definitions are kept
// without indexes: what is stored in one element is in all of them.

#include <algorithm>

#include "checker/solve/FunctionState.h"

namespace locktidy {

void FunctionSolver::prepare() {
  size_t n = f_.blocks.size();
  reach_.assign(n, std::vector<bool>(n, false));
  for (size_t b = 0; b < n; ++b) {
    std::vector<uint32_t> todo(f_.blocks[b].succs);
    std::vector<bool>& r = reach_[b];
    while (!todo.empty()) {
      uint32_t s = todo.back();
      todo.pop_back();
      if (s >= n || r[s]) continue;
      r[s] = true;
      todo.insert(todo.end(), f_.blocks[s].succs.begin(), f_.blocks[s].succs.end());
    }
  }
  // Handlers can be entered from anywhere.
  for (size_t h = 0; h < n; ++h)
    if (f_.blocks[h].handler)
      for (size_t b = 0; b < n; ++b) {
        reach_[b][h] = true;
        for (size_t s = 0; s < n; ++s)
          if (reach_[h][s]) reach_[b][s] = true;
      }
  callPoint_.resize(f_.calls.size());
  for (uint32_t b = 0; b < n; ++b)
    for (uint32_t k = 0; k < f_.blocks[b].events.size(); ++k)
      if (f_.blocks[b].events[k].kind == EventKind::Call && f_.blocks[b].events[k].call < f_.calls.size())
        callPoint_[f_.blocks[b].events[k].call] = {b, k};
}

bool FunctionSolver::precedes(Point a, Point b) const {
  if (a.block == b.block) return a.event < b.event || reach_[a.block][a.block];
  return reach_[a.block][b.block];
}

// Too many targets: perhaps they differ in nothing but the element.
void FunctionSolver::limit(PathSet& set) {
  if (set.size() <= kMaxTargets) return;
  PathSet merged;
  for (PathId p : set) insert(merged, paths_.withoutIndexes(p));
  set = merged.size() <= kMaxTargets ? merged : PathSet{paths_.unknown()};
}

// An element without a name gets that of the place where somebody came to refer
// to it: what is reached through one reference, iterator or pointer is in one
// element, what was looked up twice may be in two.
PathId FunctionSolver::nameElements(PathId p, Point at) {
  const PathNode n = paths_.at(p);
  if (n.kind == StepKind::Root) return p;
  Str name = n.entity;
  if (n.kind == StepKind::Elem && !name && e_.holdsMany(e_.typeOf(n.parent, id_)))
    name = kElementName | (at.block & 0xfff) << 16 | (at.event & 0xffff);
  return paths_.step(nameElements(n.parent, at), n.kind, name);
}

void FunctionSolver::addDef(PathId dst, PathId src, bool bind, Point at, bool always) {
  dst = paths_.withoutIndexes(dst);
  if (bind) src = nameElements(src, at);
  if (dst == src && !bind) return;
  Def d{src, bind, always, at};
  std::vector<Def>& defs = defs_[dst];
  // A slot that is set again and again from many places says nothing.
  if (defs.size() > 4 * kMaxTargets) {
    d = {paths_.unknown(), true, true, at};
    if (defs.back() == d || (defs.back().always && defs.back().src == d.src)) return;
  }
  for (const Def& x : defs)
    if (x.src == src && x.bind == bind && x.always == always && x.at == at) return;
  defs.push_back(d);
  ++defVersion_;
  changed_ = true;
}

// The definitions by place, in an order that does not depend on the hash table.
std::vector<std::pair<PathId, std::vector<Def>>> FunctionSolver::sortedDefs() const {
  std::vector<std::pair<PathId, std::vector<Def>>> all(defs_.begin(), defs_.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

// What the pointer or reference in place `c` refers to at `at`. Answers are
// kept while no definition is added.
void FunctionSolver::pointees(PathId c, Point at, PathSet& out, int depth) {
  if (!resolving_.empty()) {
    followPointees(c, at, out, depth);
    return;
  }
  if (cacheVersion_ != defVersion_) {
    pointeeCache_.clear();
    cacheVersion_ = defVersion_;
  }
  auto [it, fresh] = pointeeCache_.try_emplace((uint64_t{c} << 32) | (uint64_t{at.block} << 16) | (at.event & 0xffff));
  if (fresh) {
    PathSet found;
    followPointees(c, at, found, depth);
    it = pointeeCache_.find((uint64_t{c} << 32) | (uint64_t{at.block} << 16) | (at.event & 0xffff));
    it->second = std::move(found);
  }
  for (PathId p : it->second) insert(out, p);
  limit(out);
}

void FunctionSolver::followPointees(PathId c, Point at, PathSet& out, int depth) {
  if (depth > 8 || ++work_ > kMaxWork) {
    insert(out, paths_.unknown());
    return;
  }
  for (const auto& [p, q] : resolving_)
    if (p == c && q == at) return;
  resolving_.emplace_back(c, at);
  bool anyDef = false;
  std::vector<PathId> rest;
  for (PathId p = c;;) {
    auto it = defs_.find(paths_.withoutIndexes(p));
    if (it != defs_.end()) {
      anyDef = true;
      // By index and by value: the vector may grow while we recurse.
      for (size_t k = 0; k < it->second.size(); ++k) {
        Def d = it->second[k];
        if (!precedes(d, at)) continue;
        if (d.bind) {
          insert(out, d.src);
        } else {
          PathId s = d.src;
          for (auto r = rest.rbegin(); r != rest.rend(); ++r) {
            PathNode n = paths_.at(*r);
            s = paths_.step(s, n.kind, n.entity);
          }
          followPointees(s, d.at, out, depth + 1);
        }
        it = defs_.find(paths_.withoutIndexes(p));
      }
    }
    const PathNode& n = paths_.at(p);
    if (n.kind == StepKind::Root || n.kind == StepKind::Deref) break;
    rest.push_back(p);
    p = n.parent;
  }
  const PathNode root = paths_.rootOf(c);
  bool heap = containsDeref(c);
  // What is there before the function runs, unless a value of that type points
  // to nothing (a string or container, whose elements are its own).
  auto through = [&] {
    if (!e_.pointsNowhere(e_.typeOf(c, id_))) insert(out, paths_.deref(c));
  };
  switch (root.root) {
    case Root::This:
      // In a constructor the members hold nothing but what it puts there.
      if (heap || !f_.isCtor || !anyDef) through();
      break;
    case Root::Global:
    case Root::Param:
    case Root::Unknown:
      through();
      break;
    case Root::Local:
    case Root::Result: {
      if (heap) {
        through();
      } else if (!anyDef) {
        // A reference or an invented slot refers to something; if nobody
        // said what, it is unknown. A named pointer without definitions is
        // null or not initialised.
        bool slot = root.root == Root::Result;
        if (root.root == Root::Local && root.index < f_.locals.size()) {
          const LocalInfo& l = f_.locals[root.index];
          slot = l.isRef || (l.name == 0 && !l.isClass);
        }
        if (slot) insert(out, paths_.unknown());
      }
      break;
    }
    case Root::Fresh:
      if (heap) through();
      break;
    case Root::Ret:
      break;
  }
  limit(out);
  resolving_.pop_back();
}

PathSet FunctionSolver::resolve(const Path& raw, Point at) {
  PathSet cur{rootPath(raw)};
  for (const Step& s : raw.steps) {
    PathSet next;
    for (PathId c : cur) {
      switch (s.sel) {
        case Sel::Field: insert(next, e_.fieldOf(c, s.field)); break;
        case Sel::Elem: insert(next, paths_.elem(c, s.index)); break;
        case Sel::Deref: pointees(c, at, next); break;
      }
    }
    limit(next);
    cur = std::move(next);
  }
  return cur;
}

PathId FunctionSolver::rootPath(const Path& raw) {
  switch (raw.root) {
    case Root::This: return paths_.root(Root::This);
    case Root::Global: return paths_.root(Root::Global, 0, raw.entity);
    case Root::Ret: return paths_.root(Root::Ret);
    case Root::Unknown: return paths_.unknown();
    default: return paths_.root(raw.root, raw.index);
  }
}

void FunctionSolver::defineValue(PathId dst, const Value& v, Point at, bool always) {
  if (v.kind == ValueKind::None) return;
  for (PathId s : resolve(v.path, at)) addDef(dst, s, v.kind == ValueKind::Bind, at, always);
}

// The object behind argument i: what a reference refers to, else the slot.
// What a function gets that is run with this argument later or by a library:
// the object, or what std::ref made it refer to.
PathSet FunctionSolver::handedArg(uint32_t call, uint32_t i, Point at) {
  PathSet objects = argObject(call, i, at);
  if (!e_.models.isReferenceWrapper(p_.className(f_.calls[call].args[i].type))) return objects;
  PathSet out;
  for (PathId o : objects) pointees(o, at, out);
  limit(out);
  return out.empty() ? objects : out;
}

PathSet FunctionSolver::argObject(uint32_t call, uint32_t i, Point at) {
  const Arg& a = f_.calls[call].args[i];
  if (isRefArg(a)) {
    if (a.value.kind == ValueKind::None) return {};
    if (a.value.kind == ValueKind::Bind) return resolve(a.value.path, at);
    PathSet out;
    for (PathId c : resolve(a.value.path, at)) pointees(c, at, out);
    return out;
  }
  return {argSlot(call, i)};
}

Frame FunctionSolver::frameOf(uint32_t call, Point at) {
  const Call& c = f_.calls[call];
  Frame fr;
  fr.call = call;
  if (c.hasSelf) fr.self = resolve(c.self, at);
  else fr.self = {paths_.unknown()};
  for (uint32_t i = 0; i < c.args.size(); ++i) fr.params.push_back(argSlot(call, i));
  return fr;
}

// A callee's path in the caller's terms.
PathSet FunctionSolver::mapPath(PathId path, const Frame& fr, Point at) {
  const PathNode n = paths_.at(path);
  if (n.kind == StepKind::Root) {
    switch (n.root) {
      case Root::This: return fr.self;
      case Root::Param:
        return {n.index < fr.params.size() ? fr.params[n.index] : paths_.unknown()};
      case Root::Global:
      case Root::Unknown: return {path};
      case Root::Ret: return {resultOf(fr.call)};
      case Root::Fresh:
        return {paths_.root(Root::Fresh, kFreshBase + fr.call * 64 + n.index % 64)};
      default: return {paths_.unknown()};
    }
  }
  PathSet parents = mapPath(n.parent, fr, at);
  PathSet out;
  for (PathId c : parents) {
    if (n.kind == StepKind::Deref) pointees(c, at, out);
    else insert(out, paths_.step(c, n.kind, n.entity));
  }
  limit(out);
  return out;
}

void FunctionSolver::linksOf(FuncId callee, const Frame& fr, Point at) {
  if (!e_.solved(callee)) {
    for (PathId s : fr.self) addDef(paths_.unknown(), s, true, at);
    for (PathId slot : fr.params) addDef(paths_.unknown(), slot, false, at);
    addDef(resultOf(fr.call), paths_.unknown(), true, at);
    return;
  }
  // Copied: a recursive callee is being solved, its summary may change.
  const std::vector<Link> links = e_.summaries[callee].links;
  for (const Link& l : links) {
    PathSet dsts = mapPath(l.dst, fr, at);
    if (dsts.empty()) continue;
    PathSet srcs = mapPath(l.src, fr, at);
    for (PathId d : dsts)
      for (PathId s : srcs) addDef(d, s, l.bind, at);
  }
}

void FunctionSolver::aliasCall(uint32_t call, Point at) {
  const Call& c = f_.calls[call];
  for (uint32_t i = 0; i < c.args.size(); ++i) defineValue(argSlot(call, i), c.args[i].value, at, true);
  const CallInfo& ci = info(call);
  switch (ci.cls) {
    case CallClass::CondVar: return;
    case CallClass::Lock: return;
    case CallClass::Guard: {
      // `release()`, `mutex()` give the lock; not followed further.
      return;
    }
    case CallClass::Bodies: {
      Frame fr = frameOf(call, at);
      if (ci.wrapper) fr.self = {paths_.unknown()};
      for (FuncId t : ci.targets.bodies) linksOf(t, fr, at);
      if (ci.targets.unknown) escapeArgs(call, at);
      if (ci.targets.unknown) addDef(resultOf(call), paths_.unknown(), true, at);
      return;
    }
    case CallClass::Modelled:
      for (const ModelEffect& m : ci.model->effects) {
        switch (m.kind) {
          case EffectKind::Bind:
            for (PathId d : evalPlace(m.place, call, at))
              for (PathId s : evalPlace(m.source, call, at)) addDef(d, s, true, at);
            break;
          case EffectKind::Copy:
            for (PathId d : evalPlace(m.place, call, at))
              for (PathId s : evalPlace(m.source, call, at)) addDef(d, s, false, at);
            break;
          case EffectKind::Fresh: {
            PathId fresh = paths_.root(Root::Fresh, kFreshBase + call * 64 + 63);
            for (PathId d : evalPlace(m.place, call, at)) addDef(d, fresh, true, at);
            break;
          }
          case EffectKind::Construct:
            // A thread made in place takes its arguments along.
            for (Str type : placeTypes(m.place, call))
              if (startsThread(type, c.args.size()))
                for (uint32_t i = 0; i < c.args.size(); ++i) addDef(paths_.unknown(), argSlot(call, i), false, at);
            break;
          case EffectKind::Later:
          case EffectKind::Stores:
          case EffectKind::SignalHandler:
          case EffectKind::AtFork:
            for (PathId s : evalPlace(m.place, call, at)) addDef(paths_.unknown(), s, false, at);
            if (m.kind == EffectKind::Later)
              for (uint32_t i = 0; i < c.args.size(); ++i)
                addDef(paths_.unknown(), argSlot(call, i), false, at);
            break;
          case EffectKind::Invoke: {
            PathSet self;
            CallTarget t = callableTargets(call, m.place, at, self);
            Frame fr = invokeFrame(call, self, invokeArgs(m, call, at), at, 0);
            for (FuncId b : t.bodies) linksOf(b, fr, at);
            break;
          }
          default: break;
        }
      }
      return;
    case CallClass::PolicyCall: aliasByPolicy(call, at); return;
    case CallClass::Unknown:
      escapeArgs(call, at);
      addDef(resultOf(call), paths_.unknown(), true, at);
      if (c.hasSelf && c.kind == CallKind::Construct)
        for (PathId s : resolve(c.self, at)) addDef(s, paths_.unknown(), true, at);
      return;
  }
}

void FunctionSolver::escapeArgs(uint32_t call, Point at) {
  const Call& c = f_.calls[call];
  for (uint32_t i = 0; i < c.args.size(); ++i) addDef(paths_.unknown(), argSlot(call, i), false, at);
  if (c.hasSelf)
    for (PathId s : resolve(c.self, at)) addDef(paths_.unknown(), s, true, at);
  // And what they point to may now hold pointers to anything.
  for (uint32_t i = 0; i < c.args.size(); ++i) {
    if (c.args[i].constRef || c.args[i].byValue) continue;
    PathSet objects;
    pointees(argSlot(call, i), at, objects);
    for (PathId o : objects)
      if (paths_.rootOf(o).root == Root::Local || paths_.rootOf(o).root == Root::Fresh)
        addDef(o, paths_.unknown(), true, at);
  }
}

void FunctionSolver::aliasByPolicy(uint32_t call, Point at) {
  const Call& c = f_.calls[call];
  const CallInfo& ci = info(call);
  PathSet sources;
  if (c.hasSelf)
    for (PathId s : resolve(c.self, at)) insert(sources, s);
  for (uint32_t i = 0; i < c.args.size(); ++i)
    for (PathId a : argObject(call, i, at)) insert(sources, a);
  PathId ret = resultOf(call);
  const TypeFact* rt = p_.type(c.resultType);
  bool pointerLike = c.returnsRef || (rt && rt->kind == TypeKind::Pointer);
  bool object = rt && rt->kind == TypeKind::Class;
  for (PathId s : sources) {
    if (pointerLike) {
      addDef(ret, s, true, at);
      addDef(ret, paths_.elem(s), true, at);
      PathSet inner;
      pointees(s, at, inner);
      for (PathId x : inner) addDef(ret, x, true, at);
    } else if (object) {
      addDef(ret, s, false, at);
      addDef(ret, paths_.elem(s), true, at);
    }
  }
  if (ci.policy != Policy::ConstReads) return;
  // Written objects may now hold what the other arguments hold.
  auto fill = [&](PathId written) {
    for (PathId s : sources)
      if (s != written) {
        addDef(written, s, false, at);
        addDef(paths_.elem(written), s, false, at);
      }
  };
  if (c.hasSelf && !c.constMethod)
    for (PathId s : resolve(c.self, at)) fill(s);
  for (uint32_t i = 0; i < c.args.size(); ++i)
    if (!c.args[i].constRef && !c.args[i].byValue)
      for (PathId a : argObject(call, i, at)) fill(a);
  // Callables run now, as far as anyone knows.
  for (uint32_t i = 0; i < c.args.size(); ++i)
    if (looksCallable(c.args[i])) {
      PathSet self;
      CallTarget t = callableArg(call, i, at, self);
      PathSet given = anythingGiven(call, at, i);
      Frame fr = invokeFrame(call, self, {given, given, given, given}, at, i);
      for (FuncId b : t.bodies) linksOf(b, fr, at);
    }
}

void FunctionSolver::aliasPass() {
  for (uint32_t b = 0; b < f_.blocks.size(); ++b)
    for (uint32_t k = 0; k < f_.blocks[b].events.size(); ++k) {
      const Event& ev = f_.blocks[b].events[k];
      Point at{b, k};
      switch (ev.kind) {
        case EventKind::Bind:
        case EventKind::Copy:
          if (ev.value.kind == ValueKind::None) break;
          for (PathId d : resolve(ev.place, at))
            for (PathId s : resolve(ev.value.path, at))
              addDef(d, s, ev.kind == EventKind::Bind, at);
          break;
        case EventKind::Call:
          if (ev.call < f_.calls.size()) aliasCall(ev.call, at);
          break;
        default: break;
      }
    }
}

}  // namespace locktidy
