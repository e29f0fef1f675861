export { type LogLevel, makeLog, type OperatorLog } from './log-pino.ts'
