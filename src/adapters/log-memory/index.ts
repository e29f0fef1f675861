export { type MemoryLog, makeMemoryLog } from './log-memory.ts'
