#include "rules/mutex-could-be-shared/Edits.h"

#include <algorithm>
#include <cctype>

#include "rules/Describe.h"

namespace locktidy {
namespace {

std::string lastPart(const std::string& name) { return std::string(lastName(name)); }
std::string scopeOf(const std::string& name) {
  size_t at = name.rfind("::");
  return at == std::string::npos ? std::string() : name.substr(0, at + 2);
}
bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// `text` with the name `from`, in full or without its scope, replaced by `to`
// (in full: a using-declaration that reaches the one need not reach the other).
// False if it is not there.
bool replaceName(std::string& text, const std::string& from, const std::string& to) {
  std::string word = lastPart(from), scope = scopeOf(from), out;
  bool found = false;
  size_t at = 0;
  for (size_t hit; (hit = text.find(word, at)) != std::string::npos;) {
    size_t end = hit + word.size();
    bool whole = (hit == 0 || !isWord(text[hit - 1])) && (end == text.size() || !isWord(text[end]));
    bool qualified = hit >= 2 && text.compare(hit - 2, 2, "::") == 0;
    size_t begin = hit;
    if (whole && qualified) {
      whole = !scope.empty() && hit >= scope.size() && text.compare(hit - scope.size(), scope.size(), scope) == 0 &&
              (hit == scope.size() || !isWord(text[hit - scope.size() - 1]));
      begin = hit - (whole ? scope.size() : 0);
    }
    out += text.substr(at, (whole ? begin : end) - at);
    if (whole) out += to, found = true;
    at = end;
  }
  text = out + text.substr(at);
  return found;
}

struct Placed {  // anchors of one text, told apart by place
  static std::pair<uint32_t, uint32_t> key(const Anchor& a) { return {a.begin.file, a.begin.offset}; }
};

class Editor {
 public:
  Editor(const Solution& s, const SharedLock& lock) : s_(s), p_(s.program), lock_(lock) {}

  SharedEdits run() {
    for (const LockClass* c : lock_.classes) declarations(*c);
    for (const LockUse& use : lock_.uses) this->use(use);
    for (const Section* x : lock_.readers) section(*x, true);
    for (const Section* x : lock_.others) section(*x, false);
    annotations();
    if (out_.why.empty()) includes();
    out_.possible = out_.why.empty() && !out_.edits.empty();
    if (!out_.possible) out_.edits.clear(), out_.includes.clear();
    return std::move(out_);
  }

 private:
  void cannot(const std::string& why) {
    if (out_.why.empty()) out_.why = why;
  }
  void edit(const Anchor& a, const std::string& text) {
    for (const Edit& have : out_.edits)
      if (have.offset == a.begin.offset && have.file == p_.text(p_.files[a.begin.file].path) && have.newText != text)
        return cannot("two sections need different texts at one place");
    addEdit(s_, a, text, out_.edits);
  }
  std::string at(const Loc& loc) const {
    return loc.valid() ? p_.text(p_.files[loc.file].path) + ":" + std::to_string(loc.line) : std::string("?");
  }

