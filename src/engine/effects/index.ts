export { type Effects, makeEffects } from './effects.ts'
export { FREE_PACE, type Pace, type Told } from './hooks.ts'
