#include "rules/LockForms.h"

#include <algorithm>

#include "rules/Describe.h"

namespace locktidy {
namespace {

std::string lastName(const std::string& name) {
  size_t at = name.rfind("::");
  return at == std::string::npos ? name : name.substr(at + 2);
}

// `std::lock_guard<std::mutex>` -> `std::lock_guard`, `<std::mutex>`
std::pair<std::string, std::string> splitTemplate(const std::string& text) {
  size_t at = text.find('<');
  if (at == std::string::npos) return {text, ""};
  size_t end = at;
  while (end > 0 && text[end - 1] == ' ') --end;
  return {text.substr(0, end), text.substr(end)};
}

// A trailing accessor: `lock_.get_lock()` -> `.get_lock()`
std::string accessorSuffix(const std::string& text) {
  if (text.size() < 4 || !text.ends_with("()")) return {};
  size_t at = text.size() - 2;
  while (at > 0 && (isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '_')) --at;
  if (at >= 1 && text[at - 1] == '.') return text.substr(at - 1);
  if (at >= 2 && text[at - 2] == '-' && text[at - 1] == '>') return text.substr(at - 2);
  return {};
}

struct Site {
  const Section* section = nullptr;
  const Acquisition* q = nullptr;
  const FunctionFacts* f = nullptr;
  const Call* call = nullptr;
  const LocalInfo* local = nullptr;  // the guard variable
};

Site siteOf(const Solution& s, const Section& section) {
  Site t;
  t.section = &section;
  t.q = &s.acquisition(section);
  t.f = &s.function(section.func);
  t.call = &t.f->calls[t.q->call];
  if (t.q->guardLocal != kNone) t.local = &t.f->locals[t.q->guardLocal];
  return t;
}

Str lockTypeOf(const Solution& s, Str lock) {
  auto it = s.locks.find(lock);
  return it == s.locks.end() ? 0 : it->second.type;
}

// Sections in `mode` that show how it is spelled: of this lock first, then of
// other locks of the same type.
std::vector<Site> examples(const Solution& s, const Section& section, Mode mode) {
  std::vector<Site> own, others;
  Str type = lockTypeOf(s, section.lock);
  for (const Section& o : s.sections) {
    if (o.mode != mode || &o == &section) continue;
    if (o.lock == section.lock) own.push_back(siteOf(s, o));
    else if (type && lockTypeOf(s, o.lock) == type) others.push_back(siteOf(s, o));
  }
  // Same function and file first: the spelling there is sure to be visible.
  auto near = [&](const Site& a, const Site& b) {
    auto rank = [&](const Site& x) { return x.section->loc.file == section.loc.file ? 0 : 1; };
    return rank(a) < rank(b);
  };
  std::stable_sort(own.begin(), own.end(), near);
  std::stable_sort(others.begin(), others.end(), near);
  own.insert(own.end(), others.begin(), others.end());
  return own;
}

// Is the guard's constructor argument for the lock.
const Arg* lockArgument(const Solution& s, const Site& t) {
  if (t.call->args.empty()) return nullptr;
  if (const GuardModel* g = s.models.guard(s.program.className(t.call->selfType)))
    if (g->lockArg >= 0 && static_cast<size_t>(g->lockArg) < t.call->args.size()) return &t.call->args[g->lockArg];
  return &t.call->args[0];
}

bool attrOn(const Solution& s, Str usr, std::string_view kind) {
  auto it = s.program.byUsr.find(usr);
  if (it == s.program.byUsr.end()) return false;
  for (FuncId f : it->second)
    for (const AttrFact& a : s.program.functions[f].attrs)
      if (s.program.text(a.kind) == kind) return true;
  return false;
}

// The lock class itself can be taken in `mode` by a method of that name.
bool hasMethod(const Solution& s, Str type, const std::string& method) {
  const ClassFact* c = s.program.classOfType(type);
  if (const MutexModel* m = s.models.mutex(s.program.className(type))) return m->ops.count(method) != 0;
  if (!c) return false;
  for (Str usr : c->methods) {
    auto it = s.program.byUsr.find(usr);
    if (it != s.program.byUsr.end() &&
        lastName(s.program.text(s.program.functions[it->second.front()].name)) == method)
      return true;
  }
  return false;
}

// Parameter types of the constructor a guard site calls.
std::vector<Str> parameterTypes(const Solution& s, Str ctor) {
  std::vector<Str> out;
  auto it = s.program.byUsr.find(ctor);
  if (it == s.program.byUsr.end()) return out;
  for (const ParamInfo& p : s.program.functions[it->second.front()].params) out.push_back(p.type);
  return out;
}

// A project's guard class that does the same in the other mode: same
// constructor parameters, and its constructor takes the lock in that mode.
const ClassFact* twinGuard(const Solution& s, const Site& t, Mode to) {
  const ClassFact* own = s.program.classOfType(t.call->selfType);
  if (!own) return nullptr;
  std::vector<Str> params = parameterTypes(s, t.call->callee);
  const ClassFact* found = nullptr;
  for (const ClassFact& c : s.program.classes) {
    if (&c == own || c.inSystemHeader || c.isLambda) continue;
    for (Str m : c.methods) {
      auto it = s.program.byUsr.find(m);
      if (it == s.program.byUsr.end()) continue;
      const FunctionFacts& f = s.program.functions[it->second.front()];
      if (!f.isCtor || f.params.empty() || parameterTypes(s, m) != params) continue;
      bool mode = false, otherMode = false;
      for (FuncId id : it->second)
        for (const LockDelta& d : s.engine.summaries[id].acquired) (d.mode == to ? mode : otherMode) = true;
      if (!f.hasBody) {
        for (const AttrFact& a : f.attrs) {
          const std::string& k = s.program.text(a.kind);
          if (k == "acquire_shared_capability") (to == Mode::Shared ? mode : otherMode) = true;
          if (k == "acquire_capability") (to == Mode::Exclusive ? mode : otherMode) = true;
        }
      }
      if (!mode || otherMode) continue;
      // The same namespace or class as its twin: else the name may not reach.
      auto scope = [](const std::string& n) {
        size_t at = n.rfind("::");
        return at == std::string::npos ? std::string() : n.substr(0, at);
      };
      if (scope(s.program.text(c.name)) != scope(s.program.text(own->name))) continue;
      if (found && found != &c) return nullptr;  // several: which is not clear
      found = &c;
    }
  }
  return found;
}

Rewrite cannot(std::string why) {
  Rewrite r;
  r.why = std::move(why);
  return r;
}

Rewrite rewriteMacro(const Solution& s, const Site& t, Mode to) {
  const LocalInfo& l = *t.local;
  if (!l.macroName.valid()) return cannot("the guard comes out of a macro");
  const MacroFact* own = nullptr;
  for (const MacroFact& m : s.program.macros)
    if (m.name == l.macro) own = &m;
  for (const Site& x : examples(s, *t.section, to)) {
    if (!x.local || !x.local->macro || x.local->macro == l.macro || !x.local->macroName.valid()) continue;
    const MacroFact* twin = nullptr;
    for (const MacroFact& m : s.program.macros)
      if (m.name == x.local->macro) twin = &m;
    if (own && twin && own->params.size() != twin->params.size()) continue;
    Rewrite r;
    r.possible = true;
    r.title = s.program.text(l.macro) + " -> " + s.program.text(x.local->macro);
    addEdit(s, l.macroName, s.program.text(x.local->macro), r.edits);
    return r;
  }
  return cannot("the guard comes out of the macro `" + s.program.text(l.macro) + "`, which has no twin for the other mode");
}

Rewrite rewriteGuard(const Solution& s, const Site& t, Mode to) {
  const LocalInfo& l = *t.local;
  if (l.macro) return rewriteMacro(s, t, to);
  if (!l.typeText.valid() || l.isAuto) return cannot("the guard's type is not written where it is declared");
  if (!l.soleDeclarator) return cannot("several guards are declared together");
  const std::string text = s.program.text(l.typeText.text);
  const GuardModel* g = s.models.guard(s.program.className(t.call->selfType));
  if (!g && l.type) g = s.models.guard(s.program.className(l.type));
  Rewrite r;
  r.possible = true;
  Str lockType = lockTypeOf(s, t.section->lock);
  const Arg* arg = lockArgument(s, t);

  bool viaView = false;  // the other mode is reached by an accessor
  if (to == Mode::Shared) {
    const MutexModel* m = s.models.mutex(s.program.className(lockType));
    viaView = m ? !m->hasShared : !hasMethod(s, lockType, "lock_shared");
  } else {
    viaView = t.q->viaView;
  }
  if (viaView) {
    for (const Site& x : examples(s, *t.section, to)) {
      if (!x.local || !x.local->typeText.valid() || x.local->macro || x.local->isAuto) continue;
      const Arg* xarg = lockArgument(s, x);
      if (!xarg || !xarg->text.valid() || !arg || !arg->text.valid()) continue;
      std::string mine = s.program.text(arg->text.text), other = s.program.text(xarg->text.text);
      std::string suffix = accessorSuffix(to == Mode::Shared ? other : mine);
      if (suffix.empty()) continue;
      std::string spelled = s.program.text(x.local->typeText.text);
      addEdit(s, l.typeText, spelled, r.edits);
      addEdit(s, arg->text, to == Mode::Shared ? mine + suffix : mine.substr(0, mine.size() - suffix.size()), r.edits);
      r.title = text + " -> " + spelled;
      return r;
    }
    if (g) return cannot("nobody takes a lock of this type in that mode yet, so its spelling is not known");
  }

  if (g) {
    const std::string& form = to == Mode::Shared ? g->sharedForm : g->exclusiveForm;
    if (form.empty()) return cannot("`" + g->type + "` has no form for that mode");
    auto [head, args] = splitTemplate(text);
    // A project that takes this lock in that mode with a guard of its own.
    for (const Site& x : examples(s, *t.section, to)) {
      if (!x.local || !x.local->typeText.valid() || x.local->macro || x.local->isAuto) continue;
      std::string_view other = s.program.className(x.local->type);
      if (other == form || s.models.guard(other)) break;
      if (x.call->args.size() != t.call->args.size()) continue;
      std::string spelled = s.program.text(x.local->typeText.text);
      r.title = text + " -> " + spelled;
      addEdit(s, l.typeText, spelled, r.edits);
      return r;
    }
    if (head == g->type || head == "::" + g->type) {
      r.title = head + " -> " + form;
      addEdit(s, l.typeText, form + args, r.edits);
      return r;
    }
    if (head == lastName(g->type)) {
      // Unqualified: how the program spells the other form here, else in full.
      std::string spelled = form;
      for (const Site& x : examples(s, *t.section, to))
        if (x.local && x.local->typeText.valid() && x.section->loc.file == t.section->loc.file &&
            splitTemplate(s.program.text(x.local->typeText.text)).first == lastName(form))
          spelled = lastName(form);
      r.title = head + " -> " + spelled;
      addEdit(s, l.typeText, spelled + args, r.edits);
      return r;
    }
    // An alias of the guard: its counterpart, if the program has one here.
    for (const Site& x : examples(s, *t.section, to)) {
      if (!x.local || !x.local->typeText.valid() || x.local->macro || x.local->isAuto) continue;
      const GuardModel* xg = s.models.guard(s.program.className(x.local->type));
      if (!xg || xg->type != form) continue;
      std::string spelled = s.program.text(x.local->typeText.text);
      r.title = text + " -> " + spelled;
      addEdit(s, l.typeText, spelled, r.edits);
      return r;
    }
    std::string lockName = s.program.text(lockType);
    if (lockName.empty() || lockName.find("(anonymous") != std::string::npos)
      return cannot("the guard's type is an alias without a counterpart");
    std::string spelled = form + "<" + lockName + ">";
    r.title = text + " -> " + spelled;
    addEdit(s, l.typeText, spelled, r.edits);
    return r;
  }

  // A guard class of the program.
  auto annotated = [&](Str type) {
    const ClassFact* c = s.program.classOfType(type);
    if (!c) return false;
    for (const AttrFact& a : c->attrs)
      if (s.program.text(a.kind) == "scoped_lockable") return true;
    return false;
  };
  auto warn = [&](Str type) {
    if (!annotated(t.call->selfType) || annotated(type)) return;
    for (const Program::Unit& u : s.program.units)
      if (u.threadSafetyWarnings) {
        r.assumes.push_back("the build accepts a guard without thread-safety annotations (-Wthread-safety is on)");
        return;
      }
  };
  for (const Site& x : examples(s, *t.section, to)) {
    if (!x.local || !x.local->typeText.valid() || x.local->macro || x.local->isAuto) continue;
    if (parameterTypes(s, x.call->callee) != parameterTypes(s, t.call->callee)) continue;
    std::string spelled = s.program.text(x.local->typeText.text);
    r.title = text + " -> " + spelled;
    addEdit(s, l.typeText, spelled, r.edits);
    warn(x.call->selfType);
    return r;
  }
  if (const ClassFact* twin = twinGuard(s, t, to)) {
    const ClassFact* own = s.program.classOfType(t.call->selfType);
    auto [head, args] = splitTemplate(text);
    std::string spelled = head;
    std::string ownName = lastName(s.program.text(own->name)), twinName = lastName(s.program.text(twin->name));
    if (head.ends_with(ownName)) {
      spelled = head.substr(0, head.size() - ownName.size()) + twinName + args;
      r.title = text + " -> " + spelled;
      addEdit(s, l.typeText, spelled, r.edits);
      warn(twin->type);
      return r;
    }
  }
  return cannot("the program has no guard for that mode of this lock");
}

// The name of the method (or function) that does `call` in the other mode.
std::string otherName(const Solution& s, const Call& call, Mode to, bool acquire) {
  const std::string& full = s.program.text(call.name);
  std::string method = lastName(full);
  if (const LockFunctionModel* f = s.models.lockFunction(full)) {
    const std::string& form = to == Mode::Shared ? f->sharedForm : f->exclusiveForm;
    if (!form.empty()) return form;
    return f->op.kind == LockOpKind::Release && f->op.sharedOrExclusive ? full : std::string();
  }
  if (const MutexModel* m = s.models.mutex(s.program.className(call.selfType))) {
    if (to == Mode::Shared) {
      auto it = m->sharedForm.find(method);
      return it == m->sharedForm.end() ? std::string() : it->second;
    }
    for (const auto& [ex, sh] : m->sharedForm)
      if (sh == method) return ex;
    return {};
  }
  static const std::pair<const char*, const char*> kPairs[] = {
      {"lock", "lock_shared"}, {"unlock", "unlock_shared"}, {"try_lock", "try_lock_shared"}};
  for (const auto& [ex, sh] : kPairs) {
    if (to == Mode::Shared && method == ex && hasMethod(s, call.selfType, sh)) return sh;
    if (to == Mode::Exclusive && method == sh && hasMethod(s, call.selfType, ex)) return ex;
  }
  // By annotation, or by what the bodies do.
  const ClassFact* c = s.program.classOfType(call.selfType);
  if (!c) return {};
  std::string found;
  for (Str usr : c->methods) {
    auto it = s.program.byUsr.find(usr);
    if (it == s.program.byUsr.end() || usr == call.callee) continue;
    const FunctionFacts& f = s.program.functions[it->second.front()];
    if (f.params.size() != call.args.size() || f.isCtor || f.isDtor) continue;
    bool fits = false;
    if (acquire) {
      fits = attrOn(s, usr, to == Mode::Shared ? "acquire_shared_capability" : "acquire_capability");
      for (FuncId id : it->second)
        for (const LockDelta& d : s.engine.summaries[id].acquired) fits |= d.mode == to && d.must;
    } else {
      fits = attrOn(s, usr, to == Mode::Shared ? "release_shared_capability" : "release_capability");
    }
    if (!fits) continue;
    std::string name = lastName(s.program.text(f.name));
    if (!found.empty() && found != name) return {};
    found = name;
  }
  if (found.empty() && !acquire) {
    if (attrOn(s, call.callee, "release_generic_capability")) return method;
    // One release for both modes, by the operations in its body.
    auto it = s.program.byUsr.find(call.callee);
    if (it != s.program.byUsr.end())
      for (FuncId id : it->second)
        for (const LockDelta& d : s.engine.summaries[id].released)
          if (d.anyMode && !attrOn(s, call.callee, "release_capability")) return method;
  }
  return found;
}

Rewrite rewriteManual(const Solution& s, const Site& t, Mode to) {
  Rewrite r;
  if (t.call->macro || !t.call->calleeName.valid()) return cannot("the lock call comes out of a macro");
  std::string name = otherName(s, *t.call, to, true);
  if (name.empty()) return cannot("`" + s.program.text(t.call->name) + "` has no counterpart for that mode");
  if (t.q->releases.empty()) return cannot("its release was not found");
  addEdit(s, t.call->calleeName, name, r.edits);
  for (uint32_t rel : t.q->releases) {
    const Call& c = t.f->calls[rel];
    // A release that also ends another acquisition cannot change alone.
    for (const Acquisition& other : s.results[t.section->func].acquisitions)
      if (&other != t.q && other.releases.count(rel)) return cannot("a release belongs to several acquisitions");
    if (c.macro || !c.calleeName.valid()) return cannot("a release comes out of a macro");
    std::string rname = otherName(s, c, to, false);
    if (rname.empty()) return cannot("`" + s.program.text(c.name) + "` has no counterpart for that mode");
    addEdit(s, c.calleeName, rname, r.edits);
  }
  r.possible = true;
  r.title = lastName(s.program.text(t.call->name)) + " -> " + name;
  return r;
}

}  // namespace

bool lockHasSharedMode(const Solution& s, const Section& section) {
  auto it = s.locks.find(section.lock);
  return it != s.locks.end() && it->second.hasShared;
}

Rewrite rewriteMode(const Solution& s, const Section& section, Mode to) {
  Site t = siteOf(s, section);
  if (!t.local || t.call->kind != CallKind::Construct) {
    if (t.q->guard && t.q->guardLocal == kNone) return cannot("the guard is not a local variable");
    if (t.local) return rewriteGuard(s, t, to);
    return rewriteManual(s, t, to);
  }
  return rewriteGuard(s, t, to);
}

}  // namespace locktidy
