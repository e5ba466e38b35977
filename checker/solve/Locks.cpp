// What is a lock, what is a guard, and which operation a method does. Models
// come first for library types; the program's own classes are discovered by
// their methods and attributes, so that a project's lock needs no model.

#include "checker/solve/Engine.h"

namespace locktidy {
namespace {

struct NamedOp {
  const char* name;
  LockOpKind kind;
  Mode mode;
  bool timed = false;
};
// The standard's Lockable and SharedLockable vocabulary; what boost and folly
// add to it. Only used for classes that are locks (isLockClass).
constexpr NamedOp kNamedOps[] = {
    {"lock", LockOpKind::Acquire, Mode::Exclusive},
    {"unlock", LockOpKind::Release, Mode::Exclusive},
    {"try_lock", LockOpKind::Try, Mode::Exclusive},
    {"try_lock_for", LockOpKind::Try, Mode::Exclusive, true},
    {"try_lock_until", LockOpKind::Try, Mode::Exclusive, true},
    {"lock_shared", LockOpKind::Acquire, Mode::Shared},
    {"unlock_shared", LockOpKind::Release, Mode::Shared},
    {"try_lock_shared", LockOpKind::Try, Mode::Shared},
    {"try_lock_shared_for", LockOpKind::Try, Mode::Shared, true},
    {"try_lock_shared_until", LockOpKind::Try, Mode::Shared, true},
    {"lock_upgrade", LockOpKind::Acquire, Mode::Upgrade},
    {"unlock_upgrade", LockOpKind::Release, Mode::Upgrade},
};

bool hasAttr(const std::vector<AttrFact>& attrs, const Engine& e, std::string_view kind) {
  for (const AttrFact& a : attrs)
    if (e.text(a.kind) == kind) return true;
  return false;
}

}  // namespace

bool Engine::isLockClass(Str type) {
  auto known = lockClasses_.find(type);
  if (known != lockClasses_.end()) return known->second;
  lockClasses_[type] = false;  // while deciding: a class is no part of itself
  std::string_view name = program.className(type);
  bool result = false;
  if (!name.empty()) {
    if (models.mutex(name)) {
      result = true;
    } else if (models.guard(name)) {
      result = false;
    } else if (const ClassFact* c = program.classOfType(type)) {
      bool lock = false, unlock = false;
      for (Str m : c->methods) {
        auto it = program.byUsr.find(m);
        if (it == program.byUsr.end()) continue;
        const FunctionFacts& f = program.functions[it->second.front()];
        if (!f.params.empty() || f.isStatic || f.isCtor || f.isDtor) continue;
        std::string_view n = lastName(text(f.name));
        lock |= n == "lock" || n == "lock_shared";
        unlock |= n == "unlock" || n == "unlock_shared";
      }
      result = (lock && unlock && !isGuardClass(type)) || hasAttr(c->attrs, *this, "capability");
    }
  }
  lockClasses_[type] = result;
  return result;
}

bool Engine::isGuardClass(Str type) {
  auto known = guardClasses_.find(type);
  if (known != guardClasses_.end()) return known->second;
  guardClasses_[type] = false;
  bool result = false;
  std::string_view name = program.className(type);
  if (!name.empty() && models.guard(name)) {
    result = true;
  } else if (const ClassFact* c = program.classOfType(type)) {
    result = hasAttr(c->attrs, *this, "scoped_lockable");
    for (Str m : c->methods) {
      if (result) break;
      auto it = program.byUsr.find(m);
      if (it == program.byUsr.end()) continue;
      const FunctionFacts& f = program.functions[it->second.front()];
      if (!f.isCtor || f.params.empty()) continue;
      const TypeFact* t = program.type(f.params[0].type);
      if (!t || (t->kind != TypeKind::Ref && t->kind != TypeKind::Pointer)) continue;
      if (t->pointee != type && isLockClass(t->pointee)) result = true;
      // `Access(Box* box) : guard_(box->mu)`: it holds a guard for as long as
      // it lives.
      if (t->pointee != type && !c->isLambda && program.classOfType(t->pointee))
        for (const FieldFact& field : c->fields) result |= !field.isStatic && models.guard(program.className(field.type));
    }
  }
  guardClasses_[type] = result;
  return result;
}

LockOp Engine::methodOp(const Call& call) {
  LockOp none;
  if (!call.hasSelf || call.kind == CallKind::Construct || call.kind == CallKind::Destroy) return none;
  std::string_view cls = program.className(call.selfType);
  std::string_view method = lastName(text(call.name));
  // The model speaks of the class that declares the method, too (a base).
  std::string_view full = text(call.name);
  std::string_view declaring = full.size() > method.size() + 2 ? full.substr(0, full.size() - method.size() - 2) : "";
  for (std::string_view name : {cls, declaring})
    if (const MutexModel* m = name.empty() ? nullptr : models.mutex(name)) {
      auto it = m->ops.find(std::string(method));
      return it == m->ops.end() ? none : it->second;
    }
  if (!isLockClass(call.selfType)) return none;
  auto it = program.byUsr.find(call.callee);
  const FunctionFacts* f = it == program.byUsr.end() ? nullptr : &program.functions[it->second.front()];
  if (f) {
    struct { const char* attr; LockOpKind kind; Mode mode; bool generic; } kAttrs[] = {
        {"acquire_capability", LockOpKind::Acquire, Mode::Exclusive, false},
        {"acquire_shared_capability", LockOpKind::Acquire, Mode::Shared, false},
        {"release_capability", LockOpKind::Release, Mode::Exclusive, true},
        {"release_shared_capability", LockOpKind::Release, Mode::Shared, false},
        {"release_generic_capability", LockOpKind::Release, Mode::Exclusive, true},
        {"try_acquire_capability", LockOpKind::Try, Mode::Exclusive, false},
        {"try_acquire_shared_capability", LockOpKind::Try, Mode::Shared, false},
    };
    for (const FunctionFacts* g = f; g; g = nullptr)
      for (const AttrFact& a : g->attrs)
        for (const auto& k : kAttrs)
          if (text(a.kind) == k.attr && (a.args.empty() || a.args[0].root == Root::This)) {
            LockOp op;
            op.kind = k.kind;
            op.mode = k.mode;
            op.sharedOrExclusive = k.generic;
            return op;
          }
  }
  if (!call.args.empty() && !(method.starts_with("try_lock") && method.ends_with("for"))) {
    if (!method.starts_with("try_lock")) return none;
  }
  for (const NamedOp& n : kNamedOps)
    if (method == n.name) {
      LockOp op;
      op.kind = n.kind;
      op.mode = n.mode;
      op.timed = n.timed;
      // A `lock()` whose body only locks something shared is a view (RULES.md 3).
      if (n.kind == LockOpKind::Acquire && n.mode == Mode::Exclusive && f && f->hasBody) {
        bool shared = false, exclusive = false;
        for (FuncId id : it->second)
          for (const LockDelta& d : summaries[id].acquired) (d.mode == Mode::Shared ? shared : exclusive) = true;
        if (shared && !exclusive) op.mode = Mode::Shared;
      }
      if (n.kind == LockOpKind::Release && n.mode == Mode::Exclusive) op.sharedOrExclusive = true;
      return op;
    }
  return none;
}

bool Engine::hasSharedMode(Str type) {
  std::string_view name = program.className(type);
  if (name.empty()) return false;
  if (const MutexModel* m = models.mutex(name)) return m->hasShared;
  const ClassFact* c = program.classOfType(type);
  if (!c || !isLockClass(type)) return false;
  for (Str m : c->methods) {
    auto it = program.byUsr.find(m);
    if (it == program.byUsr.end()) continue;
    const FunctionFacts& f = program.functions[it->second.front()];
    if (lastName(text(f.name)) == "lock_shared") return true;
    if (hasAttr(f.attrs, *this, "acquire_shared_capability")) return true;
    // A view: an accessor that returns a lockable part of this lock.
    if (f.returnsRef && f.params.empty() && !f.isStatic) {
      const TypeFact* t = program.type(f.returnType);
      if (t && t->kind == TypeKind::Ref && t->pointee != type && isLockClass(t->pointee)) return true;
    }
  }
  return false;
}

Str Engine::typeOf(PathId path, FuncId func) {
  const PathNode n = paths.at(path);
  const FunctionFacts& f = program.functions[func];
  switch (n.kind) {
    case StepKind::Root:
      switch (n.root) {
        case Root::This:
          return f.ownerType;
        case Root::Param:
          return n.index < f.params.size() ? f.params[n.index].type : 0;
        case Root::Local:
          return n.index < f.locals.size() ? f.locals[n.index].type : 0;
        case Root::Global: {
          const GlobalFact* g = program.global(n.entity);
          return g ? g->type : 0;
        }
        case Root::Result:
          return n.index < f.calls.size() ? f.calls[n.index].resultType : 0;
        default:
          return 0;
      }
    case StepKind::Field: {
      const FieldFact* fact = program.field(n.entity);
      return fact ? fact->type : 0;
    }
    case StepKind::Elem:
    case StepKind::Deref: {
      const TypeFact* t = program.type(typeOf(n.parent, func));
      if (!t) return 0;
      if (t->kind == TypeKind::Ref && n.kind == StepKind::Elem) t = program.type(t->pointee);
      if (!t) return 0;
      if (t->pointee) return t->pointee;
      if (t->kind != TypeKind::Class || t->args.empty()) return 0;
      // Containers and smart pointers: the element is the first argument. Maps
      // have two, and their elements are pairs: not known here.
      std::string_view name = text(t->clsName);
      if (name.find("map") != std::string_view::npos) return 0;
      return t->args[0];
    }
    case StepKind::Any:
      return 0;
  }
  return 0;
}

bool Engine::holdsMany(Str type) const {
  const TypeFact* t = program.type(type);
  if (t && t->kind == TypeKind::Ref) t = program.type(t->pointee);
  if (!t || t->kind == TypeKind::Array) return t != nullptr;
  if (t->kind == TypeKind::Pointer) return true;
  std::string_view name = text(t->clsName);
  return t->kind == TypeKind::Class && !models.isUniqueOwner(name) && !models.isCountedPointer(name) &&
         lastName(name) != "optional";
}

bool Engine::pointsNowhere(Str type) const {
  const TypeFact* t = program.type(type);
  return t && t->kind == TypeKind::Class && models.ownsElements(text(t->clsName));
}

PathId Engine::outermostLock(PathId path, FuncId func, bool* view) {
  PathId best = path;
  auto isLock = [&](PathId p) {
    const TypeFact* t = program.type(typeOf(p, func));
    return t && t->kind == TypeKind::Class && isLockClass(t->name);
  };
  for (PathId p = path; paths.at(p).kind != StepKind::Root;) {
    PathId up = paths.at(p).parent;
    if (paths.at(p).kind == StepKind::Deref) {
      // Containment ends here, but for a lock that keeps its parts behind a
      // pointer member of its own (an array with a lock per CPU).
      if (paths.at(up).kind != StepKind::Field) break;
      up = paths.at(up).parent;
      if (!isLock(up)) break;
    }
    if (isLock(up)) best = up;
    p = up;
  }
  if (view) *view = best != path;
  return best;
}

Str Engine::lockClass(PathId path) const {
  for (PathId p = path; p; p = paths.at(p).parent) {
    const PathNode& n = paths.at(p);
    if (n.kind == StepKind::Field) return n.entity;
    if (n.kind == StepKind::Deref) return 0;
    if (n.kind == StepKind::Root) return n.root == Root::Global ? n.entity : 0;
  }
  return 0;
}

void Engine::findRefCounts() {
  // A count of references is an atomic that is stepped down in a function that
  // also deletes, and stepped nowhere else by more than takes and drops. The
  // summary gives both: atomic writes through This or a pointer, and a Destroy
  // or `operator delete` in the same function or its caller one level up.
  auto atomicFields = [&](FuncId id, std::vector<Str>& out) {
    for (const Effect& e : summaries[id].effects)
      if (e.kind == Eff::AtomicWrite && e.rmw)
        for (PathId p = e.path; p; p = paths.at(p).parent)
          if (paths.at(p).kind == StepKind::Field) {
            // The counter itself, not a member of std::atomic.
            out.push_back(paths.at(p).entity);
            break;
          }
  };
  for (FuncId id = 0; id < program.functions.size(); ++id) {
    const FunctionFacts& f = program.functions[id];
    if (!f.hasBody) continue;
    bool deletes = false;
    for (const Call& c : f.calls) {
      std::string_view n = text(c.name);
      deletes |= n == "operator delete" || n == "free";
      // `Traits::Destruct(this)`: a callee that deletes what it is given.
      if (!deletes && c.kind == CallKind::Direct)
        for (FuncId t : program.targetsOf(c.callee).bodies)
          for (const Call& inner : program.functions[t].calls) {
            std::string_view m = text(inner.name);
            deletes |= m == "operator delete" && program.functions[t].calls.size() <= 4;
          }
    }
    if (!deletes || f.calls.size() > 12) continue;
    std::vector<Str> counters;
    atomicFields(id, counters);
    // Only where the count is what guards the deletion: few atomics in sight.
    if (counters.size() <= 4) refCounts.insert(counters.begin(), counters.end());
  }
}

std::string Engine::describe(PathId path) const {
  const PathNode& n = paths.at(path);
  switch (n.kind) {
    case StepKind::Root:
      switch (n.root) {
        case Root::This: return "this";
        case Root::Global: {
          const GlobalFact* g = program.global(n.entity);
          return g ? text(g->name) : text(n.entity);
        }
        case Root::Param: return "argument " + std::to_string(n.index + 1);
        case Root::Unknown: return "(unknown)";
        default: return "(local)";
      }
    case StepKind::Field: {
      const FieldFact* f = program.field(n.entity);
      std::string name = f ? text(f->name) : text(n.entity);
      const PathNode& parent = paths.at(n.parent);
      if (parent.kind == StepKind::Root && parent.root == Root::This) return name;
      if (parent.kind == StepKind::Deref) return describe(parent.parent) + "->" + name;
      return describe(n.parent) + "." + name;
    }
    case StepKind::Elem: return describe(n.parent) + "[]";
    case StepKind::Deref: return "*" + describe(n.parent);
    case StepKind::Any: return describe(n.parent) + "...";
  }
  return {};
}

}  // namespace locktidy
