// Defines the error codes and the errors that carry them.

export { assert, messageOf, unreachable } from './assert.ts'
export type { ErrorCode, ErrorKind } from './errors.ts'
export { AppError, ERROR_KINDS, ERRORS } from './errors.ts'
