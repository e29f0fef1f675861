import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli } from '../cli.fixture.ts'

const PASSWORD = 'hunter2-hunter2'
/** Nothing listens there: what is refused earlier is refused without a request. */
const NOWHERE = '127.0.0.1:9/hooks'

test('[MV11] a password in an argument is refused before anything is opened, and not repeated', async () => {
  const { code, stdout, stderr } = await runCli(['move', '--to', `postgres://me:${PASSWORD}@${NOWHERE}`])
  expect(code).toBe(2)
  expect(stderr).toMatch(/visible to anyone who lists processes\.\nWrite --to - and pass the URL on stdin/)
  expect(stdout + stderr).not.toContain(PASSWORD)
})

test.each([[['--to', 'mysql://me@host/hooks']], [['--to', './other.db']], [['--to', '-']]])(
  'what is not a PostgreSQL URL is refused: %j',
  async (args) => {
    const { code, stderr } = await runCli(['move', ...args], { stdin: '\n' })
    expect(code).toBe(2)
    expect(stderr).toMatch(/no URL of PostgreSQL\.\nWrite postgres:\/\/user@host:5432\/database\./)
  },
)

test('without --from and with a store that is PostgreSQL, the file has to be named', async () => {
  const env = { MILLRACE_STORE: 'postgres://me@host/hooks' }
  const { code, stderr } = await runCli(['move', '--to', `postgres://me@${NOWHERE}`], { env })
  expect(code).toBe(2)
  expect(stderr).toMatch(/MILLRACE_STORE is not a SQLite file\.\nName the file with --from\./)
})

test('[MV2] [MV11] a missing file is named, and the URL of stdin is not shown', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-move-cli-'))
  const file = join(folder, 'none.db')
  const { code, stdout, stderr } = await runCli(['move', '--from', file, '--to', '-'], {
    stdin: `postgres://me:${PASSWORD}@${NOWHERE}\n`,
  })
  await rm(folder, { recursive: true })
  expect(code).toBe(1)
  expect(stderr).toMatch(/there is no data file .*none\.db: name the one that the node had/)
  expect(stdout + stderr).not.toContain(PASSWORD)
})
