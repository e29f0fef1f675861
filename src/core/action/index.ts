export type { Action, EmitAction, FunctionAction } from './action.ts'
export { compileAction } from './action.ts'
export type { HttpAction, ParsedResponse, RenderedRequest } from './http.ts'
export { effectRefOf, keyForHeader, must, parseResponse } from './http.ts'
