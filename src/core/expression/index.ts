export { type AskedFields, askedFields } from './asked-fields.ts'
export { clearPaths } from './clear-paths.ts'
export { type Condition, compileCondition } from './condition.ts'
export { type ConditionPart, explainCondition } from './explain.ts'
export {
  type Compiled,
  type CompileOptions,
  compileExpression,
  type Expression,
} from './expression.ts'
export {
  describeError,
  ExpressionError,
  type ExpressionErrorCode,
  type ExpressionProblem,
  type LocatedProblem,
} from './expression-errors.ts'
export {
  type Formula,
  type FormulaRead,
  type FormulaStart,
  isSameFormula,
  readFormula,
} from './formula.ts'
export type { Scope } from './frame.ts'
export { compilePattern, weighPatterns } from './hash-and-pattern-functions.ts'
export { HMAC_KEY_BYTES, type Hmac, type Keyed, makeHmac, mayUseHmac, SHOWN_HMAC } from './hmac.ts'
export { compilePath, looksLikePath, type Path, type PathStep } from './path.ts'
export {
  type SecretValues,
  secretsIn,
  secretText,
  vaultKey,
  withSecrets,
} from './secret-call.ts'
export { type CompiledTree, compileShape, type Shape } from './shape.ts'
export { formatDuration, parseDuration, parseSize } from './sizes-and-durations.ts'
export { compileTemplate, type Template, type TemplateMode } from './template.ts'
export { typeOf } from './values.ts'
