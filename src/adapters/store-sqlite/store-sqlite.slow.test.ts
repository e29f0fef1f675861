// The store with its threads, flushing to a real file, against the rules for every store.

import { storeConformance } from '../../ports/store.conformance.ts'
import { makeThreadedHarness } from './harness.fixture.ts'

storeConformance('sqlite, threads', makeThreadedHarness, { propertyRuns: 5 })
