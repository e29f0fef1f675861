// Everything a change must pass: format and lint, types, boundaries, dead code, all tests. Every step runs whatever the
// results of the others, so that one run shows all failures. The last line is always `tests: N passed, M failed`, for
// machines; the exit code covers all steps. `--fast` runs only the tests, without the `*.slow.test.ts`. Other arguments
// go to vitest.
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { run, stopSignal } from './lib/run.mjs'
import { getTestNeeds } from './test-needs.mjs'

const root = resolve(import.meta.dirname, '..')
const cache = join(root, 'node_modules', '.cache', 'millrace')
const bin = (...parts) => join(root, 'node_modules', ...parts)

const checks = [
  {
    name: 'types',
    args: [
      bin('typescript', 'bin', 'tsc'),
      '--noEmit',
      '--pretty',
      '--incremental',
      '--tsBuildInfoFile',
      join(cache, 'types.tsbuildinfo'),
    ],
  },
  {
    name: 'types of the console',
    args: [
      bin('typescript', 'bin', 'tsc'),
      '--noEmit',
      '--pretty',
      '--project',
      'console',
      '--incremental',
      '--tsBuildInfoFile',
      join(cache, 'types-console.tsbuildinfo'),
    ],
  },
  {
    name: 'format and lint',
    args: [
      bin('@biomejs', 'biome', 'bin', 'biome'),
      'check',
      '--diagnostic-level=warn',
      '--error-on-warnings',
      '.',
    ],
  },
  { name: 'boundaries', args: ['scripts/boundaries.mjs'] },
  { name: 'dead code', args: [bin('knip', 'bin', 'knip.js'), '--no-progress'] },
]

const seconds = (startedAt) => `${((Date.now() - startedAt) / 1000).toFixed(1)} s`

async function runStep({ name, args }) {
  const startedAt = Date.now()
  const { code, output } = await run(process.execPath, args, { cwd: root })
  console.log(`${name} ... ${code === 0 ? 'ok' : 'FAILED'} ${seconds(startedAt)}`)
  return { name, code, output }
}

/** Two at a time: the checks are mostly single-threaded, and small machines have two cores. */
async function runChecks() {
  const results = []
  const waiting = [...checks]
  const worker = async () => {
    for (let step = waiting.shift(); step !== undefined && stopSignal() === null; step = waiting.shift()) {
      results.push(await runStep(step))
    }
  }
  await Promise.all([worker(), worker()])
  return results.filter(({ code }) => code !== 0)
}

/** A file that cannot be loaded has no tests; it counts as one failure. */
function countTests(reportPath) {
  try {
    const report = JSON.parse(readFileSync(reportPath, 'utf8'))
    const brokenFiles = report.testResults.filter(
      (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
    )
    return {
      passed: report.numPassedTests,
      failed: report.numFailedTests + brokenFiles.length,
      skipped: report.numPendingTests + report.numTodoTests,
    }
  } catch {
    return { passed: 0, failed: 1, skipped: 0 }
  }
}

async function runTests(args) {
  const startedAt = Date.now()
  const reportPath = join(cache, 'tests.json')
  rmSync(reportPath, { force: true })
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportPath}`]
  const { code } = await run(process.execPath, [bin('vitest', 'vitest.mjs'), 'run', ...reporters, ...args], {
    cwd: root,
    stdio: 'inherit',
  })
  const counts = countTests(reportPath)
  // Errors outside any test end vitest with a code but no failed test.
  if (code !== 0 && counts.failed === 0) counts.failed = 1
  console.log(`tests ... ${code === 0 ? 'ok' : 'FAILED'} ${seconds(startedAt)}`)
  return { code, counts }
}

const args = process.argv.slice(2).filter((arg) => arg !== '--fast')
const isFast = process.argv.includes('--fast')
const startedAt = Date.now()
mkdirSync(cache, { recursive: true })
for (const sentence of await getTestNeeds()) console.log(sentence)
const failures = isFast ? [] : await runChecks()
let tests = { code: 1, counts: { passed: 0, failed: 1, skipped: 0 } }
if (stopSignal() === null)
  tests = await runTests(isFast ? ['--project', 'pure', '--project', 'fast', ...args] : args)

for (const { name, output } of failures) console.log(`\n--- ${name} ---\n${output.trimEnd()}`)
const failed = [...failures.map(({ name }) => name), ...(tests.code === 0 ? [] : ['tests'])]
const verdict = failed.length === 0 ? 'ok' : `FAILED (${failed.join(', ')})`
console.log(`\nall ... ${verdict} ${seconds(startedAt)}`)
if (tests.counts.skipped > 0) console.log(`skipped: ${tests.counts.skipped}`)
console.log(`tests: ${tests.counts.passed} passed, ${tests.counts.failed} failed`)
process.exitCode = failed.length === 0 ? 0 : 1
