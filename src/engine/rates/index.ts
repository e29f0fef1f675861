export { type BucketName, type Draws, makeDraws, type Token } from './draws.ts'
