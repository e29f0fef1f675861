#!/usr/bin/env node
// `npx millrace …` in a checkout: as `npm run millrace -- …`, without npm's own lines before the answer.
process.argv.splice(2, 0, 'cli')
await import('./bootstrap.mjs')
