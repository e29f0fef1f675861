// The commands about workflows against a real server: plain text that can be read in a pipe, and the API's response
// with --json.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { TRIAGE } from '../../engine/workflows/operator-actions/instance-actions.fixture.ts'
import { place, transition } from '../../engine/workflows/saga.fixture.ts'
import { answering, KEY, makeWorkflowServer } from '../../http/workflows.fixture.ts'
import { runCli } from '../cli.fixture.ts'
import { EXIT } from '../failure.ts'

let server: Awaited<ReturnType<typeof makeWorkflowServer>>
let url = ''
beforeAll(async () => {
  const update = {
    id: '2',
    on: ['shop.events.changed'],
    action: 'update',
    where: null,
    correlate: { order: 'payload.order' },
    map: { 'data.changed': 'payload.id' },
    bufferMs: 0,
  } as const
  server = await makeWorkflowServer({ workflow: { ...TRIAGE, triggers: [...TRIAGE.triggers, update] } })
  url = await server.listen()
})
afterAll(() => server.close())

const run = (args: readonly string[], stdin = '') =>
  runCli(args, { stdin, env: { MILLRACE_URL: url, MILLRACE_KEY: KEY } })
/** For commands that must succeed. */
const words = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await run(args)
  expect(code, stderr).toBe(0)
  return stdout
}

test('workflows are listed and shown', async () => {
  await server.open()
  expect(await words('workflows')).toMatch(/triage +1\.0\.0 +active +1 +0/)
  const shown = await words('workflows', 'triage')
  expect(shown).toMatch(/review +review +1/)
  expect(shown).toMatch(/approve +review +closed +manual +triage\.approve/)
  expect(JSON.parse(await words('workflows', '--json')).items[0].name).toBe('triage')
  expect(await run(['workflows', 'triag'])).toMatchObject({
    code: EXIT.notFound.code,
    stderr: expect.stringContaining('did you mean ‘triage’?'),
  })
})

test('an instance is started, read, explained, edited, moved and fired', async () => {
  const started = await run(['workflows', 'start', 'triage', '--input', '-', '--json'], '{"order":"o9"}')
  const { instanceId: id } = JSON.parse(started.stdout)
  await server.seen((change) => change.id === id && change.marking.review === 1)
  const shown = await words('instances', id)
  expect(shown).toMatch(/tokens +review/)
  expect(shown).toContain('"order": "o9"')
  expect(shown).toMatch(/1 +\S+ +created/)
  expect(await words('instances', id, '--at', '1')).toMatch(/tokens +incoming/)
  expect(await words('instances', '--workflow', 'triage', '--place', 'review')).toContain(id)
  expect(await words('instances', 'why', id, 'expedite')).toContain('expedite  cannot fire')
  const dry = await words('instances', 'edit', id, '--set', 'data.city=Ulm', 'data.count=3', '--dry-run')
  expect(dry).toBe(`${id} would change:\n  data.city: nothing → "Ulm"\n  data.count: nothing → 3\n`)
  await words('instances', 'edit', id, '--set', 'data.city=Ulm', '--remove', 'data.order', '--reason', 'x')
  expect(JSON.parse(await words('instances', id, '--json')).data).toMatchObject({ city: 'Ulm' })
  expect(await words('instances', 'history', id)).toMatch(/edited .*admin +x/)
  expect(await words('instances', 'move', id, '--from', 'review', '--to', 'review', '--reason', 'x')).toBe(
    `${id} is active: review\n`,
  )
  expect(await run(['instances', 'fire', id, 'rejekt'])).toMatchObject({
    code: EXIT.failed.code,
    stderr: expect.stringContaining('did you mean ‘reject’?'),
  })
  expect(await words('instances', 'fire', id, 'reject', '--comment', 'no')).toBe(
    `${id} is failed: rejected\n`,
  )
  expect((await run(['instances', 'cancel', id])).code).toBe(EXIT.conflict.code)
})

test('contradictory arguments are reported before the node is asked', async () => {
  for (const args of [
    ['instances'],
    ['instances', 'edit', 'ins_1'],
    ['instances', 'edit', 'ins_1', '--set', 'x'],
  ])
    expect((await run(args)).code, args.join(' ')).toBe(EXIT.usage.code)
})

test('a failed step is retried', async () => {
  server.vendor.outcome = answering(422)
  const id = await server.open('step_failed')
  server.vendor.outcome = answering(201)
  expect(await words('instances', 'retry', id, '--reason', 'mended')).toMatch(/^firing 1 continues as wrk_/)
  await server.seen((change) => change.id === id && change.marking.review === 1)
  expect(await words('instances', 'cancel', id, '--reason', 'done')).toBe(`${id} is cancelled: review\n`)
})

test('orphans are listed, assigned to an instance and discarded', async () => {
  const id = await server.open()
  const send = async (name: string) => {
    const body = new TextEncoder().encode(JSON.stringify({ kind: 'changed', id: name, order: 'nobody’s' }))
    const { eventId } = await server.engine.accept({ tenant: 'default', source: 'shop', headers: {}, body })
    const reads = server.store.forTenant('default' as never)
    for (;;) {
      const { items } = await reads.orphans({ cursor: null, limit: 100, state: 'open' })
      const orphan = items.find((one) => one.eventId === eventId)
      if (orphan !== undefined) return orphan.id
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const [first, second] = [await send('c1'), await send('c2')]
  expect(await words('orphans', '--state', 'open')).toMatch(new RegExp(`${first} +open +triage +nobody`))
  expect(await words('orphans', 'correlate', first, '--instance', id, '--reason', 'x')).toMatch(
    /state +correlated/,
  )
  await server.seen((change) => change.id === id)
  expect(await words('orphans', 'discard', second, '--reason', 'x')).toMatch(/state +discarded/)
  expect(await words('orphans', second)).toMatch(/note +x/)
  expect(await words('orphans', 'retry', 'triage')).toBe('0 retried, 0 found their instance\n')
  const gone = ['orphans', 'correlate', second, '--instance', id]
  expect((await run(gone)).code).toBe(EXIT.conflict.code)
})

test('instances migrate to the deployed version, with a preview', async () => {
  const { items } = (await server.get('/workflows/triage/instances?state=active')).body
  await server.apply({
    ...TRIAGE,
    version: '2.0.0',
    start: 'board',
    places: [place('board', { type: 'review' }), place('closed', { type: 'final' })],
    transitions: [transition('close', 'board', 'closed', { on: 'manual' })],
    migrations: [{ from: '1.0.0', to: '2.0.0', strategy: 'inPlace', places: { review: 'board' }, data: [] }],
  })
  const [{ id }] = items
  expect(await words('instances', 'migrate', id, '--dry-run')).toBe(
    `${id} would go from 1.0.0 to 2.0.0\n  review → board\n`,
  )
  const dry = await run(['workflows', 'migrate', 'triage', '--dry-run'])
  expect(dry.stderr).toContain(`${items.length} can be migrated, 0 refused.`)
  const done = await run(['workflows', 'migrate', 'triage', '--reason', 'new board'])
  expect(done.stderr).toContain(`${items.length} migrated, 0 refused.`)
  expect(await words('workflows', 'triage')).toMatch(new RegExp(`active +${items.length} on 2\\.0\\.0`))
})
