// The set-up of projects in an ERP as in examples/erp, on the real process and the real store. What the ERP says it has
// created and removed decides.

import { createHmac } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { copyExample, type Erp, type ErpCall, startErp } from '../support/examples.ts'
import { buildDist, eventually, type NodeProcess, startNode } from '../support/node-process.ts'
import { GROUNDS, makeStores } from '../support/stores.ts'
import { makeWorkspace, type Workspace } from '../support/workspace.ts'

const stores = makeStores()
beforeAll(buildDist)
afterAll(() => stores.close())

// Each test has a node, a store and an ERP of its own and mostly waits for calls that are given up, so all run at once.
const WORKFRONT_SECRET = 'the secret of Workfront'
const STEPS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
/** The ninth creates two postings. */
const OBJECTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10]

interface Shown {
  readonly id: string
  readonly workflow: string
  readonly state: string
  readonly attention: string | null
  readonly marking: Readonly<Record<string, number>>
  readonly data: { readonly project: string }
  readonly history: readonly { readonly type: string; readonly name?: string }[]
}

interface Letter {
  readonly id: string
  readonly step: string
  readonly workId: string
}

function copySetup(workspace: Workspace, timeout = '20s'): Promise<string> {
  return copyExample(workspace, 'erp', {
    "'20s'": `'${timeout}'`,
    "after: '2s'": "after: '0s'",
    "['1s', '5s', '30s']": "['20ms', '20ms', '20ms']",
  })
}

async function approve(node: NodeProcess, id: string): Promise<void> {
  const payload = { id: `approved-${id}`, status: 'approved', project: { id, budget: 1_000 } }
  const body = JSON.stringify(payload)
  const signature = createHmac('sha256', WORKFRONT_SECRET).update(body).digest('hex')
  const response = await fetch(`${node.url}/in/default/workfront`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-signature': signature },
    body,
  })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
}

type Listed = Omit<Shown, 'data' | 'history'>

/** Settles with all instances, whole, when the condition holds for all. */
async function allAre(node: NodeProcess, workflow: string, count: number, isSo: (one: Listed) => boolean) {
  let all: readonly Listed[] = []
  try {
    await eventually(`${count} instances of ${workflow} are so`, async () => {
      const path = `/v1/workflows/${workflow}/instances?limit=100`
      all = (await node.get<{ items: readonly Listed[] }>(path)).items
      return all.length === count && all.every(isSo)
    })
  } catch (error) {
    const odd = all.filter((one) => !isSo(one))
    throw new Error(`${String(error)}: ${JSON.stringify(odd)}`)
  }
  return Promise.all(all.map(({ id }) => node.get<Shown>(`/v1/instances/${id}`)))
}

/** Steps of a project's objects, in order of creation. */
function madeFor({ objects }: Erp, project: string): readonly number[] {
  return objects.filter((one) => one.project === project).map(({ step }) => step)
}

/**
 * Set-ups of each kind. Each is stopped at every fourth of its steps, so that every start of the node finds many of
 * them.
 */
const OF_EACH = 4
const projectOf = (kind: string, step: number) => `${kind}${step % OF_EACH}`
const KINDS = ['between', 'within', 'back']
const PROJECTS = KINDS.flatMap((kind) => Array.from({ length: OF_EACH }, (_, index) => `${kind}${index}`))

test.concurrent.each(GROUNDS)(
  'on %s, kill -9 after each step, in the middle of each call and of undoing: everything happens once',
  async (ground) => {
    await using store = await stores.make(ground)
    await using workspace = makeWorkspace()
    // How long a probe has to wait after a crash: nothing may be on its way any more.
    const flows = await copySetup(workspace, '1s')
    // Some set-ups are stopped between their steps: the next call was sent, and the ERP has not seen it. For others the
    // ERP has carried out the request, and has not responded. Some roll back at their sixth step, and are stopped in
    // their calls and while they remove what they created. A call that stops too long times out and is probed, so one
    // life of the node may see more than one stop of each.
    const stops = new Set([
      ...STEPS.slice(1).map((step) => `before POST ${projectOf('between', step)} ${step}`),
      ...STEPS.map((step) => `after POST ${projectOf('within', step)} ${step}`),
      ...STEPS.slice(0, 5).flatMap((step) => [
        `after POST ${projectOf('back', step)} ${step}`,
        `after DELETE ${projectOf('back', step)} ${step}`,
      ]),
    ])
    /** The set-ups that were stopped since the node was started. */
    const stopped = new Set<string>()
    const hasStops = (project: string) => [...stops].some((stop) => stop.includes(` ${project} `))
    const never = new Promise<undefined>(() => {})
    const erp = await startErp((moment, { method, project, step }) => {
      if (stops.delete(`${moment} ${method} ${project} ${step}`)) {
        stopped.add(project)
        return never
      }
      return project.startsWith('back') && step === 6 ? 422 : undefined
    })
    const env = { WORKFRONT_SECRET, ERP_URL: erp.url, ...store.env }
    let node = await startNode({ workspace, flows, env })
    await Promise.all(PROJECTS.map((project) => approve(node, project)))
    let kills = 0
    while (stops.size > 0) {
      await eventually(`every set-up is stopped for the ${kills + 1}. time`, () =>
        PROJECTS.every((project) => stopped.has(project) || !hasStops(project)),
      ).catch((error) => {
        throw new Error(`${String(error)}; not yet: ${[...stops].join(', ')}`)
      })
      node.kill('SIGKILL')
      await node.exited
      kills += 1
      stopped.clear()
      node = await startNode({ workspace, flows, env })
    }
    // Four if no call timed out before its node was killed.
    expect(kills).toBeGreaterThanOrEqual(2)
    const all = await allAre(node, 'erp_setup', PROJECTS.length, ({ state }) => state !== 'active')
    for (const { data, history, marking, state } of all) {
      const { project } = data
      const isBack = project.startsWith('back')
      expect(madeFor(erp, project)).toEqual(isBack ? [1, 2, 3, 4, 5] : OBJECTS)
      const removed = erp.removed().filter((one) => one.project === project)
      expect(removed).toMatchObject(isBack ? [5, 4, 3, 2, 1].map((step) => ({ step, removed: 1 })) : [])
      expect({ state, marking }).toEqual(
        isBack ? { state: 'failed', marking: { failed: 1 } } : { state: 'completed', marking: { ready: 1 } },
      )
      expect(history.filter(({ type }) => type === 'ended')).toHaveLength(isBack ? 5 : STEPS.length)
    }
    await store.told()
    await erp.close()
  },
)

