// The long searches, beyond the small fixed part of them in `npm test`: properties with many draws, a fault at every point, kill -9 under
// many deliveries, and then fresh seeds of the simulator until the time is over. `--minutes <n>` sets how long (30); only what is under
// way then is finished. Every step runs whatever the results of the others, and prints how to repeat what failed.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { run, stopSignal } from './lib/run.mjs'

const root = resolve(import.meta.dirname, '..')
const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } })
const minutes = Number(values.minutes)
if (!(minutes > 0)) throw new Error(`--minutes is a number above 0, not ${values.minutes}`)

const SEEDS_AT_ONCE = 200
const PROPERTY_RUNS = 500
const DELIVERIES = 50_000
const startedAt = Date.now()
const isOver = () => stopSignal() !== null || Date.now() - startedAt >= minutes * 60_000
const drawSeed = Number(process.env.DRAW_SEED ?? Math.floor(Math.random() * 2 ** 28))
const vitest = ['node_modules/vitest/vitest.mjs', 'run']
const sim = ['--import', 'tsx', 'sim/main.ts']
const failed = []
const notStarted = []

async function step(name, args, env = {}) {
  if (isOver()) {
    notStarted.push(name)
    return
  }
  const begunAt = Date.now()
  console.log(`\n=== ${name}`)
  const { code } = await run(process.execPath, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, DRAW_SEED: String(drawSeed), ...env },
  })
  console.log(
    `=== ${name} ... ${code === 0 ? 'ok' : 'FAILED'} ${Math.round((Date.now() - begunAt) / 1000)} s`,
  )
  if (code !== 0) failed.push(name)
}

console.log(`DRAW_SEED=${drawSeed}`)
await step('properties', [...vitest, '--project', 'pure', 'src/core', 'src/definitions'], {
  MILLRACE_TEST_PROPERTY_RUNS: String(PROPERTY_RUNS),
})
await step('kill -9 under deliveries', [...vitest, 'test/e2e/webhooks-kill.slow.test.ts'], {
  MILLRACE_TEST_DELIVERIES: String(DELIVERIES),
})
await step('a fault at every point', [...sim, '--crash-everywhere', '--store', 'memory'])
for (let from = drawSeed; !isOver(); from += SEEDS_AT_ONCE)
  await step(`seeds from ${from}`, [...sim, '--from', String(from), '--seeds', String(SEEDS_AT_ONCE)])

if (notStarted.length > 0) console.log(`\nnot started, the time was over: ${notStarted.join(', ')}`)
console.log(
  `\ndeep ... ${failed.length === 0 ? (notStarted.length === 0 ? 'ok' : 'incomplete') : `FAILED (${failed.join(', ')})`}`,
)
process.exitCode = failed.length === 0 && notStarted.length === 0 && stopSignal() === null ? 0 : 1
