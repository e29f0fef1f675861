// The triage of GitLab issues as in examples/: the real node, signed webhooks, an agent behind the OpenAI protocol, the team's chat.

import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashDocument } from '../../src/core/definitions/documents/index.ts'
import { signRequest } from '../../src/core/ingest/source/index.ts'
import { compileDefinitions, readFolder } from '../../src/definitions/language.ts'
import { copyExample, startOffice } from '../support/examples.ts'
import { buildDist, eventually, type NodeProcess, project, startNode } from '../support/node-process.ts'
import { GROUNDS, makeStores } from '../support/stores.ts'
import { makeWorkspace } from '../support/workspace.ts'

const stores = makeStores()
beforeAll(buildDist)
afterAll(() => stores.close())

const NAME = 'gitlab_new_issue_triage'
const TOKEN = `whsec_${Buffer.from('a token of this test alone, long').toString('base64')}`
const env = { GITLAB_WEBHOOK_SECRET: TOKEN, MODEL_KEY: 'key-of-the-model' }

interface Shown {
  readonly id: string
  readonly state: string
  readonly marking: Readonly<Record<string, number>>
  readonly data: Readonly<Record<string, unknown>>
  readonly history: readonly {
    readonly sequence: number
    readonly type: string
    readonly name: string | null
  }[]
  readonly createdAt: string
}

interface Page<Item> {
  readonly items: readonly Item[]
}

function tellOf(node: NodeProcess) {
  return async (delivery: string, action: 'open' | 'close', id: number, title = `Issue ${id}`) => {
    const payload = {
      object_kind: 'issue',
      user: { username: action === 'open' ? 'ann' : 'bob' },
      project: { id: 7 },
      object_attributes: { id, iid: 1, title, description: 'As the title says.', action },
      labels: [{ title: 'shop' }, { title: 'bug' }],
    }
    const body = new TextEncoder().encode(JSON.stringify(payload))
    const signed = signRequest(
      { scheme: 'gitlab', secret: [] },
      { body, secret: TOKEN, id: delivery, now: Date.now() },
    )
    const response = await fetch(`${node.url}/in/default/gitlab`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': delivery, ...signed },
      body,
    })
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
    return ((await response.json()) as { eventId: string }).eventId
  }
}

/** The instance of an issue, as soon as it is as expected. */
async function seen(node: NodeProcess, issue: number, fits: (instance: Shown) => boolean): Promise<Shown> {
  let found: Shown | undefined
  const look = async () => {
    const { items } = await node.get<Page<Shown>>(`/v1/workflows/${NAME}/instances`)
    const all = await Promise.all(items.map(({ id }) => node.get<Shown>(`/v1/instances/${id}`)))
    found = all.find(({ data }) => data.gitlab_issue_id === issue)
    return found !== undefined && fits(found)
  }
  await eventually(`issue ${issue} is so`, look, () => found)
  return found as Shown
}

const isIn = (place: string) => (instance: Shown) => instance.marking[place] === 1
const told = ({ history }: Shown) =>
  history.map(({ type, name }) => (typeof name === 'string' ? `${type} ${name}` : type))

