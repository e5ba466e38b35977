// What is read, written and called (step 4): one last pass over the events,
// each effect with what is surely held there. Callees' effects come in through
// their summaries, in the caller's terms; destructors, copies and constructors
// that library code runs are found by the types.
//
// Only what others can see is recorded (isShared), by public paths. Needs the
// lock sets; the block's state is carried along and changed by each call after
// that call is recorded.

#include <algorithm>

#include "checker/solve/FunctionState.h"

namespace locktidy {

void FunctionSolver::push(Effect eff, const Ctx& cx, bool direct) {
  LocalEffect l;
  static_cast<Effect&>(l) = std::move(eff);
  l.path = publicPath(l.path);
  l.direct = direct;
  l.block = cx.at.block;
  l.event = cx.at.event;
  l.held = cx.held;
  for (const HeldLock& h : l.inner) l.held.push_back(h);
  std::sort(l.held.begin(), l.held.end());
  l.held.erase(std::unique(l.held.begin(), l.held.end()), l.held.end());
  if (!direct && known(l, cx)) return;
  uint32_t index = static_cast<uint32_t>(out_.effects.size());
  out_.effects.push_back(std::move(l));
  for (const auto& [acq, must] : cx.state->held) {
    Acquisition& q = out_.acquisitions[acq];
    if (q.region.size() >= kMaxRegion) {
      q.tooLarge = true;
      continue;
    }
    q.region.push_back(index);
    if (must) q.regionMust.push_back(index);
  }
}

// Has a callee done the same before, with the same locks held? A function of a
// large program has thousands of calls, each with hundreds of effects, and few
// that differ. Inside sections the place counts, too: it may be reported.
bool FunctionSolver::known(const LocalEffect& l, const Ctx& cx) {
  auto [state, newState] = heldStates_.try_emplace(cx.state->held, static_cast<uint32_t>(heldStates_.size()));
  bool inSection = !cx.state->held.empty();
  uint64_t h = 0;
  auto mix = [&](uint64_t v) { h = (h ^ v) * 0x9e3779b97f4a7c15ull; h ^= h >> 32; };
  mix(static_cast<uint64_t>(l.kind) << 32 | l.path);
  mix(uint64_t{l.via} << 8 | l.init << 3 | l.shallow << 2 | l.placed << 1);
  mix(uint64_t{l.needs} << 32 | state->second);
  for (const HeldLock& lock : l.held) mix(uint64_t{lock.path} << 8 | static_cast<uint64_t>(lock.mode));
  if (inSection) mix(uint64_t{l.loc.file} << 32 | l.loc.offset), mix(l.block);
  std::vector<uint32_t>& same = seenEffects_[h];
  for (uint32_t i : same) {
    LocalEffect& have = out_.effects[i];
    if (have.kind != l.kind || have.path != l.path || have.via != l.via || have.init != l.init ||
        have.shallow != l.shallow || have.placed != l.placed || have.needs != l.needs || have.held != l.held ||
        effectStates_[i] != state->second)
      continue;
    if (inSection && (have.loc.file != l.loc.file || have.loc.offset != l.loc.offset || have.block != l.block)) continue;
    have.join(l, paths_);
    have.multiple = have.inOneRound = true;
    return true;
  }
  same.push_back(static_cast<uint32_t>(out_.effects.size()));
  effectStates_[static_cast<uint32_t>(out_.effects.size())] = state->second;
  return false;
}

Effect FunctionSolver::make(Eff kind, PathId path, const Loc& loc, Str type, Str via) {
  Effect x;
  x.kind = kind;
  x.path = path;
  x.loc = loc;
  x.type = type;
  x.via = via;
  x.func = id_;
  return x;
}

bool FunctionSolver::underConstruction(PathId p) const {
  if (!f_.isCtor && !f_.isDtor) return false;
  return paths_.rootOf(p).root == Root::This && !containsDeref(p);
}

void FunctionSolver::access(Eff kind, const PathSet& places, Str type, const Loc& loc, Str via, const Ctx& cx,
                            bool multiple, bool resultUsed, bool rmw, bool bump, bool shallow) {
  for (PathId c : places) {
    if (!isShared(c, cx.at)) continue;
    Effect x = make(kind, c, loc, type, via);
    x.inOneRound = multiple;
    x.multiple = multiple || inLoop(cx.at.block);
    x.resultUsed = resultUsed;
    x.rmw = rmw;
    x.bump = bump;
    x.shallow = shallow;
    x.init = underConstruction(c);
    push(x, cx, true);
  }
}

void FunctionSolver::plain(Eff kind, const Loc& loc, Str via, const Ctx& cx) {
  Effect x = make(kind, paths_.unknown(), loc, 0, via);
  x.multiple = inLoop(cx.at.block);
  push(x, cx, true);
}

// Runs a summarised callee at `at`.
void FunctionSolver::applyBody(FuncId callee, const Frame& fr, const Loc& loc, const Ctx& cx, Surety how) {
  if (!e_.solved(callee)) {
    plain(Eff::Unknown, loc, p_.functions[callee].display, cx);
    return;
  }
  if (fr.self.size() > 1) {
    // One object at a time: its data goes with its own lock.
    for (PathId self : fr.self) {
      Frame one = fr;
      one.self = {self};
      how.maybe = true;
      how.certain = false;
      applyBody(callee, one, loc, cx, how);
    }
    return;
  }
  const Summary& s = e_.summaries[callee];
  const bool recursive = e_.solving.count(callee) != 0;
  std::map<PathId, PathSet> memo;
  auto mapped = [&](PathId p) -> const PathSet& {
    auto it = memo.find(p);
    if (it == memo.end()) it = memo.emplace(p, mapPath(p, fr, cx.at)).first;
    return it->second;
  };
  bool loop = inLoop(cx.at.block);
  // The object whose absence would make this call, and all it does, impossible.
  PathId object = fr.self.size() == 1 && paths_.mayBeAbsent(fr.self.front()) ? fr.self.front() : kNoPath;
  // False: the pointer it depends on is null here.
  auto needed = [&](PathId needs, PathId& here) {
    here = object;
    if (!needs) return true;
    if (mapped(needs).empty()) return false;
    // What it is in needs to be there, too: the innermost that is one object here.
    for (PathId part = needs;; part = paths_.at(part).parent) {
      const PathSet& m = mapped(part);
      // Of two, the one behind more pointers: the other is likelier to be there.
      if (m.size() == 1 && paths_.mayBeAbsent(m.front())) {
        if (!here || paths_.derefs(m.front()) >= paths_.derefs(here)) here = m.front();
        return true;
      }
      if (paths_.at(part).kind == StepKind::Root) return true;
    }
  };
  if (recursive) {
    PathId needs = object;
    if (!s.entersCycle || needed(s.cycleNeeds, needs)) {
      Summary& own = out_.summary;
      if (needs) needs = paths_.withoutIndexes(needs);
      own.cycleNeeds = own.entersCycle ? paths_.bothNeed(own.cycleNeeds, needs) : needs;
      own.entersCycle = true;
    }
  }
  std::vector<Effect> effects = s.effects;  // a recursive callee may be us
  for (const Effect& x : effects) {
    bool pathless = isPathless(x.kind);
    PathId needs = kNoPath;
    if (!needed(x.needs, needs)) continue;
    std::vector<HeldLock> inner;
    for (const HeldLock& h : x.inner) {
      const PathSet& m = mapped(h.path);
      if (m.size() == 1) inner.push_back({publicPath(m.front()), h.mode});
      // One of several objects: which lock it is stays known by its class.
      else if (e_.lockClass(h.path)) inner.push_back({paths_.replacePrefix(h.path, paths_.base(h.path), paths_.unknown()), h.mode});
    }
    PathSet places = pathless ? PathSet{x.path} : mapped(x.path);
    for (PathId c : places) {
      if (!pathless && !isShared(c, cx.at)) continue;
      Effect y = x;
      y.path = c;
      y.needs = needs;
      y.inner = inner;
      y.inOneRound = x.multiple || how.repeated;
      y.multiple = y.inOneRound || loop;
      y.scans = x.scans || how.repeated || recursive;
      y.assumed = x.assumed || how.assumed;
      y.maybe = x.maybe || how.maybe;
      y.chain = e_.chainTo(id_, loc, x.chain);
      y.init = x.init || underConstruction(c);
      push(y, cx, false);
    }
  }
  const std::vector<AcquireNote> acquires = s.acquires;
  for (const AcquireNote& n : acquires) {
    AcquireNote m = n;
    if (!needed(n.needs, m.needs)) continue;
    for (PathId l : mapped(n.path)) {
      m.path = publicPath(e_.outermostLock(l, id_, nullptr));
      m.chain = e_.chainTo(id_, loc, n.chain);
      m.weak = n.weak || !how.certain;
      noteAcquire(m, cx);
    }
  }
}

// Runs all that a callable value may be.
void FunctionSolver::applyAll(const CallTarget& t, const Frame& fr, uint32_t call, const Ctx& cx, bool repeated) {
  const Call& c = f_.calls[call];
  if (t.assumed) plain(Eff::Assumption, c.loc, c.name, cx);
  for (FuncId b : t.bodies) {
    applyBody(b, fr, c.loc, cx, {.assumed = t.assumed, .maybe = t.assumed || t.bodies.size() > 1, .repeated = repeated});
    context(call, b, fr, cx, false);
  }
  if (t.unknown) plain(Eff::Unknown, c.loc, c.name, cx);
}

void FunctionSolver::noteAcquire(const AcquireNote& n, const Ctx& cx) {
  for (const auto& [acq, must] : cx.state->held) {
    Acquisition& q = out_.acquisitions[acq];
    // One place is enough to say which lock is taken under this one.
    if (!nestedSeen_.emplace(acq, must, n.path, n.mode, n.weak, n.needs).second) continue;
    q.nested.push_back(n);
    if (must && !q.ambiguous && !n.weak && ordersSeen_.emplace(q.lock, n.path, q.mode).second) out_.orders.push_back({q.lock, n.path, q.mode, n.loc});
  }
  auto known = [&](const AcquireNote& x) {
    for (const AcquireNote& have : out_.summary.acquires)
      if (have.path == x.path && have.mode == x.mode && have.weak <= x.weak && (!have.needs || have.needs == x.needs))
        return true;
    return false;
  };
  if (known(n)) return;
  if (out_.summary.acquires.size() < kMaxNotes) {
    out_.summary.acquires.push_back(n);
    return;
  }
  // Too many places: from here on only which locks, not whose.
  AcquireNote m = n;
  Str lock = e_.lockClass(n.path);
  m.path = paths_.at(n.path).kind == StepKind::Root ? n.path : lock ? paths_.field(paths_.unknown(), lock) : paths_.unknown();
  for (AcquireNote& have : out_.summary.acquires)
    if (have.path == m.path && have.mode == m.mode && have.weak <= m.weak) {
      have.needs = paths_.bothNeed(have.needs, m.needs);
      return;
    }
  out_.summary.acquires.push_back(m);
}

// The locks that an operation written here takes.
void FunctionSolver::noteAcquires(const LockAction& a, const Loc& loc, const Ctx& cx) {
  for (PathId l : a.locks) {
    AcquireNote n;
    n.path = publicPath(l);
    n.mode = a.mode;
    n.func = id_;
    n.loc = loc;
    noteAcquire(n, cx);
  }
}

void FunctionSolver::context(uint32_t call, FuncId callee, const Frame& fr, const Ctx& cx, bool later) {
  CallContext c;
  c.call = call;
  c.callee = callee;
  c.later = later;
  c.inLoop = inLoop(cx.at.block);
  if (!later)
    for (const HeldLock& h : cx.held) c.held.push_back(h);
  c.selfShared = false;
  for (PathId s : fr.self) c.selfShared |= later || isShared(s, cx.at);
  c.self = fr.self.size() == 1 ? fr.self.front() : kNoPath;
  for (PathId slot : fr.params) {
    PathSet targets;
    pointees(slot, cx.at, targets);
    bool shared = false;
    std::vector<PathId> list;
    for (PathId t : targets) {
      if (!later && !isShared(t, cx.at)) continue;
      shared = true;
      list.push_back(publicPath(t));
    }
    c.paramShared.push_back(shared);
    c.paramTargets.push_back(std::move(list));
  }
  for (const Effect& x : e_.summaries[callee].effects) {
    PathId first = paths_.rootOf(x.path).root == Root::Param ? paths_.firstDeref(x.path) : kNoPath;
    if (!first || paths_.at(paths_.at(first).parent).kind == StepKind::Root || c.members.count(first)) continue;
    std::vector<PathId>& list = c.members[first];
    for (PathId t : mapPath(first, fr, cx.at))
      if (later || isShared(t, cx.at)) list.push_back(publicPath(t));
  }
  out_.contexts.push_back(std::move(c));
}

// The classes of what was ever stored in a callable wrapper of the type.
template <class Do>
void FunctionSolver::wrappedValues(Str type, const Loc& loc, const Ctx& cx, Do each) {
  auto it = p_.wrapped.find(type);
  if (it == p_.wrapped.end()) return;
  if (it->second.size() > kMaxWrapped) {
    plain(Eff::Drop, loc, 0, cx);
    return;
  }
  for (Str op : it->second)
    for (FuncId f : p_.targetsOf(op).bodies)
      if (p_.functions[f].ownerType) each(p_.functions[f].ownerType);
}

// Destructors that destroying a value of `type` at `places` runs.
void FunctionSolver::destroy(PathSet places, Str type, uint32_t call, const Loc& loc, const Ctx& cx, int depth) {
  const TypeFact* t = p_.type(type);
  if (!t || depth > 5) return;
  if (t->kind == TypeKind::Array) {
    PathSet elems;
    for (PathId p : places) insert(elems, paths_.elem(p));
    destroy(elems, t->pointee, call, loc, cx, depth + 1);
    return;
  }
  if (t->kind != TypeKind::Class) return;
  std::string_view cls = p_.text(t->clsName);
  if (e_.models.isCountedPointer(cls) || e_.models.isUniqueOwner(cls)) {
    if (t->args.empty()) return;
    PathSet owned, pointed;
    for (PathId p : places) {
      if (e_.models.isUniqueOwner(cls)) {
        // Null so far: nothing owned.
        PathSet q;
        pointees(p, cx.at, q);
        if (!q.empty()) insert(owned, paths_.elem(p));
        pointed.insert(pointed.end(), q.begin(), q.end());
      } else {
        pointees(p, cx.at, owned);
        pointed = owned;
      }
    }
    // A deleter of the program's: a type argument, or given to a constructor.
    CallTarget deleter;
    if (e_.models.isUniqueOwner(cls) && t->args.size() > 1) {
      if (Str op = p_.callOperator(t->args[1])) deleter = p_.targetsOf(op);
      else if (const TypeFact* d = p_.type(t->args[1]); d && d->kind == TypeKind::Pointer) deleter = p_.bySignature(d->pointee);
    }
    if (auto made = p_.deleters.find(t->name); made != p_.deleters.end())
      deleter.join(p_.anyOf(made->second));
    // The deleter of a counted pointer runs even if it counts for null.
    if (owned.empty() && e_.models.isUniqueOwner(cls)) return;
    if (!deleter.bodies.empty() || deleter.unknown)
      applyAll(deleter, oneOffFrame(call, {paths_.unknown()}, {pointed}, cx.at), call, cx);
    if (!owned.empty()) destroyPointee(owned, t->args[0], call, loc, cx, depth + 1);
    return;
  }
  if (e_.models.isCallableWrapper(cls)) {
    wrappedValues(t->name, loc, cx, [&](Str value) { destroy({paths_.unknown()}, value, call, loc, cx, depth + 1); });
    return;
  }
  const ClassFact* c = p_.classOfType(type);
  if (!c && t->cls)
    if (auto it = p_.classByUsr.find(t->cls); it != p_.classByUsr.end()) c = &p_.classes[it->second];
  bool library = e_.models.hasClass(cls) || e_.models.policy(cls) != Policy::Unknown || (c && c->inSystemHeader);
  if (library) {
    PathSet elems;
    for (PathId p : places) insert(elems, paths_.elem(p));
    for (Str a : t->args) destroy(elems, a, call, loc, cx, depth + 1);
    return;
  }
  if (!c) return;
  if (c->dtor) {
    CallTarget target = p_.targetsOf(c->dtor);
    if (!target.bodies.empty()) {
      Frame fr;
      fr.call = call;
      fr.self = places;
      for (FuncId b : target.bodies) {
        applyBody(b, fr, loc, cx, {.maybe = depth > 0});
        context(call, b, fr, cx, false);
      }
      return;
    }
    auto it = p_.byUsr.find(c->dtor);
    bool defaulted = it == p_.byUsr.end() || p_.functions[it->second.front()].isDefaulted ||
                     p_.functions[it->second.front()].isImplicit;
    if (!defaulted) {
      Effect x = make(Eff::Drop, paths_.unknown(), loc, type, c->dtor);
      push(x, cx, true);
      return;
    }
  }
  for (const FieldFact& f : c->fields) {
    if (f.isStatic) continue;
    PathSet sub;
    for (PathId p : places) insert(sub, paths_.field(p, f.usr));
    destroy(sub, f.type, call, loc, cx, depth + 1);
  }
  for (Str b : c->bases) destroy(places, b, call, loc, cx, depth + 1);
}

void FunctionSolver::destroyPointee(const PathSet& owned, Str type, uint32_t call, const Loc& loc, const Ctx& cx,
                                    int depth) {
  destroy(owned, type, call, loc, cx, depth);
  const ClassFact* c = p_.classOfType(type);
  if (!c) {
    const TypeFact* t = p_.type(type);
    if (t && t->kind != TypeKind::Class) {
      // shared_ptr<void>: the deleter is not known.
      if (t->kind == TypeKind::Other) push(make(Eff::Drop, paths_.unknown(), loc, type, 0), cx, true);
    }
    return;
  }
  // Derived classes may be what is really there.
  std::set<Str> seen{type};
  std::vector<Str> todo{type};
  while (!todo.empty() && seen.size() < 24) {
    Str x = todo.back();
    todo.pop_back();
    auto it = p_.derived.find(x);
    if (it == p_.derived.end()) continue;
    for (Str d : it->second)
      if (seen.insert(d).second) {
        destroy(owned, d, call, loc, cx, depth);
        todo.push_back(d);
      }
  }
}

void FunctionSolver::copyUser(const PathSet& from, Str type, uint32_t call, const Loc& loc, const Ctx& cx, int depth,
                              bool relocates) {
  const TypeFact* t = p_.type(type);
  if (t && t->kind == TypeKind::Ref) t = p_.type(t->pointee);
  if (!t || t->kind != TypeKind::Class || depth > 4) return;
  const ClassFact* c = p_.classOfType(t->name);
  std::string_view cls = p_.text(t->clsName);
  if (e_.models.isCountedPointer(cls) || e_.models.isUniqueOwner(cls)) return;
  if (lastName(cls) == "any" && e_.models.hasClass(cls)) {
    plain(Eff::Unknown, loc, t->name, cx);  // whatever is in it
    return;
  }
  if (e_.models.isCallableWrapper(cls)) {
    wrappedValues(t->name, loc, cx, [&](Str value) { copyUser({paths_.unknown()}, value, call, loc, cx, depth + 1); });
    return;
  }
  if (c && !c->inSystemHeader && (c->copyCtor || c->moveCtor)) {
    PathSet fresh{paths_.root(Root::Fresh, kFreshBase + call * 64 + 62)};
    bool body = false;
    for (Str ctor : {c->copyCtor, c->moveCtor}) {
      if (!ctor) continue;
      // Elements that change their place are moved if they can be.
      if (relocates && ctor == c->copyCtor && c->moveCtor) {
        body = true;
        continue;
      }
      // Whether this copies or moves is not known here. What a move takes away
      // the model says itself ("moves", "write"); here it is what else it does.
      Frame fr = oneOffFrame(call, fresh, {ctor == c->copyCtor ? from : fresh}, cx.at);
      for (FuncId b : p_.targetsOf(ctor).bodies) {
        applyBody(b, fr, loc, cx, {.maybe = true});
        body |= ctor == c->copyCtor;
      }
    }
    if (body) return;
    for (const FieldFact& f : c->fields) {
      PathSet sub;
      for (PathId p : from) insert(sub, paths_.field(p, f.usr));
      copyUser(sub, f.type, call, loc, cx, depth + 1);
    }
    return;
  }
  PathSet elems;
  for (PathId p : from) insert(elems, paths_.elem(p));
  for (Str a : t->args) copyUser(elems, a, call, loc, cx, depth + 1);
}

// An allocator of the program's that a library type was given.
void FunctionSolver::allocateUser(Str type, uint32_t call, const Ctx& cx) {
  const TypeFact* t = p_.type(type);
  if (!t || t->kind != TypeKind::Class) return;
  for (Str arg : t->args) {
    const ClassFact* c = p_.classOfType(arg);
    if (!c || c->inSystemHeader) continue;
    for (Str m : c->methods) {
      auto it = p_.byUsr.find(m);
      if (it == p_.byUsr.end()) continue;
      std::string_view name = lastName(p_.text(p_.functions[it->second.front()].name));
      if (name != "allocate" && name != "deallocate") continue;
      CallTarget target = p_.targetsOf(m);
      target.unknown = false;
      applyAll(target, oneOffFrame(call, {paths_.unknown()}, {}, cx.at), call, cx);
    }
  }
}

// Comparisons and hashes of values of `type` at `places`, which a container or
// algorithm `self` runs. Which one is not known: all of them.
void FunctionSolver::compareUser(const PathSet& places, const PathSet& self, Str type, uint32_t call, const Ctx& cx,
                                 int depth) {
  const TypeFact* t = p_.type(type);
  if (t && t->kind == TypeKind::Ref) t = p_.type(t->pointee);
  if (!t || t->kind != TypeKind::Class || depth > 4 || places.empty()) return;
  const Engine::Comparisons ops = e_.comparisons(t->name);
  auto run = [&](const std::vector<FuncId>& bodies, const PathSet& object, const std::vector<PathSet>& args) {
    for (FuncId b : bodies) {
      Frame fr = oneOffFrame(call, object, args, cx.at);
      applyBody(b, fr, f_.calls[call].loc, cx, {.maybe = true});
      context(call, b, fr, cx, false);
    }
  };
  run(ops.members, places, {places});
  run(ops.free, {}, {places, places});
  run(ops.hashes, {}, {places});
  // What a comparator with members refers to is not followed through the
  // container that keeps it.
  const ClassFact* functor = p_.classOfType(t->name);
  run(ops.functors, functor && !functor->fields.empty() ? PathSet{paths_.unknown()} : self, {places, places});
  PathSet inner;
  for (PathId p : places) insert(inner, paths_.elem(p));
  for (Str a : ops.inner) compareUser(inner, self, a, call, cx, depth + 1);
}

// "moves argN": only if that parameter is an rvalue reference.
bool FunctionSolver::movesFrom(const ModelPlace& mp, uint32_t call) const {
  const Call& c = f_.calls[call];
  if (mp.base != ModelPlace::Base::Arg || mp.arg < 0 || static_cast<size_t>(mp.arg) >= c.args.size())
    return mp.base == ModelPlace::Base::Self;
  return p_.text(c.args[mp.arg].type).ends_with("&&") && !c.args[mp.arg].constRef;
}

// A constructor that library code runs (emplace, make_shared): which overload
// is not known, so every one with that many parameters.
// Is `type` a library class whose constructor runs an argument on a thread?
const FunctionModel* FunctionSolver::startsThread(Str type, size_t args) const {
  const TypeFact* t = p_.type(type);
  const ClassFact* cls = p_.classOfType(type);
  if (!t || t->kind != TypeKind::Class || (cls && !cls->inSystemHeader)) return nullptr;
  const std::string& name = p_.text(t->clsName);
  const FunctionModel* model = e_.models.function(name + "::" + std::string(lastName(name)), false, args);
  auto later = [](const ModelEffect& m) {
    return m.kind == EffectKind::Later && m.place.base == ModelPlace::Base::Arg;
  };
  return model && std::any_of(model->effects.begin(), model->effects.end(), later) ? model : nullptr;
}

void FunctionSolver::constructUser(const ModelEffect& m, uint32_t call, const Ctx& cx) {
  const Call& c = f_.calls[call];
  std::vector<PathSet> given = invokeArgs(m, call, cx.at);
  PathSet self{paths_.root(Root::Fresh, kFreshBase + call * 64 + 63)};
  for (Str type : placeTypes(m.place, call)) {
    const ClassFact* cls = p_.classOfType(type);
    if (!cls || cls->inSystemHeader) {
      // A thread made in place runs its first argument, later.
      const FunctionModel* model = startsThread(type, given.size());
      uint32_t first = m.invokeArgs.empty() ? 0 : static_cast<uint32_t>(std::max(0, m.invokeArgs[0].arg));
      for (size_t k = 0; model && k < model->effects.size(); ++k) {
        const ModelEffect& made = model->effects[k];
        if (made.kind != EffectKind::Later || made.place.base != ModelPlace::Base::Arg) continue;
        uint32_t arg = first + static_cast<uint32_t>(std::max(0, made.place.arg));
        if (arg >= c.args.size()) continue;
        PathSet object;
        CallTarget target = callableArg(call, arg, cx.at, object);
        std::vector<PathSet> rest;
        for (uint32_t i = arg + 1; i < c.args.size(); ++i) rest.push_back(handedArg(call, i, cx.at));
        for (FuncId b : target.bodies) context(call, b, oneOffFrame(call, object, rest, cx.at), cx, true);
        plain(Eff::External, c.loc, c.name, cx);
      }
      continue;
    }
    for (Str usr : cls->methods)
      for (FuncId b : p_.targetsOf(usr).bodies) {
        const FunctionFacts& ctor = p_.functions[b];
        if (!ctor.isCtor || ctor.params.size() != given.size() || ctor.opaque) continue;
        Frame fr = oneOffFrame(call, self, given, cx.at);
        applyBody(b, fr, c.loc, cx, {.maybe = true});
        context(call, b, fr, cx, false);
      }
  }
}

void FunctionSolver::recordModel(uint32_t call, const CallInfo& ci, const Ctx& cx) {
  const Call& c = f_.calls[call];
  for (const ModelEffect& m : ci.model->effects) {
    switch (m.kind) {
      case EffectKind::Read:
        access(Eff::Read, evalPlace(m.place, call, cx.at), placeType(m.place, call), c.loc, c.name, cx, false, false,
               false, false, m.shallow);
        break;
      case EffectKind::Scan: {
        // What is moved from is handed over whole.
        const Arg* arg = m.place.base == ModelPlace::Base::Arg && static_cast<size_t>(m.place.arg) < c.args.size()
                             ? &c.args[m.place.arg] : nullptr;
        if (arg && !arg->constRef && !arg->byValue) break;
        for (PathId place : evalPlace(m.place, call, cx.at)) {
          if (!isShared(place, cx.at)) continue;
          Effect x = make(Eff::Read, place, c.loc, 0, c.name);
          x.scans = true;
          x.shallow = true;
          push(x, cx, true);
        }
        break;
      }
      case EffectKind::Moves: {
        ModelPlace one = m.place;
        bool many = one.base == ModelPlace::Base::Args;
        uint32_t first = static_cast<uint32_t>(std::max(0, one.arg));
        uint32_t last = many ? static_cast<uint32_t>(c.args.size()) : first + 1;
        one.base = many ? ModelPlace::Base::Arg : one.base;
        for (uint32_t i = first; i < last; ++i) {
          one.arg = static_cast<int>(i);
          if (movesFrom(one, call))
            access(Eff::Write, evalPlace(one, call, cx.at), placeType(one, call), c.loc, c.name, cx);
        }
        break;
      }
      case EffectKind::Construct: constructUser(m, call, cx); break;
      case EffectKind::Write:
        access(Eff::Write, evalPlace(m.place, call, cx.at), placeType(m.place, call), c.loc, c.name, cx);
        break;
      case EffectKind::AtomicRead:
        access(Eff::AtomicRead, evalPlace(m.place, call, cx.at), 0, c.loc, c.name, cx);
        break;
      case EffectKind::AtomicWrite:
        access(Eff::AtomicWrite, evalPlace(m.place, call, cx.at), 0, c.loc, c.name, cx);
        break;
      case EffectKind::AtomicRmw:
        access(Eff::AtomicWrite, evalPlace(m.place, call, cx.at), 0, c.loc, c.name, cx, false, !c.resultUnused, true);
        break;
      case EffectKind::Invoke: {
        PathSet self;
        CallTarget t = callableTargets(call, m.place, cx.at, self);
        Frame fr = invokeFrame(call, self, invokeArgs(m, call, cx.at), cx.at, 0);
        // Algorithms call it once an element.
        bool elements = std::any_of(m.invokeArgs.begin(), m.invokeArgs.end(), [](const ModelPlace& a) { return !a.selectors.empty(); });
        applyAll(t, fr, call, cx, elements);
        break;
      }
      case EffectKind::Later:
      case EffectKind::Stores: {
        PathSet self;
        CallTarget t = callableTargets(call, m.place, cx.at, self);
        std::vector<PathSet> given;
        for (uint32_t i = 0; i < c.args.size(); ++i)
          if (static_cast<int>(i) > m.place.arg) given.push_back(handedArg(call, i, cx.at));
        Frame fr = oneOffFrame(call, self, given, cx.at);
        for (FuncId b : t.bodies) context(call, b, fr, cx, true);
        if (m.kind == EffectKind::Later) plain(Eff::External, c.loc, c.name, cx);
        break;
      }
      case EffectKind::SignalHandler:
      case EffectKind::AtFork: {
        PathSet self;
        CallTarget t = callableTargets(call, m.place, cx.at, self);
        for (FuncId b : t.bodies)
          (m.kind == EffectKind::AtFork ? out_.forkHandlers : out_.signalHandlers).push_back(p_.functions[b].usr);
        break;
      }
      case EffectKind::Destroy:
        if (std::string_view cls = p_.className(c.selfType);
            m.place.base == ModelPlace::Base::Self && c.kind == CallKind::Destroy &&
            (e_.models.isUniqueOwner(cls) || e_.models.isCountedPointer(cls))) {
          destroy(resolve(c.self, cx.at), c.selfType, call, c.loc, cx);
          break;
        }
        for (Str type : placeTypes(m.place, call)) destroy(evalPlace(m.place, call, cx.at), type, call, c.loc, cx);
        break;
      case EffectKind::Compare: {
        PathSet places = evalPlace(m.place, call, cx.at);
        // Stateful comparators live in the container that runs them.
        PathSet self = c.hasSelf ? resolve(c.self, cx.at) : PathSet{};
        for (Str type : placeTypes(m.place, call)) compareUser(places, self, type, call, cx);
        if (c.hasSelf)
          if (const TypeFact* t = p_.type(c.selfType))
            for (Str a : t->args) compareUser(places, self, a, call, cx, 4);
        break;
      }
      case EffectKind::Steals:
        if (m.place.arg < 0 || static_cast<size_t>(m.place.arg) >= c.args.size() || c.args[m.place.arg].constRef) break;
        access(Eff::Write, evalPlace(m.place, call, cx.at), placeType(m.place, call), c.loc, c.name, cx);
        break;
      case EffectKind::LogTo: {
        bool own = true;
        for (PathId p : evalPlace(m.place, call, cx.at)) {
          const PathNode& root = paths_.rootOf(p);
          const GlobalFact* g = root.root == Root::Global ? p_.global(root.entity) : nullptr;
          own &= g && (p_.text(g->name) == "stdout" || p_.text(g->name) == "stderr");
        }
        plain(own ? Eff::Log : Eff::External, c.loc, c.name, cx);
        break;
      }
      case EffectKind::Free:
        access(Eff::Free, evalPlace(m.place, call, cx.at), placeType(m.place, call), c.loc, c.name, cx);
        break;
      case EffectKind::Copies:
        // A container that is moved takes the elements over as they are.
        if (m.place.base == ModelPlace::Base::Arg && !m.place.selectors.empty() && movesFrom(m.place, call)) break;
        for (Str type : placeTypes(m.place, call))
          copyUser(evalPlace(m.place, call, cx.at), type, call, c.loc, cx, 0, m.place.base == ModelPlace::Base::Self);
        break;
      case EffectKind::External: plain(Eff::External, c.loc, c.name, cx); break;
      case EffectKind::Wait: plain(Eff::Wait, c.loc, c.name, cx); break;
      case EffectKind::Blocks: plain(Eff::Blocks, c.loc, c.name, cx); break;
      case EffectKind::Sync: plain(Eff::Sync, c.loc, c.name, cx); break;
      case EffectKind::Log: plain(Eff::Log, c.loc, c.name, cx); break;
      case EffectKind::Hostile: plain(Eff::Hostile, c.loc, c.name, cx); break;
      case EffectKind::Alloc:
        plain(Eff::Alloc, c.loc, c.name, cx);
        if (c.hasSelf) allocateUser(c.selfType, call, cx);
        break;
      default: break;
    }
  }
  if (c.kind == CallKind::Construct) copyArguments(call, cx);
}

// A library object made from another of its type, or from elements: runs the
// copy constructors of what is inside.
void FunctionSolver::copyArguments(uint32_t call, const Ctx& cx) {
  const Call& c = f_.calls[call];
  for (uint32_t i = 0; i < c.args.size(); ++i) {
    const TypeFact* t = p_.type(c.args[i].type);
    if (!t || t->kind != TypeKind::Ref || !c.args[i].constRef) continue;
    copyUser(argObject(call, i, cx.at), t->pointee, call, c.loc, cx);
  }
}

void FunctionSolver::recordPolicy(uint32_t call, const CallInfo& ci, const Ctx& cx) {
  const Call& c = f_.calls[call];
  switch (ci.policy) {
    case Policy::Sync: plain(Eff::Sync, c.loc, c.name, cx); return;
    case Policy::Log: plain(Eff::Log, c.loc, c.name, cx); return;
    default: break;
  }
  bool pure = ci.policy == Policy::Pure;
  if (c.kind == CallKind::Destroy) {
    destroy(resolve(c.self, cx.at), c.selfType, call, c.loc, cx);
    return;
  }
  if (c.hasSelf)
    access(pure || c.constMethod ? Eff::Read : Eff::Write, resolve(c.self, cx.at), c.selfType, c.loc, c.name, cx);
  for (uint32_t i = 0; i < c.args.size(); ++i) {
    const Arg& a = c.args[i];
    PathSet objects = argObject(call, i, cx.at);
    const TypeFact* t = p_.type(a.type);
    bool byRef = isRefArg(a);
    if (!byRef && t && t->kind == TypeKind::Pointer) {
      PathSet inner;
      for (PathId o : objects) pointees(o, cx.at, inner);
      objects = inner;
    } else if (!byRef) {
      // By value: an iterator may still be written through.
      PathSet inner;
      for (PathId o : objects) pointees(o, cx.at, inner);
      if (t && t->kind == TypeKind::Class && !e_.models.isCountedPointer(p_.text(t->clsName)))
        access(Eff::Read, inner, 0, c.loc, c.name, cx);
      continue;
    }
    bool writes = !pure && !a.constRef && !a.byValue;
    access(writes ? Eff::Write : Eff::Read, objects, t ? t->pointee : 0, c.loc, c.name, cx);
  }
  if (c.kind == CallKind::Construct) copyArguments(call, cx);
  if (pure) return;
  for (uint32_t i = 0; i < c.args.size(); ++i)
    if (looksCallable(c.args[i])) {
      PathSet self;
      CallTarget t = callableArg(call, i, cx.at, self);
      PathSet given = anythingGiven(call, cx.at, i);
      Frame fr = invokeFrame(call, self, {given, given, given, given}, cx.at, i);
      applyAll(t, fr, call, cx);
    }
}

void FunctionSolver::recordUnknown(uint32_t call, const Ctx& cx) {
  const Call& c = f_.calls[call];
  plain(Eff::Unknown, c.loc, c.name, cx);
  auto touch = [&](const PathSet& places, Str type) { access(Eff::Touch, places, type, c.loc, c.name, cx); };
  if (c.hasSelf && !c.constMethod) touch(resolve(c.self, cx.at), c.selfType);
  for (uint32_t i = 0; i < c.args.size(); ++i) {
    const Arg& a = c.args[i];
    if (a.byValue && !looksPointer(a)) continue;
    PathSet objects;
    pointees(argSlot(call, i), cx.at, objects);
    const TypeFact* t = p_.type(a.type);
    if (a.constRef) access(Eff::Read, objects, t ? t->pointee : 0, c.loc, c.name, cx);
    else touch(objects, t ? t->pointee : 0);
    // A lock handed to code nobody knows.
    for (PathId o : objects)
      if (t && e_.isLockClass(t->pointee)) out_.handedOut.push_back(o);
    if (looksCallable(a)) {
      PathSet self;
      CallTarget target = callableArg(call, i, cx.at, self);
      Frame fr = invokeFrame(call, self, {{paths_.unknown()}, {paths_.unknown()}, {paths_.unknown()}}, cx.at, i);
      for (FuncId b : target.bodies) context(call, b, fr, cx, true);
    }
  }
}

// A lock or guard handed to a function that waits is the one it waits with.
void FunctionSolver::noteWaits(uint32_t call, Point at) {
  bool waits = false;
  for (FuncId t : info(call).targets.bodies)
    for (const Effect& x : e_.summaries[t].effects) waits |= x.kind == Eff::Wait;
  if (!waits) return;
  const Call& c = f_.calls[call];
  for (uint32_t i = 0; i < c.args.size(); ++i) {
    if (isLockOperand(c.args[i]))
      for (PathId l : lockOperand(call, i, at)) out_.waitedLocks.push_back(l);
    const TypeFact* t = p_.type(c.args[i].type);
    while (t && (t->kind == TypeKind::Ref || t->kind == TypeKind::Pointer)) t = p_.type(t->pointee);
    if (!t || !e_.isGuardClass(t->name)) continue;
    PathSet guards = isRefArg(c.args[i]) ? argObject(call, i, at) : PathSet{};
    if (guards.empty()) pointees(argSlot(call, i), at, guards);
    for (PathId g : guards) {
      for (PathId l : guards_[g].locks) out_.waitedLocks.push_back(l);
      for (const Acquisition& q : out_.acquisitions)
        if (q.guard == g) out_.waitedLocks.insert(out_.waitedLocks.end(), q.locks.begin(), q.locks.end());
    }
  }
}

void FunctionSolver::recordCall(uint32_t call, const Ctx& cx) {
  const Call& c = f_.calls[call];
  const CallInfo& ci = info(call);
  switch (ci.cls) {
    case CallClass::Lock:
    case CallClass::Guard: {
      for (const LockAction& a : actions_[call])
        if (a.kind == LockAction::Acquire || a.kind == LockAction::GuardAcquire || a.kind == LockAction::Try)
          noteAcquires(a, c.loc, cx);
      return;
    }
    case CallClass::CondVar:
      if (ci.op.kind == LockOpKind::Wait) {
        plain(Eff::Wait, c.loc, c.name, cx);
        // The predicate runs with the lock held.
        for (uint32_t i = 0; i < c.args.size(); ++i)
          if (looksCallable(c.args[i])) {
            PathSet self;
            CallTarget t = callableArg(call, i, cx.at, self);
            applyAll(t, invokeFrame(call, self, {}, cx.at, i), call, cx);
          }
      } else if (c.kind == CallKind::Direct) {
        plain(Eff::Sync, c.loc, c.name, cx);
      }
      return;
    case CallClass::Bodies: {
      Frame fr = frameOf(call, cx.at);
      if (ci.wrapper) fr.self = {paths_.unknown()};
      if (ci.targets.assumed) plain(Eff::Assumption, c.loc, c.name, cx);
      bool certain = ci.targets.bodies.size() == 1 && !ci.targets.assumed && c.kind != CallKind::Destroy;
      // What a guard does to itself and to its lock is no part of the section,
      // nor is what a lock does inside an operation that takes or releases it.
      bool machinery = c.hasSelf && (e_.isGuardClass(c.selfType) ||
                                     (!actions_[call].empty() && e_.isLockClass(c.selfType)));
      for (FuncId t : ci.targets.bodies) {
        if (machinery) {
          context(call, t, fr, cx, false);
          continue;
        }
        applyBody(t, fr, c.loc, cx, {ci.targets.assumed, ci.several(), certain});
        context(call, t, fr, cx, false);
      }
      noteWaits(call, cx.at);
      for (const LockAction& a : actions_[call])
        if (a.kind == LockAction::Acquire)
          noteAcquires(a, c.loc, cx);
      if (ci.targets.unknown) recordUnknown(call, cx);
      return;
    }
    case CallClass::Modelled: recordModel(call, ci, cx); return;
    case CallClass::PolicyCall: recordPolicy(call, ci, cx); return;
    case CallClass::Unknown:
      if (c.kind == CallKind::Destroy && c.hasSelf) {
        const ClassFact* cls = p_.classOfType(c.selfType);
        if (!cls || cls->inSystemHeader) {
          destroy(resolve(c.self, cx.at), c.selfType, call, c.loc, cx);
          return;
        }
      }
      if (!actions_[call].empty()) {
        for (const LockAction& a : actions_[call])
          if (a.acq != kNone)
            noteAcquires(a, c.loc, cx);
        return;  // an annotated lock operation does just that
      }
      recordUnknown(call, cx);
      return;
  }
}

void FunctionSolver::recordPass() {
  for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
    State s = in_[b];
    if (!s.reached) continue;  // dead code runs never
    for (const auto& [acq, must] : s.held) out_.acquisitions[acq].blocks.insert(b);
    for (uint32_t k = 0; k < f_.blocks[b].events.size(); ++k) {
      const Event& ev = f_.blocks[b].events[k];
      Ctx cx;
      cx.at = {b, k};
      cx.state = &s;
      cx.held = mustHeld(s);
      for (const auto& [acq, must] : s.held) out_.acquisitions[acq].blocks.insert(b);
      switch (ev.kind) {
        case EventKind::Read:
          if (ev.isVolatile) plain(Eff::External, ev.loc, ev.op, cx);
          access(Eff::Read, resolve(ev.place, cx.at), ev.type, ev.loc, 0, cx);
          break;
        case EventKind::Write: {
          if (ev.isVolatile) plain(Eff::External, ev.loc, ev.op, cx);
          const std::string& op = p_.text(ev.op);
          bool bump = ev.rmw && !ev.rmwUsed && (op == "++" || op == "--" || op == "+=" || op == "-=");
          access(Eff::Write, resolve(ev.place, cx.at), ev.type, ev.loc, 0, cx, false, ev.rmwUsed, ev.rmw, bump);
          break;
        }
        case EventKind::Opaque: plain(Eff::Unknown, ev.loc, ev.note, cx); break;
        case EventKind::Call:
          if (ev.call >= f_.calls.size()) break;
          for (const LockAction& a : actions_[ev.call])
            if (a.acq != kNone) {
              Acquisition& q = out_.acquisitions[a.acq];
              for (const HeldLock& h : cx.held) q.outerMust.push_back(h);
            }
          recordCall(ev.call, cx);
          applyActions(ev.call, s);
          break;
        default: break;
      }
    }
  }
  // Held when the function returns: on an edge to the exit, that is, in the
  // in-state of a block without successors plus its own events.
  for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
    if (!f_.blocks[b].succs.empty() || !in_[b].reached || neverReturns(b)) continue;
    State s = in_[b];
    for (const Event& ev : f_.blocks[b].events)
      if (ev.kind == EventKind::Call && ev.call < f_.calls.size()) applyActions(ev.call, s);
    exit_.join(s);
  }
  for (const auto& [acq, must] : exit_.held) out_.acquisitions[acq].heldAtExit = true;
  for (PathId l : waited_) out_.waitedLocks.push_back(l);
  handovers();
}

}  // namespace locktidy
