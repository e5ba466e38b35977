// Facts as indented text for people and golden tests. Not read back, so it says
// what a reader of facts wants to know and leaves out what is usual.
#include <unordered_map>

#include "checker/model/FactsIo.h"

namespace locktidy {
namespace {

constexpr const char* kEventNames[] = {"read", "write",  "bind",      "copy",
                                       "call", "return", "end-scope", "opaque"};
constexpr const char* kCallNames[] = {"", "virtual ", "indirect ", "construct ", "destroy "};
constexpr const char* kStatusNames[] = {"ok", "degraded", "failed"};

// The words whose flags are on, each after a space.
struct Word {
  bool on;
  const char* text;
};
std::string words(std::initializer_list<Word> list) {
  std::string out;
  for (const Word& word : list)
    if (word.on) out += std::string(" ") + word.text;
  return out;
}

class Dumper {
 public:
  explicit Dumper(const TuFacts& facts) : facts_(facts) {
    for (const ClassFact& c : facts.classes)
      for (const FieldFact& f : c.fields) fieldNames_.emplace(f.usr, f.name);
    for (const GlobalFact& g : facts.globals) globalNames_.emplace(g.usr, g.name);
    for (const FunctionFacts& f : facts.functions) functionNames_.emplace(f.usr, f.display);
  }

  std::string run() {
    out_ = "unit " + text(facts_.mainFile) + "  " + text(facts_.language) + "  " +
           kStatusNames[static_cast<size_t>(facts_.status)];
    if (facts_.errors) out_ += "  errors " + std::to_string(facts_.errors);
    if (facts_.threadSafetyWarnings) out_ += "  thread-safety";
    out_ += '\n';
    if (facts_.failure) out_ += "  failure: " + text(facts_.failure) + "\n";
    for (const FileFact& f : facts_.files)
      if (!f.system) out_ += "file " + text(f.path) + "  " + text(f.sha256).substr(0, 8) + "\n";
    for (const ClassFact& c : facts_.classes) dumpClass(c);
    for (const GlobalFact& g : facts_.globals) dumpGlobal(g);
    for (const FunctionFacts& f : facts_.functions) dumpFunction(f);
    for (const AliasFact& t : facts_.aliases)
      out_ += "alias " + text(t.name) + " = " + text(t.type) + at(t.loc) + "\n";
    for (const InitMacro& t : facts_.initMacros)
      out_ += "initialised " + text(t.entity) + " by " + text(t.name.text) + at(t.name.begin) + "\n";
    for (const AddressTaken& t : facts_.addressTaken)
      out_ +=
          "address-taken " + functionName(t.function) + "  " + text(t.signature) + at(t.loc) + "\n";
    for (const InactiveText& t : facts_.inactive)
      out_ += std::string(t.isTemplate ? "uninstantiated" : "inactive") + at(t.begin) + "-" +
              std::to_string(t.endLine) + ": " + join(t.names, " ") + "\n";
    for (const MacroFact& m : facts_.macros)
      out_ += "macro " + text(m.name) + (m.functionLike ? "(" + join(m.params, ", ") + ")" : "") +
              ": " + text(m.body) + at(m.loc) + "\n";
    for (const CommentFact& c : facts_.comments)
      out_ += "comment" + at(c.loc) + ": " + text(c.text) + "\n";
    return std::move(out_);
  }

 private:
  // Facts may not have been validated, so ids are looked up with care.
  std::string text(Str id) const { return id < facts_.strings.size() ? facts_.strings[id] : "?"; }
  std::string join(const std::vector<Str>& ids, const char* between) const {
    std::string out;
    for (Str id : ids) out += (out.empty() ? "" : between) + text(id);
    return out;
  }
  // A name for a USR: what the facts call it, else what follows its last `@`.
  std::string named(const std::unordered_map<Str, Str>& names, Str usr) const {
    auto found = names.find(usr);
    if (found != names.end() && found->second) return text(found->second);
    std::string spelled = text(usr);
    return spelled.substr(spelled.rfind('@') + 1);
  }
  std::string functionName(Str usr) const { return named(functionNames_, usr); }

  std::string at(const Loc& loc) const {
    if (!loc.valid()) return "";
    std::string out = "  @";
    if (loc.file != file_)
      out += (loc.file < facts_.files.size() ? text(facts_.files[loc.file].path) : "?") + ":";
    return out + std::to_string(loc.line) + ":" + std::to_string(loc.col);
  }
  std::string anchor(const char* name, const Anchor& a) const {
    if (!a.valid()) return "";
    return std::string("  ") + name + "=" + std::to_string(a.begin.line) + ":" +
           std::to_string(a.begin.col) + "+" + std::to_string(a.length);
  }

