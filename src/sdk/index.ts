export { type DurationText, RetryableError, TerminalError } from './errors.ts'
