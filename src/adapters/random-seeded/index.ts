export { makeSeededRandom } from './random-seeded.ts'