  std::string variable(const char* kind, uint32_t index, const auto& list) const {
    Str name = index < list.size() ? list[index].name : 0;
    return std::string(kind) + " " + (name ? text(name) : "#" + std::to_string(index));
  }
  std::string path(const Path& p) const {
    std::string out;
    switch (p.root) {
    case Root::This:
      out = "this";
      break;
    case Root::Param:
      out = variable("param", p.index, function_->params);
      break;
    case Root::Local:
      out = variable("local", p.index, function_->locals);
      break;
    case Root::Global:
      out = "global " + named(globalNames_, p.entity);
      break;
    case Root::Result:
      out = "result c" + std::to_string(p.index);
      break;
    case Root::Fresh:
      out = "fresh n" + std::to_string(p.index);
      break;
    case Root::Ret:
      out = "ret";
      break;
    case Root::Unknown:
      out = "unknown";
      break;
    }
    for (const Step& step : p.steps) {
      if (step.sel == Sel::Field)
        out += "." + named(fieldNames_, step.field);
      else if (step.sel == Sel::Elem)
        out += "[" + text(step.index) + "]";
      else
        out += ".*";
    }
    return out;
  }
  std::string value(const Value& v) const {
    if (v.kind == ValueKind::None) return "_";
    return (v.kind == ValueKind::Bind ? "&" : "") + path(v.path);
  }

  void dumpAttrs(const std::vector<AttrFact>& attrs, const char* indent) {
    for (const AttrFact& a : attrs) {
      out_ += indent + ("attr " + text(a.kind)) + "(";
      for (size_t i = 0; i < a.args.size(); ++i) out_ += (i ? ", " : "") + path(a.args[i]);
      out_ += ")" + (a.successValue ? " on " + text(a.successValue) : "") + "\n";
    }
  }

  void dumpClass(const ClassFact& c) {
    // Library classes come along in hundreds; their facts serve overload lookup
    // only and would bury the program's own.
    if (c.inSystemHeader) return;
    file_ = c.loc.file;
    out_ += "class " + text(c.type) +
            words({{c.isLambda, "lambda"},
                   {c.isUnion, "union"},
                   {c.isFinal, "final"},
                   {c.isAbstract, "abstract"},
                   {c.isTemplateInstance, "instance"},
                   {c.internal, "internal"},
                   {c.triviallyCopyable, "trivial-copy"}});
    if (!c.bases.empty()) out_ += " : " + join(c.bases, ", ");
    file_ = kNone;
    out_ += at(c.loc) + "\n";
    file_ = c.loc.file;
    dumpAttrs(c.attrs, "  ");
    for (const FieldFact& f : c.fields) {
      out_ += "  field " + text(f.name) + ": " + text(f.type) +
              words({{f.isMutable, "mutable"},
                     {f.isConst, "const"},
                     {f.isStatic, "static"},
                     {f.isVolatile, "volatile"},
                     {f.isBitField, "bit-field"}}) +
              at(f.loc) + anchor("type", f.typeText) + "\n";
      dumpAttrs(f.attrs, "    ");
    }
    for (Str method : c.methods) out_ += "  method " + functionName(method) + "\n";
    for (Str other : c.friends) out_ += "  friend " + functionName(other) + "\n";
    file_ = kNone;
  }

  void dumpGlobal(const GlobalFact& g) {
    out_ += "global " + text(g.name) + ": " + text(g.type) +
            words({{g.isConst, "const"},
                   {g.isThreadLocal, "thread-local"},
                   {g.isStaticLocal, "static-local"},
                   {g.isVolatile, "volatile"},
                   {g.internal, "internal"}}) +
            at(g.loc) + "\n";
    dumpAttrs(g.attrs, "  ");
  }

