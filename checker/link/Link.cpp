// Linking: remaps every unit's strings and files into one table, drops equal
// copies, and builds the indexes of Program.h.
//
// Order: functions are sorted by USR text and content, everything else by
// text, so that ids and all output are the same for any order of units.

#include <algorithm>
#include <functional>
#include <set>

#include "checker/link/Program.h"
#include "checker/model/FactsIo.h"

namespace locktidy {
namespace {

// Rewrites the string and file ids of one unit's facts.
class Remap {
 public:
  std::vector<Str> strings;
  std::vector<uint32_t> files;

  void operator()(Str& s) const { s = strings[s]; }
  void loc(Loc& l) const {
    if (l.file != kNone) l.file = l.file < files.size() ? files[l.file] : kNone;
  }
  void anchor(Anchor& a) const {
    loc(a.begin);
    (*this)(a.text);
  }
  void path(Path& p) const {
    (*this)(p.entity);
    for (Step& s : p.steps) {
      (*this)(s.field);
      (*this)(s.index);
    }
  }
  void list(std::vector<Str>& v) const {
    for (Str& s : v) (*this)(s);
  }
  void attrs(std::vector<AttrFact>& v) const {
    for (AttrFact& a : v) {
      (*this)(a.kind);
      (*this)(a.successValue);
      for (Path& p : a.args) path(p);
      anchor(a.written);
    }
  }
  void function(FunctionFacts& f) const {
    for (Str* s : {&f.usr, &f.name, &f.display, &f.owner, &f.ownerType, &f.signature, &f.opaqueReason,
                   &f.parent, &f.returnType})
      (*this)(*s);
    list(f.overrides);
    for (ParamInfo& p : f.params) {
      (*this)(p.name);
      (*this)(p.type);
      anchor(p.typeText);
      anchor(p.otherTypeText);
    }
    attrs(f.attrs);
    for (LocalInfo& l : f.locals) {
      for (Str* s : {&l.name, &l.type, &l.macro}) (*this)(*s);
      loc(l.loc);
      for (Anchor* a : {&l.typeText, &l.initTypeText, &l.declText, &l.macroName, &l.macroCall}) anchor(*a);
    }
    for (Call& c : f.calls) {
      for (Str* s : {&c.callee, &c.name, &c.signature, &c.selfType, &c.resultType, &c.macro}) (*this)(*s);
      path(c.self);
      path(c.target.path);
      for (Arg& a : c.args) {
        path(a.value.path);
        (*this)(a.type);
        (*this)(a.constant);
        anchor(a.text);
      }
      loc(c.loc);
      loc(c.nameLoc);
      anchor(c.calleeName);
      anchor(c.whole);
    }
    for (Block& b : f.blocks)
      for (Event& e : b.events) {
        path(e.place);
        path(e.value.path);
        for (Str* s : {&e.type, &e.op, &e.note}) (*this)(*s);
        loc(e.loc);
      }
    loc(f.loc);
    loc(f.bodyBegin);
    loc(f.bodyEnd);
  }
  void cls(ClassFact& c) const {
    for (Str* s : {&c.usr, &c.name, &c.type, &c.copyCtor, &c.moveCtor, &c.copyAssign, &c.moveAssign, &c.dtor})
      (*this)(*s);
    list(c.bases);
    list(c.methods);
    list(c.friends);
    list(c.captures);
    for (FieldFact& f : c.fields) {
      for (Str* s : {&f.usr, &f.name, &f.type}) (*this)(*s);
      attrs(f.attrs);
      loc(f.loc);
      anchor(f.typeText);
    }
    attrs(c.attrs);
    loc(c.loc);
  }
};

// A content hash for merging equal bodies. Collisions would merge different
// bodies, so 128 bits of two independent mixes.
struct Hash {
  uint64_t a = 0xcbf29ce484222325ull, b = 0x9e3779b97f4a7c15ull;
  void add(uint64_t v) {
    a = (a ^ v) * 0x100000001b3ull;
    b += v + 0x7f4a7c15u;
    b ^= b >> 29;
    b *= 0xbf58476d1ce4e5b9ull;
    b ^= b >> 32;
  }
  void loc(const Loc& l) {
    add(l.file);
    add((uint64_t{l.line} << 32) | l.col);
  }
  void path(const Path& p) {
    add(static_cast<uint64_t>(p.root) << 32 | p.index);
    add(p.entity);
    for (const Step& s : p.steps) {
      add(static_cast<uint64_t>(s.sel) << 32 | s.field);
      add(s.index);
    }
    add(p.steps.size());
  }
};

std::pair<uint64_t, uint64_t> contentHash(const FunctionFacts& f) {
  Hash h;
  h.add(f.usr);
  h.add(f.hasBody | f.opaque << 1 | f.isVirtual << 2);
  h.loc(f.loc);
  for (const Call& c : f.calls) {
    h.add(static_cast<uint64_t>(c.kind) << 32 | c.callee);
    h.add(c.name);
    h.path(c.self);
    h.loc(c.loc);
    h.path(c.target.path);
    for (const Arg& a : c.args) {
      h.add(static_cast<uint64_t>(a.value.kind) << 32 | a.type);
      h.path(a.value.path);
    }
  }
  for (const Block& b : f.blocks) {
    h.add(b.events.size());
    for (const Event& e : b.events) {
      h.add(static_cast<uint64_t>(e.kind) << 40 | static_cast<uint64_t>(e.value.kind) << 32 | e.call);
      h.path(e.place);
      h.path(e.value.path);
      h.loc(e.loc);
    }
    for (uint32_t s : b.succs) h.add(s);
  }
  for (const LocalInfo& l : f.locals) h.add(l.type);
  return {h.a, h.b};
}

// Entities of this unit whose names other units may use for something else.
void qualifyInternals(const TuFacts& u, Remap& remap, Interner& strings) {
  auto qualify = [&](Str s, const Loc& at) {
    if (s == 0 || at.file == kNone || at.file >= u.files.size()) return;
    remap.strings[s] = strings.intern(u.strings[s] + "#" + u.strings[u.files[at.file].path]);
  };
  for (const FunctionFacts& f : u.functions)
    if (f.internal) qualify(f.usr, f.loc);
  for (const GlobalFact& g : u.globals)
    if (g.internal) qualify(g.usr, g.loc);
  for (const ClassFact& c : u.classes) {
    if (!c.internal) continue;
    qualify(c.usr, c.loc);
    for (const FieldFact& f : c.fields) qualify(f.usr, c.loc);
    for (Str m : c.methods) qualify(m, c.loc);
  }
}

}  // namespace

std::string_view Program::className(Str typeName) const {
  const TypeFact* t = type(typeName);
  if (t && t->kind == TypeKind::Ref) t = type(t->pointee);
  if (!t || t->kind != TypeKind::Class) return {};
  return text(t->clsName);
}

Str Program::callOperator(Str typeName) const {
  const TypeFact* t = type(typeName);
  if (t && t->kind == TypeKind::Ref) {
    typeName = t->pointee;
    t = type(typeName);
  }
  const ClassFact* c = classOfType(typeName);
  if (!c && t && t->cls) {
    auto it = classByUsr.find(t->cls);
    if (it != classByUsr.end()) c = &classes[it->second];
  }
  if (!c) return 0;
  Str found = 0;
  for (Str m : c->methods) {
    auto it = byUsr.find(m);
    if (it == byUsr.end()) continue;
    const FunctionFacts& f = functions[it->second.front()];
    if (text(f.name).ends_with("operator()")) {
      if (f.hasBody) return m;
      found = m;
    }
  }
  return found;
}

CallTarget Program::targetsOf(Str usr) const {
  CallTarget out;
  auto it = byUsr.find(usr);
  if (it != byUsr.end())
    for (FuncId f : it->second)
      if (functions[f].hasBody) out.bodies.push_back(f);
  if (out.bodies.empty()) {
    out.unknown = true;
    if (usr) out.noBody.push_back(usr);
  }
  return out;
}

CallTarget Program::overridersOf(Str usr, bool openWorld) const {
  CallTarget out;
  std::vector<Str> todo{usr};
  std::set<Str> seen;
  while (!todo.empty()) {
    Str u = todo.back();
    todo.pop_back();
    if (!seen.insert(u).second) continue;
    auto more = overriders.find(u);
    if (more != overriders.end()) todo.insert(todo.end(), more->second.begin(), more->second.end());
    auto it = byUsr.find(u);
    bool body = false, pure = false;
    if (it != byUsr.end())
      for (FuncId f : it->second) {
        if (functions[f].hasBody) {
          out.bodies.push_back(f);
          body = true;
        }
        pure |= functions[f].isPure;
      }
    if (!body && !pure) {
      out.unknown = true;
      out.noBody.push_back(u);
    }
  }
  std::sort(out.bodies.begin(), out.bodies.end());
  if (out.bodies.empty()) out.unknown = true;
  if (openWorld) out.unknown = true;
  return out;
}

CallTarget Program::bySignature(Str signature) const {
  constexpr size_t kMaxTargets = 8;
  auto it = takenBySignature.find(signature);
  if (it == takenBySignature.end() || it->second.size() > kMaxTargets) return {{}, true, true, {}};
  return anyOf(it->second);
}

CallTarget Program::anyOf(const std::vector<Str>& usrs) const {
  CallTarget out;
  out.assumed = true;
  for (Str usr : usrs) {
    if (usr) out.join(targetsOf(usr));
    else out.unknown = true;
  }
  return out;
}

CallTarget Program::targetsOfCall(const Call& call, bool openWorld) const {
  switch (call.kind) {
    case CallKind::Virtual: return overridersOf(call.callee, openWorld);
    case CallKind::Indirect: {
      const Value& t = call.target;
      bool named = t.kind == ValueKind::Bind && t.path.root == Root::Global && byUsr.count(t.path.entity);
      return named ? targetsOf(t.path.entity) : bySignature(call.signature);
    }
    default: return targetsOf(call.callee);
  }
}

Program link(std::vector<TuFacts> units, const Models& models) {
  Program p;
  // Configurations of one file are told apart by what was found in them.
  std::sort(units.begin(), units.end(), [](const TuFacts& a, const TuFacts& b) {
    const std::string &x = a.strings[a.mainFile], &y = b.strings[b.mainFile];
    return x != y ? x < y : writeFacts(a) < writeFacts(b);
  });

  std::unordered_map<Str, uint32_t> fileIds;
  std::set<std::pair<Str, std::pair<uint64_t, uint64_t>>> bodies;
  std::map<std::pair<Str, std::pair<uint64_t, uint64_t>>, uint32_t> bodyAt;
  std::unordered_map<Str, uint32_t> declaredOnly;
  std::set<std::tuple<uint32_t, uint32_t>> inactiveSeen, commentSeen;
  std::set<std::tuple<Str, uint32_t, uint32_t>> aliasSeen, initSeen;
  std::set<std::tuple<Str, uint32_t, uint32_t>> macroSeen;
  std::set<std::pair<Str, Str>> takenSeen;

  for (TuFacts& u : units) {
    Remap remap;
    remap.strings.reserve(u.strings.size());
    for (const std::string& s : u.strings) remap.strings.push_back(p.strings.intern(s));
    qualifyInternals(u, remap, p.strings);
    Program::Unit unit;
    for (FileFact& f : u.files) {
      remap(f.path);
      remap(f.sha256);
      auto [it, fresh] = fileIds.emplace(f.path, static_cast<uint32_t>(p.files.size()));
      if (fresh) p.files.push_back(f);
      remap.files.push_back(it->second);
      unit.files.push_back(it->second);
    }
    unit.mainFile = remap.strings[u.mainFile];
    unit.language = remap.strings[u.language];
    unit.failure = remap.strings[u.failure];
    unit.status = u.status;
    unit.threadSafetyWarnings = u.threadSafetyWarnings;
    p.units.push_back(std::move(unit));

    for (TypeFact& t : u.types) {
      for (Str* s : {&t.name, &t.pointee, &t.cls, &t.clsName}) remap(*s);
      remap.list(t.args);
      p.types.emplace(t.name, t);
    }
    for (ClassFact& c : u.classes) {
      remap.cls(c);
      auto it = p.classByUsr.find(c.usr);
      if (it == p.classByUsr.end()) {
        p.classByUsr.emplace(c.usr, static_cast<uint32_t>(p.classes.size()));
        p.classes.push_back(std::move(c));
        continue;
      }
      // A later unit may know more: implicit members are declared on demand.
      ClassFact& have = p.classes[it->second];
      if (have.fields.size() < c.fields.size()) have.fields = std::move(c.fields);
      for (Str m : c.methods)
        if (std::find(have.methods.begin(), have.methods.end(), m) == have.methods.end()) have.methods.push_back(m);
      if (have.bases.empty()) have.bases = std::move(c.bases);
      for (auto member : {&ClassFact::copyCtor, &ClassFact::moveCtor, &ClassFact::copyAssign,
                          &ClassFact::moveAssign, &ClassFact::dtor})
        if (!(have.*member)) have.*member = c.*member;
    }
    for (GlobalFact& g : u.globals) {
      for (Str* s : {&g.usr, &g.name, &g.type, &g.function}) remap(*s);
      remap.attrs(g.attrs);
      remap.loc(g.loc);
      remap.anchor(g.typeText);
      for (Anchor& a : g.otherTypeTexts) remap.anchor(a);
      auto [it, fresh] = p.globalByUsr.emplace(g.usr, static_cast<uint32_t>(p.globals.size()));
      if (fresh) {
        p.globals.push_back(std::move(g));
        continue;
      }
      // Every place where any unit sees it declared.
      GlobalFact& have = p.globals[it->second];
      auto add = [&](const Anchor& a) {
        auto same = [&](const Anchor& o) { return o.begin.file == a.begin.file && o.begin.offset == a.begin.offset; };
        if (!same(have.typeText) && std::none_of(have.otherTypeTexts.begin(), have.otherTypeTexts.end(), same))
          have.otherTypeTexts.push_back(a);
      };
      add(g.typeText);
      for (const Anchor& a : g.otherTypeTexts) add(a);
    }
    for (AliasFact& t : u.aliases) {
      for (Str* s : {&t.usr, &t.name, &t.type}) remap(*s);
      remap.anchor(t.typeText);
      remap.loc(t.loc);
      if (aliasSeen.insert({t.usr, t.loc.file, t.loc.offset}).second) p.aliases.push_back(std::move(t));
    }
    for (InitMacro& t : u.initMacros) {
      remap(t.entity);
      remap.anchor(t.name);
      if (initSeen.insert({t.entity, t.name.begin.file, t.name.begin.offset}).second) p.initMacros.push_back(std::move(t));
    }
    for (FunctionFacts& f : u.functions) {
      remap.function(f);
      if (!f.hasBody) {
        auto [it, fresh] = declaredOnly.emplace(f.usr, static_cast<uint32_t>(p.functions.size()));
        if (!fresh) {
          FunctionFacts& have = p.functions[it->second];
          if (have.attrs.size() < f.attrs.size()) have.attrs = f.attrs;
          continue;
        }
        p.functions.push_back(std::move(f));
        p.unitsSeeing.push_back(1);
        continue;
      }
      auto key = std::make_pair(f.usr, contentHash(f));
      auto [it, fresh] = bodyAt.emplace(key, static_cast<uint32_t>(p.functions.size()));
      if (!fresh) {
        ++p.unitsSeeing[it->second];
        continue;
      }
      p.functions.push_back(std::move(f));
      p.unitsSeeing.push_back(1);
    }
    for (AddressTaken& a : u.addressTaken) {
      remap(a.function);
      remap(a.signature);
      remap.loc(a.loc);
      if (takenSeen.insert({a.signature, a.function}).second) p.addressTaken.push_back(a);
    }
    for (InactiveText& t : u.inactive) {
      remap.loc(t.begin);
      remap.list(t.names);
      if (inactiveSeen.insert({t.begin.file, t.begin.offset}).second) p.inactive.push_back(std::move(t));
    }
    for (MacroFact& m : u.macros) {
      remap(m.name);
      remap(m.body);
      remap.list(m.params);
      remap.loc(m.loc);
      if (macroSeen.insert({m.name, m.loc.file, m.loc.offset}).second) p.macros.push_back(std::move(m));
    }
    for (CommentFact& c : u.comments) {
      remap(c.text);
      remap.loc(c.loc);
      if (commentSeen.insert({c.loc.file, c.loc.offset}).second) p.comments.push_back(std::move(c));
    }
    u = TuFacts();  // free early: a program's facts are held once, not twice
  }

  // Text that one unit skipped and another compiled is not inactive: the other
  // unit's functions are in the program. Keep what every includer skipped.
  // (Units record only what they skip; a body lowered inside the range shows
  // that some unit compiled it.)
  std::erase_if(p.inactive, [&](const InactiveText& t) {
    for (const FunctionFacts& f : p.functions)
      if (f.hasBody && f.loc.file == t.begin.file && f.loc.line > t.begin.line && f.loc.line < t.endLine) return true;
    return false;
  });

  // Stable order of functions.
  std::vector<uint32_t> order(p.functions.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
    const FunctionFacts &a = p.functions[x], &b = p.functions[y];
    if (a.usr != b.usr) return p.text(a.usr) < p.text(b.usr);
    if (a.hasBody != b.hasBody) return a.hasBody;
    return x < y;  // units are in name order, so this is stable too
  });
  std::vector<FunctionFacts> sorted;
  std::vector<uint32_t> seeing;
  sorted.reserve(order.size());
  for (uint32_t i : order) {
    sorted.push_back(std::move(p.functions[i]));
    seeing.push_back(p.unitsSeeing[i]);
  }
  p.functions = std::move(sorted);
  p.unitsSeeing = std::move(seeing);

