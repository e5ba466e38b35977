// The fields of every record of the facts' text form, each listed once. An
// archive (FactsText.cpp: Writer, Reader, Checker) visits them in this order, so
// what is written, read and checked cannot drift apart.
//
// Private to FactsText.cpp. `T` is const where the archive only looks. What an
// archive has: tag and end (a line), num, str, index, indexOrNone, kind, flags,
// count, present (what a flag promised, or must be there), limits, failed.
#pragma once

#include "checker/model/Facts.h"

namespace locktidy::facts_text {

// How many of what a path or an event may point to.
struct Limits {
  size_t files = 0, params = 0, locals = 0, calls = 0, blocks = 0;
};

// Number of fields of an aggregate: how many things one can initialise it with.
struct Anything {
  template <class T>
  operator T() const;
};
template <class T, class... Fields>
consteval size_t fieldCount() {
  if constexpr (requires { T{Fields{}..., Anything{}}; })
    return fieldCount<T, Fields..., Anything>();
  else
    return sizeof...(Fields);
}

// A field that is added to Facts.h and not here would be lost on the way from a
// worker to the linker. When one of these fails: list the field below, where its
// record is, raise kFactsVersion, and correct the number.
static_assert(fieldCount<Loc>() == 4 && fieldCount<Anchor>() == 3 && fieldCount<Step>() == 3);
static_assert(fieldCount<Path>() == 4 && fieldCount<Value>() == 2 && fieldCount<Branch>() == 2);
static_assert(fieldCount<Event>() == 11);
static_assert(fieldCount<Arg>() == 8);
static_assert(fieldCount<Call>() == 20);
static_assert(fieldCount<Block>() == 5);
static_assert(fieldCount<LocalInfo>() == 16);
static_assert(fieldCount<ParamInfo>() == 9);
static_assert(fieldCount<AttrFact>() == 4);
static_assert(fieldCount<FunctionFacts>() == 42);
static_assert(fieldCount<FieldFact>() == 13);
static_assert(fieldCount<ClassFact>() == 24);
static_assert(fieldCount<TypeFact>() == 9);
static_assert(fieldCount<GlobalFact>() == 13);
static_assert(fieldCount<AddressTaken>() == 3 && fieldCount<AliasFact>() == 5 && fieldCount<InitMacro>() == 2 && fieldCount<InactiveText>() == 4);
static_assert(fieldCount<MacroFact>() == 5 && fieldCount<CommentFact>() == 2);
static_assert(fieldCount<FileFact>() == 3);
static_assert(fieldCount<TuFacts>() == 19);

inline bool has(const Loc& l) { return l.valid(); }
inline bool has(const Anchor& a) { return a.valid() || a.length || a.text; }
inline bool has(const Path& p) { return p.root != Root::Unknown || !p.steps.empty(); }
inline bool has(const Value& v) { return v.kind != ValueKind::None || has(v.path); }
inline bool has(Str s) { return s != 0; }

template <class A, class T>
void loc(A& a, T& l) {
  a.indexOrNone("file", l.file, a.limits.files);
  if (l.file == kNone) return;
  a.num("line", l.line);
  a.num("column", l.col);
  a.num("offset", l.offset);
}

template <class A, class T>
void anchor(A& a, T& t) {
  loc(a, t.begin);
  a.num("length", t.length);
  a.str("text", t.text);
}

template <class A, class T>
void path(A& a, T& p) {
  a.kind("root", p.root, Root::Unknown);
  switch (p.root) {
  case Root::Param:
    a.index("parameter", p.index, a.limits.params);
    break;
  case Root::Local:
    a.index("local", p.index, a.limits.locals);
    break;
  case Root::Result:
    a.index("call", p.index, a.limits.calls);
    break;
  case Root::Fresh:
    a.num("new-expression", p.index);
    break;
  case Root::Global:
    a.str("global", p.entity);
    break;
  case Root::This:
  case Root::Ret:
  case Root::Unknown:
    break;
  }
  a.count("steps", p.steps, 2);
  for (auto& step : p.steps) {
    if (a.failed()) return;
    a.kind("selector", step.sel, Sel::Deref);
    if (step.sel == Sel::Field) a.str("field", step.field);
    if (step.sel == Sel::Elem) a.str("element", step.index);
  }
}

template <class A, class T>
void value(A& a, T& v) {
  a.kind("value", v.kind, ValueKind::Copy);
  path(a, v.path);
}

template <class A, class T>
void strs(A& a, const char* name, T& list) {
  a.count(name, list, 2);
  for (auto& id : list) {
    if (a.failed()) return;
    a.str(name, id);
  }
}

// Fields announced by a flag.
template <class A, class T>
void maybeStr(A& a, bool there, const char* name, T& id) {
  if (!there) return;
  a.str(name, id);
  a.present(name, has(id));
}
template <class A, class T>
void maybeAnchor(A& a, bool there, const char* name, T& t) {
  if (!there) return;
  anchor(a, t);
  a.present(name, has(t));
}
template <class A, class T>
void maybePath(A& a, bool there, const char* name, T& p) {
  if (!there) return;
  path(a, p);
  a.present(name, has(p));
}
template <class A, class T>
void maybeValue(A& a, bool there, const char* name, T& v) {
  if (!there) return;
  value(a, v);
  a.present(name, has(v));
}

template <class A, class T>
void attr(A& a, T& t) {
  bool written = has(t.written);
  a.tag('A');
  a.flags("attribute flags", written);
  a.str("attribute", t.kind);
  a.str("success value", t.successValue);
  a.count("attribute arguments", t.args, 4);
  for (auto& arg : t.args) {
    if (a.failed()) return;
    path(a, arg);
  }
  maybeAnchor(a, written, "attribute as written", t.written);
  a.end();
}

template <class A, class T>
void records(A& a, T& list, auto visit) {
  for (auto& item : list) {
    if (a.failed()) return;
    visit(a, item);
  }
}
#define LOCKTIDY_EACH(record) [](auto& a, auto& item) { record(a, item); }

template <class A, class T>
void param(A& a, T& p) {
  bool typeText = has(p.typeText), other = has(p.otherTypeText);
  a.tag('p');
  a.flags("parameter flags", p.isRef, p.isPtr, p.pointeeConst, p.isClass, typeText, other,
          p.moreDeclared);
  a.str("name", p.name);
  a.str("type", p.type);
  maybeAnchor(a, typeText, "type text", p.typeText);
  maybeAnchor(a, other, "other type text", p.otherTypeText);
  a.end();
}

template <class A, class T>
void local(A& a, T& l) {
  bool typeText = has(l.typeText), declText = has(l.declText), macro = has(l.macro);
  bool macroName = has(l.macroName), macroCall = has(l.macroCall), init = has(l.initTypeText);
  a.tag('l');
  a.flags("local flags", l.isRef, l.isPtr, l.isClass, l.isParamCopy, l.isAuto, l.soleDeclarator,
          typeText, declText, macro, macroName, macroCall, init);
  a.str("name", l.name);
  a.str("type", l.type);
  a.num("writes", l.writes);
  loc(a, l.loc);
  maybeAnchor(a, typeText, "type text", l.typeText);
  maybeAnchor(a, declText, "declaration text", l.declText);
  maybeStr(a, macro, "macro", l.macro);
  maybeAnchor(a, macroName, "macro name", l.macroName);
  maybeAnchor(a, macroCall, "macro call", l.macroCall);
  maybeAnchor(a, init, "initialiser type", l.initTypeText);
  a.end();
}

template <class A, class T>
void arg(A& a, T& g) {
  bool val = has(g.value), constant = has(g.constant), text = has(g.text);
  a.tag('a');
  a.flags("argument flags", g.constRef, g.byValue, g.literalTrue, g.literalFalse, val, constant,
          text);
  a.str("type", g.type);
  maybeValue(a, val, "value", g.value);
  maybeStr(a, constant, "constant", g.constant);
  maybeAnchor(a, text, "text", g.text);
  a.end();
}

template <class A, class T>
void call(A& a, T& c) {
  bool self = has(c.self), selfType = has(c.selfType), target = has(c.target);
  bool onLocal = c.local != kNone, nameLoc = has(c.nameLoc), calleeName = has(c.calleeName);
  bool whole = has(c.whole), macro = has(c.macro);
  a.tag('c');
  a.kind("call", c.kind, CallKind::Destroy);
  a.flags("call flags", c.hasSelf, c.constMethod, c.returnsRef, c.resultUnused, c.implicit, self,
          selfType, target, onLocal, nameLoc, calleeName, whole, macro);
  a.str("callee", c.callee);
  a.str("name", c.name);
  a.str("signature", c.signature);
  a.str("result type", c.resultType);
  loc(a, c.loc);
  maybePath(a, self, "self", c.self);
  maybeStr(a, selfType, "self type", c.selfType);
  maybeValue(a, target, "target", c.target);
  if (onLocal) a.index("local", c.local, a.limits.locals);
  if (nameLoc) {
    loc(a, c.nameLoc);
    a.present("name location", has(c.nameLoc));
  }
  maybeAnchor(a, calleeName, "callee name", c.calleeName);
  maybeAnchor(a, whole, "whole call", c.whole);
  maybeStr(a, macro, "macro", c.macro);
  a.count("arguments", c.args, 6);
  a.end();
  records(a, c.args, LOCKTIDY_EACH(arg));
}

template <class A, class T>
void event(A& a, T& e) {
  bool place = has(e.place), val = has(e.value), type = has(e.type), onCall = e.call != kNone;
  bool op = has(e.op), note = has(e.note);
  a.tag('e');
  a.kind("event", e.kind, EventKind::Opaque);
  a.flags("event flags", e.isVolatile, e.rmw, e.rmwUsed, place, val, type, onCall, op, note);
  maybePath(a, place, "place", e.place);
  maybeValue(a, val, "value", e.value);
  maybeStr(a, type, "type", e.type);
  if (onCall) a.index("call", e.call, a.limits.calls);
  // Without its call a Call event would be read as nothing at all.
  a.present("call", e.call != kNone || e.kind != EventKind::Call);
  maybeStr(a, op, "operator", e.op);
  maybeStr(a, note, "note", e.note);
  loc(a, e.loc);
  a.end();
}

template <class A, class T>
void block(A& a, T& b) {
  bool branch = b.branch.call != kNone;
  a.tag('b');
  a.flags("block flags", b.handler, branch, b.branch.negated);
  a.kind("loop", b.loop, LoopKind::Open);
  if (branch) a.index("branch call", b.branch.call, a.limits.calls);
  a.count("successors", b.succs, 2);
  for (auto& succ : b.succs) {
    if (a.failed()) return;
    a.index("successor", succ, a.limits.blocks);
  }
  a.count("events", b.events, 7);
  a.end();
  records(a, b.events, LOCKTIDY_EACH(event));
}

template <class A, class T>
void function(A& a, T& f) {
  a.tag('f');
  a.flags("function flags", f.hasBody, f.opaque, f.internal, f.isStatic, f.isConst, f.isCtor,
          f.isDtor, f.isVirtual, f.isPure, f.isFinal, f.isLambda, f.isImplicit, f.isDefaulted,
          f.isTemplateInstance, f.isMain, f.isNoexcept, f.isCoroutine, f.isVariadic,
          f.inSystemHeader, f.returnsRef, f.returnsPtr, f.returnsClass);
  a.str("usr", f.usr);
  a.str("name", f.name);
  a.str("display name", f.display);
  a.str("owner", f.owner);
  a.str("owner type", f.ownerType);
  a.str("signature", f.signature);
  a.str("return type", f.returnType);
  a.str("opaque reason", f.opaqueReason);
  a.indexOrNone("lambda in", f.lambdaIn, kNone);
  a.str("parent", f.parent);
  loc(a, f.loc);
  loc(a, f.bodyBegin);
  loc(a, f.bodyEnd);
  strs(a, "overridden methods", f.overrides);
  a.count("parameters", f.params, 8);
  a.count("attributes", f.attrs, 8);
  a.count("locals", f.locals, 12);
  a.count("calls", f.calls, 18);
  a.count("blocks", f.blocks, 8);
  a.limits.params = f.params.size();
  a.limits.locals = f.locals.size();
  a.limits.calls = f.calls.size();
  a.limits.blocks = f.blocks.size();
  // A function without blocks has entry 0 and no such block.
  a.index("entry", f.entry, f.blocks.empty() ? 1 : f.blocks.size());
  a.end();
  records(a, f.params, LOCKTIDY_EACH(param));
  records(a, f.attrs, LOCKTIDY_EACH(attr));
  records(a, f.locals, LOCKTIDY_EACH(local));
  records(a, f.calls, LOCKTIDY_EACH(call));
  records(a, f.blocks, LOCKTIDY_EACH(block));
  a.limits.params = a.limits.locals = a.limits.calls = a.limits.blocks = 0;
}

template <class A, class T>
void field(A& a, T& f) {
  bool typeText = has(f.typeText);
  a.tag('m');
  a.flags("field flags", f.isMutable, f.isRef, f.isPtr, f.isConst, f.isStatic, f.isVolatile,
          f.isBitField, typeText);
  a.str("usr", f.usr);
  a.str("name", f.name);
  a.str("type", f.type);
  loc(a, f.loc);
  maybeAnchor(a, typeText, "type text", f.typeText);
  a.count("attributes", f.attrs, 8);
  a.end();
  records(a, f.attrs, LOCKTIDY_EACH(attr));
}

template <class A, class T>
void classFact(A& a, T& c) {
  a.tag('C');
  a.flags("class flags", c.triviallyCopyable, c.isLambda, c.isUnion, c.isFinal, c.isAbstract,
          c.isTemplateInstance, c.inSystemHeader, c.inHeader, c.internal);
  a.str("usr", c.usr);
  a.str("name", c.name);
  a.str("type", c.type);
  a.str("copy constructor", c.copyCtor);
  a.str("move constructor", c.moveCtor);
  a.str("copy assignment", c.copyAssign);
  a.str("move assignment", c.moveAssign);
  a.str("destructor", c.dtor);
  loc(a, c.loc);
  strs(a, "bases", c.bases);
  strs(a, "methods", c.methods);
  strs(a, "friends", c.friends);
  strs(a, "captures", c.captures);
  a.count("fields", c.fields, 14);
  a.count("attributes", c.attrs, 8);
  a.end();
  records(a, c.fields, LOCKTIDY_EACH(field));
  records(a, c.attrs, LOCKTIDY_EACH(attr));
}

template <class A, class T>
void file(A& a, T& f) {
  a.tag('F');
  a.flags("file flags", f.system);
  a.str("path", f.path);
  a.str("sha256", f.sha256);
  a.end();
}

template <class A, class T>
void type(A& a, T& t) {
  a.tag('t');
  a.kind("type", t.kind, TypeKind::MemberPointer);
  a.flags("type flags", t.isConst, t.pointeeConst);
  a.str("name", t.name);
  a.str("pointee", t.pointee);
  a.str("class", t.cls);
  a.str("class name", t.clsName);
  a.num("size", t.size);
  strs(a, "template arguments", t.args);
  a.end();
}

template <class A, class T>
void global(A& a, T& g) {
  bool typeText = has(g.typeText);
  a.tag('G');
  a.flags("global flags", g.isConst, g.isThreadLocal, g.isStaticLocal, g.internal, g.isVolatile,
          typeText);
  a.str("usr", g.usr);
  a.str("name", g.name);
  a.str("type", g.type);
  a.str("function", g.function);
  loc(a, g.loc);
  maybeAnchor(a, typeText, "type text", g.typeText);
  a.count("other type texts", g.otherTypeTexts, 6);
  for (auto& text : g.otherTypeTexts) {
    if (a.failed()) return;
    anchor(a, text);
  }
  a.count("attributes", g.attrs, 8);
  a.end();
  records(a, g.attrs, LOCKTIDY_EACH(attr));
}

template <class A, class T>
void alias(A& a, T& t) {
  bool typeText = has(t.typeText);
  a.tag('U');
  a.flags("alias flags", typeText);
  a.str("usr", t.usr);
  a.str("name", t.name);
  a.str("type", t.type);
  loc(a, t.loc);
  maybeAnchor(a, typeText, "type text", t.typeText);
  a.end();
}

template <class A, class T>
void initMacro(A& a, T& t) {
  a.tag('J');
  a.str("entity", t.entity);
  anchor(a, t.name);
  a.end();
}

template <class A, class T>
void addressTaken(A& a, T& t) {
  a.tag('T');
  a.str("function", t.function);
  a.str("signature", t.signature);
  loc(a, t.loc);
  a.end();
}

template <class A, class T>
void inactive(A& a, T& t) {
  a.tag('I');
  a.flags("inactive flags", t.isTemplate);
  loc(a, t.begin);
  a.num("end line", t.endLine);
  strs(a, "names", t.names);
  a.end();
}

template <class A, class T>
void macro(A& a, T& m) {
  a.tag('M');
  a.flags("macro flags", m.functionLike);
  a.str("name", m.name);
  a.str("body", m.body);
  loc(a, m.loc);
  strs(a, "parameters", m.params);
  a.end();
}

template <class A, class T>
void comment(A& a, T& c) {
  a.tag('N');
  a.str("text", c.text);
  loc(a, c.loc);
  a.end();
}

// Applies `visit` to a top-level list; the checker is told where it is.
template <class A, class T>
void top(A& a, const char* name, T& list, auto visit) {
  for (size_t i = 0; i < list.size() && !a.failed(); ++i) {
    if constexpr (requires { a.where(name, i); }) a.where(name, i);
    visit(a, list[i]);
  }
}

template <class A, class T>
void unit(A& a, T& u) {
  a.tag('u');
  a.flags("unit flags", u.threadSafetyWarnings);
  a.str("main file", u.mainFile);
  a.str("language", u.language);
  a.kind("status", u.status, UnitStatus::Failed);
  a.str("failure", u.failure);
  a.num("errors", u.errors);
  a.count("files", u.files, 8);
  a.count("types", u.types, 18);
  a.count("classes", u.classes, 32);
  a.count("globals", u.globals, 16);
  a.count("functions", u.functions, 44);
  a.count("aliases", u.aliases, 10);
  a.count("initialising macros", u.initMacros, 8);
  a.count("taken addresses", u.addressTaken, 8);
  a.count("inactive regions", u.inactive, 8);
  a.count("macros", u.macros, 12);
  a.count("comments", u.comments, 6);
  a.end();
  a.limits.files = u.files.size();
  top(a, "file", u.files, LOCKTIDY_EACH(file));
  top(a, "type", u.types, LOCKTIDY_EACH(type));
  top(a, "class", u.classes, LOCKTIDY_EACH(classFact));
  top(a, "global", u.globals, LOCKTIDY_EACH(global));
  top(a, "function", u.functions, LOCKTIDY_EACH(function));
  top(a, "alias", u.aliases, LOCKTIDY_EACH(alias));
  top(a, "initialising macro", u.initMacros, LOCKTIDY_EACH(initMacro));
  top(a, "taken address", u.addressTaken, LOCKTIDY_EACH(addressTaken));
  top(a, "inactive region", u.inactive, LOCKTIDY_EACH(inactive));
  top(a, "macro", u.macros, LOCKTIDY_EACH(macro));
  top(a, "comment", u.comments, LOCKTIDY_EACH(comment));
}
#undef LOCKTIDY_EACH

}  // namespace locktidy::facts_text
