export { makeSystemClock } from './clock-system.ts'
