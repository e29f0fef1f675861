// Sources that consume from NATS, with the examples: on the bus in one process, on a node in this process.

import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { DefinitionDocument } from '../src/core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../src/core/foundation/ids/index.ts'
import { compileDefinitions } from '../src/definitions/language.ts'
import { makeBusWorld } from '../src/engine/ingest/bus.fixture.ts'

const root = new URL('..', import.meta.url).pathname

function example(name: string, more = ''): readonly DefinitionDocument[] {
  const paths = readdirSync(`${root}/examples/${name}`).filter((path) => !path.endsWith('.test.yaml'))
  const files = paths.map((path) => ({
    path,
    text: readFileSync(`${root}/examples/${name}/${path}`, 'utf8'),
  }))
  const all = more === '' ? files : [...files, { path: 'more.yaml', text: more }]
  const { documents, findings } = compileDefinitions(all, { functions: () => null })
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
  return documents
}

const issue = (id: number) =>
  JSON.stringify({
    object_kind: 'issue',
    user: { username: 'ann' },
    project: { id: 7 },
    object_attributes: { id, iid: 1, action: 'open', title: 'The shop is down', description: 'Since noon.' },
    labels: [{ title: 'shop' }],
  })

test('[BU56] publishing gitlab.events.issue.created on the bus starts the triage', async () => {
  const source = 'kind: Source\nname: gitlab_bus\nnats: { stream: GITLAB, subjects: gitlab.events.> }\n'
  const { world, hub, node, send } = makeBusWorld({}, ['key-of-the-model'])
  hub.addStream({ name: 'GITLAB', subjects: ['gitlab.events.>'] })
  const one = await node({ documents: example('triage', source) })
  send({ subject: 'gitlab.events.issue.created', id: 'delivery-1', body: issue(301) })
  await world.pass(10_000)
  const { instances } = await world.store.system('verification').dump()
  expect(instances).toHaveLength(1)
  expect(instances[0]?.workflow).toBe('gitlab_new_issue_triage')
  expect(world.calls[0]?.request.url).toContain('/v1/chat/completions')
  expect(one.engine.busConsumers.state(DEFAULT_TENANT, 'gitlab_bus')).toEqual({ is: 'consuming' })
})

test('[BU57] the example notifies the team once, whatever comes twice', async () => {
  let acknowledgements = 0
  const { world, hub, node, send } = makeBusWorld({
    fate: ({ what }) => ({ isLost: what === 'acknowledge' && acknowledgements++ % 2 === 0 }),
  })
  hub.addStream({ name: 'GITLAB', subjects: ['gitlab.events.>'] })
  await node({ documents: example('nats') })
  for (const id of [301, 302]) send({ subject: 'gitlab.events.issue.created', id: `d${id}`, body: issue(id) })
  await world.pass(120_000)
  expect(acknowledgements).toBeGreaterThan(2)
  expect(world.calls.map(({ request }) => JSON.parse(String(request.body)))).toEqual([
    { text: 'New: The shop is down (ann)', issue: 301 },
    { text: 'New: The shop is down (ann)', issue: 302 },
  ])
})