  void dumpFunction(const FunctionFacts& f) {
    if (f.inSystemHeader && !f.hasBody) return;
    function_ = &f;
    out_ += "func " + text(f.display ? f.display : f.name);
    if (f.ownerType) out_ += "  method " + text(f.ownerType);
    out_ += words({{!f.hasBody, "declared-only"},
                   {f.internal, "internal"},
                   {f.isStatic, "static"},
                   {f.isVirtual, "virtual"},
                   {f.isPure, "pure"},
                   {f.isLambda, "lambda"},
                   {f.isImplicit, "implicit"},
                   {f.isDefaulted, "defaulted"},
                   {f.isTemplateInstance, "instance"},
                   {f.isMain, "main"},
                   {f.isCoroutine, "coroutine"},
                   {f.isVariadic, "variadic"}});
    out_ += at(f.loc) + "\n";
    file_ = f.loc.file;
    if (f.opaque) out_ += "  opaque: " + text(f.opaqueReason) + "\n";
    for (Str usr : f.overrides) out_ += "  overrides " + functionName(usr) + "\n";
    if (f.parent) out_ += "  inside " + functionName(f.parent) + "\n";
    for (const ParamInfo& p : f.params)
      out_ += "  param " + text(p.name) + ": " + text(p.type) + anchor("type", p.typeText) + "\n";
    dumpAttrs(f.attrs, "  ");
    for (size_t i = 0; i < f.locals.size(); ++i) dumpLocal(f.locals[i], i);
    for (size_t i = 0; i < f.blocks.size(); ++i) dumpBlock(f, i);
    file_ = kNone;
    function_ = &kNoFunction;
  }

  void dumpLocal(const LocalInfo& l, size_t index) {
    out_ += "  " + variable("local", static_cast<uint32_t>(index), function_->locals) + ": " +
            text(l.type) + words({{l.isAuto, "auto"}, {!l.soleDeclarator, "one-of-several"}});
    if (l.writes) out_ += " writes " + std::to_string(l.writes);
    if (l.macro) out_ += " macro " + text(l.macro);
    out_ += at(l.loc) + anchor("type", l.typeText) + anchor("decl", l.declText) +
            anchor("macro", l.macroCall) + "\n";
  }

  void dumpBlock(const FunctionFacts& f, size_t index) {
    const Block& b = f.blocks[index];
    out_ += "  b" + std::to_string(index) + ":" +
            words({{index == f.entry, "entry"}, {b.handler, "handler"}}) + "\n";
    for (const Event& e : b.events) dumpEvent(e);
    if (b.succs.empty()) return;
    out_ += "    ->";
    for (uint32_t succ : b.succs) out_ += " b" + std::to_string(succ);
    if (b.branch.call != kNone)
      out_ +=
          std::string(" if ") + (b.branch.negated ? "!" : "") + "c" + std::to_string(b.branch.call);
    out_ += "\n";
  }

  void dumpEvent(const Event& e) {
    out_ += std::string("    ") + kEventNames[static_cast<size_t>(e.kind)];
    if (e.kind == EventKind::Call && e.call < function_->calls.size()) {
      dumpCall(function_->calls[e.call], e.call);
    } else {
      bool bare = e.kind == EventKind::Return || e.kind == EventKind::Opaque;
      if (!bare || e.place.root != Root::Unknown) out_ += " " + path(e.place);
      if (e.value.kind != ValueKind::None) out_ += " <- " + value(e.value);
      if (e.op) out_ += " " + text(e.op);
      if (e.note) out_ += " " + text(e.note);
      if (e.type) out_ += " : " + text(e.type);
      out_ += words({{e.isVolatile, "volatile"}, {e.rmw, "rmw"}, {e.rmwUsed, "used"}});
    }
    out_ += at(e.loc) + "\n";
  }

  void dumpCall(const Call& c, uint32_t index) {
    out_ += " c" + std::to_string(index) + " " + kCallNames[static_cast<size_t>(c.kind)];
    out_ += c.kind == CallKind::Indirect ? value(c.target) : text(c.name);
    out_ += "(";
    std::string args;
    if (c.hasSelf) args = "self=" + path(c.self);
    for (size_t i = 0; i < c.args.size(); ++i) {
      const Arg& a = c.args[i];
      if (!args.empty()) args += ", ";
      args += "a" + std::to_string(i) + "=" + (a.constant ? text(a.constant) : value(a.value));
    }
    out_ += args + ")";
    if (c.resultType) out_ += " : " + text(c.resultType);
    out_ += words({{c.implicit, "implicit"}, {c.resultUnused, "unused"}});
    if (c.macro) out_ += " macro " + text(c.macro);
    out_ += anchor("name", c.calleeName);
  }

  const TuFacts& facts_;
  std::string out_;
  uint32_t file_ = kNone;  // places in this file are printed without its name
  static inline const FunctionFacts kNoFunction{};
  const FunctionFacts* function_ = &kNoFunction;
  std::unordered_map<Str, Str> fieldNames_, globalNames_, functionNames_;
};

}  // namespace

std::string dumpFacts(const TuFacts& facts) { return Dumper(facts).run(); }

}  // namespace locktidy
