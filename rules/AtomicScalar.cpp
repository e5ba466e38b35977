#include "rules/AtomicScalar.h"

#include <algorithm>
#include <set>

#include "rules/Describe.h"

namespace locktidy {
namespace {

std::string lastPart(const std::string& name) { return std::string(lastName(name)); }

}  // namespace

bool atomicHas(TypeKind kind, const std::string& op) {
  if (op == "=" || op == "init") return true;
  if (kind == TypeKind::Int) return op == "++" || op == "--" || op == "+=" || op == "-=" || op == "&=" || op == "|=" || op == "^=";
  if (kind == TypeKind::Pointer) return op == "++" || op == "--" || op == "+=" || op == "-=";
  return false;
}

void addEdits(std::vector<Edit>& edits, const std::vector<Edit>& more) {
  for (const Edit& e : more) {
    bool have = std::any_of(edits.begin(), edits.end(), [&](const Edit& o) {
      return o.file == e.file && o.offset == e.offset && o.length == e.length && o.newText == e.newText;
    });
    if (!have) edits.push_back(e);
  }
}

Str AtomicScalars::entityOf(PathId place) const {
  const PathNode& n = s_.engine.paths.at(place);
  if (n.kind == StepKind::Field) return n.entity;
  if (n.kind == StepKind::Root && n.root == Root::Global) return n.entity;
  return 0;
}

std::string AtomicScalars::name(Str entity) const {
  if (const FieldFact* f = s_.program.field(entity)) return s_.program.text(f->name);
  if (const GlobalFact* g = s_.program.global(entity)) return lastPart(s_.program.text(g->name));
  return {};
}

void AtomicScalars::findUses() const {
  if (found_) return;
  found_ = true;
  auto endOf = [](const Path& p) -> Str {
    if (!p.steps.empty()) return p.steps.back().sel == Sel::Field ? p.steps.back().field : 0;
    return p.root == Root::Global ? p.entity : 0;
  };
  const Program& p = s_.program;
  for (FuncId id = 0; id < p.functions.size(); ++id) {
    const FunctionFacts& f = p.functions[id];
    for (uint32_t c = 0; c < f.calls.size(); ++c)
      for (const Arg& a : f.calls[c].args)
        if (a.value.kind == ValueKind::Bind)
          if (Str e = endOf(a.value.path)) uses_[e].push_back({ScalarUseKind::Bound, id, 0, false, false, c, f.calls[c].loc});
    for (const Block& b : f.blocks)
      for (size_t i = 0; i < b.events.size(); ++i) {
        const Event& e = b.events[i];
        if (e.kind == EventKind::Bind || e.kind == EventKind::Copy) {
          if (e.kind == EventKind::Bind)
            if (Str x = endOf(e.value.path)) uses_[x].push_back({ScalarUseKind::Bound, id, 0, false, false, kNone, e.loc});
          continue;
        }
        if (e.kind != EventKind::Read && e.kind != EventKind::Write) continue;
        Str x = endOf(e.place);
        if (!x) continue;
        if (e.kind == EventKind::Write) {
          bool init = p.text(e.op) == "init";
          uses_[x].push_back({e.rmw ? ScalarUseKind::Step : ScalarUseKind::Store, id, e.op, e.rmwUsed, init, kNone, e.loc});
          continue;
        }
        // The read that is half of a step, or takes the value of one (`++n`).
        auto same = [&](const Event& w) {
          return w.kind == EventKind::Write && w.place == e.place && w.loc.file == e.loc.file && w.loc.line == e.loc.line;
        };
        bool half = i > 0 && same(b.events[i - 1]) && e.loc.offset <= b.events[i - 1].loc.offset;
        for (size_t k = i + 1; k < b.events.size() && !half; ++k)
          half = same(b.events[k]) && b.events[k].rmw && b.events[k].loc.offset == e.loc.offset;
        if (!half) uses_[x].push_back({ScalarUseKind::Load, id, 0, false, false, kNone, e.loc});
      }
  }
}

const std::vector<ScalarUse>& AtomicScalars::uses(Str entity) const {
  findUses();
  return uses_[entity];
}

bool AtomicScalars::isAccess(Str entity, FuncId func, const Loc& loc) const {
  for (const ScalarUse& u : uses(entity))
    if (u.func == func && u.loc.file == loc.file && u.loc.offset == loc.offset) return true;
  return false;
}

const AtomicEdits& AtomicScalars::edits(Str entity) const {
  auto it = edits_.find(entity);
  if (it == edits_.end()) it = edits_.emplace(entity, build(entity)).first;
  return it->second;
}

// Where the program copies or moves the objects that have the member: an atomic
// cannot be. "" if nowhere.
std::string AtomicScalars::copied(Str entity) const {
  const Program& p = s_.program;
  const ClassFact* owner = p.fieldOwner(entity);
  const FieldFact* field = p.field(entity);
  if (!owner || field->isStatic) return {};
  // The classes that contain it, and the library's value types around them.
  std::set<Str> types{owner->type}, classes{owner->usr};
  static const std::set<std::string_view> kValues{"std::pair", "std::tuple", "std::optional", "std::variant", "std::array"};
  for (bool grew = true; grew;) {
    grew = false;
    for (const ClassFact& c : p.classes) {
      if (classes.count(c.usr)) continue;
      bool has = std::any_of(c.bases.begin(), c.bases.end(), [&](Str b) { return types.count(b); });
      for (const FieldFact& f : c.fields) {
        Str t = f.type;
        for (const TypeFact* x = p.type(t); x && x->kind == TypeKind::Array; x = p.type(t)) t = x->pointee;
        has |= !f.isStatic && types.count(t);
      }
      if (has) grew = true, classes.insert(c.usr), types.insert(c.type);
    }
    for (const auto& [name, t] : p.types)
      if (t.kind == TypeKind::Class && kValues.count(p.text(t.clsName)) && !types.count(name) &&
          std::any_of(t.args.begin(), t.args.end(), [&](Str a) { return types.count(a); }))
        grew = true, types.insert(name);
  }
  auto plain = [&](Str t) {
    const TypeFact* x = p.type(t);
    return x && (x->kind == TypeKind::Ref) && x->pointee ? x->pointee : t;
  };
  auto holdsThem = [&](Str t) {
    const TypeFact* x = p.type(t);
    return x && x->kind == TypeKind::Class &&
           std::any_of(x->args.begin(), x->args.end(), [&](Str a) { return types.count(a); });
  };
  std::set<Str> copies;
  for (const ClassFact& c : p.classes)
    if (classes.count(c.usr))
      for (Str usr : {c.copyCtor, c.moveCtor, c.copyAssign, c.moveAssign})
        if (usr) copies.insert(usr);
  static const std::set<std::string_view> kMoves{"push_back", "emplace_back", "resize", "reserve", "insert", "emplace",
                                                 "erase", "assign", "shrink_to_fit"};
  static const std::set<std::string_view> kHandsOn{"std::move", "std::forward", "std::addressof", "std::ref", "std::cref",
                                                   "std::get", "std::as_const", "std::tie"};
  auto at = [&](const Loc& loc) { return lineOf(s_, loc); };
  for (const FunctionFacts& f : p.functions) {
    if (f.isDefaulted || f.isImplicit) continue;  // what only they would do, nobody asks for
    for (const Block& b : f.blocks)
      for (const Event& e : b.events)
        if ((e.kind == EventKind::Read || e.kind == EventKind::Write) && types.count(e.type)) return at(e.loc);
    for (const Call& c : f.calls) {
      if (copies.count(c.callee)) return at(c.loc);
      const std::string& name = p.text(c.name);
      if (!name.starts_with("std::")) continue;
      std::string_view method = lastName(name);
      bool one = types.count(c.selfType) || holdsThem(c.selfType);
      if (c.kind == CallKind::Construct && c.args.size() == 1 && one && plain(c.args[0].type) == c.selfType &&
          (types.count(c.selfType) || c.args[0].constRef))
        return at(c.loc);
      if (method == "operator=" && one && !c.args.empty() && plain(c.args[0].type) == c.selfType &&
          (types.count(c.selfType) || c.args[0].constRef))
        return at(c.loc);
      if (kHandsOn.count(name)) continue;
      bool vector = p.className(c.selfType) == "std::vector" && holdsThem(c.selfType);
      if (vector && kMoves.count(method)) return at(c.loc);
      if (c.kind == CallKind::Destroy) continue;
      for (const Arg& a : c.args)
        if (types.count(plain(a.type)) && method != "at" && method != "operator[]") return at(c.loc);
    }
  }
  return {};
}

AtomicEdits AtomicScalars::build(Str entity) const {
  AtomicEdits out;
  const Program& p = s_.program;
  auto cannot = [&](const std::string& why, bool impossible = false) {
    out.why = why;
    out.impossible = impossible;
    out.edits.clear();
    out.includes.clear();
    return out;
  };
  const FieldFact* field = p.field(entity);
  const GlobalFact* global = p.global(entity);
  const std::string called = "`" + name(entity) + "`";
  Str type = field ? field->type : global ? global->type : 0;
  const TypeFact* t = p.type(type);
  if (!t) return cannot(called + " is not a variable of the program", true);
  if (field && field->isBitField) return cannot(called + " is a bit-field", true);
  if ((field && (field->isVolatile || field->isRef)) || (global && (global->isVolatile || global->isThreadLocal)))
    return cannot(called + " is volatile, a reference or thread-local", true);
  if (t->kind != TypeKind::Int && t->kind != TypeKind::Bool && t->kind != TypeKind::Enum && t->kind != TypeKind::Pointer)
    return cannot(called + " is a `" + p.text(type) + "`, for which there are no atomic operations of that kind", true);
  if (t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8)
    return cannot("an atomic of the size of " + called + " is not lock-free", true);
  if (std::string where = copied(entity); !where.empty())
    return cannot("the class of " + called + " is copied or moved (" + where + "), and an atomic cannot be");
  if (!text_) return cannot("the sources are not at hand");

  std::vector<std::pair<Anchor, Loc>> declarations;
  if (field) {
    declarations.push_back({field->typeText, field->loc});
    for (const FieldFact& other : p.fieldOwner(entity)->fields)
      if (other.usr != field->usr && other.typeText.valid() && field->typeText.valid() &&
          other.typeText.begin.offset == field->typeText.begin.offset)
        return cannot(called + " is declared together with others");
  } else {
    declarations.push_back({global->typeText, global->loc});
    for (const Anchor& a : global->otherTypeTexts) declarations.push_back({a, Loc()});
    for (const GlobalFact& other : p.globals)
      if (other.usr != global->usr && other.typeText.valid() && global->typeText.valid() &&
          other.typeText.begin.file == global->typeText.begin.file && other.typeText.begin.offset == global->typeText.begin.offset)
        return cannot(called + " is declared together with others");
  }
  // The language of the units that see it.
  const auto [oldest, newest] = standardsSeeing(s_, field ? field->loc : global->loc);
  const bool isC = oldest == 0;
  if (isC && newest != 0) return cannot(called + " is seen by C and by C++");
  if (!isC && oldest < 11) return cannot("`std::atomic` needs c++11");

  for (const auto& [anchor, loc] : declarations) {
    if (!anchor.valid()) return cannot("the type of " + called + " is not written in plain text");
    const SourceText::File& f = text_->file(anchor.begin.file);
    std::optional<size_t> first = f.tokenAt(anchor.begin.offset);
    if (!first) return cannot("the declaration of " + called + " could not be read");
    size_t begin = *first;
    while (begin > 0 && f.at(begin - 1) == "const") --begin;
    size_t named = begin;  // the token that is the name
    while (named < f.tokens.size() && !endsStatement(f.at(named)) && !(f.at(named) == name(entity) && named > begin)) ++named;
    if (f.at(named) != name(entity)) return cannot("the declaration of " + called + " could not be read");
    std::string spelled = f.text.substr(f.tokens[begin].offset, f.tokens[named].offset - f.tokens[begin].offset);
    while (!spelled.empty() && std::isspace(static_cast<unsigned char>(spelled.back()))) spelled.pop_back();
    bool pointer = t->kind == TypeKind::Pointer;
    if (pointer != (spelled.find('*') != std::string::npos) && !pointer) return cannot(called + " is declared with others");
    if (f.at(named + 1) == "[" || f.at(named + 1) == "(") return cannot("the declaration of " + called + " could not be read");
    size_t end = named + 1;  // of the declaration
    int depth = 0;
    for (; end < f.tokens.size(); ++end) {
      std::string_view x = f.at(end);
      if (x == "(" || x == "{" || x == "[") ++depth;
      if (x == ")" || x == "}" || x == "]") --depth;
      if (depth == 0 && x == ",") return cannot(called + " is declared together with others");
      if (depth == 0 && x == ";") break;
    }
    if (spelled.starts_with("auto") || spelled.find("decltype") != std::string::npos)
      return cannot("the type of " + called + " is deduced");
    out.type = isC ? "_Atomic " + spelled : "std::atomic<" + spelled + ">";
    // `T* p` keeps its space: between `>` and the name there is one at least.
    uint32_t typeEnd = f.tokens[begin].offset + static_cast<uint32_t>(spelled.size());
    std::string replacement = isC ? (pointer ? "_Atomic(" + spelled + ")" : "_Atomic " + spelled) : out.type;
    if (typeEnd == f.tokens[named].offset) replacement += " ";
    addEdits(out.edits, {text_->edit(f, f.tokens[begin].offset, typeEnd, replacement)});
    // `= 0` copies an atomic before C++17.
    if (!isC && oldest < 17 && f.at(named + 1) == "=") {
      std::string value = f.text.substr(f.tokens[named + 2].offset, f.tokens[end - 1].end() - f.tokens[named + 2].offset);
      addEdits(out.edits, {text_->edit(f, f.tokens[named].end(), f.tokens[end - 1].end(), "{" + value + "}")});
    }
    if (!isC) out.includes.push_back({f.name, "<atomic>"});
  }

  std::set<std::pair<uint32_t, uint32_t>> done;
  for (const ScalarUse& u : uses(entity)) {
    if (p.functions[u.func].isImplicit || p.functions[u.func].isDefaulted) continue;
    std::string where = lineOf(s_, u.loc);
    if (u.kind == ScalarUseKind::Bound) return cannot("a reference to " + called + " is made at " + where);
    if (u.kind == ScalarUseKind::Step && !atomicHas(t->kind, p.text(u.op)))
      return cannot("an atomic has no `" + p.text(u.op) + "` (" + where + ")");
    if (u.kind != ScalarUseKind::Load || isC || !done.insert({u.loc.file, u.loc.offset}).second) continue;
    // To the end of the expression, `it->second.visits`.
    const SourceText::File& f = text_->file(u.loc.file);
    std::optional<size_t> token = f.tokenAt(u.loc.offset);
    if (!token) return cannot("the access at " + where + " is not in plain text");
    size_t i = *token;
    for (size_t steps = 0; steps < 64; ++steps) {
      std::string_view x = f.at(i);
      if (x == name(entity) && f.at(i + 1) != "." && f.at(i + 1) != "->" && f.at(i + 1) != "::") break;
      if (x == "(" || x == "[") {
        std::optional<size_t> close = f.closing(i);
        if (!close) break;
        i = *close + 1;
      } else if (x == "." || x == "->" || x == "::" || x == "*" || std::isalpha(static_cast<unsigned char>(x.empty() ? ' ' : x[0])) || x.starts_with('_')) {
        ++i;
      } else {
        break;
      }
    }
    if (f.at(i) != name(entity)) return cannot("the access at " + where + " is not in plain text");
    addEdits(out.edits, {text_->edit(f, f.tokens[i].end(), f.tokens[i].end(), ".load()")});
  }
  return out;
}

}  // namespace locktidy