  // ---- aliases ---------------------------------------------------------------
  // The alias that `text`, written for a type with the canonical name `type`, is.
  const AliasFact* aliasOf(const std::string& text, Str type) const {
    for (const AliasFact& a : p_.aliases)
      if (a.type == type && a.typeText.valid() && lastPart(p_.text(a.name)) == lastPart(text)) return &a;
    return nullptr;
  }
  // Is everything that is seen to be declared by this alias part of the lock?
  bool onlyOurs(const AliasFact& alias) {
    if (ours_.empty()) {
      auto own = [&](const Anchor& a) {
        if (a.valid()) ours_.insert(Placed::key(a));
      };
      for (const LockClass* c : lock_.classes) {
        if (const FieldFact* f = p_.field(c->id)) own(f->typeText);
        if (const GlobalFact* g = p_.global(c->id)) {
          own(g->typeText);
          for (const Anchor& a : g->otherTypeTexts) own(a);
        }
        for (uint32_t i : c->sections)
          if (const Acquisition& q = s_.acquisition(s_.sections[i]); q.guardLocal != kNone) {
            const FunctionFacts& f = s_.function(s_.sections[i].func);
            own(f.locals[q.guardLocal].typeText);
            for (const auto& [call, arg] : q.tokens)
              if (auto it = p_.byUsr.find(f.calls[call].callee); it != p_.byUsr.end())
                for (FuncId id : it->second) own(p_.functions[id].params[arg].typeText), own(p_.functions[id].params[arg].otherTypeText);
          }
      }
    }
    std::string name = lastPart(p_.text(alias.name));
    bool only = true;
    auto check = [&](const Anchor& a, Str) {
      if (!a.valid() || !only) return;
      std::string text = p_.text(a.text);
      if (text.find(name) == std::string::npos) return;
      std::string probe = text;
      if (replaceName(probe, name, name)) only &= ours_.count(Placed::key(a)) != 0;
    };
    for (const FunctionFacts& f : p_.functions) {
      for (const LocalInfo& l : f.locals) check(l.typeText, l.type);
      for (const ParamInfo& q : f.params) check(q.typeText, q.type), check(q.otherTypeText, q.type);
    }
    for (const ClassFact& c : p_.classes)
      for (const FieldFact& f : c.fields) check(f.typeText, f.type);
    for (const GlobalFact& g : p_.globals) check(g.typeText, g.type);
    for (const AliasFact& a : p_.aliases)
      if (&a != &alias) check(a.typeText, a.type);
    return only;
  }

  // The text of a declared type with the lock's type replaced. `type`: what it
  // means. False with a reason if it cannot be done.
  bool retyped(const Anchor& a, Str type, const std::string& what) {
    if (!a.valid()) return cannot(what + " is not written in plain text"), false;
    std::string text = p_.text(a.text);
    if (replaceName(text, lock_.oldType, lock_.newType)) return edit(a, text), true;
    // `lock_guard<Mutex>`: the alias changes itself, or it is written out.
    for (const AliasFact& alias : p_.aliases) {
      std::string name = lastPart(p_.text(alias.name));
      if (p_.text(alias.type) != lock_.oldType || text == name || text.ends_with("::" + name)) continue;
      if (!replaceName(text, name, lock_.newType)) continue;
      if (onlyOurs(alias)) return retyped(alias.typeText, 0, "`" + p_.text(alias.name) + "`");
      return edit(a, text), true;
    }
    if (const AliasFact* alias = aliasOf(text, type)) {
      if (onlyOurs(*alias)) return retyped(alias->typeText, 0, "`" + p_.text(alias->name) + "`");
      // Others use the alias: this one is written out.
      std::string spelled = p_.text(type);
      if (spelled.find("(anonymous") == std::string::npos && replaceName(spelled, lock_.oldType, lock_.newType))
        return edit(a, spelled), true;
    }
    cannot(what + " does not name `" + lock_.oldType + "`");
    return false;
  }

  // ---- the declaration -------------------------------------------------------
  void declarations(const LockClass& c) {
    std::set<std::pair<uint32_t, uint32_t>> places;
    if (const FieldFact* f = p_.field(c.id)) {
      if (!isLockOrArray(f->type)) return cannot("the lock is reached by a pointer or handle");
      const ClassFact* owner = p_.fieldOwner(c.id);
      for (const FieldFact& other : owner->fields)
        if (other.usr != f->usr && other.typeText.valid() && Placed::key(other.typeText) == Placed::key(f->typeText))
          return cannot("the lock is declared together with others");
      if (!retyped(f->typeText, f->type, "the lock's declaration")) return;
      places.insert(Placed::key(f->typeText));
    }
    if (const GlobalFact* g = p_.global(c.id)) {
      if (!isLockOrArray(g->type)) return cannot("the lock is reached by a pointer or handle");
      for (const GlobalFact& other : p_.globals)
        if (other.usr != g->usr && other.typeText.valid() && Placed::key(other.typeText) == Placed::key(g->typeText))
          return cannot("the lock is declared together with others");
      std::vector<Anchor> all = g->otherTypeTexts;
      all.push_back(g->typeText);
      for (const Anchor& a : all) {
        if (a.valid() && places.count(Placed::key(a))) continue;
        if (!retyped(a, g->type, "a declaration of the lock")) return;
      }
    }
    for (const InitMacro& m : p_.initMacros) {
      if (m.entity != c.id) continue;
      const MutexModel* model = s_.models.mutex(lock_.oldType);
      auto it = model->initializers.find(p_.text(m.name.text));
      if (it == model->initializers.end())
        return cannot("its initialiser `" + p_.text(m.name.text) + "` has no counterpart");
      edit(m.name, it->second);
    }
  }
  bool isLockOrArray(Str type) const {
    const TypeFact* t = p_.type(type);
    while (t && t->kind == TypeKind::Array) t = p_.type(t->pointee);
    if (!t) return false;
    if (p_.text(t->clsName) == lock_.oldType || p_.className(t->name) == lock_.oldType) return true;
    return t->kind == TypeKind::Class && !t->args.empty() && s_.models.ownsElements(p_.text(t->clsName)) &&
           isLockOrArray(t->args[0]);
  }

