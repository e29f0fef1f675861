export { endOfPrefix } from './prefix.ts'
