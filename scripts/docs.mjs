// `npm run docs`: rewrites every document that is generated from the code. The tests that compare them fail if one of
// them is out of date; those that hold a whole document write it when they are run with `-u`.
import { join, resolve } from 'node:path'
import { run } from './lib/run.mjs'

const root = resolve(import.meta.dirname, '..')
const bin = (...parts) => join(root, 'node_modules', ...parts)

const steps = [
  ['--import', 'tsx', 'scripts/write-definitions-schema.ts'],
  ['--import', 'tsx', 'scripts/write-client.ts'],
  ['--import', 'tsx', 'scripts/write-github-catalog.ts'],
  [
    bin('vitest', 'vitest.mjs'),
    'run',
    'src/config/config.test.ts',
    'src/core/webhooks/signing/signing-vectors.test.ts',
    'src/http/problem.test.ts',
    'src/http/api-documentation.test.ts',
    'src/http/metrics.test.ts',
    'src/cli/completion.test.ts',
    'src/definitions/documentation.test.ts',
    // Last: what follows it would be read as its value.
    '-u',
  ],
  [
    bin('@biomejs', 'biome', 'bin', 'biome'),
    'format',
    '--write',
    'docs/definitions.schema.json',
    'docs/openapi.json',
    'src/sdk/client/api.generated.ts',
    'src/sdk/client/lists.generated.ts',
  ],
]

for (const args of steps) {
  const { code } = await run(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (code !== 0) process.exit(code)
}