  // ---- uses ------------------------------------------------------------------
  void use(const LockUse& u) {
    const FunctionFacts& f = p_.functions[u.func];
    switch (u.kind) {
      case UseKind::Lifetime:
      case UseKind::Guard: break;   // with their sections
      case UseKind::Method:
        if (f.calls[u.call].macro) cannot("a macro works on the lock at " + at(u.loc));
        break;
      case UseKind::Function: function(u); break;
      case UseKind::Bound: {
        const LocalInfo& l = f.locals[u.local];
        if (l.name && !l.isAuto) retyped(l.typeText, 0, "the reference at " + at(l.loc));
        break;
      }
      case UseKind::Passed:
        cannot("`" + p_.text(f.calls[u.call].name) + "` takes the lock by its type at " + at(u.loc));
        break;
      case UseKind::Other: cannot("it is used in another way at " + at(u.loc)); break;
    }
  }

  // pthread_mutex_init(&mu, NULL) and the like; sections do lock and unlock.
  void function(const LockUse& u) {
    const Call& c = p_.functions[u.func].calls[u.call];
    const LockFunctionModel* m = s_.models.lockFunction(p_.text(c.name));
    if (c.macro || !c.calleeName.valid()) return cannot("a macro works on the lock at " + at(u.loc));
    if (m->exclusiveForm.empty()) return cannot("`" + m->name + "` has no counterpart");
    functions_.push_back({u.func, u.call});
  }

  // ---- sections --------------------------------------------------------------
  void section(const Section& x, bool reads) {
    const Acquisition& q = s_.acquisition(x);
    const FunctionFacts& f = p_.functions[x.func];
    const Call& c = f.calls[q.call];
    if (q.guardEscapes) return cannot("the guard at " + at(x.loc) + " goes on to others by its type");
    if (const LockFunctionModel* m = s_.models.lockFunction(p_.text(c.name))) {
      calls(x, q, m, reads);
    } else if (q.guardLocal != kNone) {
      guard(f.locals[q.guardLocal], c, reads);
      for (const auto& [call, arg] : q.tokens) token(f.calls[call], arg, reads);
    } else if (q.guard) {
      cannot("the guard at " + at(x.loc) + " is no local variable");
    } else if (reads) {
      methods(x, q);
    }
  }

  void calls(const Section& x, const Acquisition& q, const LockFunctionModel* m, bool reads) {
    const FunctionFacts& f = p_.functions[x.func];
    const std::string& form = reads ? m->sharedForm : m->exclusiveForm;
    if (form.empty()) return cannot("`" + m->name + "` has no counterpart");
    renamed_[{x.func, q.call}] = form;
    for (uint32_t r : q.releases)
      if (const LockFunctionModel* release = s_.models.lockFunction(p_.text(f.calls[r].name)))
        renamed_[{x.func, r}] = reads ? release->sharedForm : release->exclusiveForm;
  }

  void methods(const Section& x, const Acquisition& q) {
    const FunctionFacts& f = p_.functions[x.func];
    const MutexModel* replacement = s_.models.mutex(lock_.newType);
    std::vector<uint32_t> all(q.releases.begin(), q.releases.end());
    if (all.empty()) return cannot("the release of the lock taken at " + at(x.loc) + " was not found");
    all.push_back(q.call);
    for (uint32_t i : all) {
      const Call& c = f.calls[i];
      for (const Acquisition& other : s_.results[x.func].acquisitions)
        if (&other != &q && other.releases.count(i)) return cannot("a release belongs to several acquisitions");
      if (c.macro || !c.calleeName.valid()) return cannot("a macro works on the lock at " + at(x.loc));
      auto it = replacement ? replacement->sharedForm.find(lastPart(p_.text(c.name))) : decltype(replacement->sharedForm.end())();
      if (!replacement || it == replacement->sharedForm.end())
        return cannot("`" + p_.text(c.name) + "` has no shared counterpart");
      edit(c.calleeName, it->second);
    }
  }

