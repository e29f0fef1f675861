// Properties draw by the commit (see vitest.config.ts), unless a test names its own seed; `npm run test:deep` draws more often.

import fc from 'fast-check'

const { DRAW_SEED, MILLRACE_TEST_PROPERTY_RUNS: runs } = process.env
fc.configureGlobal({ seed: Number(DRAW_SEED), ...(runs !== undefined && { numRuns: Number(runs) }) })
