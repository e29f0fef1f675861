// Parses the text of an expression to a tree, with the position of every problem.

export { childrenOf, type Node, staticPath } from './ast.ts'
export {
  closest,
  describeError,
  ExpressionError,
  type ExpressionErrorCode,
  type ExpressionProblem,
  Fault,
  type LocatedProblem,
} from './expression-errors.ts'
export { readString } from './literal-values.ts'
export { parseExpression } from './parser.ts'
export { quoted } from './syntax-faults.ts'