  void guard(const LocalInfo& l, const Call& c, bool reads) {
    const GuardModel* g = s_.models.guard(p_.className(c.selfType));
    if (!g) g = s_.models.guard(p_.className(l.type));
    if (!g) return cannot("the guard at " + at(l.loc) + " belongs to the program");
    if (l.macro) return cannot("the guard at " + at(l.loc) + " comes out of the macro `" + p_.text(l.macro) + "`");
    const Anchor& a = l.isAuto ? l.initTypeText : l.typeText;
    if (!a.valid()) return cannot("the guard's type is not written at " + at(l.loc));
    if (!l.soleDeclarator) return cannot("several guards are declared together at " + at(l.loc));
    std::string text = p_.text(a.text), rest = p_.text(l.declText.text);
    // `lock_guard<std::mutex> g = lock_guard<std::mutex>(mu_);`
    if (!l.isAuto && rest.size() > text.size() && rest.find(lock_.oldType, text.size()) != std::string::npos)
      return cannot("the guard at " + at(l.loc) + " names its type twice");
    if (!reads) {
      // Without arguments they are deduced; decltype(mu_) follows by itself.
      if (text == g->type || text == lastPart(g->type) || text.find("decltype") != std::string::npos) return;
      retyped(a, l.type ? l.type : c.selfType, "the guard at " + at(l.loc));
      return;
    }
    if (g->sharedForm.empty()) return cannot("`" + g->type + "` has no shared form");
    size_t open = text.find('<');
    std::string head = text.substr(0, open), args = open == std::string::npos ? "" : text.substr(open);
    while (!head.empty() && head.back() == ' ') head.pop_back();
    bool named = head == g->type || head == "::" + g->type || head == lastPart(g->type);
    if (!named) {
      args = "<" + lock_.newType + ">";  // an alias: written out
    } else if (!args.empty() && args.find("decltype") == std::string::npos && !replaceName(args, lock_.oldType, lock_.newType)) {
      // `lock_guard<Mutex>` with an alias of the lock's type.
      args = "<" + lock_.newType + ">";
    }
    edit(a, g->sharedForm + args);
  }

  // A parameter that takes the guard as a proof gets the guard's new type.
  void token(const Call& c, uint32_t arg, bool reads) {
    auto [it, fresh] = tokens_.emplace(std::make_pair(c.callee, arg), reads);
    const std::string name = p_.text(c.name);
    if (it->second != reads) return cannot("`" + name + "` is given guards of both kinds");
    if (!fresh) return;
    for (const AddressTaken& a : p_.addressTaken)
      if (a.function == c.callee) return cannot("the address of `" + name + "` is taken");
    auto found = p_.byUsr.find(c.callee);
    if (found == p_.byUsr.end()) return;
    for (FuncId id : found->second) {
      const ParamInfo& param = p_.functions[id].params[arg];
      if (param.moreDeclared) return cannot("`" + name + "` is declared several times");
      for (const Anchor* a : {&param.typeText, &param.otherTypeText}) {
        if (a == &param.otherTypeText && !a->valid()) continue;
        if (!a->valid()) return cannot("the parameter of `" + name + "` is not written in plain text");
        const TypeFact* ref = p_.type(param.type);
        Str type = ref && ref->pointee ? ref->pointee : param.type;
        if (!reads) {
          retyped(*a, type, "the parameter of `" + name + "`");
          continue;
        }
        const GuardModel* g = s_.models.guard(p_.className(type));
        if (!g || g->sharedForm.empty()) return cannot("the parameter of `" + name + "` has no shared form");
        edit(*a, g->sharedForm + "<" + lock_.newType + ">");
      }
    }
    // Everybody who calls it passes one of these guards.
    for (FuncId id = 0; id < p_.functions.size(); ++id) {
      const FunctionFacts& f = p_.functions[id];
      for (uint32_t i = 0; i < f.calls.size(); ++i)
        if (f.calls[i].callee == c.callee && !passesToken(id, i, arg, reads))
          return cannot("`" + name + "` is also called with another guard");
    }
  }
  bool passesToken(FuncId func, uint32_t call, uint32_t arg, bool reads) const {
    for (const Section* x : reads ? lock_.readers : lock_.others)
      if (x->func == func && s_.acquisition(*x).tokens.count({call, arg})) return true;
    return false;
  }

