export { ENGINE_DEFAULTS, type EngineConfig, type EngineDeps } from './deps.ts'
export { DECISIONS, type Decisions } from './effect.ts'
export { type Engine, type EngineHealth, makeEngine } from './engine.ts'
export type { Accepted, IntakeRequest } from './intake.ts'
