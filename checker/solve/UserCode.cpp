// The program's own code that library code runs behind a call: destructors,
// copies, comparisons and hashes of element types, call operators. Models say
// which kind an operation runs; here is which functions that means.

#include <algorithm>

#include "checker/solve/Engine.h"

namespace locktidy {
namespace {

// And arithmetic, which numeric algorithms run.
bool isComparison(std::string_view method) {
  for (std::string_view op : {"operator==", "operator!=", "operator<", "operator>", "operator<=", "operator>=",
                              "operator<=>", "operator+", "operator-", "operator*", "operator/"})
    if (method == op) return true;
  return false;
}
// The customisation points of std, boost and abseil for hashing.
bool isHash(std::string_view method) { return method == "hash_value" || method == "AbslHashValue"; }

}  // namespace

void Engine::addBodies(Str usr, std::vector<FuncId>& out) const {
  if (!usr) return;
  CallTarget t = program.targetsOf(usr);
  out.insert(out.end(), t.bodies.begin(), t.bodies.end());
}

const Engine::Comparisons& Engine::comparisons(Str type) {
  auto [it, fresh] = comparisons_.try_emplace(type);
  if (!fresh) return it->second;
  if (!freeOperatorsKnown_) {
    freeOperatorsKnown_ = true;
    for (FuncId f = 0; f < program.functions.size(); ++f) {
      const FunctionFacts& fn = program.functions[f];
      std::string_view name = lastName(text(fn.name));
      if (fn.ownerType || !fn.hasBody || fn.params.empty() || !(isComparison(name) || isHash(name))) continue;
      for (const ParamInfo& p : fn.params) {
        const TypeFact* t = program.type(p.type);
        if (t && t->kind == TypeKind::Ref) t = program.type(t->pointee);
        if (t && t->kind == TypeKind::Class) freeOperators_[t->name].push_back(f);
      }
    }
  }
  Comparisons out;
  if (auto found = freeOperators_.find(type); found != freeOperators_.end()) out.free = found->second;
  if (const ClassFact* c = program.classOfType(type); c && !c->inSystemHeader)
    for (Str m : c->methods) {
      auto found = program.byUsr.find(m);
      if (found == program.byUsr.end()) continue;
      const FunctionFacts& fn = program.functions[found->second.front()];
      std::string_view name = lastName(text(fn.name));
      if (isComparison(name)) addBodies(m, out.members);
      if (name == "operator()") addBodies(m, out.functors);
    }
  if (Str hash = program.strings.find("std::hash<" + text(type) + ">"))
    if (const ClassFact* c = program.classOfType(hash))
      for (Str m : c->methods) addBodies(m, out.hashes);
  // Library types compare what is in them.
  const ClassFact* c = program.classOfType(type);
  const TypeFact* t = program.type(type);
  if (t && t->kind == TypeKind::Class && (!c || c->inSystemHeader)) out.inner = t->args;
  return comparisons_[type] = std::move(out);
}

const std::vector<FuncId>& Engine::hiddenCallees(Str type) {
  auto [it, fresh] = hidden_.try_emplace(type);
  if (!fresh) return it->second;
  std::vector<FuncId> out;
  const TypeFact* t = program.type(type);
  if (t && t->kind == TypeKind::Class) {
    for (Str a : t->args) {
      const std::vector<FuncId>& inner = hiddenCallees(a);
      out.insert(out.end(), inner.begin(), inner.end());
    }
    if (auto w = program.wrapped.find(type); w != program.wrapped.end())
      for (Str u : w->second) addBodies(u, out);
    if (auto d = program.deleters.find(type); d != program.deleters.end())
      for (Str u : d->second) addBodies(u, out);
    const Comparisons& compare = comparisons(type);
    for (const auto* list : {&compare.free, &compare.members, &compare.functors, &compare.hashes})
      out.insert(out.end(), list->begin(), list->end());
    if (const ClassFact* c = program.classOfType(type)) {
      for (Str u : {c->dtor, c->copyCtor, c->moveCtor, c->copyAssign, c->moveAssign}) addBodies(u, out);
      if (!c->inSystemHeader) {
        addBodies(program.callOperator(type), out);
        for (Str m : c->methods) {
          auto found = program.byUsr.find(m);
          if (found != program.byUsr.end() && program.functions[found->second.front()].isCtor) addBodies(m, out);
        }
        // Members are destroyed and copied with it.
        for (const FieldFact& f : c->fields)
          if (!f.isStatic) {
            const std::vector<FuncId>& inner = hiddenCallees(f.type);
            out.insert(out.end(), inner.begin(), inner.end());
          }
      }
    }
    if (auto d = program.derived.find(type); d != program.derived.end())
      for (Str derived : d->second) {
        const std::vector<FuncId>& inner = hiddenCallees(derived);
        out.insert(out.end(), inner.begin(), inner.end());
      }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return hidden_[type] = std::move(out);
}

bool Engine::ownsLock(Str type) {
  auto [it, fresh] = ownsLock_.try_emplace(type, false);
  if (!fresh) return it->second;
  bool result = false;
  if (const ClassFact* c = program.classOfType(type)) {
    for (const FieldFact& f : c->fields) {
      // Behind pointers, arrays and containers, too.
      Str inner = f.type;
      for (int depth = 0; depth < 4 && inner && !result; ++depth) {
        const TypeFact* t = program.type(inner);
        result = t && isLockClass(t->name);
        inner = !t ? 0 : t->pointee ? t->pointee : t->args.empty() ? 0 : t->args[0];
      }
      if (result) break;
    }
    for (Str base : c->bases) result = result || ownsLock(base);
  }
  return ownsLock_[type] = result;
}

bool Engine::namedByCaller(FuncId func, PathId path, const std::vector<HeldLock>& held) {
  const PathNode& root = paths.rootOf(path);
  if (root.root == Root::Param) {
    if (paths.derefs(path) == 0) return false;
  } else if (root.root != Root::This || ownsLock(program.functions[func].ownerType)) {
    return false;
  }
  // Under a lock that hangs off the same object the function says it all.
  for (const HeldLock& h : held)
    if (paths.base(h.path) == paths.base(path)) return false;
  return true;
}

}  // namespace locktidy
