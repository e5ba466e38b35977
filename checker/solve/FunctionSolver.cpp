// One function, solved.
//
// Problem. From a skeleton (Facts.h) find: what every place really is, which
// locks are held where, and what is read and written, in terms of the
// function's own This, Param and Global, so that callers can substitute.
//
// Steps
//  1. Aliases. Bind and Copy events, and the links of callees, become
//     definitions `place <- target` with the program point where they happen.
//     A place is resolved at a point by following only definitions that can
//     come before it, so a pointer that is still null there points nowhere.
//     Definitions are never killed: the result is a superset. Iterated until
//     nothing is added (at most kRounds; then whatever is missing is Unknown).
//  2. Escapes. Locals and fresh objects are private until a pointer to them is
//     stored where others can see it, or handed to unknown code.
//  3. Lock sets. Forward worklist over the blocks; per acquisition May or Must.
//     Catch handlers start from the union of everything.
//  4. Effects, in one last pass, with what is held at each.
//
// Gives up (and says Unknown): more than kMaxTargets targets of one place, a
// function of more than kMaxBlocks blocks, a budget of resolution steps.

#include <algorithm>
#include <bitset>
#include <deque>

#include "checker/solve/Engine.h"

namespace locktidy {
namespace {

constexpr size_t kMaxTargets = 8;
constexpr size_t kMaxBlocks = 2500;
constexpr int kRounds = 6;
constexpr size_t kMaxLinks = 64;
constexpr size_t kMaxEffects = 500;
constexpr size_t kMaxWrapped = 12;
constexpr size_t kMaxWork = 150000;      // resolution steps of one function
constexpr uint32_t kArgBase = 0x1000000;     // Local indexes of argument slots
constexpr uint32_t kInvokeBase = 0x2000000;  // and of invoked callables' arguments
constexpr uint32_t kFreshBase = 0x100000;    // objects callees made

struct Point {
  uint32_t block = 0, event = 0;
  friend bool operator==(const Point&, const Point&) = default;
  friend auto operator<=>(const Point&, const Point&) = default;
};

struct Def {
  PathId src = kNoPath;
  bool bind = false;
  bool always = false;  // argument slots: hold whenever they are asked
  Point at;
  friend bool operator==(const Def&, const Def&) = default;
};

using PathSet = std::vector<PathId>;  // small, sorted, unique

void insert(PathSet& set, PathId p) {
  auto it = std::lower_bound(set.begin(), set.end(), p);
  if (it == set.end() || *it != p) set.insert(it, p);
}

// How a callee's This and Param map to the caller's places.
struct Frame {
  uint32_t call = 0;
  PathSet self;
  std::vector<PathId> params;  // slots
  bool fresh = true;
};

struct LockAction {
  enum Kind { Acquire, Try, Release, GuardEnd, GuardRelease, GuardAcquire, Adopt, Detach, Wait, Transfer } kind;
  Mode mode = Mode::Exclusive;
  bool anyMode = false;
  PathSet locks;
  PathId guard = kNoPath, from = kNoPath;
  bool must = true, isTry = false, timed = false, many = false, byDelta = false, view = false;
  uint32_t acq = kNone;  // for acquiring kinds
};

struct State {
  bool reached = false;
  std::map<uint32_t, bool> held;       // acquisition -> must
  std::map<PathId, bool> released;     // caller's locks released -> must
  bool join(const State& o) {
    if (!o.reached) return false;
    if (!reached) {
      *this = o;
      return true;
    }
    bool changed = false;
    for (auto& [a, must] : held) {
      auto it = o.held.find(a);
      bool m = must && it != o.held.end() && it->second;
      if (m != must) must = m, changed = true;
    }
    for (const auto& [a, must] : o.held)
      if (held.emplace(a, false).second) changed = true;
    for (auto& [p, must] : released) {
      auto it = o.released.find(p);
      bool m = must && it != o.released.end() && it->second;
      if (m != must) must = m, changed = true;
    }
    for (const auto& [p, must] : o.released)
      if (released.emplace(p, false).second) changed = true;
    return changed;
  }
};

std::string_view lastName(std::string_view name) {
  size_t at = name.rfind("::");
  return at == std::string_view::npos ? name : name.substr(at + 2);
}
std::string_view scopeName(std::string_view name) {
  size_t at = name.rfind("::");
  return at == std::string_view::npos ? std::string_view() : name.substr(0, at);
}

class Solver {
 public:
  Solver(Engine& engine, FuncId id)
      : e_(engine), p_(engine.program), paths_(engine.paths), f_(engine.program.functions[id]), id_(id) {}

  FunctionResult run() {
    if (f_.opaque || f_.blocks.size() > kMaxBlocks) {
      giveUp(f_.opaque ? f_.opaqueReason : 0);
      return std::move(out_);
    }
    prepare();
    for (int round = 0; round < kRounds; ++round) {
      changed_ = false;
      aliasPass();
      if (!changed_) break;
    }
    findEscapes();
    collectActions();
    lockSets();
    recordPass();
    summarise();
    return std::move(out_);
  }

 private:
  // -------------------------------------------------------------------------
  void giveUp(Str why) {
    Effect u;
    u.kind = Eff::Unknown;
    u.path = paths_.unknown();
    u.func = id_;
    u.loc = f_.loc;
    u.via = why;
    LocalEffect l;
    static_cast<Effect&>(l) = u;
    l.direct = true;
    out_.effects.push_back(l);
    out_.summary.effects.push_back(u);
    PathId unknown = paths_.unknown();
    out_.summary.links.push_back({paths_.root(Root::Ret), unknown, true});
    for (uint32_t i = 0; i < f_.params.size(); ++i)
      out_.summary.links.push_back({unknown, paths_.root(Root::Param, i), false});
    out_.summary.solved = true;
  }

