// Compiles the actions of a route and builds the requests that they send.

export type { Action, ActionPreview } from './action.ts'
export { compileAction, previewAction, requestOf } from './action.ts'
export type { AgentAction } from './agent.ts'
export type { EmitAction } from './emit.ts'
export type { FunctionAction } from './function.ts'
export type { HttpAction, ParsedResponse, RenderedRequest } from './http.ts'
export { effectRefOf, headerText, keyForHeader, must, parseResponse } from './http.ts'
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
export type { ScheduleAction, UnscheduleAction } from './schedule.ts'
export type { StartAction } from './start.ts'
export type { Sought, UpsertAction, UpsertCall } from './upsert.ts'
export { isLockKey, lockKey, OWN_KEY_PREFIX } from './upsert.ts'
