// Defines the values of expressions, how they compare and compute, and the state and bounds of one evaluation.

export {
  add,
  divide,
  exact,
  finite,
  multiply,
  negate,
  normalise,
  type Operands,
  remainder,
  subtract,
} from './arithmetic.ts'
export {
  charge,
  chargeList,
  chargeSearch,
  chargeText,
  chargeValue,
  checkResult,
  type Evaluate,
  type Frame,
  type Scope,
  STEPS_MAX,
  STRING_MAX,
} from './evaluation-frame.ts'
export { define, hasMember, headerName, readIndex, readMember } from './member-access.ts'
export {
  codePointLength,
  equal,
  isMissing,
  isObject,
  type Operand,
  order,
  toSentText,
  toText,
  typeError,
  typeOf,
} from './values.ts'