  void prepare() {
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

  bool inLoop(uint32_t b) const { return reach_[b][b]; }
  bool precedes(const Def& d, Point at) const { return d.always || precedes(d.at, at); }
  bool precedes(Point a, Point b) const {
    if (a.block == b.block) return a.event < b.event || reach_[a.block][a.block];
    return reach_[a.block][b.block];
  }

  // ------------------------------------------------------------- aliases ---
  void addDef(PathId dst, PathId src, bool bind, Point at, bool always = false) {
    dst = paths_.withoutIndexes(dst);
    if (dst == src && !bind) return;
    Def d{src, bind, always, at};
    std::vector<Def>& defs = defs_[dst];
    // A slot that is set again and again from many places says nothing.
    if (defs.size() > 4 * kMaxTargets) return;
    for (const Def& x : defs)
      if (x.src == src && x.bind == bind && x.always == always && x.at == at) return;
    defs.push_back(d);
    ++defVersion_;
    changed_ = true;
  }

  // What the pointer or reference in place `c` refers to at `at`. Answers are
  // kept while no definition is added.
  void pointees(PathId c, Point at, PathSet& out, int depth = 0) {
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
    if (out.size() > kMaxTargets) out = {paths_.unknown()};
  }

  void followPointees(PathId c, Point at, PathSet& out, int depth) {
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
    bool heap = false;
    for (PathId p = c; paths_.at(p).kind != StepKind::Root; p = paths_.at(p).parent)
      heap |= paths_.at(p).kind == StepKind::Deref;
    switch (root.root) {
      case Root::This:
        // In a constructor the members hold nothing but what it puts there.
        if (heap || !f_.isCtor || !anyDef) insert(out, paths_.deref(c));
        break;
      case Root::Global:
      case Root::Param:
      case Root::Unknown:
        insert(out, paths_.deref(c));
        break;
      case Root::Local:
      case Root::Result: {
        if (heap) {
          insert(out, paths_.deref(c));
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
        if (heap) insert(out, paths_.deref(c));
        break;
      case Root::Ret:
        break;
    }
    if (out.size() > kMaxTargets) out = {paths_.unknown()};
    resolving_.pop_back();
  }

  PathSet resolve(const Path& raw, Point at) {
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
      if (next.size() > kMaxTargets) next = {paths_.unknown()};
      cur = std::move(next);
    }
    return cur;
  }
  PathId rootPath(const Path& raw) {
    switch (raw.root) {
      case Root::This: return paths_.root(Root::This);
      case Root::Global: return paths_.root(Root::Global, 0, raw.entity);
      case Root::Ret: return paths_.root(Root::Ret);
      case Root::Unknown: return paths_.unknown();
      default: return paths_.root(raw.root, raw.index);
    }
  }

  PathId argSlot(uint32_t call, uint32_t arg) { return paths_.root(Root::Local, kArgBase + call * 32 + arg % 32); }
  PathId resultOf(uint32_t call) { return paths_.root(Root::Result, call); }

  void defineValue(PathId dst, const Value& v, Point at, bool always) {
    if (v.kind == ValueKind::None) return;
    for (PathId s : resolve(v.path, at)) addDef(dst, s, v.kind == ValueKind::Bind, at, always);
  }

  bool isRefArg(const Arg& a) const {
    const TypeFact* t = p_.type(a.type);
    if (t && t->kind == TypeKind::Ref) return true;
    return t && t->kind == TypeKind::Class && a.value.kind == ValueKind::Bind && !a.byValue;
  }
  // The object behind argument i: what a reference refers to, else the slot.
  PathSet argObject(uint32_t call, uint32_t i, Point at) {
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

  Frame frameOf(uint32_t call, Point at) {
    const Call& c = f_.calls[call];
    Frame fr;
    fr.call = call;
    if (c.hasSelf) fr.self = resolve(c.self, at);
    else fr.self = {paths_.unknown()};
    for (uint32_t i = 0; i < c.args.size(); ++i) fr.params.push_back(argSlot(call, i));
    return fr;
  }

  // A callee's path in the caller's terms.
  PathSet mapPath(PathId path, const Frame& fr, Point at) {
    const PathNode n = paths_.at(path);
    if (n.kind == StepKind::Root) {
      switch (n.root) {
        case Root::This: return fr.self;
        case Root::Param:
          return {n.index < fr.params.size() ? fr.params[n.index] : paths_.unknown()};
        case Root::Global: return {path};
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
    if (out.size() > kMaxTargets) out = {paths_.unknown()};
    return out;
  }

  // ---- calls --------------------------------------------------------------
  enum class CallClass : uint8_t { Nothing, Lock, Guard, CondVar, Bodies, Modelled, PolicyCall, Unknown };
  struct CallInfo {
    bool ready = false;
    CallClass cls = CallClass::Unknown;
    CallTarget targets;
    const FunctionModel* model = nullptr;
    Policy policy = Policy::Unknown;
    LockOp op;
    int lockArg = -1;
    const GuardModel* guard = nullptr;
    bool wrapper = false;
  };

  const CallInfo& info(uint32_t call) {
    if (infos_.empty()) infos_.resize(f_.calls.size());
    CallInfo& i = infos_[call];
    if (i.ready) return i;
    i.ready = true;
    const Call& c = f_.calls[call];
    std::string_view name = p_.text(c.name);
    const LockFunctionModel* m = e_.models.lockFunction(name);
    // A body in the program says more than a model of that name.
    if (m && c.callee && !p_.targetsOf(c.callee).bodies.empty()) m = nullptr;
    if (m && m->op.kind != LockOpKind::None) {
      i.cls = m->op.kind == LockOpKind::Wait ? CallClass::CondVar : CallClass::Lock;
      i.op = m->op;
      if (m->modeArg >= 0 && static_cast<size_t>(m->modeArg) < c.args.size()) {
        const Arg& a = c.args[m->modeArg];
        auto mode = m->modeValues.find(a.literalTrue ? "true" : a.literalFalse ? "false" : p_.text(a.constant));
        if (mode != m->modeValues.end()) i.op.mode = mode->second;
        else i.op.kind = LockOpKind::Convert;  // which mode is decided at run time
      }
      i.lockArg = m->lockArg;
      return i;
    }
    std::string_view self = p_.className(c.selfType);
    if (c.hasSelf && !self.empty()) {
      if (const GuardModel* g = e_.models.guard(self)) {
        i.cls = CallClass::Guard;
        i.guard = g;
        return i;
      }
      if (e_.models.isConditionVariable(self)) {
        i.cls = CallClass::CondVar;
        std::string_view n = lastName(name);
        i.op.kind = n.starts_with("wait") || n.starts_with("timed_wait") || n == "Wait" || n.starts_with("WaitFor") ? LockOpKind::Wait : LockOpKind::None;
        return i;
      }
      if (e_.isLockClass(c.selfType)) {
        i.op = e_.methodOp(c);
        if (i.op.kind != LockOpKind::None) {
          i.cls = CallClass::Lock;
          return i;
        }
      }
      if (e_.models.isCallableWrapper(self) && name.ends_with("operator()")) {
        i.wrapper = true;
        auto it = p_.wrapped.find(c.selfType);
        i.cls = CallClass::Unknown;
        if (it != p_.wrapped.end() && it->second.size() <= kMaxWrapped) {
          i.targets.assumed = true;
          for (Str usr : it->second) {
            CallTarget one = usr ? p_.targetsOf(usr) : CallTarget{{}, true, false, {}};
            i.targets.bodies.insert(i.targets.bodies.end(), one.bodies.begin(), one.bodies.end());
            i.targets.unknown |= one.unknown;
          }
          if (!i.targets.bodies.empty() || !i.targets.unknown) i.cls = CallClass::Bodies;
        }
        return i;
      }
    }
    switch (c.kind) {
      case CallKind::Virtual: i.targets = p_.overridersOf(c.callee, e_.options.openWorld); break;
      case CallKind::Indirect:
        if (c.target.kind == ValueKind::Bind && c.target.path.root == Root::Global &&
            p_.byUsr.count(c.target.path.entity))
          i.targets = p_.targetsOf(c.target.path.entity);
        else
          i.targets = p_.bySignature(c.signature);
        break;
      default: i.targets = p_.targetsOf(c.callee);
    }
    std::erase_if(i.targets.bodies, [&](FuncId t) {
      if (!p_.functions[t].opaque) return false;
      i.targets.unknown = true;
      return true;
    });
    if (c.kind == CallKind::Virtual && c.callee && i.targets.unknown) {
      // Overriders without a body that a model speaks of.
      bool all = !i.targets.noBody.empty();
      for (Str u : i.targets.noBody) {
        auto it = p_.byUsr.find(u);
        all &= it != p_.byUsr.end() &&
               e_.models.function(p_.text(p_.functions[it->second.front()].name), c.constMethod, c.args.size());
      }
      if (all && !i.targets.bodies.empty()) i.targets.unknown = false;
    }
    // A body of inline assembly says nothing; a model of that name does.
    if (!i.targets.bodies.empty() && e_.models.function(name, c.constMethod, c.args.size())) {
      bool assembly = false;
      for (FuncId t : i.targets.bodies)
        for (const Block& b : p_.functions[t].blocks)
          for (const Event& ev : b.events) assembly |= ev.kind == EventKind::Opaque;
      if (assembly) i.targets.bodies.clear();
    }
    if (!i.targets.bodies.empty()) {
      i.cls = CallClass::Bodies;
      return i;
    }
    i.model = e_.models.function(name, c.constMethod, c.args.size());
    if (i.model) {
      i.cls = CallClass::Modelled;
      return i;
    }
    i.policy = e_.models.policy(name);
    if (i.policy != Policy::Unknown && c.kind != CallKind::Indirect) {
      i.cls = CallClass::PolicyCall;
      return i;
    }
    // Attributes of a declaration without a body.
    if (auto it = p_.byUsr.find(c.callee); it != p_.byUsr.end()) {
      const FunctionFacts& callee = p_.functions[it->second.front()];
      for (const AttrFact& a : callee.attrs) {
        const std::string& k = p_.text(a.kind);
        if (k == "const" || k == "pure") {
          i.cls = CallClass::PolicyCall;
          i.policy = Policy::Pure;
          return i;
        }
      }
      if (e_.options.trustConst && c.constMethod) {
        i.cls = CallClass::PolicyCall;
        i.policy = Policy::Pure;
        return i;
      }
      if (callee.isDefaulted && !callee.hasBody && (c.kind == CallKind::Construct || c.kind == CallKind::Destroy)) {
        i.cls = CallClass::PolicyCall;
        i.policy = Policy::ConstReads;
        return i;
      }
    }
    i.cls = CallClass::Unknown;
    return i;
  }

  PathSet evalPlace(const ModelPlace& mp, uint32_t call, Point at) {
    const Call& c = f_.calls[call];
    PathSet cur;
    switch (mp.base) {
      case ModelPlace::Base::Self:
        if (c.hasSelf) cur = resolve(c.self, at);
        break;
      case ModelPlace::Base::Arg:
        if (mp.arg >= 0 && static_cast<size_t>(mp.arg) < c.args.size()) cur = argObject(call, mp.arg, at);
        break;
      case ModelPlace::Base::Args:
        for (uint32_t i = static_cast<uint32_t>(std::max(0, mp.arg)); i < c.args.size(); ++i)
          for (PathId a : argObject(call, i, at)) insert(cur, a);
        break;
      case ModelPlace::Base::Ret: cur = {resultOf(call)}; break;
      case ModelPlace::Base::Global: cur = {paths_.unknown()}; break;
    }
    for (char s : mp.selectors) {
      PathSet next;
      for (PathId p : cur) {
        if (s == '[') insert(next, paths_.elem(p));
        else pointees(p, at, next);
      }
      cur = std::move(next);
      if (cur.size() > kMaxTargets) cur = {paths_.unknown()};
    }
    return cur;
  }

  // Functions a callable value may run: closures, functors, function pointers.
  CallTarget callableTargets(uint32_t call, const ModelPlace& mp, Point at, PathSet& self) {
    CallTarget t;
    const Call& c = f_.calls[call];
    if (mp.base != ModelPlace::Base::Arg || mp.arg < 0) {
      t.unknown = true;
      return t;
    }
    if (static_cast<size_t>(mp.arg) >= c.args.size()) return t;  // not given: not called
    return callableArg(call, static_cast<uint32_t>(mp.arg), at, self);
  }
  CallTarget callableArg(uint32_t call, uint32_t arg, Point at, PathSet& self) {
    CallTarget t;
    const Arg& a = f_.calls[call].args[arg];
    self = argObject(call, arg, at);
    const TypeFact* type = p_.type(a.type);
    if (type && type->kind == TypeKind::Ref) type = p_.type(type->pointee);
    if (a.value.path.root == Root::Global && p_.byUsr.count(a.value.path.entity))
      return p_.targetsOf(a.value.path.entity);
    if (type && type->kind == TypeKind::Class) {
      std::string_view cls = p_.text(type->clsName);
      if (e_.models.isCallableWrapper(cls)) {
        auto it = p_.wrapped.find(type->name);
        if (it == p_.wrapped.end() || it->second.size() > kMaxWrapped) {
          t.unknown = true;
          return t;
        }
        t.assumed = true;
        self = {paths_.unknown()};
        for (Str usr : it->second) {
          CallTarget one = usr ? p_.targetsOf(usr) : CallTarget{{}, true, false, {}};
          t.bodies.insert(t.bodies.end(), one.bodies.begin(), one.bodies.end());
          t.unknown |= one.unknown;
        }
        return t;
      }
      if (Str op = p_.callOperator(type->name)) return p_.targetsOf(op);
      if (e_.models.hasClass(cls) || e_.models.policy(cls) != Policy::Unknown) return t;  // std::less: nothing of ours
    }
    if (type && (type->kind == TypeKind::Pointer || type->kind == TypeKind::Function)) {
      const TypeFact* fn = type->kind == TypeKind::Pointer ? p_.type(type->pointee) : type;
      if (fn) return p_.bySignature(fn->name);
    }
    t.unknown = true;
    return t;
  }

  Frame invokeFrame(uint32_t call, const PathSet& self, const std::vector<PathSet>& args, Point at, uint32_t salt) {
    Frame fr;
    fr.call = call;
    fr.self = self;
    for (uint32_t i = 0; i < args.size(); ++i) {
      PathId slot = paths_.root(Root::Local, kInvokeBase + (call * 8 + salt % 8) * 16 + i % 16);
      for (PathId a : args[i]) addDef(slot, a, true, at, true);
      fr.params.push_back(slot);
    }
    return fr;
  }
  std::vector<PathSet> invokeArgs(const ModelEffect& m, uint32_t call, Point at) {
    std::vector<PathSet> out;
    for (const ModelPlace& a : m.invokeArgs) {
      if (a.base == ModelPlace::Base::Args) {
        for (uint32_t i = static_cast<uint32_t>(std::max(0, a.arg)); i < f_.calls[call].args.size(); ++i)
          out.push_back(argObject(call, i, at));
        continue;
      }
      out.push_back(evalPlace(a, call, at));
    }
    return out;
  }
  // Elements of everything the call was given: what a generic algorithm may
  // pass to a callable.
  PathSet anythingGiven(uint32_t call, Point at, uint32_t except) {
    PathSet out;
    const Call& c = f_.calls[call];
    if (c.hasSelf)
      for (PathId s : resolve(c.self, at)) insert(out, paths_.elem(s));
    for (uint32_t i = 0; i < c.args.size(); ++i) {
      if (i == except) continue;
      for (PathId a : argObject(call, i, at)) {
        insert(out, a);
        PathSet inner;
        pointees(a, at, inner);
        for (PathId x : inner) insert(out, x);
      }
    }
    if (out.size() > kMaxTargets) out = {paths_.unknown()};
    return out;
  }

  void linksOf(FuncId callee, const Frame& fr, Point at) {
    // Copied: a recursive callee is being solved, its summary may change.
    const std::vector<Link> links = e_.summaries[callee].links;
    for (const Link& l : links) {
      PathSet dsts = mapPath(l.dst, fr, at);
      if (dsts.empty()) continue;
      PathSet srcs = mapPath(l.src, fr, at);
      for (PathId d : dsts)
        for (PathId s : srcs) addDef(d, s, l.bind, at);
    }
    if (!e_.summaries[callee].solved) {
      // In a cycle: nothing known yet. Its result is added in later rounds.
    }
  }

  void aliasCall(uint32_t call, Point at) {
    const Call& c = f_.calls[call];
    for (uint32_t i = 0; i < c.args.size(); ++i) defineValue(argSlot(call, i), c.args[i].value, at, true);
    const CallInfo& ci = info(call);
    switch (ci.cls) {
      case CallClass::Nothing:
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

  void escapeArgs(uint32_t call, Point at) {
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

  void aliasByPolicy(uint32_t call, Point at) {
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

  bool looksCallable(const Arg& a) {
    const TypeFact* t = p_.type(a.type);
    if (t && t->kind == TypeKind::Ref) t = p_.type(t->pointee);
    if (!t) return false;
    if (t->kind == TypeKind::Class) {
      if (e_.models.isCallableWrapper(p_.text(t->clsName))) return true;
      const ClassFact* c = p_.classOfType(t->name);
      return c && !c->inSystemHeader && p_.callOperator(t->name) != 0;
    }
    if (t->kind == TypeKind::Function) return true;
    if (t->kind == TypeKind::Pointer) {
      const TypeFact* fn = p_.type(t->pointee);
      return fn && fn->kind == TypeKind::Function;
    }
    return false;
  }

  void aliasPass() {
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

  // ------------------------------------------------------------- escapes ---
  bool privateRoot(const PathNode& n) const { return n.root == Root::Local || n.root == Root::Fresh; }
  bool visiblePlace(PathId p) const {
    const PathNode& r = paths_.rootOf(p);
    switch (r.root) {
      case Root::Global:
      case Root::Unknown: return true;
      case Root::This: return !f_.isCtor;
      case Root::Param: return containsDeref(p);
      default: return false;
    }
  }
  bool containsDeref(PathId p) const {
    for (; paths_.at(p).kind != StepKind::Root; p = paths_.at(p).parent)
      if (paths_.at(p).kind == StepKind::Deref) return true;
    return false;
  }
  void escape(PathId target, Point at) {
    PathId root = paths_.base(target);
    if (!privateRoot(paths_.at(root))) return;
    if (containsDeref(target)) return;
    std::vector<Point>& points = escaped_[root];
    if (std::find(points.begin(), points.end(), at) != points.end()) return;
    points.push_back(at);
    escapeTodo_.push_back({root, at});
  }
  // Everything that what is stored below `place` refers to.
  void escapeContents(PathId place, Point at, int depth = 0) {
    if (depth > 6) return;
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
  void findEscapes() {
    std::vector<std::pair<PathId, std::vector<Def>>> all(defs_.begin(), defs_.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
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

  bool isShared(PathId p, Point at) {
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
  PathId publicPath(PathId p) {
    PathId root = paths_.base(p);
    switch (paths_.at(root).root) {
      case Root::Local:
      case Root::Fresh:
      case Root::Result:
      case Root::Ret: return paths_.replacePrefix(p, root, paths_.unknown());
      default: return p;
    }
  }

  // --------------------------------------------------------------- locks ---
  uint32_t newAcquisition(uint32_t call, LockAction& a) {
    Acquisition q;
    q.func = id_;
    q.call = call;
    q.mode = a.mode;
    q.isTry = a.isTry;
    q.timed = a.timed;
    q.many = a.many;
    q.byDelta = a.byDelta;
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

  PathSet locksAt(const PathSet& raw, bool* view) {
    PathSet out;
    for (PathId l : raw) {
      bool v = false;
      insert(out, e_.outermostLock(l, id_, &v));
      if (v) *view = true;
    }
    return out;
  }

  void addAction(uint32_t call, LockAction a) {
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

  void collectActions() {
    actions_.resize(f_.calls.size());
    for (uint32_t call = 0; call < f_.calls.size(); ++call) guardShapes(call);
    for (uint32_t call = 0; call < f_.calls.size(); ++call) collectActions(call);
    guardEscapes();
  }

  struct GuardShape {
    PathSet locks;
    Mode mode = Mode::Exclusive;
    bool timed = false;
    bool many = false;
  };

  PathSet lockOperand(uint32_t call, uint32_t arg, Point at) {
    // The lock itself: what a reference or pointer argument refers to.
    const Call& c = f_.calls[call];
    if (arg >= c.args.size()) return {};
    const Arg& a = c.args[arg];
    if (isRefArg(a)) return argObject(call, arg, at);
    PathSet out;
    pointees(argSlot(call, arg), at, out);
    return out;
  }

  bool isLockOperand(const Arg& a) {
    const TypeFact* t = p_.type(a.type);
    while (t && (t->kind == TypeKind::Ref || t->kind == TypeKind::Pointer)) t = p_.type(t->pointee);
    return t && e_.isLockClass(t->name);
  }

  void guardShapes(uint32_t call) {
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

  void collectActions(uint32_t call) {
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
            a.anyMode = ci.op.sharedOrExclusive;
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

  void collectAttributes(uint32_t call, Point at) {
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

  void collectGuard(uint32_t call, const CallInfo& ci, Point at) {
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

  // A guard whose address or value goes anywhere but its own operations.
  void guardEscapes() {
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
          mark(d.src);
        }
      }
    }
  }

  void applyActions(uint32_t call, State& s) {
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

  void release(const LockAction& a, uint32_t call, State& s) {
    if (a.locks.size() == 1) {
      PathId l = a.locks.front();
      bool found = false;
      for (int pass = 0; pass < 2 && !found; ++pass)
        for (auto it = s.held.begin(); it != s.held.end();) {
          Acquisition& q = out_.acquisitions[it->first];
          bool mode = q.mode == a.mode || (pass == 1 && a.anyMode) || a.anyMode;
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
      for (PathId l : a.locks) s.released[l] = a.must && a.locks.size() == 1;
  }

  void lockSets() {
    size_t n = f_.blocks.size();
    in_.assign(n, State());
    if (n == 0) return;
    in_[f_.entry].reached = true;
    std::deque<uint32_t> work{f_.entry};
    std::vector<bool> queued(n, false);
    State all;  // union of every state, all May: what a handler may start from
    int guard = 0;
    while (!work.empty() && ++guard < 20000) {
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

  // Does the block end the program (abort, a failed check)?
  bool neverReturns(uint32_t b) {
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
  void refine(const Branch& br, bool taken, State& s) {
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

  // ------------------------------------------------------------- effects ---
  struct Ctx {
    Point at;
    const State* state = nullptr;
    std::vector<HeldLock> held;
  };

  std::vector<HeldLock> mustHeld(const State& s) {
    std::vector<HeldLock> out;
    for (const auto& [acq, must] : s.held) {
      const Acquisition& q = out_.acquisitions[acq];
      if (must && !q.ambiguous && q.lock) out.push_back({q.lock, q.mode});
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  void push(Effect eff, const Ctx& cx, bool direct, const std::vector<HeldLock>& extra = {}) {
    LocalEffect l;
    static_cast<Effect&>(l) = std::move(eff);
    l.path = publicPath(l.path);
    l.direct = direct;
    l.block = cx.at.block;
    l.event = cx.at.event;
    l.held = cx.held;
    for (const HeldLock& h : l.inner) l.held.push_back(h);
    (void)extra;
    std::sort(l.held.begin(), l.held.end());
    l.held.erase(std::unique(l.held.begin(), l.held.end()), l.held.end());
    uint32_t index = static_cast<uint32_t>(out_.effects.size());
    // Same effect twice at one point (several bodies, overloads): once.
    out_.effects.push_back(std::move(l));
    for (const auto& [acq, must] : cx.state->held) {
      Acquisition& q = out_.acquisitions[acq];
      q.region.push_back(index);
      if (must) q.regionMust.push_back(index);
    }
  }

  Effect make(Eff kind, PathId path, const Loc& loc, Str type = 0, Str via = 0) {
    Effect x;
    x.kind = kind;
    x.path = path;
    x.loc = loc;
    x.type = type;
    x.via = via;
    x.func = id_;
    return x;
  }

  bool underConstruction(PathId p) const {
    if (!f_.isCtor && !f_.isDtor) return false;
    const PathNode& r = paths_.rootOf(p);
    if (r.root != Root::This) return false;
    for (; paths_.at(p).kind != StepKind::Root; p = paths_.at(p).parent)
      if (paths_.at(p).kind == StepKind::Deref) return false;
    return true;
  }

  void access(Eff kind, const PathSet& places, Str type, const Loc& loc, Str via, const Ctx& cx,
              bool multiple = false, bool resultUsed = false, bool rmw = false, bool bump = false,
              bool shallow = false) {
    for (PathId c : places) {
      if (!isShared(c, cx.at)) continue;
      Effect x = make(kind, c, loc, type, via);
      x.multiple = multiple || inLoop(cx.at.block);
      x.resultUsed = resultUsed;
      x.rmw = rmw;
      x.bump = bump;
      x.shallow = shallow;
      x.init = underConstruction(c);
      push(x, cx, true);
    }
  }
  void plain(Eff kind, const Loc& loc, Str via, const Ctx& cx) {
    Effect x = make(kind, paths_.unknown(), loc, 0, via);
    x.multiple = inLoop(cx.at.block);
    push(x, cx, true);
  }

  // Runs a summarised callee at `at`.
  void applyBody(FuncId callee, const Frame& fr, const Loc& loc, const Ctx& cx, bool assumed, bool certain = false) {
    const Summary& s = e_.summaries[callee];
    std::map<PathId, PathSet> memo;
    auto mapped = [&](PathId p) -> const PathSet& {
      auto it = memo.find(p);
      if (it == memo.end()) it = memo.emplace(p, mapPath(p, fr, cx.at)).first;
      return it->second;
    };
    bool loop = inLoop(cx.at.block);
    std::vector<Effect> effects = s.effects;  // a recursive callee may be us
    for (const Effect& x : effects) {
      bool pathless = x.kind == Eff::External || x.kind == Eff::Wait || x.kind == Eff::Unknown ||
                      x.kind == Eff::Hostile || x.kind == Eff::Sync || x.kind == Eff::Blocks ||
                      x.kind == Eff::Log || x.kind == Eff::Alloc || x.kind == Eff::Drop;
      std::vector<HeldLock> inner;
      for (const HeldLock& h : x.inner) {
        const PathSet& m = mapped(h.path);
        if (m.size() == 1) inner.push_back({publicPath(m.front()), h.mode});
      }
      PathSet places = pathless ? PathSet{x.path} : mapped(x.path);
      for (PathId c : places) {
        if (!pathless && !isShared(c, cx.at)) continue;
        Effect y = x;
        y.path = c;
        y.inner = inner;
        y.multiple = x.multiple || loop;
        y.assumed = x.assumed || assumed;
        y.chain = e_.chainTo(id_, loc, x.chain);
        // What a constructor does to its object is construction for whoever
        // sees the object whole; for the caller it is, if the object is the
        // caller's own This under construction.
        y.init = x.init ? true : underConstruction(c);
        if (x.init && paths_.rootOf(c).root != Root::This && paths_.rootOf(c).root != Root::Unknown) y.init = true;
        push(y, cx, false);
      }
    }
    for (const AcquireNote& n : s.acquires) {
      for (PathId l : mapped(n.path)) {
        AcquireNote m = n;
        m.path = publicPath(e_.outermostLock(l, id_, nullptr));
        m.chain = e_.chainTo(id_, loc, n.chain);
        m.weak = n.weak || !certain;
        noteAcquire(m, cx);
      }
    }
  }

  void noteAcquire(const AcquireNote& n, const Ctx& cx) {
    for (const auto& [acq, must] : cx.state->held) {
      Acquisition& q = out_.acquisitions[acq];
      q.nested.push_back(n);
      if (must && !q.ambiguous && !n.weak) out_.orders.push_back({q.lock, n.path, q.mode, n.loc});
    }
    if (out_.summary.acquires.size() < 200) {
      for (const AcquireNote& have : out_.summary.acquires)
        if (have.path == n.path && have.mode == n.mode && have.weak <= n.weak) return;
      out_.summary.acquires.push_back(n);
    }
  }

  void context(uint32_t call, FuncId callee, const Frame& fr, const Ctx& cx, bool later, bool assumed) {
    CallContext c;
    c.call = call;
    c.callee = callee;
    c.later = later;
    c.typeMatched = assumed;
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
    out_.contexts.push_back(std::move(c));
  }

  // Destructors that destroying a value of `type` at `places` runs.
  void destroy(PathSet places, Str type, uint32_t call, const Loc& loc, const Ctx& cx, int depth = 0) {
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
      PathSet owned;
      for (PathId p : places) {
        if (e_.models.isUniqueOwner(cls)) {
          // Null so far: nothing owned.
          PathSet q;
          pointees(p, cx.at, q);
          if (!q.empty()) insert(owned, paths_.elem(p));
        } else {
          pointees(p, cx.at, owned);
        }
      }
      if (owned.empty()) return;
      destroyPointee(owned, t->args[0], call, loc, cx, depth + 1);
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
          applyBody(b, fr, loc, cx, false);
          context(call, b, fr, cx, false, false);
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
  void destroyPointee(const PathSet& owned, Str type, uint32_t call, const Loc& loc, const Ctx& cx, int depth) {
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
  void copyUser(const PathSet& from, Str type, uint32_t call, const Loc& loc, const Ctx& cx, int depth = 0) {
    const TypeFact* t = p_.type(type);
    if (t && t->kind == TypeKind::Ref) t = p_.type(t->pointee);
    if (!t || t->kind != TypeKind::Class || depth > 4) return;
    const ClassFact* c = p_.classOfType(t->name);
    std::string_view cls = p_.text(t->clsName);
    if (e_.models.isCountedPointer(cls) || e_.models.isUniqueOwner(cls)) return;
    if (c && !c->inSystemHeader && c->copyCtor) {
      CallTarget target = p_.targetsOf(c->copyCtor);
      Frame fr;
      fr.call = call;
      fr.self = {paths_.root(Root::Fresh, kFreshBase + call * 64 + 62)};
      PathId slot = paths_.root(Root::Local, kInvokeBase + (call * 8 + 7) * 16 + static_cast<uint32_t>(depth) % 16);
      for (PathId p : from) addDef(slot, p, true, cx.at, true);
      fr.params.push_back(slot);
      for (FuncId b : target.bodies) applyBody(b, fr, loc, cx, false);
      if (!target.bodies.empty()) return;
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

  // "moves argN": only if that parameter is an rvalue reference.
  bool movesFrom(const ModelPlace& mp, uint32_t call) const {
    const Call& c = f_.calls[call];
    if (mp.base != ModelPlace::Base::Arg || mp.arg < 0 || static_cast<size_t>(mp.arg) >= c.args.size())
      return mp.base == ModelPlace::Base::Self;
    return p_.text(c.args[mp.arg].type).ends_with("&&") && !c.args[mp.arg].constRef;
  }
  // A constructor that library code runs (emplace, make_shared): which overload
  // is not known, so every one with that many parameters.
  void constructUser(const ModelEffect& m, uint32_t call, const Ctx& cx) {
    const Call& c = f_.calls[call];
    std::vector<PathSet> given = invokeArgs(m, call, cx.at);
    PathSet self{paths_.root(Root::Fresh, kFreshBase + call * 64 + 63)};
    for (Str type : placeTypes(m.place, call)) {
      const ClassFact* cls = p_.classOfType(type);
      if (!cls || cls->inSystemHeader) continue;
      for (Str usr : cls->methods)
        for (FuncId b : p_.targetsOf(usr).bodies) {
          const FunctionFacts& ctor = p_.functions[b];
          if (!ctor.isCtor || ctor.params.size() != given.size() || ctor.opaque) continue;
          Frame fr = invokeFrame(call, self, given, cx.at, 2);
          applyBody(b, fr, c.loc, cx, false);
          context(call, b, fr, cx, false, false);
        }
    }
  }

  // Types that an effect on a model place speaks of: for `self[]` the template
  // arguments of self's type, and so on.
  std::vector<Str> placeTypes(const ModelPlace& mp, uint32_t call) {
    const Call& c = f_.calls[call];
    Str base = 0;
    if (mp.base == ModelPlace::Base::Self) base = c.selfType;
    else if (mp.base == ModelPlace::Base::Arg && static_cast<size_t>(mp.arg) < c.args.size()) base = c.args[mp.arg].type;
    else if (mp.base == ModelPlace::Base::Ret) base = c.resultType;
    std::vector<Str> cur;
    if (const TypeFact* t = p_.type(base)) cur.push_back(t->kind == TypeKind::Ref ? t->pointee : base);
    for (char s : mp.selectors) {
      (void)s;
      std::vector<Str> next;
      for (Str x : cur)
        if (const TypeFact* t = p_.type(x)) {
          if (t->pointee) next.push_back(t->pointee);
          for (Str a : t->args) next.push_back(a);
        }
      cur = std::move(next);
    }
    return cur;
  }

  void recordModel(uint32_t call, const CallInfo& ci, const Ctx& cx) {
    const Call& c = f_.calls[call];
    for (const ModelEffect& m : ci.model->effects) {
      switch (m.kind) {
        case EffectKind::Read:
          access(Eff::Read, evalPlace(m.place, call, cx.at), placeType(m.place, call), c.loc, c.name, cx, false, false,
                 false, false, m.shallow);
          break;
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
          for (FuncId b : t.bodies) {
            applyBody(b, fr, c.loc, cx, t.assumed);
            context(call, b, fr, cx, false, t.assumed);
          }
          if (t.unknown) plain(Eff::Unknown, c.loc, c.name, cx);
          break;
        }
        case EffectKind::Later:
        case EffectKind::Stores: {
          PathSet self;
          CallTarget t = callableTargets(call, m.place, cx.at, self);
          std::vector<PathSet> given;
          for (uint32_t i = 0; i < c.args.size(); ++i)
            if (static_cast<int>(i) > m.place.arg) given.push_back(argObject(call, i, cx.at));
          Frame fr = invokeFrame(call, self, given, cx.at, 1);
          for (FuncId b : t.bodies) context(call, b, fr, cx, true, t.assumed);
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
          for (Str type : placeTypes(m.place, call)) destroy(evalPlace(m.place, call, cx.at), type, call, c.loc, cx);
          break;
        case EffectKind::Copies:
          for (Str type : placeTypes(m.place, call)) copyUser(evalPlace(m.place, call, cx.at), type, call, c.loc, cx);
          break;
        case EffectKind::External: plain(Eff::External, c.loc, c.name, cx); break;
        case EffectKind::Wait: plain(Eff::Wait, c.loc, c.name, cx); break;
        case EffectKind::Blocks: plain(Eff::Blocks, c.loc, c.name, cx); break;
        case EffectKind::Sync: plain(Eff::Sync, c.loc, c.name, cx); break;
        case EffectKind::Log: plain(Eff::Log, c.loc, c.name, cx); break;
        case EffectKind::Hostile: plain(Eff::Hostile, c.loc, c.name, cx); break;
        case EffectKind::Alloc: plain(Eff::Alloc, c.loc, c.name, cx); break;
        default: break;
      }
    }
    if (c.kind == CallKind::Construct) copyArguments(call, cx);
  }
  Str placeType(const ModelPlace& mp, uint32_t call) {
    std::vector<Str> t = placeTypes(mp, call);
    return t.size() == 1 ? t.front() : 0;
  }
  // A library object made from another of its type, or from elements: runs the
  // copy constructors of what is inside.
  void copyArguments(uint32_t call, const Ctx& cx) {
    const Call& c = f_.calls[call];
    for (uint32_t i = 0; i < c.args.size(); ++i) {
      const TypeFact* t = p_.type(c.args[i].type);
      if (!t || t->kind != TypeKind::Ref || !c.args[i].constRef) continue;
      copyUser(argObject(call, i, cx.at), t->pointee, call, c.loc, cx);
    }
  }

  void recordPolicy(uint32_t call, const CallInfo& ci, const Ctx& cx) {
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
        for (FuncId b : t.bodies) {
          applyBody(b, fr, c.loc, cx, t.assumed);
          context(call, b, fr, cx, false, t.assumed);
        }
        if (t.unknown) plain(Eff::Unknown, c.loc, c.name, cx);
      }
  }

  void recordUnknown(uint32_t call, const Ctx& cx) {
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
        for (FuncId b : target.bodies) context(call, b, fr, cx, true, target.assumed);
      }
    }
  }
  bool looksPointer(const Arg& a) const {
    const TypeFact* t = p_.type(a.type);
    return t && t->kind == TypeKind::Pointer;
  }

  void recordCall(uint32_t call, const Ctx& cx) {
    const Call& c = f_.calls[call];
    const CallInfo& ci = info(call);
    switch (ci.cls) {
      case CallClass::Nothing: return;
      case CallClass::Lock:
      case CallClass::Guard: {
        for (const LockAction& a : actions_[call])
          if (a.kind == LockAction::Acquire || a.kind == LockAction::GuardAcquire || a.kind == LockAction::Try)
            for (PathId l : a.locks) {
              AcquireNote n;
              n.path = publicPath(l);
              n.mode = a.mode;
              n.func = id_;
              n.loc = c.loc;
              noteAcquire(n, cx);
            }
        if (ci.cls == CallClass::Guard && c.kind == CallKind::Direct) return;
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
              Frame fr = invokeFrame(call, self, {}, cx.at, i);
              for (FuncId b : t.bodies) {
                applyBody(b, fr, c.loc, cx, false);
                context(call, b, fr, cx, false, false);
              }
            }
        } else if (c.kind == CallKind::Direct) {
          plain(Eff::Sync, c.loc, c.name, cx);
        }
        return;
      case CallClass::Bodies: {
        Frame fr = frameOf(call, cx.at);
        if (ci.wrapper) fr.self = {paths_.unknown()};
        bool certain = ci.targets.bodies.size() == 1 && !ci.targets.assumed && c.kind != CallKind::Destroy;
        // What a guard does to itself and to its lock is no part of the section,
        // nor is what a lock does inside an operation that takes or releases it.
        bool machinery = c.hasSelf && (e_.isGuardClass(c.selfType) ||
                                       (!actions_[call].empty() && e_.isLockClass(c.selfType)));
        for (FuncId t : ci.targets.bodies) {
          if (machinery) {
            context(call, t, fr, cx, false, ci.targets.assumed);
            continue;
          }
          applyBody(t, fr, c.loc, cx, ci.targets.assumed, certain);
          context(call, t, fr, cx, false, ci.targets.assumed);
        }
        for (const LockAction& a : actions_[call])
          if (a.kind == LockAction::Acquire)
            for (PathId l : a.locks) {
              AcquireNote n;
              n.path = publicPath(l);
              n.mode = a.mode;
              n.func = id_;
              n.loc = c.loc;
              noteAcquire(n, cx);
            }
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
              for (PathId l : a.locks) {
                AcquireNote n;
                n.path = publicPath(l);
                n.mode = a.mode;
                n.func = id_;
                n.loc = c.loc;
                noteAcquire(n, cx);
              }
          return;  // an annotated lock operation does just that
        }
        recordUnknown(call, cx);
        return;
    }
  }

  void recordPass() {
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      State s = in_[b];
      if (!s.reached) continue;  // dead code runs never
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

  // What pointers and references are stored in members: Solution decides from
  // this which members own what they point to.
  void recordStores() {
    std::vector<std::pair<PathId, std::vector<Def>>> all(defs_.begin(), defs_.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [dst, defs] : all) {
      const PathNode& r = paths_.rootOf(dst);
      if (r.root == Root::Local && r.index >= kArgBase) continue;
      Str field = lastField(dst);
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
  // The member that a place without later Deref belongs to; 0: none.
  Str lastField(PathId p) const {
    for (; p; p = paths_.at(p).parent) {
      const PathNode& n = paths_.at(p);
      if (n.kind == StepKind::Field) return n.entity;
      if (n.kind == StepKind::Deref || n.kind == StepKind::Root) return 0;
    }
    return 0;
  }

  void handovers() {
    recordStores();
    std::vector<std::pair<PathId, std::vector<Def>>> all(defs_.begin(), defs_.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
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
          if (out_.handovers.size() > 400) return;
          const PathNode& tr = paths_.rootOf(t);
          if (tr.root == Root::Local || tr.root == Root::Fresh || tr.root == Root::Result) continue;
          const std::vector<Event>& evs = f_.blocks[d.at.block].events;
          Loc loc = d.at.event < evs.size() ? evs[d.at.event].loc : f_.loc;
          if (d.at.event < evs.size() && evs[d.at.event].kind == EventKind::Call && evs[d.at.event].call < f_.calls.size())
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

  // ------------------------------------------------------------- summary ---
  bool exportable(PathId p) const {
    switch (paths_.rootOf(p).root) {
      case Root::This:
      case Root::Param:
      case Root::Global:
      case Root::Unknown:
      case Root::Fresh: return true;
      default: return false;
    }
  }
  void exportLink(PathId dst, PathId src, bool bind) {
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
  void flatten(PathId dst, PathId src, Point at, int depth = 0) {
    if (depth > 6 || linkSet_.size() > 4 * kMaxLinks) return;
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

  void summarise() {
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
    auto publish = [&](const LocalEffect& l) {
      const PathNode& r = paths_.rootOf(l.path);
      if (r.root == Root::Ret || r.root == Root::Result) return;
      Effect x = l;
      x.path = paths_.withoutIndexes(l.path);
      x.inner = l.held;
      for (HeldLock& h : x.inner) h.path = paths_.withoutIndexes(h.path);
      bool named = x.kind == Eff::Unknown || x.kind == Eff::Drop || x.kind == Eff::Hostile;
      auto key = std::make_tuple(x.kind, x.path, x.inner, x.init, x.shallow, named ? x.via : Str{0});
      auto [it, fresh] = seen.emplace(key, s.effects.size());
      if (fresh) {
        if (s.effects.size() < kMaxEffects) s.effects.push_back(std::move(x));
        return;
      }
      if (it->second >= s.effects.size()) return;
      Effect& have = s.effects[it->second];
      have.multiple |= true;  // a second site
      have.resultUsed |= x.resultUsed;
      have.assumed &= x.assumed;
      have.bump &= x.bump;
    };
    for (const LocalEffect& l : out_.effects) publish(l);
    if (seen.size() > kMaxEffects) {
      // More than can be kept: say so rather than forget.
      s.effects.resize(kMaxEffects);
      Effect u = make(Eff::Unknown, paths_.unknown(), f_.loc);
      s.effects.push_back(u);
    }

    // Lock delta.
    for (const auto& [acq, must] : exit_.held) {
      const Acquisition& q = out_.acquisitions[acq];
      for (PathId l : q.locks) {
        PathId p = paths_.withoutIndexes(publicPath(l));
        if (paths_.rootOf(l).root == Root::Local && !containsDeref(l)) continue;
        s.acquired.push_back({p, q.mode, must && !q.ambiguous, q.isTry});
      }
    }
    for (const auto& [l, must] : exit_.released) {
      if (paths_.rootOf(l).root == Root::Local && !containsDeref(l)) continue;
      s.released.push_back({paths_.withoutIndexes(publicPath(l)), Mode::Exclusive, must, false});
    }
    std::sort(s.acquired.begin(), s.acquired.end());
    s.acquired.erase(std::unique(s.acquired.begin(), s.acquired.end()), s.acquired.end());
    std::sort(s.released.begin(), s.released.end());
    s.solved = true;
  }

  Engine& e_;
  const Program& p_;
  PathTable& paths_;
  const FunctionFacts& f_;
  FuncId id_;
  FunctionResult out_;

  std::vector<std::vector<bool>> reach_;
  std::vector<Point> callPoint_;
  std::unordered_map<PathId, std::vector<Def>> defs_;
  std::vector<std::pair<PathId, Point>> resolving_;
  bool changed_ = false;
  size_t work_ = 0;
  uint64_t defVersion_ = 0, cacheVersion_ = 0;
  std::unordered_map<uint64_t, PathSet> pointeeCache_;
  std::vector<CallInfo> infos_;

  std::map<PathId, std::vector<Point>> escaped_;
  std::deque<std::pair<PathId, Point>> escapeTodo_;
  std::set<std::pair<PathId, Point>> contentsSeen_;

  std::map<PathId, GuardShape> guards_;
  std::vector<std::vector<LockAction>> actions_;
  std::vector<State> in_;
  State exit_;
  std::set<PathId> waited_;
  std::set<Link> linkSet_;
  std::set<std::pair<PathId, PathId>> flattenSeen_;
};

}  // namespace

FunctionResult solveFunction(Engine& engine, FuncId func) { return Solver(engine, func).run(); }

}  // namespace locktidy
