export { makeSystemRandom } from './random-system.ts'
