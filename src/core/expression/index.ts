// Parses, checks and evaluates the expressions, conditions and templates in definitions.

export {
  type AskedFields,
  askedFields,
  type ConditionPart,
  clearPaths,
  explainCondition,
  type Formula,
  type FormulaRead,
  type FormulaStart,
  isSameFormula,
  readFormula,
} from './analysis/index.ts'
export {
  type Compiled,
  type CompileOptions,
  compileExpression,
  type Expression,
  type SecretValues,
  secretsIn,
  secretText,
  vaultKey,
  withSecrets,
} from './compile/index.ts'
export { type Scope, typeOf } from './evaluation/index.ts'
export {
  type CompiledTree,
  type Condition,
  compileCondition,
  compilePath,
  compileShape,
  compileTemplate,
  looksLikePath,
  type Path,
  type PathStep,
  type Shape,
  splitTemplateText,
  type Template,
  type TemplateMode,
  type TemplatePart,
} from './forms/index.ts'
export {
  compilePattern,
  HMAC_KEY_BYTES,
  type Hmac,
  type Keyed,
  makeHmac,
  mayUseHmac,
  SHOWN_HMAC,
  weighPatterns,
} from './functions/index.ts'
export { formatDuration, parseDuration, parseSize } from './sizes-and-durations.ts'
export {
  describeError,
  ExpressionError,
  type ExpressionErrorCode,
  type ExpressionProblem,
  type LocatedProblem,
} from './syntax/index.ts'