  // Helpers that say they need the lock, called where it is shared now.
  void annotations() {
    std::set<Str> ids;
    for (const LockClass* c : lock_.classes) ids.insert(c->id);
    for (const FunctionFacts& f : p_.functions)
      for (const AttrFact& a : f.attrs) {
        if (p_.text(a.kind) != "requires_capability") continue;
        bool ours = false;
        for (Str id : ids) ours |= namesLock(a, id);
        if (!ours || !calledByReaders(f)) continue;
        if (!a.written.valid()) return cannot("`" + p_.text(f.name) + "` requires the lock by an attribute that is not in plain sight");
        std::string shared = sharedName(p_.text(a.written.text));
        if (shared.empty()) return cannot("`" + p_.text(a.written.text) + "` has no twin for shared locks");
        edit(a.written, shared);
      }
    for (const auto& [site, form] : renamed_) functionEdit(site.first, site.second, form);
    for (const auto& [func, call] : functions_)
      if (!renamed_.count({func, call})) {
        const Call& c = p_.functions[func].calls[call];
        functionEdit(func, call, s_.models.lockFunction(p_.text(c.name))->exclusiveForm);
      }
  }
  void functionEdit(FuncId func, uint32_t call, const std::string& form) {
    const Call& c = p_.functions[func].calls[call];
    if (form.empty() || c.macro || !c.calleeName.valid()) return cannot("a macro works on the lock at " + at(c.loc));
    edit(c.calleeName, form);
  }
  std::string sharedName(const std::string& written) const {
    if (written == "requires_capability") return "requires_shared_capability";
    if (written == "exclusive_locks_required") return "shared_locks_required";
    for (const MacroFact& m : p_.macros) {
      const std::string& name = p_.text(m.name);
      std::string twin = written;
      size_t exclusive = twin.find("EXCLUSIVE");
      if (exclusive != std::string::npos) twin.replace(exclusive, 9, "SHARED");
      if ((name == written + "_SHARED" || (twin != written && name == twin)) && p_.text(m.body).find("shared") != std::string::npos)
        return name;
    }
    return {};
  }
  bool calledByReaders(const FunctionFacts& callee) const {
    for (const Section* x : lock_.readers) {
      const FunctionFacts& f = p_.functions[x->func];
      const Acquisition& q = s_.acquisition(*x);
      for (uint32_t b : q.blocks)
        for (const Event& e : f.blocks[b].events)
          if (e.kind == EventKind::Call && f.calls[e.call].callee == callee.usr) return true;
    }
    return false;
  }

  // ---- includes --------------------------------------------------------------
  void includes() {
    const MutexModel* old = s_.models.mutex(lock_.oldType);
    if (!old || lock_.header.empty() || lock_.header == "<pthread.h>") return;
    std::set<std::pair<std::string, std::string>> needed;
    for (const Edit& e : out_.edits) {
      if (e.newText.find(lastPart(lock_.newType)) != std::string::npos) needed.insert({e.file, lock_.header});
      if (e.newText.find("std::shared_lock") != std::string::npos) needed.insert({e.file, "<shared_mutex>"});
    }
    for (const auto& [file, header] : needed) out_.includes.push_back({file, header});
  }

  const Solution& s_;
  const Program& p_;
  const SharedLock& lock_;
  SharedEdits out_;
  std::set<std::pair<uint32_t, uint32_t>> ours_;
  std::map<std::pair<Str, uint32_t>, bool> tokens_;
  std::vector<std::pair<FuncId, uint32_t>> functions_;
  std::map<std::pair<FuncId, uint32_t>, std::string> renamed_;
};

}  // namespace

SharedEdits sharedEdits(const Solution& s, const SharedLock& lock) { return Editor(s, lock).run(); }

}  // namespace locktidy