const BY_HAND = `
import { defineWorkflow } from 'millrace'
import { erpSetup } from './setup.ts'

const { onFailure: _, kind: __, ...setup } = erpSetup
const { rolling_back: ___, failed: ____, ...places } = setup.places
export const erpSetupByHand = defineWorkflow({ ...setup, name: 'erp_setup_by_hand', places, lock: { ...setup.lock, name: 'by_hand' } })
`

test.concurrent.each(GROUNDS)(
  'on %s a step fails permanently: the steps before it are undone, or a dead letter waits and continues there',
  async (ground) => {
    await using store = await stores.make(ground)
    await using workspace = makeWorkspace()
    const flows = await copySetup(workspace)
    await writeFile(join(flows, 'by-hand.ts'), BY_HAND)
    let isMended = false
    const calls: ErpCall[] = []
    /** In the set-up of a project `p<n>` with a roll-back and in one without, step n fails. */
    const erp = await startErp((moment, call) => {
      if (moment === 'after') return undefined
      calls.push(call)
      return !isMended && call.method === 'POST' && call.project === `p${call.step}` ? 422 : undefined
    })
    const env = { WORKFRONT_SECRET, ERP_URL: erp.url, ...store.env }
    const node = await startNode({ workspace, flows, env })
    await Promise.all(STEPS.map((step) => approve(node, `p${step}`)))

    const back = await allAre(node, 'erp_setup', STEPS.length, ({ state }) => state === 'failed')
    await allAre(node, 'erp_setup_by_hand', STEPS.length, ({ attention }) => attention === 'step_failed')
    for (const { data, marking, history } of back) {
      const failing = Number(data.project.slice(1))
      const names = STEPS.slice(0, failing - 1).map((step) => nameOf(history, step))
      expect(marking).toEqual({ failed: 1 })
      expect(history.map(({ type }) => type)).toContain('rolling_back')
      expect(history.filter(({ type }) => type === 'undone').map(({ name }) => name)).toEqual(
        names.toReversed(),
      )
    }
    for (const step of STEPS) {
      const removed = erp.removed().filter(({ project }) => project === `p${step}`)
      const expected = OBJECTS.filter((one) => one < step).toReversed()
      expect(removed.map((one) => one.step)).toEqual(expected)
      expect(removed.every((one) => one.removed === 1)).toBe(true)
      // Both set-ups of the project created the objects before it, and only one removed them.
      expect(madeFor(erp, `p${step}`)).toHaveLength(2 * expected.length)
    }

    const { items: letters } = await node.get<{ items: readonly Letter[] }>(
      '/v1/dead-letters?state=open&limit=50',
    )
    expect(letters).toHaveLength(STEPS.length)
    isMended = true
    calls.length = 0
    for (const { id } of letters)
      await node.post(`/v1/dead-letters/${id}/replay`, { reason: 'the ERP is mended' })
    await allAre(node, 'erp_setup_by_hand', STEPS.length, ({ state }) => state === 'completed')
    for (const step of STEPS) {
      const asked = calls.filter(({ project }) => project === `p${step}`)
      expect([...new Set(asked.map((one) => one.step))]).toEqual(STEPS.slice(step - 1))
      const kept = erp.objects.filter((one) => one.project === `p${step}` && one.removed === 0)
      expect(kept.map((one) => one.step).toSorted((a, b) => a - b)).toEqual(OBJECTS)
    }
    await store.told()
    await erp.close()
  },
)

/** Of the n-th step that ended. */
function nameOf(history: Shown['history'], step: number): string | undefined {
  return history.filter(({ type }) => type === 'ended')[step - 1]?.name
}
