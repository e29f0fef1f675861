import { randomConformance } from '../../ports/random.conformance.ts'
import { makeSystemRandom } from './index.ts'

randomConformance('system random', () => makeSystemRandom())
