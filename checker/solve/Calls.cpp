// What a call is and whom it may run: a lock operation, a guard's, bodies in
// the program, a model, a policy, or unknown; what a model's places mean at it;
// and the functions behind the callables it is given.
//
// Decided once per call (`info`), by the first of these that speaks: a model of
// a lock function, the class of the object, bodies, a model, a policy,
// attributes. A callable wrapper of more than kMaxWrapped stored callables is
// Unknown.

#include <algorithm>

#include "checker/solve/FunctionState.h"

namespace locktidy {

const CallInfo& FunctionSolver::info(uint32_t call) {
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
      i.op.kind = n.starts_with("wait") || n.starts_with("timed_wait") || n == "Wait" || n.starts_with("WaitFor")
                      ? LockOpKind::Wait
                      : LockOpKind::None;
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
      // Only copied and passed on, as far as is seen: it may hold anything.
      if (it != p_.wrapped.end() && !it->second.empty() && it->second.size() <= kMaxWrapped) {
        i.targets = p_.anyOf(it->second);
        if (!i.targets.bodies.empty() || !i.targets.unknown) i.cls = CallClass::Bodies;
      }
      return i;
    }
  }
  i.targets = p_.targetsOfCall(c, e_.options.openWorld);
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
  std::set<Str> usrs;
  for (FuncId t : i.targets.bodies) usrs.insert(p_.functions[t].usr);
  i.usrs = usrs.size();
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

PathSet FunctionSolver::evalPlace(const ModelPlace& mp, uint32_t call, Point at) {
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
      if (s == '[') {
        insert(next, paths_.elem(p));
        continue;
      }
      PathSet targets;
      pointees(p, at, targets);
      for (PathId t : targets)
        if (s == '*' || t != paths_.deref(p)) insert(next, t);
    }
    cur = std::move(next);
    limit(cur);
  }
  return cur;
}

// Functions a callable value may run: closures, functors, function pointers.
CallTarget FunctionSolver::callableTargets(uint32_t call, const ModelPlace& mp, Point at, PathSet& self) {
  CallTarget t;
  const Call& c = f_.calls[call];
  if (mp.base != ModelPlace::Base::Arg || mp.arg < 0) {
    t.unknown = true;
    return t;
  }
  if (static_cast<size_t>(mp.arg) >= c.args.size()) return t;  // not given: not called
  return callableArg(call, static_cast<uint32_t>(mp.arg), at, self);
}

CallTarget FunctionSolver::callableArg(uint32_t call, uint32_t arg, Point at, PathSet& self) {
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
      if (it == p_.wrapped.end() || it->second.empty() || it->second.size() > kMaxWrapped) {
        t.unknown = true;
        return t;
      }
      self = {paths_.unknown()};
      return p_.anyOf(it->second);
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

Frame FunctionSolver::invokeFrame(uint32_t call, const PathSet& self, const std::vector<PathSet>& args, Point at,
                                  uint32_t salt) {
  return frameWith(kInvokeBase + (call * 32 + salt % 32) * 16, call, self, args, at);
}

Frame FunctionSolver::oneOffFrame(uint32_t call, const PathSet& self, const std::vector<PathSet>& args, Point at) {
  return frameWith(kOneOffBase + oneOffs_++ * 16, call, self, args, at);
}

Frame FunctionSolver::frameWith(uint32_t slots, uint32_t call, const PathSet& self, const std::vector<PathSet>& args,
                                Point at) {
  Frame fr;
  fr.call = call;
  fr.self = self;
  for (uint32_t i = 0; i < args.size(); ++i) {
    PathId slot = paths_.root(Root::Local, slots + i % 16);
    for (PathId a : args[i]) addDef(slot, a, true, at, true);
    fr.params.push_back(slot);
  }
  return fr;
}

std::vector<PathSet> FunctionSolver::invokeArgs(const ModelEffect& m, uint32_t call, Point at) {
  std::vector<PathSet> out;
  for (const ModelPlace& a : m.invokeArgs) {
    if (a.base == ModelPlace::Base::Args) {
      for (uint32_t i = static_cast<uint32_t>(std::max(0, a.arg)); i < f_.calls[call].args.size(); ++i)
        out.push_back(handedArg(call, i, at));
      continue;
    }
    out.push_back(evalPlace(a, call, at));
  }
  return out;
}

// Elements of everything the call was given: what a generic algorithm may
// pass to a callable.
PathSet FunctionSolver::anythingGiven(uint32_t call, Point at, uint32_t except) {
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
  limit(out);
  return out;
}

// Types that an effect on a model place speaks of: for `self[]` the template
// arguments of self's type, and so on.
std::vector<Str> FunctionSolver::placeTypes(const ModelPlace& mp, uint32_t call) {
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

Str FunctionSolver::placeType(const ModelPlace& mp, uint32_t call) {
  std::vector<Str> t = placeTypes(mp, call);
  return t.size() == 1 ? t.front() : 0;
}

bool FunctionSolver::isRefArg(const Arg& a) const {
  const TypeFact* t = p_.type(a.type);
  if (t && t->kind == TypeKind::Ref) return true;
  return t && t->kind == TypeKind::Class && a.value.kind == ValueKind::Bind && !a.byValue;
}

bool FunctionSolver::looksCallable(const Arg& a) {
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

bool FunctionSolver::looksPointer(const Arg& a) const {
  const TypeFact* t = p_.type(a.type);
  return t && t->kind == TypeKind::Pointer;
}

}  // namespace locktidy
