// Which locks are held where (step 3). Every call becomes a list of actions
// (acquire, release, end of a guard, wait, ...), then a forward worklist over
// the blocks finds the acquisitions held at each block's start, May or Must.
// Catch handlers start from the union of everything, all May.
//
// Limits: locks taken on both sides of a branch are two acquisitions, each May
// after the join; a lock that may be several places is `ambiguous` and never
// Must (mustHeld). After kMaxLockSteps the function is incomplete.

#include <algorithm>
#include <deque>

#include "checker/solve/FunctionState.h"

namespace locktidy {

uint32_t FunctionSolver::newAcquisition(uint32_t call, LockAction& a) {
  Acquisition q;
  q.func = id_;
  q.call = call;
  q.mode = a.mode;
  q.isTry = a.isTry;
  q.timed = a.timed;
  q.many = a.many;
  q.byDelta = a.byDelta;
  q.sure = a.must;
  q.viaView = a.view;
  q.guard = a.guard;
  for (PathId l : a.locks) q.locks.insert(l);
  q.lock = a.locks.size() == 1 ? a.locks.front() : kNoPath;
  q.ambiguous = a.locks.size() != 1;
  if (q.ambiguous && !a.locks.empty()) q.lock = a.locks.front();
  if (a.guard && paths_.at(a.guard).kind == StepKind::Root && paths_.at(a.guard).root == Root::Local &&
      paths_.at(a.guard).index < f_.locals.size())
    q.guardLocal = paths_.at(a.guard).index;
  out_.acquisitions.push_back(std::move(q));
  return static_cast<uint32_t>(out_.acquisitions.size() - 1);
}

PathSet FunctionSolver::locksAt(const PathSet& raw, bool* view) {
  PathSet out;
  for (PathId l : raw) {
    bool v = false;
    insert(out, e_.outermostLock(l, id_, &v));
    if (v) *view = true;
  }
  if (out.size() > 1) {
    // One element by several ways.
    PathSet merged;
    for (PathId l : out) insert(merged, paths_.withoutIndexes(l));
    if (merged.size() == 1) return merged;
  }
  return out;
}

void FunctionSolver::addAction(uint32_t call, LockAction a) {
  if (a.kind == LockAction::Acquire || a.kind == LockAction::Try || a.kind == LockAction::GuardAcquire) {
    bool view = false;
    PathSet parts = a.locks;
    a.locks = locksAt(a.locks, &view);
    if (view) {
      a.view = true;
      // One part of many (a slot per CPU) excludes nobody who holds another;
      // the only part of a lock is the lock.
      for (PathId part : parts)
        for (PathId p = part; std::find(a.locks.begin(), a.locks.end(), p) == a.locks.end() &&
                              paths_.at(p).kind != StepKind::Root;
             p = paths_.at(p).parent)
          if (paths_.at(p).kind != StepKind::Field) a.mode = Mode::Shared;
    }
    a.acq = newAcquisition(call, a);
  } else if (a.kind == LockAction::Release) {
    bool view = false;
    a.locks = locksAt(a.locks, &view);
    if (view) a.anyMode = true;
  }
  actions_[call].push_back(std::move(a));
}

void FunctionSolver::collectActions() {
  actions_.resize(f_.calls.size());
  for (uint32_t call = 0; call < f_.calls.size(); ++call) guardShapes(call);
  for (uint32_t call = 0; call < f_.calls.size(); ++call) collectActions(call);
  guardEscapes();
}

PathSet FunctionSolver::lockOperand(uint32_t call, uint32_t arg, Point at) {
  // The lock itself: what a reference or pointer argument refers to.
  const Call& c = f_.calls[call];
  if (arg >= c.args.size()) return {};
  const Arg& a = c.args[arg];
  if (isRefArg(a)) return argObject(call, arg, at);
  PathSet out;
  pointees(argSlot(call, arg), at, out);
  return out;
}

bool FunctionSolver::isLockOperand(const Arg& a) {
  const TypeFact* t = p_.type(a.type);
  while (t && (t->kind == TypeKind::Ref || t->kind == TypeKind::Pointer)) t = p_.type(t->pointee);
  return t && e_.isLockClass(t->name);
}

void FunctionSolver::guardShapes(uint32_t call) {
  const CallInfo& ci = info(call);
  const Call& c = f_.calls[call];
  if (ci.cls != CallClass::Guard || c.kind != CallKind::Construct) return;
  Point at = callPoint_[call];
  GuardShape shape;
  shape.mode = ci.guard->mode;
  size_t locks = 0;
  for (uint32_t i = 0; i < c.args.size(); ++i) {
    bool operand = ci.guard->variadic ? isLockOperand(c.args[i]) : static_cast<int>(i) == ci.guard->lockArg;
    if (!operand) continue;
    std::string_view cls = p_.className(c.args[i].type);
    if (!cls.empty() && e_.models.guard(cls)) continue;  // moved from another guard
    ++locks;
    for (PathId l : lockOperand(call, i, at)) insert(shape.locks, l);
  }
  shape.many = locks > 1;
  if (ci.guard->modeArg >= 0 && static_cast<size_t>(ci.guard->modeArg) < c.args.size()) {
    const Arg& m = c.args[ci.guard->modeArg];
    std::string key = m.literalTrue ? "true" : m.literalFalse ? "false" : p_.text(m.constant);
    auto it = ci.guard->modeValues.find(key);
    if (it == ci.guard->modeValues.end() && key == "1") it = ci.guard->modeValues.find("true");
    if (it == ci.guard->modeValues.end() && key == "0") it = ci.guard->modeValues.find("false");
    if (it != ci.guard->modeValues.end()) shape.mode = it->second;
  }
  for (PathId g : resolve(c.self, at)) {
    GuardShape& have = guards_[g];
    for (PathId l : shape.locks) insert(have.locks, l);
    have.mode = shape.mode;
    have.many |= shape.many;
  }
}

void FunctionSolver::collectActions(uint32_t call) {
  const Call& c = f_.calls[call];
  const CallInfo& ci = info(call);
  Point at = callPoint_[call];
  switch (ci.cls) {
    case CallClass::Lock: {
      PathSet locks;
      if (ci.lockArg >= 0) {
        locks = lockOperand(call, static_cast<uint32_t>(ci.lockArg), at);
      } else {
        locks = resolve(c.self, at);
      }
      LockAction a{};
      a.mode = ci.op.mode;
      a.timed = ci.op.timed;
      a.locks = locks;
      switch (ci.op.kind) {
        case LockOpKind::Acquire: a.kind = LockAction::Acquire; addAction(call, a); break;
        case LockOpKind::Try: a.kind = LockAction::Try; a.isTry = true; addAction(call, a); break;
        case LockOpKind::Release:
          a.kind = LockAction::Release;
          a.anyMode = a.serves = ci.op.sharedOrExclusive;
          addAction(call, a);
          break;
        case LockOpKind::AcquireMany:
          for (uint32_t i = 0; i < c.args.size(); ++i) {
            std::string_view cls = p_.className(c.args[i].type);
            LockAction m = a;
            m.kind = LockAction::Acquire;
            m.many = true;
            if (!cls.empty() && e_.models.guard(cls)) {
              for (PathId g : argObject(call, i, at)) {
                m.guard = g;
                m.locks = guards_[g].locks;
                m.mode = guards_[g].mode;
              }
            } else {
              m.locks = lockOperand(call, i, at);
            }
            if (!m.locks.empty()) addAction(call, m);
          }
          break;
        case LockOpKind::Convert:
          // Upgrades, downgrades, modes chosen at run time: the lock may be
          // held in any mode from here on.
          a.kind = LockAction::Acquire;
          a.mode = Mode::Exclusive;
          a.must = false;
          a.many = true;
          addAction(call, a);
          break;
        default: break;
      }
      return;
    }
    case CallClass::Guard: collectGuard(call, ci, at); return;
    case CallClass::CondVar:
      if (ci.op.kind == LockOpKind::Wait) {
        LockAction a{};
        a.kind = LockAction::Wait;
        for (uint32_t i = 0; i < c.args.size(); ++i) {
          std::string_view cls = p_.className(c.args[i].type);
          if (!cls.empty() && e_.models.guard(cls)) {
            for (PathId g : argObject(call, i, at)) {
              a.guard = g;
              for (PathId l : guards_[g].locks) insert(a.locks, l);
            }
          } else if (isLockOperand(c.args[i])) {
            for (PathId l : lockOperand(call, i, at)) insert(a.locks, l);
          }
        }
        if (ci.lockArg >= 0) a.locks = lockOperand(call, static_cast<uint32_t>(ci.lockArg), at);
        for (PathId l : a.locks) out_.waitedLocks.push_back(l);
        actions_[call].push_back(a);
      }
      return;
    case CallClass::Bodies: {
      Frame fr = frameOf(call, at);
      bool several = ci.targets.bodies.size() > 1 || ci.targets.unknown;
      PathId guard = kNoPath;
      if ((c.kind == CallKind::Construct || c.kind == CallKind::Destroy) && fr.self.size() == 1 &&
          e_.isGuardClass(c.selfType))
        guard = fr.self.front();
      std::set<std::pair<PathId, Mode>> done;
      for (FuncId t : ci.targets.bodies) {
        for (const LockDelta& d : e_.summaries[t].released) {
          LockAction a{};
          a.kind = LockAction::Release;
          a.mode = d.mode;
          a.anyMode = true;
          a.serves = d.anyMode;
          a.byDelta = true;
          a.must = d.must && !several;
          a.locks = mapPath(d.path, fr, at);
          a.guard = guard && c.kind == CallKind::Destroy ? guard : kNoPath;
          if (a.guard) a.must = true;  // a guard's destructor knows what it does
          addAction(call, a);
        }
        for (const LockDelta& d : e_.summaries[t].acquired) {
          LockAction a{};
          a.kind = LockAction::Acquire;
          a.mode = d.mode;
          a.byDelta = true;
          a.isTry = d.isTry;
          a.must = (d.must || guard) && !several && !d.isTry;
          a.locks = mapPath(d.path, fr, at);
          a.guard = guard && c.kind == CallKind::Construct ? guard : kNoPath;
          if (a.locks.empty()) a.locks = {paths_.unknown()};
          auto key = std::make_pair(a.locks.front(), a.mode);
          if (!done.insert(key).second) continue;
          addAction(call, a);
        }
      }
      if (guard && c.kind == CallKind::Destroy) {
        LockAction a{};
        a.kind = LockAction::GuardEnd;
        a.guard = guard;
        actions_[call].push_back(a);
      }
      return;
    }
    default: break;
  }
  // Annotated declarations without a body.
  if (ci.cls == CallClass::Unknown || ci.cls == CallClass::PolicyCall) collectAttributes(call, at);
  if (c.kind == CallKind::Destroy && ci.cls == CallClass::Unknown && e_.isGuardClass(c.selfType))
    for (PathId g : resolve(c.self, at)) {
      LockAction a{};
      a.kind = LockAction::GuardEnd;
      a.guard = g;
      actions_[call].push_back(a);
    }
}

void FunctionSolver::collectAttributes(uint32_t call, Point at) {
  const Call& c = f_.calls[call];
  auto it = p_.byUsr.find(c.callee);
  if (it == p_.byUsr.end()) return;
  const FunctionFacts& callee = p_.functions[it->second.front()];
  PathId guard = kNoPath;
  Frame fr = frameOf(call, at);
  if (c.hasSelf && fr.self.size() == 1 && e_.isGuardClass(c.selfType)) guard = fr.self.front();
  for (const AttrFact& attr : callee.attrs) {
    const std::string& k = p_.text(attr.kind);
    bool acquire = k == "acquire_capability" || k == "acquire_shared_capability";
    bool release = k.starts_with("release_");
    bool tried = k.starts_with("try_acquire");
    if (!acquire && !release && !tried) continue;
    LockAction a{};
    a.kind = acquire ? LockAction::Acquire : tried ? LockAction::Try : LockAction::Release;
    a.isTry = tried;
    a.mode = k.find("shared") != std::string::npos ? Mode::Shared : Mode::Exclusive;
    a.anyMode = true;
    a.byDelta = true;
    a.guard = guard;
    if (release && attr.args.empty() && guard) {
      a.kind = LockAction::GuardEnd;
      actions_[call].push_back(a);
      continue;
    }
    for (const Path& arg : attr.args) {
      // The attribute's places are in the callee's terms.
      PathId raw = rootPath(arg);
      for (const Step& s : arg.steps)
        raw = s.sel == Sel::Field ? e_.fieldOf(raw, s.field)
              : s.sel == Sel::Elem ? paths_.elem(raw, s.index) : paths_.deref(raw);
      // `ACQUIRE(mu)` of a pointer parameter means what it points to.
      PathSet mapped = mapPath(raw, fr, at);
      PathSet targets;
      for (PathId m : mapped)
        if (e_.isLockClass(e_.typeOf(m, id_))) insert(targets, m);
        else pointees(m, at, targets);
      a.locks = targets;
      addAction(call, a);
    }
    if (attr.args.empty() && c.hasSelf && !guard) {
      a.locks = fr.self;
      addAction(call, a);
    }
  }
}

void FunctionSolver::collectGuard(uint32_t call, const CallInfo& ci, Point at) {
  const Call& c = f_.calls[call];
  PathSet selfs = resolve(c.self, at);
  PathId self = selfs.size() == 1 ? selfs.front() : kNoPath;
  if (c.kind == CallKind::Destroy) {
    LockAction a{};
    a.kind = LockAction::GuardEnd;
    a.guard = self;
    actions_[call].push_back(a);
    return;
  }
  if (c.kind == CallKind::Construct) {
    LockOpKind how = LockOpKind::Acquire;
    bool timed = false;
    PathId from = kNoPath;
    for (const Arg& a : c.args) {
      const TypeFact* t = p_.type(a.type);
      if (t && t->kind == TypeKind::Ref) t = p_.type(t->pointee);
      if (!t || t->kind != TypeKind::Class) continue;
      std::string cls = p_.text(t->clsName);
      auto tag = ci.guard->tags.find(cls);
      if (tag != ci.guard->tags.end()) how = tag->second;
      if (cls.starts_with("std::chrono::")) how = LockOpKind::Try, timed = true;
      if (e_.models.guard(cls)) {
        uint32_t i = static_cast<uint32_t>(&a - c.args.data());
        for (PathId g : argObject(call, i, at)) from = g;
      }
    }
    if (from) {
      LockAction a{};
      a.kind = LockAction::Transfer;
      a.guard = self;
      a.from = from;
      for (PathId l : guards_[from].locks) insert(guards_[self].locks, l);
      guards_[self].mode = guards_[from].mode;
      actions_[call].push_back(a);
      return;
    }
    if (how == LockOpKind::Defer || c.args.empty()) return;
    LockAction a{};
    a.guard = self;
    a.mode = guards_.count(self) ? guards_[self].mode : ci.guard->mode;
    a.timed = timed;
    if (ci.guard->variadic) {
      bool many = guards_[self].many;
      for (uint32_t i = 0; i < c.args.size(); ++i) {
        if (!isLockOperand(c.args[i])) continue;
        a.kind = how == LockOpKind::Adopt ? LockAction::Adopt : LockAction::Acquire;
        a.many = many;
        a.locks = lockOperand(call, i, at);
        if (a.kind == LockAction::Adopt) actions_[call].push_back(a);
        else addAction(call, a);
      }
      return;
    }
    a.locks = guards_[self].locks;
    if (a.locks.empty()) a.locks = {paths_.unknown()};
    if (how == LockOpKind::Adopt) {
      a.kind = LockAction::Adopt;
      bool view = false;
      a.locks = locksAt(a.locks, &view);
      actions_[call].push_back(a);
      return;
    }
    a.kind = how == LockOpKind::Try ? LockAction::Try : LockAction::Acquire;
    a.isTry = how == LockOpKind::Try;
    addAction(call, a);
    return;
  }
  std::string method(lastName(p_.text(c.name)));
  auto op = ci.guard->ops.find(method);
  LockOpKind kind = op == ci.guard->ops.end() ? LockOpKind::None : op->second.kind;
  LockAction a{};
  a.guard = self;
  a.mode = guards_.count(self) ? guards_[self].mode : ci.guard->mode;
  switch (kind) {
    case LockOpKind::Acquire:
      a.kind = LockAction::GuardAcquire;
      a.locks = guards_[self].locks;
      if (a.locks.empty()) a.locks = {paths_.unknown()};
      addAction(call, a);
      break;
    case LockOpKind::Try:
      a.kind = LockAction::Try;
      a.isTry = true;
      a.timed = op->second.timed;
      a.locks = guards_[self].locks;
      if (a.locks.empty()) a.locks = {paths_.unknown()};
      addAction(call, a);
      break;
    case LockOpKind::Release: a.kind = LockAction::GuardRelease; actions_[call].push_back(a); break;
    case LockOpKind::Query: break;
    case LockOpKind::Wait: a.kind = LockAction::Wait; actions_[call].push_back(a); break;
    default: a.kind = LockAction::Detach; actions_[call].push_back(a); break;
  }
}

// Is the argument only there to show that its caller holds the lock: every
// function that may be called leaves the parameter alone?
bool FunctionSolver::isProofToken(uint32_t call, uint32_t arg) const {
  const Call& c = f_.calls[call];
  if (c.kind != CallKind::Direct || !c.callee) return false;
  CallTarget target = p_.targetsOf(c.callee);
  if (target.unknown || target.bodies.empty()) return false;
  for (FuncId id : target.bodies) {
    const FunctionFacts& fn = p_.functions[id];
    if (arg >= fn.params.size() || !fn.params[arg].isRef || fn.opaque) return false;
    auto names = [&](const Path& path) { return path.root == Root::Param && path.index == arg; };
    for (const Call& inner : fn.calls) {
      if (names(inner.self) || names(inner.target.path)) return false;
      for (const Arg& a : inner.args)
        if (names(a.value.path)) return false;
    }
    for (const Block& b : fn.blocks)
      for (const Event& e : b.events)
        if (names(e.place) || names(e.value.path)) return false;
  }
  return true;
}

// A guard whose address or value goes anywhere but its own operations.
void FunctionSolver::guardEscapes() {
  auto mark = [&](PathId target) {
    for (Acquisition& q : out_.acquisitions)
      if (q.guard && (q.guard == target || paths_.hasPrefix(target, q.guard))) q.guardEscapes = true;
  };
  for (const auto& [dst, defs] : defs_) {
    const PathNode& r = paths_.rootOf(dst);
    bool slot = r.root == Root::Local && r.index >= kArgBase;
    for (const Def& d : defs) {
      if (!privateRoot(paths_.rootOf(d.src))) continue;
      if (!slot) {
        // `auto g = make_guard(m)` constructs in place; a Copy between guard
        // variables is a move.
        if (d.src != dst) mark(d.src);
      } else {
        uint32_t call = (r.index - kArgBase) / 32;
        if (r.index >= kInvokeBase || call >= f_.calls.size()) continue;
        CallClass cls = info(call).cls;
        if (cls == CallClass::Guard || cls == CallClass::CondVar) continue;
        std::string_view n = p_.text(f_.calls[call].name);
        if (cls == CallClass::Lock || n == "std::move" || n == "std::swap") {
          if (n == "std::swap") mark(d.src);
          continue;
        }
        uint32_t arg = (r.index - kArgBase) % 32;
        if (isProofToken(call, arg)) {
          for (Acquisition& q : out_.acquisitions)
            if (q.guard && (q.guard == d.src || paths_.hasPrefix(d.src, q.guard))) q.tokens.insert({call, arg});
          continue;
        }
        mark(d.src);
      }
    }
  }
}

void FunctionSolver::applyActions(uint32_t call, State& s) {
  for (const LockAction& a : actions_[call]) {
    switch (a.kind) {
      case LockAction::Acquire:
      case LockAction::GuardAcquire:
        s.held[a.acq] = a.must && !a.isTry;
        for (PathId l : a.locks) s.released.erase(l);
        break;
      case LockAction::Try: s.held[a.acq] = false; break;
      case LockAction::Release: release(a, call, s); break;
      case LockAction::GuardEnd:
      case LockAction::GuardRelease:
        for (auto it = s.held.begin(); it != s.held.end();) {
          Acquisition& q = out_.acquisitions[it->first];
          if (q.guard == a.guard && a.guard) {
            if (a.kind == LockAction::GuardRelease) q.releases.insert(call);
            it = s.held.erase(it);
          } else {
            ++it;
          }
        }
        break;
      case LockAction::Adopt:
        for (auto& [acq, must] : s.held) {
          Acquisition& q = out_.acquisitions[acq];
          for (PathId l : a.locks)
            if (q.locks.count(l)) q.guard = a.guard, q.adopted = true;
        }
        break;
      case LockAction::Detach:
      case LockAction::Transfer:
        for (auto& [acq, must] : s.held) {
          Acquisition& q = out_.acquisitions[acq];
          if (q.guard == (a.kind == LockAction::Transfer ? a.from : a.guard)) {
            q.guardEscapes = true;
            if (a.kind == LockAction::Transfer && a.guard) q.guard = a.guard;
          }
        }
        break;
      case LockAction::Wait:
        for (auto& [acq, must] : s.held) {
          Acquisition& q = out_.acquisitions[acq];
          bool same = q.guard == a.guard && a.guard;
          for (PathId l : a.locks) same |= q.locks.count(l) != 0;
          if (same) {
            q.waits = true;
            for (PathId l : q.locks) waited_.insert(l);
          }
        }
        break;
    }
  }
}

void FunctionSolver::release(const LockAction& a, uint32_t call, State& s) {
  if (a.locks.size() == 1) {
    PathId l = a.locks.front();
    bool found = false;
    for (int pass = 0; pass < 2 && !found; ++pass)
      for (auto it = s.held.begin(); it != s.held.end();) {
        Acquisition& q = out_.acquisitions[it->first];
        bool mode = q.mode == a.mode || (pass == 1 && a.anyMode);
        if (q.lock == l && !q.ambiguous && mode) {
          found = true;
          if (a.must) {
            q.releases.insert(call);
            it = s.held.erase(it);
            continue;
          }
          it->second = false;
          q.foreignRelease = true;
        }
        ++it;
      }
    if (found) return;
  }
  // Perhaps one of those that may be the same lock.
  bool maybe = false;
  for (auto& [acq, must] : s.held) {
    Acquisition& q = out_.acquisitions[acq];
    for (PathId l : a.locks) {
      Str cls = e_.lockClass(l);
      bool same = q.locks.count(l) || (cls && cls == e_.lockClass(q.lock)) ||
                  paths_.rootOf(l).root == Root::Unknown;
      if (same) {
        must = false;
        q.foreignRelease = true;
        maybe = true;
      }
    }
  }
  if (!maybe)
    for (PathId l : a.locks) {
      s.released[l] = a.must && a.locks.size() == 1;
      auto [it, fresh] = releasesAny_.try_emplace(l, a.serves);
      if (!fresh) it->second = it->second && a.serves;
    }
}

void FunctionSolver::lockSets() {
  size_t n = f_.blocks.size();
  in_.assign(n, State());
  if (n == 0) return;
  in_[f_.entry].reached = true;
  std::deque<uint32_t> work{f_.entry};
  std::vector<bool> queued(n, false);
  State all;  // union of every state, all May: what a handler may start from
  size_t steps = 0;
  while (!work.empty()) {
    if (++steps > kMaxLockSteps) {
      out_.incomplete = "too many paths through its locks";
      break;
    }
    uint32_t b = work.front();
    work.pop_front();
    queued[b] = false;
    State s = in_[b];
    auto spill = [&] {
      State may = s;
      for (auto& [k, m] : may.held) m = false;
      for (auto& [k, m] : may.released) m = false;
      if (all.join(may))
        for (uint32_t h = 0; h < n; ++h)
          if (f_.blocks[h].handler && in_[h].join(all) && !queued[h]) work.push_back(h), queued[h] = true;
    };
    spill();
    for (const Event& ev : f_.blocks[b].events)
      if (ev.kind == EventKind::Call && ev.call < f_.calls.size()) {
        if (actions_[ev.call].empty()) continue;
        applyActions(ev.call, s);
        if (s.held.size() > kMaxHeld) return forgetLocks();
        spill();
      }
    const Block& blk = f_.blocks[b];
    if (neverReturns(b)) continue;  // the edge to the exit is never taken
    for (size_t k = 0; k < blk.succs.size(); ++k) {
      uint32_t t = blk.succs[k];
      if (t >= n) continue;
      State next = s;
      if (blk.branch.call != kNone && blk.succs.size() == 2 && blk.branch.call < f_.calls.size())
        refine(blk.branch, k == 0, next);
      if (in_[t].join(next) && !queued[t]) work.push_back(t), queued[t] = true;
    }
  }
}

// In a cycle of calls a lock that a callee takes and gives back may look held
// for ever. Beyond a limit nothing is believed to be held: the sections are
// undecided, and accesses look unprotected.
void FunctionSolver::forgetLocks() {
  out_.incomplete = "too many locks may be held at once";
  for (std::vector<LockAction>& actions : actions_) actions.clear();
  in_.assign(f_.blocks.size(), State());
  for (State& s : in_) s.reached = true;
}

// Does the block end the program (abort, a failed check)?
bool FunctionSolver::neverReturns(uint32_t b) {
  for (const Event& ev : f_.blocks[b].events) {
    if (ev.kind != EventKind::Call || ev.call >= f_.calls.size()) continue;
    const Call& c = f_.calls[ev.call];
    if (const CallInfo& ci = info(ev.call); ci.model)
      for (const ModelEffect& m : ci.model->effects)
        if (m.kind == EffectKind::NoReturn) return true;
    auto it = p_.byUsr.find(c.callee);
    if (it == p_.byUsr.end()) continue;
    for (const AttrFact& a : p_.functions[it->second.front()].attrs)
      if (p_.text(a.kind) == "noreturn") return true;
  }
  return false;
}

// A branch on the result of a try-lock or of `owns_lock()`.
void FunctionSolver::refine(const Branch& br, bool taken, State& s) {
  uint32_t call = br.call;
  bool truth = taken != br.negated;
  std::vector<uint32_t> acqs;
  bool success = truth;
  for (const LockAction& a : actions_[call])
    if (a.kind == LockAction::Try) acqs.push_back(a.acq);
  if (!acqs.empty()) {
    if (const LockFunctionModel* m = e_.models.lockFunction(p_.text(f_.calls[call].name)); m && m->zeroIsSuccess)
      success = !truth;
  } else if (info(call).cls == CallClass::Guard) {
    PathSet self = resolve(f_.calls[call].self, callPoint_[call]);
    if (self.size() == 1)
      for (const auto& [acq, must] : s.held)
        if (out_.acquisitions[acq].guard == self.front()) acqs.push_back(acq);
  }
  for (uint32_t acq : acqs) {
    auto it = s.held.find(acq);
    if (it == s.held.end()) continue;
    if (success) it->second = true;
    else s.held.erase(it);
  }
}

std::vector<HeldLock> FunctionSolver::mustHeld(const State& s) {
  std::vector<HeldLock> out;
  for (const auto& [acq, must] : s.held) {
    const Acquisition& q = out_.acquisitions[acq];
    if (must && !q.ambiguous && q.lock) out.push_back({q.lock, q.mode});
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace locktidy
