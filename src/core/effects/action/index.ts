// Compiles the actions of a route and builds the requests that they send.

export type { Action, EmitAction, FunctionAction } from './action.ts'
export { compileAction } from './action.ts'
export type { HttpAction, ParsedResponse, RenderedRequest } from './http.ts'
export { effectRefOf, headerText, keyForHeader, must, parseResponse } from './http.ts'
export type { AgentAction, ScheduleAction, StartAction, UnscheduleAction } from './inner-actions.ts'
export {
  type CompiledOperation,
  compileOperation,
  compilePath,
  compileRefine,
  type OperationAction,
  type OperationScope,
  type PathRequest,
} from './operation.ts'
export {
  compileAuth,
  hiddenTexts,
  isForShow,
  type SecretUse,
  secretFault,
  secretKey,
  usesOf,
} from './request-auth.ts'
export type { Sought, UpsertAction, UpsertCall } from './upsert.ts'
export { isLockKey, lockKey, OWN_KEY_PREFIX } from './upsert.ts'
