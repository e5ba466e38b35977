// Calls of every kind: functions, constructors, destructors, new and delete,
// atomic builtins.
#include "checker/extract/Internal.h"

namespace locktidy::extract {

namespace {

bool isTransparentBuiltin(unsigned id) {
  return id == Builtin::BI__builtin_expect || id == Builtin::BI__builtin_expect_with_probability ||
         id == Builtin::BI__builtin_addressof || id == Builtin::BI__builtin_assume_aligned ||
         id == Builtin::BI__builtin_launder || id == Builtin::BI__builtin_constant_p ||
         id == Builtin::BI__builtin_object_size || id == Builtin::BI__builtin_dynamic_object_size;
}

bool isEmpty(QualType type) {
  auto* record = type->getAsCXXRecordDecl();
  return record && record->hasDefinition() && record->isEmpty();
}

// The class type an object expression has as written, before it is converted
// to the base that declares the method.
QualType writtenObjectType(const Expr* object) {
  QualType type = object->IgnoreParenImpCasts()->getType();
  if (type->isPointerType()) type = type->getPointeeType();
  if (!type->isRecordType()) {
    type = object->getType();
    if (type->isPointerType()) type = type->getPointeeType();
  }
  return type;
}

}  // namespace

bool isTrivialAssignment(const CallExpr* call, const Expr*& to, const Expr*& from) {
  auto* method = dyn_cast_or_null<CXXMethodDecl>(call->getDirectCallee());
  if (!method || !method->isTrivial() ||
      !(method->isCopyAssignmentOperator() || method->isMoveAssignmentOperator()))
    return false;
  if (auto* member = dyn_cast<CXXMemberCallExpr>(call)) {
    to = member->getImplicitObjectArgument();
    from = member->getArg(0);
    return true;
  }
  if (call->getNumArgs() != 2) return false;
  to = call->getArg(0);
  from = call->getArg(1);
  return true;
}

const CXXMethodDecl* Lowering::lambdaConversion(const CallExpr* call) {
  auto* conversion = dyn_cast_or_null<CXXConversionDecl>(call->getDirectCallee());
  if (!conversion || !conversion->getParent()->isLambda()) return nullptr;
  const CXXMethodDecl* body = conversion->getParent()->getLambdaCallOperator();
  return body && !body->isDependentContext() && !body->getDescribedFunctionTemplate() ? body
                                                                                      : nullptr;
}

Arg Lowering::argument(const Expr* expr, QualType parameter) {
  Arg arg;
  arg.value = value(expr);
  QualType type = parameter.isNull() ? expr->getType() : parameter;
  arg.type = u.type(type);
  bool indirect = type->isReferenceType() || isPointerLike(type);
  QualType pointee = type->getPointeeType();
  arg.byValue = !indirect;
  arg.constRef = !indirect || (!pointee.isNull() && pointee.isConstQualified());
  const Expr* bare = skipTransparent(expr)->IgnoreParenImpCasts();
  if (auto* temporary = dyn_cast<MaterializeTemporaryExpr>(bare))
    bare = skipTransparent(temporary->getSubExpr())->IgnoreParenImpCasts();
  if (auto* literal = dyn_cast<CXXBoolLiteralExpr>(bare)) {
    (literal->getValue() ? arg.literalTrue : arg.literalFalse) = true;
    arg.constant = u.str(literal->getValue() ? "1" : "0");
  } else if (auto* literal = dyn_cast<IntegerLiteral>(bare)) {
    arg.literalTrue = literal->getValue() == 1;
    arg.literalFalse = literal->getValue() == 0;
    arg.constant = u.str(llvm::toString(literal->getValue(), 10, false));
  } else if (auto* ref = dyn_cast<DeclRefExpr>(bare)) {
    if (auto* constant = dyn_cast<EnumConstantDecl>(ref->getDecl())) {
      arg.constant = u.str(constant->getName());
    } else if (auto* variable = dyn_cast<VarDecl>(ref->getDecl());
               variable && bare->getType().isConstQualified() &&
               bare->getType()->isIntegralOrEnumerationType()) {
      if (auto number = bare->getIntegerConstantExpr(u.ctx))
        arg.constant = u.str(llvm::toString(*number, 10));
    }
  } else if (isa<UnaryOperator, BinaryOperator, UnaryExprOrTypeTraitExpr>(bare) &&
             bare->getType()->isIntegralOrEnumerationType()) {
    if (auto number = bare->getIntegerConstantExpr(u.ctx))
      arg.constant = u.str(llvm::toString(*number, 10));
  }
  if (!isa<CXXDefaultArgExpr>(expr->IgnoreParens()))
    arg.text = u.sources.anchor(expr->getSourceRange());
  return arg;
}

void Lowering::placeCall(Call& call, const Expr* expr, SourceLocation name, SourceRange nameRange) {
  SourceLocation at = expr->getBeginLoc();
  if (usedAt.isValid()) {
    at = name = usedAt;
    call.implicit = true;
  }
  call.loc = u.sources.loc(at.isValid() ? at : fallback);
  call.nameLoc = name.isValid() ? u.sources.loc(name) : call.loc;
  call.implicit |= plan.implicit.count(expr) != 0;
  if (!call.implicit) {
    if (nameRange.isValid()) call.calleeName = u.sources.anchor(nameRange);
    call.whole = u.sources.anchor(expr->getSourceRange());
  }
  call.macro = u.sources.macroName(name.isValid() ? name : at);
  call.resultUnused = plan.discarded.count(expr) != 0;
}

uint32_t Lowering::emitCall(Call call, const Stmt* at) {
  uint32_t id = facts.calls.size();
  SourceLocation where = at ? at->getBeginLoc() : fallback;
  facts.calls.push_back(std::move(call));
  Event& event = emit(EventKind::Call, where);
  event.call = id;
  event.loc = facts.calls[id].loc;
  return id;
}

void Lowering::storeResult(const Expr* expr, uint32_t id) {
  auto found = plan.targets.find(expr);
  if (found == plan.targets.end()) return;
  Path to = target(expr);
  Path from;
  from.root = Root::Result;
  from.index = id;
  bool own = to.root == Root::Local || to.root == Root::Ret || to.root == Root::Fresh;
  if (!own) write(to, expr->getType(), "init", expr);
  bind(std::move(to), {ValueKind::Copy, std::move(from)}, expr);
}

void Lowering::trivialCopy(Path to, Path from, QualType type, bool initializes, const Stmt* at) {
  bool temporary =
      from.root == Root::Local && from.steps.empty() && facts.locals[from.index].name == 0;
  if (!isEmpty(type) && !temporary) read(from, type, at);
  if (!initializes)
    write(to, type, "=", at);
  else if (to.root == Root::This || to.root == Root::Global || to.root == Root::Unknown)
    write(to, type, "init", at);
  bind(std::move(to), {ValueKind::Copy, std::move(from)}, at);
}

void Lowering::call(const CallExpr* expr) {
  const FunctionDecl* callee = expr->getDirectCallee();
  if (isTransparentBuiltin(expr->getBuiltinCallee())) return;
  const Expr* head = expr->getCallee()->IgnoreParenImpCasts();
  if (isa<CXXPseudoDestructorExpr>(head)) return;
  if (auto* dtor = dyn_cast_or_null<CXXDestructorDecl>(callee); dtor && dtor->isTrivial()) return;
  if (const CXXMethodDecl* body = lambdaConversion(expr))
    return u.addressTaken(body, expr->getBeginLoc(), expr->getType()->getPointeeType());
  if (const Expr * to, *from; isTrivialAssignment(expr, to, from)) {
    Path dest = to->getType()->isPointerType() ? deref(pointer(to)) : place(to);
    return trivialCopy(std::move(dest), place(from), from->getType().getUnqualifiedType(), false,
                       expr);
  }
  if (constantInit) return;

  Call call;
  const Expr* object = nullptr;
  unsigned skip = 0;
  auto* method = dyn_cast_or_null<CXXMethodDecl>(callee);
  bool qualified = false;
  SourceLocation name = head->getExprLoc();
  SourceRange nameRange;
  if (auto* member = dyn_cast<MemberExpr>(head)) {
    qualified = member->hasQualifier();
    name = member->getMemberLoc();
    nameRange = name;
  } else if (auto* ref = dyn_cast<DeclRefExpr>(head)) {
    name = ref->getLocation();
    nameRange = name;
  }
  if (auto* memberCall = dyn_cast<CXXMemberCallExpr>(expr)) {
    if (!method || method->isImplicitObjectMemberFunction())
      object = memberCall->getImplicitObjectArgument();
  } else if (auto* op = dyn_cast<CXXOperatorCallExpr>(expr)) {
    name = op->getOperatorLoc();
    nameRange = SourceRange();
    if (method && method->isImplicitObjectMemberFunction()) {
      object = expr->getArg(0);
      skip = 1;
    } else if (method && method->isStatic()) {
      skip = 1;  // the object is evaluated and dropped
    }
  }
  if (object) {
    call.hasSelf = true;
    call.self = object->getType()->isPointerType() ? deref(pointer(object)) : place(object);
    call.selfType = u.type(writtenObjectType(object));
    call.constMethod = method && method->isConst();
  }

  QualType type = callee ? callee->getType() : QualType();
  if (callee) {
    call.kind = CallKind::Direct;
    const FunctionDecl* runs = callee;
    if (method && method->isVirtual() && object && !qualified) {
      const CXXMethodDecl* exact = method->getDevirtualizedMethod(object, /*IsAppleKext=*/false);
      if (exact)
        runs = exact;
      else
        call.kind = CallKind::Virtual;
    }
    if (isa<CXXDestructorDecl>(runs) && call.kind == CallKind::Direct)
      call.kind = CallKind::Destroy;
    call.callee = u.function(runs);
    call.name = u.qualifiedName(runs);
    StringRef plain = runs->getIdentifier() ? runs->getName() : "";
    if (plain.starts_with("__sync_") && runs->getBuiltinID()) {
      // Clang appends the size of the operand.
      size_t cut = plain.find_last_of('_');
      if (cut != StringRef::npos && llvm::all_of(plain.substr(cut + 1), llvm::isDigit))
        call.name = u.str(plain.substr(0, cut));
    }
  } else {
    call.kind = CallKind::Indirect;
    if (auto* op = dyn_cast<BinaryOperator>(head); op && op->isPtrMemOp()) {
      call.target = value(op->getRHS());
      type = op->getRHS()->getType()->getPointeeType();
    } else {
      call.target = pointer(expr->getCallee());
      type = expr->getCallee()->getType();
      if (!type->isFunctionType()) type = type->getPointeeType();
    }
    if (call.target.kind == ValueKind::None) call.target = {ValueKind::Bind, Path()};
  }
  auto* proto = type.isNull() ? nullptr : type->getAs<FunctionProtoType>();
  if (!type.isNull()) call.signature = u.type(type);
  unsigned first = skip;
  for (unsigned i = first; i < expr->getNumArgs(); ++i) {
    QualType parameter;
    if (proto && i - first < proto->getNumParams()) parameter = proto->getParamType(i - first);
    call.args.push_back(argument(expr->getArg(i), parameter));
  }
  QualType result = expr->getCallReturnType(u.ctx);
  call.resultType = u.type(result);
  call.returnsRef = result->isReferenceType();
  placeCall(call, expr, name, nameRange);
  uint32_t id = emitCall(std::move(call), expr);
  callIds[expr] = id;
  storeResult(expr, id);
}

void Lowering::construct(const CXXConstructExpr* expr) {
  const CXXConstructorDecl* ctor = expr->getConstructor();
  if (expr->isElidable() && expr->getNumArgs() >= 1) return;  // never made
  QualType type = u.ctx.getBaseElementType(expr->getType());
  Path self = target(expr);
  if (ctor->isTrivial()) {
    if (ctor->isCopyOrMoveConstructor() && expr->getNumArgs() >= 1)
      return trivialCopy(std::move(self), place(expr->getArg(0)), type.getUnqualifiedType(), true,
                         expr);
    if (expr->requiresZeroInitialization() && self.root == Root::This)
      write(std::move(self), type, "init", expr);
    return;
  }
  Call call;
  call.kind = CallKind::Construct;
  call.callee = u.function(ctor);
  call.name = u.qualifiedName(ctor);
  call.signature = u.type(ctor->getType());
  call.hasSelf = true;
  call.selfType = u.type(type);
  call.resultType = call.selfType;
  for (unsigned i = 0; i < expr->getNumArgs(); ++i)
    call.args.push_back(argument(
        expr->getArg(i), i < ctor->getNumParams() ? ctor->getParamDecl(i)->getType() : QualType()));
  SourceLocation name = expr->getLocation();
  SourceRange written;
  if (auto* temporary = dyn_cast<CXXTemporaryObjectExpr>(expr)) {
    TypeLoc loc = temporary->getTypeSourceInfo()->getTypeLoc();
    written = loc.getUnqualifiedLoc().getSourceRange();
  } else if (auto found = plan.functionalCasts.find(expr); found != plan.functionalCasts.end()) {
    written =
        found->second->getTypeInfoAsWritten()->getTypeLoc().getUnqualifiedLoc().getSourceRange();
  }
  placeCall(call, expr, name, written);
  if (self.root == Root::Local && self.steps.size() <= 1 && facts.locals[self.index].name != 0 &&
      (self.steps.empty() || self.steps[0].sel == Sel::Elem)) {
    call.local = self.index;
    call.nameLoc = facts.locals[self.index].loc;
  }
  call.self = std::move(self);
  callIds[expr] = emitCall(std::move(call), expr);
}

void Lowering::inheritedConstruct(const CXXInheritedCtorInitExpr* expr) {
  const CXXConstructorDecl* ctor = expr->getConstructor();
  Call call;
  call.kind = CallKind::Construct;
  call.callee = u.function(ctor);
  call.name = u.qualifiedName(ctor);
  call.signature = u.type(ctor->getType());
  call.hasSelf = true;
  call.self.root = Root::This;
  call.selfType = u.type(expr->getType());
  call.implicit = true;
  // The parameters are handed on as they came.
  for (const ParmVarDecl* param : function->parameters()) {
    Arg arg;
    QualType type = param->getType();
    arg.type = u.type(type);
    arg.byValue = !type->isReferenceType() && !isPointerLike(type);
    QualType pointee = type->getPointeeType();
    arg.constRef = arg.byValue || (!pointee.isNull() && pointee.isConstQualified());
    arg.value.path.root = Root::Param;
    arg.value.path.index = param->getFunctionScopeIndex();
    if (type->isReferenceType()) {
      arg.value.kind = ValueKind::Bind;
      arg.value.path.steps.push_back({Sel::Deref, 0, 0});
    } else if (carriesPointer(type) || type->isRecordType()) {
      arg.value.kind = ValueKind::Copy;
    } else {
      arg.value = Value();
    }
    call.args.push_back(std::move(arg));
  }
  placeCall(call, expr, expr->getLocation(), SourceRange());
  emitCall(std::move(call), expr);
}

// ---------------------------------------------------------------------------
// new and delete
// ---------------------------------------------------------------------------

void Lowering::newExpression(const CXXNewExpr* expr) {
  const FunctionDecl* allocator = expr->getOperatorNew();
  bool inPlace = allocator && allocator->isReservedGlobalPlacementOperator();
  if (!constantInit && allocator && !inPlace) {
    Call call;
    call.callee = u.function(allocator);
    call.name = u.qualifiedName(allocator);
    call.signature = u.type(allocator->getType());
    call.resultType = u.type(allocator->getReturnType());
    for (const Expr* arg : expr->placement_arguments())
      call.args.push_back(argument(arg, QualType()));
    call.implicit = true;
    placeCall(call, expr, expr->getBeginLoc(), SourceRange());
    emitCall(std::move(call), expr);
  }
  // Whatever was there is overwritten, by a constructor or not.
  if (inPlace && expr->getNumPlacementArgs() == 1)
    write(deref(pointer(expr->getPlacementArg(0))), expr->getAllocatedType(), "new", expr);
  const Expr* init = expr->getInitializer();
  if (init && carriesPointer(expr->getAllocatedType()))
    bind(deref(pointer(expr)), pointer(init), expr);
}

void Lowering::deleteExpression(const CXXDeleteExpr* expr) {
  const FunctionDecl* deallocator = expr->getOperatorDelete();
  if (!deallocator) return;
  Call call;
  call.callee = u.function(deallocator);
  call.name = u.qualifiedName(deallocator);
  call.signature = u.type(deallocator->getType());
  call.resultType = u.type(deallocator->getReturnType());
  call.resultUnused = true;
  call.implicit = true;
  call.args.push_back(argument(expr->getArgument(), QualType()));
  placeCall(call, expr, expr->getBeginLoc(), SourceRange());
  emitCall(std::move(call), expr);
}

// ---------------------------------------------------------------------------
// Destructors
// ---------------------------------------------------------------------------

uint32_t Lowering::destroy(Path self, QualType type, SourceLocation at, bool mayOverride) {
  bool array = type->isArrayType();
  type = u.ctx.getBaseElementType(type);
  auto* record = type->getAsCXXRecordDecl();
  if (!record || !record->hasDefinition() || record->hasTrivialDestructor()) return kNone;
  const CXXDestructorDecl* dtor = record->getDestructor();
  if (!dtor) return kNone;
  if (array && self.root != Root::Unknown) self.steps.push_back({Sel::Elem, 0, 0});
  Call call;
  bool exact = !mayOverride || !dtor->isVirtual() || record->hasAttr<FinalAttr>() ||
               dtor->hasAttr<FinalAttr>();
  call.kind = exact ? CallKind::Destroy : CallKind::Virtual;
  call.callee = u.function(dtor);
  call.name = u.qualifiedName(dtor);
  call.signature = u.type(dtor->getType());
  call.hasSelf = true;
  call.self = std::move(self);
  call.selfType = u.type(type);
  call.resultType = u.type(u.ctx.VoidTy);
  call.resultUnused = true;
  call.implicit = true;
  call.loc = call.nameLoc = u.sources.loc(at.isValid() ? at : fallback);
  if (call.self.root == Root::Local && facts.locals[call.self.index].name != 0)
    call.local = call.self.index;
  return emitCall(std::move(call), nullptr);
}

void Lowering::destroyVariable(const VarDecl* variable, SourceLocation at) {
  Path self;
  QualType type = variable->getType();
  if (type->isReferenceType()) {
    // The variable keeps a temporary alive; that is what dies.
    const Expr* init = variable->getInit();
    if (!init) return;
    while (true) {
      const Expr* inner = skipTransparent(init)->skipRValueSubobjectAdjustments();
      if (auto* temporary = dyn_cast<MaterializeTemporaryExpr>(inner))
        inner = temporary->getSubExpr();
      if (inner == init) break;
      init = inner;
    }
    self = place(init);
    type = init->getType();
  } else {
    self.root = Root::Local;
    self.index = plan.local(variable);
  }
  destroy(self, type, at, false);
  if (self.root == Root::Local && self.steps.empty()) emit(EventKind::EndScope, at).place = self;
}

void Lowering::temporaryDestructor(const CXXBindTemporaryExpr* expr) {
  if (plan.elided.count(expr)) return;
  Path self = place(expr->getSubExpr());
  // An object constructed into something with a life of its own dies with that.
  bool temporary =
      self.root == Root::Result || (self.root == Root::Local && facts.locals[self.index].name == 0);
  auto used = temporaryUsedAt.find(expr);
  SourceLocation at = used == temporaryUsedAt.end() ? expr->getEndLoc() : used->second;
  if (temporary) destroy(std::move(self), expr->getType(), at, false);
}

void Lowering::cleanupFunction(const VarDecl* variable) {
  auto* attr = variable->getAttr<CleanupAttr>();
  const FunctionDecl* callee = attr->getFunctionDecl();
  Call call;
  call.callee = u.function(callee);
  call.name = u.qualifiedName(callee);
  call.signature = u.type(callee->getType());
  call.resultType = u.type(callee->getReturnType());
  call.resultUnused = true;
  call.implicit = true;
  call.local = plan.local(variable);
  Arg arg;
  arg.value.kind = ValueKind::Bind;
  arg.value.path.root = Root::Local;
  arg.value.path.index = call.local;
  if (callee->getNumParams()) arg.type = u.type(callee->getParamDecl(0)->getType());
  call.args.push_back(std::move(arg));
  call.loc = call.nameLoc = u.sources.loc(variable->getLocation());
  emitCall(std::move(call), nullptr);
}

// ---------------------------------------------------------------------------
// Atomics that are no functions
// ---------------------------------------------------------------------------

void Lowering::atomicExpression(const AtomicExpr* expr) {
  Call call;
  std::string text = expr->getOpAsString().str();
  call.name = u.str(text);
  call.callee = u.str((llvm::Twine("c:@F@") + text).str());
  call.resultType = u.type(expr->getType());
  // Clang keeps the memory order second; as written it comes after the values.
  Expr** parts = const_cast<AtomicExpr*>(expr)->getSubExprs();
  unsigned count = expr->getNumSubExprs();
  for (unsigned i = 0; i < count; ++i)
    if (i != 1) call.args.push_back(argument(parts[i], QualType()));
  if (count > 1) call.args.push_back(argument(parts[1], QualType()));
  placeCall(call, expr, expr->getBuiltinLoc(), SourceRange());
  callIds[expr] = emitCall(std::move(call), expr);
}

void Lowering::atomicAccess(StringRef name, const Expr* object, const Expr* at) {
  if (constantInit) return;
  Call call;
  call.name = u.str(name);
  call.callee = u.str(("c:@F@" + name).str());
  call.resultType = u.type(object->getType().getAtomicUnqualifiedType());
  Arg arg;
  arg.value.kind = ValueKind::Bind;
  arg.value.path = place(object);
  arg.type = u.type(u.ctx.getPointerType(object->getType()));
  arg.text = u.sources.anchor(object->getSourceRange());
  call.args.push_back(std::move(arg));
  placeCall(call, at, object->getBeginLoc(), SourceRange());
  emitCall(std::move(call), at);
}

}  // namespace locktidy::extract
