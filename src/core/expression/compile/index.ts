// Compiles an expression from its text to a function.

export {
  attempt,
  type Compiled,
  type CompileOptions,
  compileExpression,
  compileProgram,
  type Expression,
  type Program,
} from './expression.ts'
export { type SecretValues, secretsIn, secretText, vaultKey, withSecrets } from './secret-call.ts'
