import { expect, test } from 'vitest'
import { runCli } from '../cli.fixture.ts'

test('new prints a definition of a kind, and names the kinds if there is none such', async () => {
  const made = await runCli(['new', 'route', 'book_order'])
  expect([made.code, made.stdout]).toEqual([0, expect.stringContaining('kind: Route\nname: book_order\n')])
  const refused = await runCli(['new', 'rout', 'book_order'])
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('source, poller, route, workflow'),
  ])
})
