// The store on one thread against the rules for every store. The one with threads is in the slow tests.

import { storeConformance } from '../../ports/store.conformance.ts'
import { makeFoldingHarness, makeInlineHarness } from './harness.fixture.ts'

storeConformance('sqlite, inline', makeInlineHarness)
storeConformance('sqlite, inline, moving keys', makeFoldingHarness)
