// Properties draw by the commit (see vitest.config.ts), unless a test names its own seed.

import fc from 'fast-check'

fc.configureGlobal({ seed: Number(process.env.DRAW_SEED) })