  for (FuncId i = 0; i < p.functions.size(); ++i) p.byUsr[p.functions[i].usr].push_back(i);
  for (uint32_t c = 0; c < p.classes.size(); ++c) {
    p.classByType.emplace(p.classes[c].type, c);
    for (uint32_t f = 0; f < p.classes[c].fields.size(); ++f)
      p.fields.emplace(p.classes[c].fields[f].usr, Program::FieldRef{c, f});
    for (Str base : p.classes[c].bases) p.derived[base].push_back(p.classes[c].type);
  }
  {
    std::set<std::pair<Str, Str>> seen;
    for (const FunctionFacts& f : p.functions)
      for (Str o : f.overrides)
        if (seen.insert({o, f.usr}).second) p.overriders[o].push_back(f.usr);
  }
  for (const AddressTaken& a : p.addressTaken) p.takenBySignature[a.signature].push_back(a.function);

  // What callable wrappers and counted pointers were made from, program-wide.
  // A function or call operator that the argument stands for; 0: not known.
  auto callableOf = [&](const Arg& a, const TypeFact* type) {
    if (a.value.kind == ValueKind::Bind && a.value.path.root == Root::Global && p.byUsr.count(a.value.path.entity))
      return a.value.path.entity;
    return type ? p.callOperator(type->name) : Str{0};
  };
  auto note = [](std::vector<Str>& into, Str op) {
    if (std::find(into.begin(), into.end(), op) == into.end()) into.push_back(op);
  };
  for (const FunctionFacts& f : p.functions)
    for (const Call& c : f.calls) {
      std::string_view name = p.text(c.name);
      bool assign = name.ends_with("::operator=");
      bool reset = name.ends_with("::reset");
      if (c.kind != CallKind::Construct && !assign && !reset) continue;
      std::string_view cls = p.className(c.selfType);
      if (cls.empty()) continue;
      auto typeOf = [&](const Arg& a) {
        const TypeFact* t = p.type(a.type);
        return t && t->kind == TypeKind::Ref ? p.type(t->pointee) : t;
      };
      if (models.isCountedPointer(cls) && c.args.size() >= 2 && !assign) {
        // shared_ptr(pointer, deleter); the aliasing constructor's second
        // argument is a pointer to an object.
        const TypeFact* second = typeOf(c.args[1]);
        const TypeFact* pointee = second && second->kind == TypeKind::Pointer ? p.type(second->pointee) : nullptr;
        bool function = second && (second->kind == TypeKind::Function || (pointee && pointee->kind == TypeKind::Function));
        const ClassFact* functor = second && second->kind == TypeKind::Class ? p.classOfType(second->name) : nullptr;
        if (function || (functor && !functor->inSystemHeader) || (second && p.callOperator(second->name)))
          note(p.deleters[c.selfType], callableOf(c.args[1], second));
        continue;
      }
      if (reset || !models.isCallableWrapper(cls)) continue;
      std::vector<Str>& into = p.wrapped[c.selfType];
      if (c.args.empty()) continue;
      const TypeFact* at = typeOf(c.args[0]);
      if (at && at->name == c.selfType) continue;  // copied from another of the type
      if (at && (p.text(at->name) == "std::nullptr_t" || p.text(at->name) == "nullptr_t")) continue;
      note(into, callableOf(c.args[0], at));
    }
  return p;
}

}  // namespace locktidy
