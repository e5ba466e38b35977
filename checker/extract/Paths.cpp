// Expressions as places and values. Nothing here emits an event: effects were
// emitted when the graph presented the sub-expressions.
#include "checker/extract/Internal.h"

namespace locktidy::extract {

namespace {

Path rooted(Root root, uint32_t index = 0) {
  Path path;
  path.root = root;
  path.index = index;
  return path;
}

Path step(Path path, Step step) {
  // Below anything at all there is anything at all.
  if (path.root != Root::Unknown) path.steps.push_back(step);
  return path;
}

Path followed(Path path, QualType type) {
  return type->isReferenceType() ? step(std::move(path), {Sel::Deref, 0, 0}) : path;
}

Value bound(Path path) { return {ValueKind::Bind, std::move(path)}; }
Value copied(Path path) { return {ValueKind::Copy, std::move(path)}; }

const Expr* lastExpr(const StmtExpr* expr) {
  auto* body = expr->getSubStmt();
  return body->body_empty() ? nullptr : dyn_cast<Expr>(body->body_back());
}

}  // namespace

Path Lowering::deref(const Value& value) {
  switch (value.kind) {
  case ValueKind::Bind:
    return value.path;
  case ValueKind::Copy:
    return step(value.path, {Sel::Deref, 0, 0});
  case ValueKind::None:
    return Path();
  }
  return Path();
}

Path Lowering::field(Path base, const FieldDecl* field) {
  return followed(step(std::move(base), {Sel::Field, u.usr(field), 0}), field->getType());
}

// The object whose fields hold the captures of the closure being lowered.
Path Lowering::closure() {
  auto* method = cast<CXXMethodDecl>(function);
  if (!method->isExplicitObjectMemberFunction()) return rooted(Root::This);
  return followed(rooted(Root::Param, 0), method->getParamDecl(0)->getType());
}

const FieldDecl* Lowering::captureOf(const ValueDecl* decl) {
  if (auto found = captures.find(decl); found != captures.end()) return found->second;
  if (auto found = captures.find(cast<ValueDecl>(decl->getCanonicalDecl()));
      found != captures.end())
    return found->second;
  return nullptr;
}

Path Lowering::declPlace(const ValueDecl* decl, const DeclRefExpr* ref) {
  if (auto* fn = dyn_cast<FunctionDecl>(decl)) {
    Path path = rooted(Root::Global);
    path.entity = u.function(fn);
    return path;
  }
  if (!ref || ref->refersToEnclosingVariableOrCapture())
    if (const FieldDecl* captured = captureOf(decl)) return field(closure(), captured);
  if (auto* piece = dyn_cast<BindingDecl>(decl)) {
    if (const VarDecl* holder = piece->getHoldingVar()) return declPlace(holder, nullptr);
    return piece->getBinding() ? place(piece->getBinding()) : Path();
  }
  auto* variable = dyn_cast<VarDecl>(decl);
  if (!variable) {
    Path path = rooted(Root::Global);
    path.entity = u.usr(decl);
    return isa<TemplateParamObjectDecl>(decl) ? path : Path();
  }
  if (variable->hasGlobalStorage()) {
    Path path = rooted(Root::Global);
    path.entity = u.global(variable);
    return followed(std::move(path), variable->getType());
  }
  auto* param = dyn_cast<ParmVarDecl>(variable);
  if (param && function && param->getDeclContext() == function)
    return followed(rooted(Root::Param, param->getFunctionScopeIndex()), param->getType());
  // A constant of an enclosing function, used without being captured, is a
  // variable of its own here.
  return followed(rooted(Root::Local, plan.local(variable)), variable->getType());
}

Path Lowering::memberPlace(const MemberExpr* expr) {
  const ValueDecl* member = expr->getMemberDecl();
  auto* owned = dyn_cast<FieldDecl>(member);
  if (!owned) return declPlace(member, nullptr);
  Path base = expr->isArrow() ? deref(pointer(expr->getBase())) : place(expr->getBase());
  return field(std::move(base), owned);
}

Path Lowering::elementPlace(const ArraySubscriptExpr* expr) {
  const Expr* base = expr->getBase()->IgnoreParens();
  if (auto* cast = dyn_cast<ImplicitCastExpr>(base);
      cast && cast->getCastKind() == CK_ArrayToPointerDecay) {
    if (isStringLike(cast->getSubExpr())) return rooted(Root::Local, plan.slot(cast->getSubExpr()));
    return step(place(cast->getSubExpr()), {Sel::Elem, 0, indexName(expr->getIdx())});
  }
  if (base->getType()->isVectorType()) return place(base);
  return deref(pointer(base));
}

// Equal texts surely mean equal numbers within one run of the function.
bool Lowering::indexText(const Expr* expr, std::string& out) {
  expr = expr->IgnoreParenCasts();
  if (auto* literal = dyn_cast<IntegerLiteral>(expr)) {
    out += llvm::toString(literal->getValue(), 10, false);
    return true;
  }
  if (auto* ref = dyn_cast<DeclRefExpr>(expr)) {
    auto* constant = dyn_cast<EnumConstantDecl>(ref->getDecl());
    if (constant) {
      out += llvm::toString(constant->getInitVal(), 10);
      return true;
    }
    auto* variable = dyn_cast<VarDecl>(ref->getDecl());
    if (!variable || variable->getType()->isReferenceType() || !plan.isStable(variable))
      return false;
    if (variable->hasGlobalStorage() && !variable->getType().isConstQualified()) return false;
    out += variable->getName();
    // Two variables of one name in one function differ in where they are.
    out += "@" + std::to_string(u.sources.loc(variable->getLocation()).offset);
    return true;
  }
  if (auto* op = dyn_cast<BinaryOperator>(expr);
      op && !op->isAssignmentOp() && !op->isLogicalOp()) {
    out += "(";
    if (!indexText(op->getLHS(), out)) return false;
    out += op->getOpcodeStr();
    if (!indexText(op->getRHS(), out)) return false;
    out += ")";
    return true;
  }
  return false;
}

Str Lowering::indexName(const Expr* expr) {
  std::string text;
  return indexText(expr, text) ? u.str(text) : 0;
}

Path Lowering::target(const Expr* expr) {
  auto found = plan.targets.find(expr);
  if (found == plan.targets.end()) return rooted(Root::Local, plan.slot(expr));
  Path path = found->second.path;
  if (const Expr* placement = found->second.placement) {
    Path base = deref(pointer(placement));
    for (const Step& each : path.steps) base = step(std::move(base), each);
    return base;
  }
  return path;
}

Path Lowering::place(const Expr* original) {
  const Expr* expr = skipTransparent(original);
  if (plan.targets.count(expr)) {
    Path path = target(expr);
    // Of an array, the constructor's target is each element.
    if (isa<CXXConstructExpr>(expr) && expr->getType()->isArrayType() && !path.steps.empty() &&
        path.steps.back().sel == Sel::Elem)
      path.steps.pop_back();
    return path;
  }
  switch (expr->getStmtClass()) {
  case Stmt::DeclRefExprClass: {
    auto* ref = cast<DeclRefExpr>(expr);
    return declPlace(ref->getDecl(), ref);
  }
  case Stmt::MemberExprClass:
    return memberPlace(cast<MemberExpr>(expr));
  case Stmt::ArraySubscriptExprClass:
    return elementPlace(cast<ArraySubscriptExpr>(expr));
  case Stmt::ExtVectorElementExprClass:
    return place(cast<ExtVectorElementExpr>(expr)->getBase());
  case Stmt::UnaryOperatorClass: {
    auto* op = cast<UnaryOperator>(expr);
    if (op->getOpcode() == UO_Deref) return deref(pointer(op->getSubExpr()));
    return place(op->getSubExpr());
  }
  case Stmt::BinaryOperatorClass:
  case Stmt::CompoundAssignOperatorClass: {
    auto* op = cast<BinaryOperator>(expr);
    if (op->isAssignmentOp()) return place(op->getLHS());
    if (op->getOpcode() == BO_Comma) return place(op->getRHS());
    return Path();  // a member chosen by a pointer to member
  }
  case Stmt::ConditionalOperatorClass:
  case Stmt::BinaryConditionalOperatorClass: {
    Path path = rooted(Root::Local, plan.slot(expr));
    return expr->isGLValue() ? step(std::move(path), {Sel::Deref, 0, 0}) : path;
  }
  case Stmt::MaterializeTemporaryExprClass: {
    auto* inner = cast<MaterializeTemporaryExpr>(expr)->getSubExpr();
    if (inner->getType()->isRecordType() || inner->getType()->isArrayType()) return place(inner);
    return rooted(Root::Local, plan.slot(expr));
  }
  case Stmt::CXXConstructExprClass:
  case Stmt::CXXTemporaryObjectExprClass: {
    auto* made = cast<CXXConstructExpr>(expr);
    if (made->isElidable() && made->getNumArgs() >= 1) return place(made->getArg(0));
    return target(expr);
  }
  case Stmt::InitListExprClass: {
    auto* list = cast<InitListExpr>(expr);
    if (list->isTransparent() || (list->isGLValue() && list->getNumInits() == 1))
      return place(list->getInit(0));
    return target(list->isSyntacticForm() && list->getSemanticForm() ? list->getSemanticForm()
                                                                     : list);
  }
  case Stmt::StmtExprClass:
    if (const Expr* last = lastExpr(cast<StmtExpr>(expr))) return place(last);
    return Path();
  case Stmt::CallExprClass:
  case Stmt::CXXMemberCallExprClass:
  case Stmt::CXXOperatorCallExprClass:
  case Stmt::UserDefinedLiteralClass: {
    auto* call = cast<CallExpr>(expr);
    if (const Expr * to, *from; isTrivialAssignment(call, to, from))
      return to->getType()->isPointerType() ? deref(pointer(to)) : place(to);
    auto found = callIds.find(call);
    if (found == callIds.end()) return Path();
    Path path = rooted(Root::Result, found->second);
    return expr->isGLValue() ? step(std::move(path), {Sel::Deref, 0, 0}) : path;
  }
  case Stmt::PseudoObjectExprClass:
    if (const Expr* result = cast<PseudoObjectExpr>(expr)->getResultExpr()) return place(result);
    return Path();
  case Stmt::ObjCMessageExprClass:
  case Stmt::VAArgExprClass:
    return Path();
  default:
    break;
  }
  if (auto* cast = dyn_cast<CastExpr>(expr)) {
    if (expr->isGLValue() || expr->getType()->isRecordType()) return place(cast->getSubExpr());
    return Path();
  }
  // String literals, closures, value-initialised objects and the like: each an
  // object of its own that nothing else refers to.
  return rooted(Root::Local, plan.slot(expr));
}

Value Lowering::pointer(const Expr* original) {
  const Expr* expr = skipTransparent(original);
  QualType type = expr->getType();
  if (expr->isGLValue()) return isStringLike(expr) ? Value() : bound(place(expr));
  if (auto* cast = dyn_cast<CastExpr>(expr)) {
    const Expr* inner = cast->getSubExpr();
    switch (cast->getCastKind()) {
    case CK_LValueToRValue:
      return carriesPointer(type) || type->isRecordType() ? copied(place(inner)) : Value();
    case CK_ArrayToPointerDecay:
      if (isStringLike(inner)) return Value();
      return bound(step(place(inner), {Sel::Elem, 0, 0}));
    case CK_FunctionToPointerDecay: {
      Path path = place(inner);
      // `*f` of a function pointer decays to f again.
      if (!path.steps.empty() && path.steps.back().sel == Sel::Deref) {
        path.steps.pop_back();
        return copied(std::move(path));
      }
      return bound(std::move(path));
    }
    case CK_NullToPointer:
    case CK_NullToMemberPointer:
    case CK_ToVoid:
      return Value();
    case CK_IntegralToPointer: {
      Value held = pointer(inner);
      if (held.kind != ValueKind::None) return held;
      // A number too narrow for an address is a number in disguise.
      const Expr* number = inner->IgnoreParenCasts();
      if (u.ctx.getTypeSize(number->getType()) < u.ctx.getTypeSize(type)) return Value();
      return skipTransparent(inner)->isIntegerConstantExpr(u.ctx) ? Value() : bound(Path());
    }
    default:
      if (inner->isGLValue() && carriesPointer(type)) return copied(place(inner));
      return inner->isGLValue() ? Value() : pointer(inner);
    }
  }
  switch (expr->getStmtClass()) {
  case Stmt::CXXThisExprClass:
    if (thisCapture) {
      Path path = step(closure(), {Sel::Field, u.usr(thisCapture), 0});
      return isPointerLike(thisCapture->getType()) ? copied(std::move(path))
                                                   : bound(std::move(path));
    }
    return bound(rooted(Root::This));
  case Stmt::UnaryOperatorClass: {
    auto* op = cast<UnaryOperator>(expr);
    switch (op->getOpcode()) {
    case UO_AddrOf: {
      const Expr* inner = skipTransparent(op->getSubExpr());
      if (auto* ref = dyn_cast<DeclRefExpr>(inner);
          ref && isa<FieldDecl, IndirectFieldDecl>(ref->getDecl()))
        return Value();  // a pointer to data member points to nothing yet
      if (isStringLike(inner)) return Value();
      return bound(place(inner));
    }
    case UO_PostInc:
    case UO_PostDec:
    case UO_PreInc:
    case UO_PreDec:
      return carriesPointer(type) ? copied(place(op->getSubExpr())) : Value();
    case UO_Plus:
    case UO_Minus:
    case UO_Not:
    case UO_Extension:
      return pointer(op->getSubExpr());
    default:
      return Value();
    }
  }
  case Stmt::BinaryOperatorClass:
  case Stmt::CompoundAssignOperatorClass: {
    auto* op = cast<BinaryOperator>(expr);
    if (op->isAssignmentOp()) return carriesPointer(type) ? copied(place(op->getLHS())) : Value();
    if (op->getOpcode() == BO_Comma) return pointer(op->getRHS());
    if (op->isAdditiveOp() || op->isBitwiseOp()) {
      Value left = pointer(op->getLHS());
      // The difference of two pointers is a number.
      if (left.kind != ValueKind::None)
        return op->getRHS()->getType()->isPointerType() ? Value() : left;
      return pointer(op->getRHS());
    }
    if (op->isPtrMemOp() && isPointerLike(type)) return bound(Path());
    return Value();
  }
  case Stmt::ConditionalOperatorClass:
  case Stmt::BinaryConditionalOperatorClass:
    return carriesPointer(type) ? copied(rooted(Root::Local, plan.slot(expr))) : Value();
  case Stmt::CallExprClass:
  case Stmt::CXXMemberCallExprClass:
  case Stmt::CXXOperatorCallExprClass:
  case Stmt::UserDefinedLiteralClass: {
    auto* call = cast<CallExpr>(expr);
    switch (call->getBuiltinCallee()) {
    case Builtin::BI__builtin_expect:
    case Builtin::BI__builtin_expect_with_probability:
    case Builtin::BI__builtin_assume_aligned:
    case Builtin::BI__builtin_launder:
      return pointer(call->getArg(0));
    case Builtin::BI__builtin_addressof:
      return bound(place(call->getArg(0)));
    default:
      break;
    }
    if (!carriesPointer(type)) return Value();
    if (const CXXMethodDecl* body = lambdaConversion(call)) {
      Path path = rooted(Root::Global);
      path.entity = u.function(body);
      return bound(std::move(path));
    }
    auto found = callIds.find(call);
    return found == callIds.end() ? bound(Path()) : copied(rooted(Root::Result, found->second));
  }
  case Stmt::AtomicExprClass: {
    auto found = callIds.find(expr);
    if (!carriesPointer(type)) return Value();
    return found == callIds.end() ? bound(Path()) : copied(rooted(Root::Result, found->second));
  }
  case Stmt::CXXNewExprClass: {
    auto* made = cast<CXXNewExpr>(expr);
    if (made->getNumPlacementArgs() == 1 && made->getOperatorNew() &&
        made->getOperatorNew()->isReservedGlobalPlacementOperator())
      return pointer(made->getPlacementArg(0));
    auto found = plan.fresh.find(made);
    if (found == plan.fresh.end()) return bound(Path());
    Path path = rooted(Root::Fresh, found->second);
    return bound(made->isArray() ? step(std::move(path), {Sel::Elem, 0, 0}) : path);
  }
  case Stmt::InitListExprClass: {
    auto* list = cast<InitListExpr>(expr);
    return list->getNumInits() == 1 ? pointer(list->getInit(0)) : Value();
  }
  case Stmt::StmtExprClass:
    if (const Expr* last = lastExpr(cast<StmtExpr>(expr))) return value(last);
    return Value();
  case Stmt::CXXNullPtrLiteralExprClass:
  case Stmt::GNUNullExprClass:
  case Stmt::CXXScalarValueInitExprClass:
  case Stmt::ImplicitValueInitExprClass:
  case Stmt::AddrLabelExprClass:
  case Stmt::SourceLocExprClass:
    return Value();
  case Stmt::PseudoObjectExprClass:
    if (const Expr* result = cast<PseudoObjectExpr>(expr)->getResultExpr()) return pointer(result);
    return Value();
  default:
    return isPointerLike(type) ? bound(Path()) : Value();
  }
}

Value Lowering::value(const Expr* expr) {
  if (expr->isGLValue()) return isStringLike(expr) ? Value() : bound(place(expr));
  const Expr* inner = skipTransparent(expr);
  if (inner->isGLValue()) return bound(place(inner));
  if (inner->getType()->isRecordType() || inner->getType()->isArrayType())
    return copied(place(inner));
  return pointer(inner);
}

}  // namespace locktidy::extract
