import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const everywhere = ['src', 'sim', 'bench', 'test', 'console']
/** Whatever they need is given to them: no module of theirs keeps anything that a test could leave behind for the next. */
const pure = ['core', 'definitions', 'engine', 'connectors', 'http', 'cli', 'sdk', 'config']
  .map((folder) => `src/${folder}/**/*.test.ts`)
  .concat('console/**/*.test.ts')
/** In a browser. */
const pages = ['test/console/**/*.slow.test.ts']
const slow = everywhere.map((folder) => `${folder}/**/*.slow.test.ts`)

/** Ends a test that hangs; no test is judged by its speed, and a busy machine is many times slower than an idle one. */
const testTimeout = 180_000

/** The usual second is too short for a busy machine. */
const patient = { expect: { poll: { timeout: 120_000, interval: 20 } } }

/** The usual one less than there are cores would leave half of a small machine idle. */
const maxWorkers = Math.max(2, availableParallelism() - 1)

// Bundles of users' functions are loaded by Node itself, as in production: nothing is put between.
const asUsersRunIt = { deps: { external: [/[\\/][0-9a-f]{64}\.mjs/] } }

/**
 * What properties and the simulator draw anew comes of the commit: every commit tries what none before it did, and one that was green stays
 * green. Set the variable to try others, or what somebody else saw.
 */
function drawSeed(): string {
  const given = process.env.DRAW_SEED
  if (given !== undefined) return given
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return String(Number.parseInt(commit.slice(0, 7), 16))
  } catch {
    return String(Math.floor(Math.random() * 2 ** 28))
  }
}

const drawn = { env: { DRAW_SEED: drawSeed() }, setupFiles: ['test/support/draws.setup.ts'] }

export default defineConfig({
  test: {
    retry: 0,
    silent: 'passed-only',
    passWithNoTests: false,
    projects: [
      // These share one module graph per thread: nothing to isolate, and several times quicker.
      {
        test: {
          ...drawn,
          ...patient,
          name: 'pure',
          server: asUsersRunIt,
          include: pure,
          exclude: slow,
          pool: 'threads',
          isolate: false,
          maxWorkers,
          testTimeout,
          hookTimeout: testTimeout,
        },
      },
      {
        test: {
          ...drawn,
          ...patient,
          name: 'fast',
          server: asUsersRunIt,
          include: everywhere.map((folder) => `${folder}/**/*.test.ts`),
          exclude: [...pure, ...slow],
          pool: 'threads',
          maxWorkers,
          testTimeout,
          hookTimeout: testTimeout,
        },
      },
      // After all others and two files at a time: these start servers and kill processes, and mostly wait for them.
      {
        test: {
          ...drawn,
          ...patient,
          name: 'slow',
          server: asUsersRunIt,
          include: slow,
          exclude: pages,
          pool: 'forks',
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      // Last, and in two processes: the files of each share a browser, which takes longer to start than most of them to run.
      {
        test: {
          ...patient,
          name: 'console',
          server: asUsersRunIt,
          include: pages,
          pool: 'forks',
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
