#include "rules/mutex-could-be-atomic/Removal.h"

#include <algorithm>

#include "rules/AtomicScalar.h"
#include "rules/Describe.h"
#include "rules/LockUses.h"

namespace locktidy {
namespace {

class Remover {
 public:
  Remover(const Solution& s, const SourceText& text, const LockClass& lock) : s_(s), p_(s.program), text_(text), lock_(lock) {}

  Removal run() {
    declarations();
    annotations();
    for (uint32_t i : lock_.sections) section(s_.sections[i]);
    for (const LockUse& u : usesOfLocks(s_, {lock_.id})[lock_.id])
      if (u.kind == UseKind::Function) call(p_.functions[u.func], u.call);
    if (!out_.why.empty()) out_.edits.clear();
    return std::move(out_);
  }

 private:
  void cannot(const std::string& why) {
    if (out_.why.empty()) out_.why = why;
  }
  std::string at(const Loc& loc) const { return lineOf(s_, loc); }

  // Removes the statement or member declaration that has the token in it.
  void removeAround(const Loc& loc, uint32_t offset, const std::string& what) {
    const SourceText::File& f = text_.file(loc.file);
    std::optional<size_t> token = f.tokenAt(offset);
    if (!token) return cannot(what + " could not be read");
    size_t first = *token, last = *token;
    while (first > 0 && !endsStatement(f.at(first - 1))) {
      if (f.at(first - 1) == ")" || f.at(first - 1) == "else" || f.at(first - 1) == "do") return cannot(what + " is part of a larger statement");
      --first;
    }
    int depth = 0;
    for (; last < f.tokens.size(); ++last) {
      std::string_view x = f.at(last);
      if (x == "(" || x == "{" || x == "[") ++depth;
      if (x == ")" || x == "}" || x == "]") --depth;
      if (depth < 0) return cannot(what + " is part of a larger statement");
      if (depth == 0 && x == ",") return cannot(what + " is declared together with others");
      if (depth == 0 && x == ";") break;
    }
    if (last == f.tokens.size()) return cannot(what + " could not be read");
    addEdits(out_.edits, {text_.removal(f, first, last)});
  }

  void declarations() {
    const FieldFact* field = p_.field(lock_.id);
    const GlobalFact* global = p_.global(lock_.id);
    const std::string what = "the lock's declaration";
    if (field && field->typeText.valid()) return removeAround(field->typeText.begin, field->typeText.begin.offset, what);
    if (!global || !global->typeText.valid()) return cannot(what + " is not written in plain text");
    removeAround(global->typeText.begin, global->typeText.begin.offset, what);
    for (const Anchor& a : global->otherTypeTexts) {
      if (!a.valid()) return cannot(what + " is not written in plain text");
      removeAround(a.begin, a.begin.offset, what);
    }
  }

  // `GUARDED_BY(mu_)` and the like would name what is no more.
  void annotations() {
    for (const ClassFact& c : p_.classes)
      for (const FieldFact& f : c.fields)
        for (const AttrFact& a : f.attrs)
          if (namesLock(a, lock_.id)) return annotation(a);
    for (const GlobalFact& g : p_.globals)
      for (const AttrFact& a : g.attrs)
        if (namesLock(a, lock_.id)) return annotation(a);
    for (const FunctionFacts& f : p_.functions)
      for (const AttrFact& a : f.attrs)
        if (namesLock(a, lock_.id)) return cannot("`" + p_.text(f.name) + "` is annotated with the lock");
    for (const InitMacro& m : p_.initMacros)
      if (m.entity == lock_.id && p_.field(lock_.id)) return cannot("its initialiser is part of a list");
  }
  void annotation(const AttrFact& a) {
    if (!a.written.valid()) return cannot("an annotation with the lock is not in plain sight");
    const SourceText::File& f = text_.file(a.written.begin.file);
    std::optional<size_t> token = f.tokenAt(a.written.begin.offset);
    std::optional<size_t> close = token && f.at(*token + 1) == "(" ? f.closing(*token + 1) : std::nullopt;
    if (!close || *token == 0 || f.at(*token - 1) == "(") return cannot("an annotation with the lock is not in plain sight");
    // With the blank before it.
    addEdits(out_.edits, {text_.edit(f, f.tokens[*token - 1].end(), f.tokens[*close].end(), "")});
  }

  void section(const Section& x) {
    const Acquisition& q = s_.acquisition(x);
    const FunctionFacts& f = p_.functions[x.func];
    if (q.guardLocal != kNone) {
      const LocalInfo& l = f.locals[q.guardLocal];
      if (l.macro || !l.typeText.valid()) return cannot("the guard at " + at(x.loc) + " is not written in plain text");
      removeAround(l.typeText.begin, l.typeText.begin.offset, "the guard at " + at(x.loc));
      // Whatever else is done with the guard: lock.unlock(), lock.lock().
      for (uint32_t i = 0; i < f.calls.size(); ++i)
        if (f.calls[i].hasSelf && !f.calls[i].implicit && f.calls[i].self.root == Root::Local && f.calls[i].self.index == q.guardLocal &&
            f.calls[i].self.steps.empty() && f.calls[i].kind == CallKind::Direct)
          call(f, i);
      return;
    }
    if (q.guard) return cannot("the guard at " + at(x.loc) + " is no local variable");
    call(f, q.call);
    for (uint32_t r : q.releases) call(f, r);
  }

  void call(const FunctionFacts& f, uint32_t index) {
    const Call& c = f.calls[index];
    if (c.macro || !c.whole.valid()) return cannot("the call at " + at(c.loc) + " comes out of a macro");
    removeAround(c.whole.begin, c.whole.begin.offset, "the call at " + at(c.loc));
  }

  const Solution& s_;
  const Program& p_;
  const SourceText& text_;
  const LockClass& lock_;
  Removal out_;
};

}  // namespace

Removal removeLock(const Solution& s, const SourceText* text, const LockClass& lock) {
  if (!text) return {"the sources are not at hand", {}};
  return Remover(s, *text, lock).run();
}

}  // namespace locktidy