test.each(GROUNDS)(
  'on %s an issue is judged, reported once and closed, also while the agent responds; an unknown issue is an orphan',
  async (ground) => {
    await using store = await stores.make(ground)
    await using workspace = makeWorkspace()
    const held = new Map<string, () => void>()
    const office = await startOffice(
      (asked) =>
        new Promise((go) => {
          if (asked.includes('slow')) held.set('slow', go)
          else go()
        }),
    )
    const flows = await copyExample(workspace, 'triage', {
      'http://127.0.0.1:4502': office.url,
      'buffer: 1h': 'buffer: 250ms',
    })
    const node = await startNode({ workspace, flows, env: { ...env, ...store.env } })
    const tell = tellOf(node)

    await tell('d1', 'open', 1, 'The shop is down')
    const first = await seen(node, 1, isIn('notify_team'))
    expect(first.data).toEqual({
      gitlab_issue_id: 1,
      gitlab_issue_iid: 1,
      project_id: 7,
      title: 'The shop is down',
      description: 'As the title says.',
      author: 'ann',
      labels: ['shop', 'bug'],
      ai_priority: 'high',
      ai_summary: 'About: the shop is down',
    })
    expect(office.asked).toMatchObject([{ authorization: 'Bearer key-of-the-model', said: [{}, {}] }])

    // GitLab sends the event once more, under the same id and under another: it is not judged or reported again.
    await tell('d1', 'open', 1, 'The shop is down')
    const again = await tell('d2', 'open', 1, 'The shop is down')
    await eventually('the second is skipped', async () => {
      const { consumers } = await node.get<{ consumers: readonly { state: string }[] }>(`/v1/events/${again}`)
      return consumers.every(({ state }) => state === 'skipped')
    })

    await tell('d3', 'close', 1)
    const closed = await seen(node, 1, ({ state }) => state === 'completed')
    expect(closed).toMatchObject({ id: first.id, marking: { closed: 1 }, data: { closed_by: 'bob' } })
    expect(told(closed)).toEqual([
      'created',
      'began process_new_issue',
      'ended process_new_issue',
      'began priority_assigned_notify',
      'ended priority_assigned_notify',
      'updated 1',
      'fired close',
    ])
    // As it was before the agent had responded.
    const past = await node.get<Shown>(`/v1/instances/${first.id}?at=2`)
    expect(past).toMatchObject({ state: 'active', marking: { new_issue_received: 1 } })
    expect(past.data).not.toHaveProperty('ai_priority')
    const at = await node.get<Shown>(
      `/v1/instances/${first.id}?at=${new Date(Date.now() + 1_000).toISOString()}`,
    )
    expect(at).toMatchObject({ state: 'completed', data: closed.data })

    // Closed during a request to the agent: the token moves at once, and the late result is not reported.
    await tell('d4', 'open', 2, 'A slow page')
    await eventually('the agent is answering', () => held.has('slow'))
    await tell('d5', 'close', 2)
    expect(await seen(node, 2, isIn('closed'))).toMatchObject({ state: 'active', data: { closed_by: 'bob' } })
    held.get('slow')?.()
    const late = await seen(node, 2, ({ state }) => state === 'completed')
    expect(told(late)).toContain('late process_new_issue')
    expect(late.data).not.toHaveProperty('ai_priority')

    const unknown = await tell('d6', 'close', 99)
    await eventually('it is an orphan', async () => {
      const { items } = await node.get<Page<{ eventId: string }>>(`/v1/orphans?state=open&workflow=${NAME}`)
      return items.length === 1 && items[0]?.eventId === unknown
    })
    expect(office.messages).toEqual([{ text: 'high: The shop is down (ann)', issue: 1 }])
    await store.told()
    await office.close()
  },
)

test('the same workflow in the spelling of older documents, behind one subject for all of GitLab', async () => {
  const compiled = async (name: string) =>
    compileDefinitions(await readFolder(join(project, 'examples', name)), {
      functions: () => `sha256:${'0'.repeat(64)}`,
    })
  const hashOf = async (name: string) => {
    const { documents, findings } = await compiled(name)
    expect(findings.filter(({ severity }) => severity !== 'info')).toEqual([])
    return documents.filter(({ kind }) => kind === 'Workflow').map(hashDocument)
  }
  expect(await hashOf('triage-dispatch')).toEqual(await hashOf('triage'))

  await using workspace = makeWorkspace()
  // The agent responds for the issue that is already closed then: earlier, the team would rightly be notified.
  let answer = () => {}
  const isClosed = new Promise<void>((resolve) => {
    answer = resolve
  })
  const office = await startOffice((asked) => (asked.includes('A typo') ? isClosed : Promise.resolve()))
  const flows = await copyExample(workspace, 'triage-dispatch', { 'http://127.0.0.1:4502': office.url })
  const node = await startNode({ workspace, flows, env })
  const tell = tellOf(node)
  // The closing comes first, and waits for its issue.
  await tell('d2', 'close', 5)
  await eventually('it waits', async () => {
    const { items } = await node.get<Page<unknown>>(`/v1/orphans?state=waiting&workflow=${NAME}`)
    return items.length === 1
  })
  await tell('d1', 'open', 5, 'A typo')
  await seen(node, 5, isIn('closed'))
  answer()
  const ended = await seen(node, 5, ({ state }) => state === 'completed')
  expect(ended).toMatchObject({ marking: { closed: 1 }, data: { title: 'A typo', closed_by: 'bob' } })
  await tell('d3', 'open', 6, 'Another typo')
  expect(await seen(node, 6, isIn('notify_team'))).toMatchObject({ data: { ai_priority: 'low' } })
  expect(office.messages).toEqual([{ text: 'low: Another typo (ann)', issue: 6 }])
  await office.close()
})
