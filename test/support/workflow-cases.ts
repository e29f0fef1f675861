// Cases of the shop for tests and pictures of workflows: claims that wait for a user, returns that succeed, a set-up
// that fails at a step, one that rolls back, and events without an instance. Billing (billing.ts) acts by the number:
// `bad-…` is refused.

import { eventually, type NodeProcess } from './node-process.ts'

/** `version` 2 has one more place, and says how instances of 1 get there. */
const caseFlows = (billing: string, version = 1) => `kind: Source
name: desk
description: What customers and the warehouse say.
verify: { scheme: none }
subject: "desk.events.{{ payload.type }}"
event: { id: payload.id, objectType: claim, objectId: payload.claim }
---
kind: Workflow
name: claims
description: A claim is priced, looked at by a person where it is large, and paid or turned down.
version: ${version}.0.0
start: opened
data: { type: object, properties: { amount: { type: number }, claim: { type: string } } }
places:
  opened: {}
  priced: {}
  review: { type: review, description: Somebody of the desk decides., timeout: { after: 14d, fire: give_up } }
  approved: {}
  ${version === 1 ? 'paid: { final: true }' : 'paid: { type: waiting }\n  closed: { final: true }'}
  turned_down: { type: error }
transitions:
  price:
    from: opened
    to: priced
    do: { http: { method: POST, url: "${billing}/prices", body: { reference: "{{ key }}", number: "{{ data.claim }}" } } }
    retry: { attempts: 1 }
    out: { price: result.body.id }
  look_at: { from: priced, choose: [{ when: data.amount > 100, to: review }, { to: approved }] }
  approve:
    from: review
    to: approved
    on: manual
    description: The claim is right.
    input:
      type: object
      required: [note]
      properties:
        note: { type: string, title: Note, description: Why it is right. }
        amount: { type: number, title: Amount }
        express: { type: boolean, title: Express }
    out: { note: input.note }
  reject: { from: review, to: turned_down, on: manual }
  give_up: { from: review, to: turned_down, on: timer }
  withdraw: { fromAny: [priced, review, approved], to: turned_down, on: event }
  pay:
    from: approved
    to: paid
    do: { http: { method: POST, url: "${billing}/payments", body: { reference: "{{ key }}", number: "{{ data.claim }}" } } }
${version === 1 ? '' : '  archive: { from: paid, to: closed, on: manual }\nmigrations:\n  - { from: 1.0.0, to: 2.0.0, data: [{ default: data.archive, value: files }] }\n'}triggers:
  - on: desk.events.opened
    correlate: { claim: payload.claim }
    unique: live
    map: { claim: payload.claim, amount: payload.amount, customer: payload.customer }
  - on: desk.events.withdrawn
    action: update
    correlate: { claim: payload.claim }
    buffer: 0s
    fire: withdraw
  - manual:
      input:
        type: object
        required: [claim, amount]
        properties: { claim: { type: string, title: Claim }, amount: { type: number, title: Amount } }
    map: { claim: payload.claim, amount: payload.amount }
---
kind: Workflow
name: set_up
description: A project is set up in three systems; what fails for good is taken back.
version: 1.0.0
start: asked
onFailure: { undo: done-steps, through: rolling_back, to: taken_back }
places:
  asked: {}
  with_account: {}
  with_project: {}
  ready: { final: true }
  rolling_back: {}
  taken_back: { type: error }
transitions:
  make_account:
    from: asked
    to: with_account
    do: { http: { method: POST, url: "${billing}/accounts", body: { reference: "{{ key }}", number: "account" } } }
    undo: { http: { method: POST, url: "${billing}/gone", body: { reference: "{{ key }}", number: "account" } } }
  make_project:
    from: with_account
    to: with_project
    do: { http: { method: POST, url: "${billing}/projects", body: { reference: "{{ key }}", number: "project" } } }
    undo: { http: { method: POST, url: "${billing}/gone", body: { reference: "{{ key }}", number: "project" } } }
  tell_people:
    from: with_project
    to: ready
    retry: { attempts: 1 }
    do: { http: { method: POST, url: "${billing}/people", body: { reference: "{{ key }}", number: "{{ data.people }}" } } }
triggers:
  - { manual: { input: { type: object } }, map: { people: payload.people } }
`

/** Deploys a version of them. */
export async function applyCases(node: NodeProcess, billing: string, version = 1): Promise<void> {
  const files = [{ path: 'cases.yaml', text: caseFlows(billing, version) }]
  await node.post('/v1/definitions/apply', { files, reason: `version ${version} of the cases` })
}

export interface CaseInstance {
  readonly id: string
  readonly state: string
  readonly attention: string | null
  readonly marking: Readonly<Record<string, number>>
}

async function tellDesk(
  node: Pick<NodeProcess, 'url'>,
  type: string,
  claim: string,
  extra: object = {},
): Promise<string> {
  const response = await fetch(`${node.url}/in/default/desk`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: `${type}-${claim}`, type, claim, ...extra }),
  })
  if (response.status !== 202) throw new Error(`answered ${response.status}: ${await response.text()}`)
  return ((await response.json()) as { eventId: string }).eventId
}

/** Waits until the instance that the event started is as expected. */
async function caseOf(
  node: NodeProcess,
  workflow: string,
  eventId: string,
  isSo: (instance: CaseInstance) => boolean,
): Promise<CaseInstance> {
  let found: CaseInstance | undefined
  await eventually(`the instance of ${eventId} is as it should be`, async () => {
    const { items } = await node.get<{ items: (CaseInstance & { eventId: string })[] }>(
      `/v1/workflows/${workflow}/instances?limit=200`,
    )
    found = items.find((one) => one.eventId === eventId)
    return found !== undefined && isSo(found)
  })
  return found!
}

/** A claim of this amount, once it is at rest. */
export async function openClaim(node: NodeProcess, claim: string, amount: number): Promise<CaseInstance> {
  const eventId = await tellDesk(node, 'opened', claim, {
    amount,
    customer: { name: 'Jo Jansen', number: 9_007_199 },
  })
  return caseOf(
    node,
    'claims',
    eventId,
    ({ state, attention, marking }) => state !== 'active' || attention !== null || marking.review === 1,
  )
}

export async function setUp(node: NodeProcess, people: string): Promise<CaseInstance> {
  const { eventId } = await node.post<{ eventId: string }>('/v1/workflows/set_up/instances', {
    input: { people },
  })
  return caseOf(node, 'set_up', eventId, ({ state }) => state !== 'active')
}

/** An event for an unknown claim, once it is in the inbox. */
export async function orphan(node: NodeProcess, claim: string): Promise<string> {
  const eventId = await tellDesk(node, 'withdrawn', claim)
  let id: string | undefined
  await eventually(`the withdrawal of ${claim} is an orphan`, async () => {
    const { items } = await node.get<{ items: { id: string; eventId: string }[] }>('/v1/orphans?state=open')
    id = items.find((one) => one.eventId === eventId)?.id
    return id !== undefined
  })
  return id!
}
