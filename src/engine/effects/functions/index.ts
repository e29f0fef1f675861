// Runs a user's function and settles each `ctx.effect` with its own ledger entry.

export type { FunctionConnections } from './connection-caller.ts'
export { makeFunctionEffects } from './function-effects.ts'
export { makeFunctionEnds } from './function-end.ts'
export { FunctionRun, type OpenEffect } from './function-run.ts'
export {
  type Extra,
  type InternalActions,
  type InternalFailure,
  makeInternalActions,
} from './internal-actions.ts'
