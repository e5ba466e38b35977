// What each node of a body does to memory.
#include "checker/extract/Internal.h"

namespace locktidy::extract {

namespace {

bool isObject(QualType type) { return type->isRecordType() || type->isArrayType(); }

// A scalar variable of the function itself, read directly.
bool isPlainLocal(const Path& path) {
  return (path.root == Root::Local || path.root == Root::Param) && path.steps.empty();
}

}  // namespace

void Lowering::visit(const Stmt* stmt) {
  auto* expr = dyn_cast<Expr>(stmt);
  if (expr && plan.unevaluated.count(expr)) return;
  switch (stmt->getStmtClass()) {
  case Stmt::DeclStmtClass:
    for (const Decl* decl : cast<DeclStmt>(stmt)->decls())
      if (auto* variable = dyn_cast<VarDecl>(decl)) declaration(variable);
    return;
  case Stmt::ReturnStmtClass:
    return returnStatement(cast<ReturnStmt>(stmt));
  case Stmt::CallExprClass:
  case Stmt::CXXMemberCallExprClass:
  case Stmt::CXXOperatorCallExprClass:
  case Stmt::UserDefinedLiteralClass:
    return call(cast<CallExpr>(stmt));
  case Stmt::CXXConstructExprClass:
  case Stmt::CXXTemporaryObjectExprClass:
    return construct(cast<CXXConstructExpr>(stmt));
  case Stmt::CXXInheritedCtorInitExprClass:
    return inheritedConstruct(cast<CXXInheritedCtorInitExpr>(stmt));
  case Stmt::CXXNewExprClass:
    return newExpression(cast<CXXNewExpr>(stmt));
  case Stmt::CXXDeleteExprClass:
    return deleteExpression(cast<CXXDeleteExpr>(stmt));
  case Stmt::AtomicExprClass:
    return atomicExpression(cast<AtomicExpr>(stmt));
  case Stmt::BinaryOperatorClass:
  case Stmt::CompoundAssignOperatorClass:
    if (cast<BinaryOperator>(stmt)->isAssignmentOp()) assignment(cast<BinaryOperator>(stmt));
    return;
  case Stmt::UnaryOperatorClass:
    if (cast<UnaryOperator>(stmt)->isIncrementDecrementOp()) increment(cast<UnaryOperator>(stmt));
    return;
  case Stmt::ConditionalOperatorClass:
  case Stmt::BinaryConditionalOperatorClass:
    return conditional(cast<AbstractConditionalOperator>(stmt));
  case Stmt::InitListExprClass: {
    auto* list = cast<InitListExpr>(stmt);
    if (list->isSyntacticForm() && list->getSemanticForm()) list = list->getSemanticForm();
    if (!list->isTransparent() && isObject(list->getType()) && !list->isGLValue())
      initList(list, list->inits());
    return;
  }
  case Stmt::CXXParenListInitExprClass:
    for (const Expr* init : cast<CXXParenListInitExpr>(stmt)->getInitExprs())
      if (auto* dflt = dyn_cast<CXXDefaultInitExpr>(init)) visitTree(dflt->getExpr());
    return initList(expr, cast<CXXParenListInitExpr>(stmt)->getInitExprs());
  case Stmt::LambdaExprClass:
    return lambda(cast<LambdaExpr>(stmt));
  case Stmt::MaterializeTemporaryExprClass: {
    auto* inner = cast<MaterializeTemporaryExpr>(stmt)->getSubExpr();
    if (!isObject(inner->getType())) bind(place(expr), pointer(inner), expr);
    return;
  }
  case Stmt::CXXStdInitializerListExprClass: {
    // The object refers to an array that lives as long as it.
    Path elements = place(cast<CXXStdInitializerListExpr>(stmt)->getSubExpr());
    if (elements.root != Root::Unknown) elements.steps.push_back({Sel::Elem, 0, 0});
    return bind(place(expr), {ValueKind::Bind, std::move(elements)}, expr);
  }
  case Stmt::CXXDefaultArgExprClass: {
    auto* arg = cast<CXXDefaultArgExpr>(stmt);
    SourceLocation outer = usedAt;
    if (!outer.isValid()) usedAt = arg->getUsedLocation();
    visitTree(arg->getExpr());
    usedAt = outer;
    return;
  }
  case Stmt::CXXBindTemporaryExprClass:
    if (usedAt.isValid()) temporaryUsedAt[cast<CXXBindTemporaryExpr>(stmt)] = usedAt;
    return;
  case Stmt::CXXCatchStmtClass:
    return catchVariable(cast<CXXCatchStmt>(stmt));
  case Stmt::CXXThrowExprClass:
    if (auto found = plan.throws.find(cast<CXXThrowExpr>(stmt)); found != plan.throws.end())
      for (const VarDecl* variable : found->second) destroyVariable(variable, stmt->getBeginLoc());
    return;
  case Stmt::DeclRefExprClass:
    if (auto* fn = dyn_cast<FunctionDecl>(cast<DeclRefExpr>(stmt)->getDecl());
        fn && !plan.callees.count(expr) && !fn->getBuiltinID())
      u.addressTaken(fn, expr->getExprLoc());
    return;
  case Stmt::MemberExprClass:
    if (auto* fn = dyn_cast<FunctionDecl>(cast<MemberExpr>(stmt)->getMemberDecl());
        fn && !plan.callees.count(expr))
      u.addressTaken(fn, expr->getExprLoc());
    return;
  case Stmt::GCCAsmStmtClass:
    return note(stmt, (llvm::Twine("asm: ") + cast<GCCAsmStmt>(stmt)->getAsmString()).str());
  case Stmt::MSAsmStmtClass:
    return note(stmt, "asm");
  case Stmt::VAArgExprClass:
    return note(stmt, "va_arg");
  case Stmt::CoawaitExprClass:
  case Stmt::CoyieldExprClass:
  case Stmt::CoreturnStmtClass:
    return note(stmt, "coroutine");
  case Stmt::BlockExprClass:
  case Stmt::ObjCMessageExprClass:
  case Stmt::IndirectGotoStmtClass:
  case Stmt::SEHTryStmtClass:
    return note(stmt, stmt->getStmtClassName());
  case Stmt::DesignatedInitUpdateExprClass:
    return note(stmt, "designated initializer over another");
  default:
    break;
  }
  if (auto* cast = dyn_cast<CastExpr>(stmt)) {
    if (cast->getCastKind() == CK_LValueToRValue) load(cast);
    return;
  }
  if (isa<OMPExecutableDirective>(stmt)) note(stmt, "OpenMP");
}

// For what Clang keeps out of the graph: sub-expressions first, in order.
void Lowering::visitTree(const Stmt* stmt) {
  if (!stmt) return;
  if (auto* lambda = dyn_cast<LambdaExpr>(stmt)) {
    for (const Expr* init : lambda->capture_inits()) visitTree(init);
  } else if (auto* init = dyn_cast<CXXDefaultInitExpr>(stmt)) {
    return visitTree(init->getExpr());
  } else {
    for (const Stmt* child : stmt->children()) visitTree(child);
  }
  visit(stmt);
}

void Lowering::note(const Stmt* stmt, StringRef what) {
  emit(EventKind::Opaque, stmt).note = u.str(what);
}

// ---------------------------------------------------------------------------
// Loads and stores
// ---------------------------------------------------------------------------

void Lowering::load(const CastExpr* cast) {
  const Expr* source = cast->getSubExpr();
  QualType type = source->getType();
  if (type->isAtomicType()) return atomicAccess("_Atomic::load", source, cast);
  if (auto* ref = dyn_cast<DeclRefExpr>(skipTransparent(source))) {
    // The value of a constant is compiled in; the variable is not read.
    if (ref->isNonOdrUse() == NOUR_Constant && !isa<VarDecl>(ref->getDecl())) return;
    auto* variable = dyn_cast<VarDecl>(ref->getDecl());
    if (ref->isNonOdrUse() == NOUR_Constant && variable && !variable->hasGlobalStorage()) return;
  }
  if (isStringLike(source)) return;
  Path from = place(source);
  if (isPlainLocal(from) && !type.isVolatileQualified()) return;
  read(std::move(from), type, cast);
}

void Lowering::assignment(const BinaryOperator* op) {
  const Expr *left = op->getLHS(), *right = op->getRHS();
  QualType type = left->getType();
  bool used = !plan.discarded.count(op);
  if (type->isAtomicType())
    return atomicAccess(op->isCompoundAssignmentOp() ? "_Atomic::rmw" : "_Atomic::store", left, op);
  Path to = place(left);
  if (op->isCompoundAssignmentOp()) {
    if (!isPlainLocal(to) || type.isVolatileQualified()) read(to, type, left);
    return write(std::move(to), type, BinaryOperator::getOpcodeStr(op->getOpcode()), left, true,
                 used);
  }
  write(to, type, "=", left);
  if (carriesPointer(type) || type->isRecordType()) bind(std::move(to), value(right), op);
}

void Lowering::increment(const UnaryOperator* op) {
  const Expr* operand = op->getSubExpr();
  QualType type = operand->getType();
  if (type->isAtomicType()) return atomicAccess("_Atomic::rmw", operand, op);
  Path to = place(operand);
  if (!isPlainLocal(to) || type.isVolatileQualified()) read(to, type, operand);
  write(std::move(to), type, UnaryOperator::getOpcodeStr(op->getOpcode()), operand, true,
        !plan.discarded.count(op));
}

void Lowering::conditional(const AbstractConditionalOperator* op) {
  QualType type = op->getType();
  if (op->isGLValue()) {
    Path slot;
    slot.root = Root::Local;
    slot.index = plan.slot(op);
    for (const Expr* arm : {op->getTrueExpr(), op->getFalseExpr()})
      if (!isa<CXXThrowExpr>(arm->IgnoreParens())) bind(slot, value(arm), arm);
  } else if (carriesPointer(type)) {
    Path slot;
    slot.root = Root::Local;
    slot.index = plan.slot(op);
    for (const Expr* arm : {op->getTrueExpr(), op->getFalseExpr()})
      if (!isa<CXXThrowExpr>(arm->IgnoreParens())) bind(slot, pointer(arm), arm);
  } else if (type->isRecordType()) {
    // The arms construct in place; those that load an object do not (C).
    Path to = target(op);
    for (const Expr* arm : {op->getTrueExpr(), op->getFalseExpr()}) {
      if (isa<CXXThrowExpr>(arm->IgnoreParens())) continue;
      Value held = value(arm);
      if (held.path != to) bind(to, std::move(held), arm);
    }
  }
}

// ---------------------------------------------------------------------------
// Initialisation
// ---------------------------------------------------------------------------

void Lowering::declaration(const VarDecl* variable) {
  const Expr* init = variable->getInit();
  QualType type = variable->getType();
  if (!init || plan.unevaluated.count(init)) return;
  Path path;
  if (variable->hasGlobalStorage()) {
    path.root = Root::Global;
    path.entity = u.global(variable);
  } else {
    path.root = Root::Local;
    path.index = plan.local(variable);
  }
  if (isObject(type)) {
    // Constructed by its own event, unless it is a plain copy (C).
    const Expr* source = skipTransparent(init);
    if (auto* cast = dyn_cast<CastExpr>(source); cast && cast->getCastKind() == CK_LValueToRValue)
      bind(std::move(path), value(init), init);
    return;
  }
  if (!type->isReferenceType() && !isPointerLike(type)) {
    // `bool ok = mu.try_lock();`
    Branch held = condition(init);
    if (held.call != kNone && !held.negated) initCalls[variable->getCanonicalDecl()] = held.call;
  } else if (isPointerLike(type)) {
    if (auto found = callIds.find(skipTransparent(init)->IgnoreParenImpCasts());
        found != callIds.end())
      initCalls[variable->getCanonicalDecl()] = found->second;
  }
  initialize(std::move(path), type, init, init);
}

void Lowering::memberInitializer(const CXXCtorInitializer* init) {
  const FieldDecl* member = init->getAnyMember();
  const Expr* expr = init->getInit();
  if (!member || !expr) return;  // bases are constructed by calls of their own
  fallback = init->getSourceLocation().isValid() ? init->getSourceLocation() : fallback;
  Path path;
  path.root = Root::This;
  if (const IndirectFieldDecl* chain = init->getIndirectMember()) {
    for (const NamedDecl* link : chain->chain()) path.steps.push_back({Sel::Field, u.usr(link), 0});
  } else {
    path.steps.push_back({Sel::Field, u.usr(member), 0});
  }
  QualType type = member->getType();
  if (isObject(type) && !type->isReferenceType()) {
    const Expr* source = skipTransparent(expr);
    // A constructor call or the copy of a result has said it already.
    if (isa<InitListExpr, CXXParenListInitExpr, ImplicitValueInitExpr, ArrayInitLoopExpr>(source))
      write(std::move(path), type, "init", expr);
    return;
  }
  initialize(std::move(path), type, expr, expr);
}

void Lowering::initList(const Expr* list, ArrayRef<Expr*> inits) {
  Path base = target(list);
  QualType type = list->getType();
  if (type->isArrayType()) {
    for (size_t i = 0; i < inits.size(); ++i) {
      if (!carriesPointer(inits[i]->getType())) continue;
      Path path = base;
      path.steps.push_back({Sel::Elem, 0, u.str(std::to_string(i))});
      bind(std::move(path), value(inits[i]), inits[i]);
    }
    return;
  }
  forEachInit(list, inits, [&](const FieldDecl* member, const Expr* init) {
    if (!member) return;
    QualType held = member->getType();
    Path path = base;
    path.steps.push_back({Sel::Field, u.usr(member), 0});
    if (held->isReferenceType()) {
      bind(std::move(path), value(init), init);
    } else if (carriesPointer(held)) {
      bind(std::move(path), pointer(init), init);
    } else if (held->isRecordType()) {
      auto* cast = dyn_cast<CastExpr>(skipTransparent(init));
      if (cast && cast->getCastKind() == CK_LValueToRValue)
        bind(std::move(path), value(init), init);
    }
  });
}

void Lowering::lambda(const LambdaExpr* lambda) {
  Path base = target(lambda);
  u.type(lambda->getType());
  auto field = lambda->getLambdaClass()->field_begin();
  for (const Expr* init : lambda->capture_inits()) {
    const FieldDecl* capture = *field++;
    if (!init) continue;
    QualType held = capture->getType();
    Path path = base;
    path.steps.push_back({Sel::Field, u.usr(capture), 0});
    if (held->isReferenceType())
      bind(std::move(path), value(init), init);
    else if (carriesPointer(held))
      bind(std::move(path), pointer(init), init);
    // Objects are copied by a constructor call or a trivial copy of their own.
  }
}

void Lowering::returnStatement(const ReturnStmt* stmt) {
  const Expr* result = stmt->getRetValue();
  if (!result || result->getType()->isVoidType()) return;
  Path ret;
  ret.root = Root::Ret;
  QualType type = function ? function->getReturnType() : result->getType();
  if (type->isReferenceType() || result->isGLValue()) {
    bind(ret, value(result), result);
  } else if (type->isRecordType()) {
    auto* cast = dyn_cast<CastExpr>(skipTransparent(result));
    if (cast && cast->getCastKind() == CK_LValueToRValue) bind(ret, value(result), result);
  } else if (carriesPointer(type)) {
    bind(ret, pointer(result), result);
  }
  emit(EventKind::Return, stmt).place = ret;
}

void Lowering::catchVariable(const CXXCatchStmt* stmt) {
  const VarDecl* variable = stmt->getExceptionDecl();
  if (!variable) return;
  // The exception object is one that nothing else here refers to.
  Path path;
  path.root = Root::Local;
  path.index = plan.local(variable);
  QualType type = variable->getType();
  if (type->isReferenceType()) {
    LocalInfo info;
    info.type = u.type(type.getNonReferenceType());
    info.isClass = type.getNonReferenceType()->isRecordType();
    info.loc = u.sources.loc(variable->getLocation());
    Path object;
    object.root = Root::Local;
    object.index = facts.locals.size();
    facts.locals.push_back(info);
    bind(std::move(path), {ValueKind::Bind, std::move(object)}, stmt);
  } else if (isPointerLike(type)) {
    bind(std::move(path), {ValueKind::Bind, Path()}, stmt);
  }
}

}  // namespace locktidy::extract
