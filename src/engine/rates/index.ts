export { type BucketName, type Draws, makeDraws } from './draws.ts'
export type { Token } from './hand.ts'
