// Attributes: Clang's thread-safety set and the few others that say what a
// function does.
#include "checker/extract/Internal.h"

namespace locktidy::extract {

// An expression of an attribute in terms of the declaration's This and Param.
Path Unit::attributePath(const Expr* expr) {
  Path unknown;
  expr = expr->IgnoreParenCasts();
  if (isa<CXXThisExpr>(expr)) {
    Path path;
    path.root = Root::This;
    return path;
  }
  if (auto* ref = dyn_cast<DeclRefExpr>(expr)) {
    Path path;
    if (auto* param = dyn_cast<ParmVarDecl>(ref->getDecl())) {
      path.root = Root::Param;
      path.index = param->getFunctionScopeIndex();
    } else if (auto* variable = dyn_cast<VarDecl>(ref->getDecl());
               variable && variable->hasGlobalStorage()) {
      path.root = Root::Global;
      path.entity = global(variable);
    } else if (auto* field = dyn_cast<FieldDecl>(ref->getDecl())) {
      path.root = Root::This;
      path.steps.push_back({Sel::Field, usr(field), 0});
    } else {
      return unknown;
    }
    if (ref->getDecl()->getType()->isReferenceType()) path.steps.push_back({Sel::Deref, 0, 0});
    return path;
  }
  if (auto* member = dyn_cast<MemberExpr>(expr)) {
    if (auto* variable = dyn_cast<VarDecl>(member->getMemberDecl())) {
      Path path;
      path.root = Root::Global;
      path.entity = global(variable);
      return path;
    }
    auto* field = dyn_cast<FieldDecl>(member->getMemberDecl());
    if (!field) return unknown;
    Path path = attributePath(member->getBase());
    if (path.root == Root::Unknown) return unknown;
    if (member->isArrow() && !isa<CXXThisExpr>(member->getBase()->IgnoreParenCasts()))
      path.steps.push_back({Sel::Deref, 0, 0});
    path.steps.push_back({Sel::Field, usr(field), 0});
    if (field->getType()->isReferenceType()) path.steps.push_back({Sel::Deref, 0, 0});
    return path;
  }
  if (auto* op = dyn_cast<UnaryOperator>(expr)) {
    // `&mu` and `mu` both mean the lock mu in these attributes.
    if (op->getOpcode() == UO_AddrOf) return attributePath(op->getSubExpr());
    // `!mu`: the negative capability is said by the attribute's kind.
    if (op->getOpcode() == UO_LNot) return attributePath(op->getSubExpr());
    if (op->getOpcode() == UO_Deref) {
      Path path = attributePath(op->getSubExpr());
      if (path.root != Root::Unknown && !isa<CXXThisExpr>(op->getSubExpr()->IgnoreParenCasts()))
        path.steps.push_back({Sel::Deref, 0, 0});
      return path;
    }
  }
  return unknown;
}

std::vector<AttrFact> Unit::attributes(const Decl* decl) {
  std::vector<AttrFact> facts;
  if (!decl->hasAttrs()) return facts;
  for (const Attr* attr : decl->attrs()) {
    AttrFact fact;
    auto add = [&](StringRef kind) { fact.kind = str(kind); };
    auto args = [&](auto* a) {
      for (const Expr* expr : a->args()) fact.args.push_back(attributePath(expr));
    };
    if (auto* a = dyn_cast<AcquireCapabilityAttr>(attr)) {
      add(a->isShared() ? "acquire_shared_capability" : "acquire_capability");
      args(a);
    } else if (auto* a = dyn_cast<ReleaseCapabilityAttr>(attr)) {
      add(a->isGeneric()  ? "release_generic_capability"
          : a->isShared() ? "release_shared_capability"
                          : "release_capability");
      args(a);
    } else if (auto* a = dyn_cast<TryAcquireCapabilityAttr>(attr)) {
      add(a->isShared() ? "try_acquire_shared_capability" : "try_acquire_capability");
      args(a);
      const Expr* success = a->getSuccessValue();
      bool value = true;
      if (success && !success->isValueDependent()) success->EvaluateAsBooleanCondition(value, ctx);
      fact.successValue = str(value ? "true" : "false");
    } else if (auto* a = dyn_cast<RequiresCapabilityAttr>(attr)) {
      add(a->isShared() ? "requires_shared_capability" : "requires_capability");
      args(a);
    } else if (auto* a = dyn_cast<LocksExcludedAttr>(attr)) {
      add("locks_excluded");
      args(a);
    } else if (auto* a = dyn_cast<AssertCapabilityAttr>(attr)) {
      add(a->isShared() ? "assert_shared_capability" : "assert_capability");
      args(a);
    } else if (auto* a = dyn_cast<GuardedByAttr>(attr)) {
      add("guarded_by");
      fact.args.push_back(attributePath(a->getArg()));
    } else if (auto* a = dyn_cast<PtGuardedByAttr>(attr)) {
      add("pt_guarded_by");
      fact.args.push_back(attributePath(a->getArg()));
    } else if (auto* a = dyn_cast<LockReturnedAttr>(attr)) {
      add("lock_returned");
      fact.args.push_back(attributePath(a->getArg()));
    } else if (isa<CapabilityAttr>(attr)) {
      add("capability");
    } else if (isa<ScopedLockableAttr>(attr)) {
      add("scoped_lockable");
    } else if (isa<NoThreadSafetyAnalysisAttr>(attr)) {
      add("no_thread_safety_analysis");
    } else if (auto* a = dyn_cast<AnnotateAttr>(attr)) {
      add(("annotate:" + a->getAnnotation()).str());
    } else if (isa<NoReturnAttr>(attr) || isa<CXX11NoReturnAttr>(attr)) {
      add("noreturn");
    } else if (isa<PureAttr>(attr)) {
      add("pure");
    } else if (isa<ConstAttr>(attr)) {
      add("const");
    } else {
      continue;
    }
    SourceLocation at = attr->getLocation();
    if (at.isMacroID()) {
      Anchor whole;
      sources.macroAnchors(at, fact.written, whole);
    } else if (at.isValid()) {
      fact.written = sources.anchor(SourceRange(at, at));
    }
    facts.push_back(std::move(fact));
  }
  return facts;
}

}  // namespace locktidy::extract
