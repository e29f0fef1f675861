import { storeConformance } from '../../ports/store.conformance.ts'
import { makeMemoryHarness } from './harness.fixture.ts'

storeConformance('memory', makeMemoryHarness, { propertyRuns: 50 })
