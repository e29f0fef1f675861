export { type Effects, makeEffects } from './effects.ts'
export type { Pace, Told } from './hooks.ts'
