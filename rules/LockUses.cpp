#include "rules/LockUses.h"

namespace locktidy {
namespace {

class Finder {
 public:
  Finder(const Solution& s, const std::set<Str>& locks) : s_(s), p_(s.program), locks_(locks) {}

  std::map<Str, std::vector<LockUse>> run() {
    for (FuncId f = 0; f < p_.functions.size(); ++f) {
      const FunctionFacts& fn = p_.functions[f];
      if (!fn.hasBody) continue;
      for (uint32_t c = 0; c < fn.calls.size(); ++c) call(f, c);
      for (const Block& b : fn.blocks)
        for (const Event& e : b.events) event(f, e);
    }
    return std::move(uses_);
  }

 private:
  // The lock that a path ends at, whichever element and however many pointers
  // away; `inside`: the path goes on into the lock.
  Str lockAt(const Path& path, bool& inside) const {
    inside = false;
    for (size_t i = path.steps.size(); i-- > 0;) {
      if (path.steps[i].sel != Sel::Field) continue;
      if (locks_.count(path.steps[i].field)) return path.steps[i].field;
      inside = true;
    }
    if (path.root == Root::Global && locks_.count(path.entity)) return path.entity;
    return 0;
  }
  void add(Str lock, LockUse use) { uses_[lock].push_back(use); }

  void call(FuncId f, uint32_t index) {
    const FunctionFacts& fn = p_.functions[f];
    const Call& c = fn.calls[index];
    LockUse use;
    use.func = f;
    use.call = index;
    use.loc = c.loc.valid() ? c.loc : fn.loc;
    bool inside = false;
    if (c.hasSelf)
      if (Str lock = lockAt(c.self, inside)) {
        use.kind = inside ? UseKind::Other : selfUse(c, lock);
        add(lock, use);
      }
    for (uint32_t i = 0; i < c.args.size(); ++i)
      if (Str lock = lockAt(c.args[i].value.path, inside)) {
        use.arg = i;
        use.kind = inside ? UseKind::Other : argUse(c);
        add(lock, use);
      }
  }

  UseKind selfUse(const Call& c, Str lock) const {
    if (c.kind == CallKind::Destroy || (c.kind == CallKind::Construct && c.args.empty())) return UseKind::Lifetime;
    if (c.kind == CallKind::Construct) return UseKind::Other;
    auto it = s_.locks.find(lock);
    const MutexModel* m = it == s_.locks.end() ? nullptr : s_.models.mutex(p_.className(it->second.type));
    return m && m->ops.count(std::string(lastName(p_.text(c.name)))) ? UseKind::Method : UseKind::Other;
  }
  UseKind argUse(const Call& c) const {
    if (c.kind == CallKind::Construct && s_.models.guard(p_.className(c.selfType))) return UseKind::Guard;
    if (s_.models.lockFunction(p_.text(c.name))) return UseKind::Function;
    return UseKind::Passed;
  }

  void event(FuncId f, const Event& e) {
    if (e.kind == EventKind::Call || e.kind == EventKind::EndScope) return;
    bool inside = false;
    LockUse use;
    use.func = f;
    use.loc = e.loc;
    if (e.kind == EventKind::Bind || e.kind == EventKind::Copy)
      if (Str lock = lockAt(e.value.path, inside)) {
        bool local = e.place.root == Root::Local && e.place.steps.empty();
        use.kind = local && !inside ? UseKind::Bound : UseKind::Other;
        use.local = local ? e.place.index : kNone;
        add(lock, use);
      }
    if (Str lock = lockAt(e.place, inside)) {
      use.kind = UseKind::Other;
      add(lock, use);
    }
  }

  const Solution& s_;
  const Program& p_;
  const std::set<Str>& locks_;
  std::map<Str, std::vector<LockUse>> uses_;
};

}  // namespace

bool namesLock(const AttrFact& a, Str lock) {
  for (const Path& path : a.args)
    if ((!path.steps.empty() && path.steps.back().field == lock) || (path.root == Root::Global && path.entity == lock)) return true;
  return false;
}

std::map<Str, std::vector<LockUse>> usesOfLocks(const Solution& s, const std::set<Str>& locks) {
  return Finder(s, locks).run();
}

}  // namespace locktidy
