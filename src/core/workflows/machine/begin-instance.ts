// How an instance is created, and when it may move: with its lock, and with a slot among the active ones.

import { placeText } from '../../foundation/json/index.ts'
import type { Data, DataChange, Instance } from '../instance/index.ts'
import { checkSchema, computeChanges, learnedEffects, shown } from './assign.ts'
import { announce, type Draft, openDraft } from './instance-draft.ts'
import { refuse } from './machine-refusal.ts'
import type { InstanceInput, StepEnv, Workflow } from './machine-types.ts'
import { addTokens, enterPlace, putTokens } from './token-moves.ts'

type Input<Type extends InstanceInput['type']> = Extract<InstanceInput, { readonly type: Type }>

const NO_ADMISSION: Instance['admission'] = { lock: null, slot: null, waitsFor: null, ttl: null }
const NO_DATA: Data = {}

/** Throws ExpressionError and Refusal. */
export function createInstance(workflow: Workflow, input: Input<'create'>, env: StepEnv): Draft {
  const { document } = workflow
  const { start, version } = document
  const blank = { data: NO_DATA, metadata: input.metadata, correlations: input.keys }
  const assigned = computeChanges(blank, input.assignments)
  checkSchema({ workflow }, assigned.data)
  const { data, metadata, correlations } = assigned
  const { id, parent, correlationId } = input
  const draft = openNew(workflow, { id, data, metadata, correlations, parent, correlationId }, env)
  const changes: readonly DataChange[] = [
    ...Object.entries(input.metadata).map(([key, after]) => ({ path: placeText(['metadata', key]), after })),
    ...input.keys.map((key) => ({ path: placeText(['correlation', key.name]), after: key.value })),
    ...assigned.changes,
  ]
  draft.history.push({
    type: 'created',
    put: [start],
    version,
    state: 'active',
    eventId: env.eventId,
    ...(changes.length === 0 ? {} : { changes: shown(draft, changes) }),
    ...(input.actor === undefined ? {} : { actor: input.actor }),
  })
  announce(draft, 'created')
  learnedEffects(draft, assigned)
  enterAll(draft, [start])
  return draft
}

/** Without tokens. */
export function openNew(
  workflow: Workflow,
  given: Pick<Instance, 'id' | 'data' | 'metadata' | 'correlations' | 'parent' | 'correlationId'>,
  env: StepEnv,
): Draft {
  const { name, version } = workflow.document
  return openDraft(
    workflow,
    {
      ...given,
      workflow: name,
      definition: workflow.hash,
      version,
      state: 'active',
      attention: null,
      revision: 0,
      marking: {},
      firings: [],
      done: [],
      stays: [],
      rollBack: null,
      failure: null,
      admission: NO_ADMISSION,
      next: { firing: 1, stay: 1, history: 1 },
      eventId: env.eventId,
    },
    env,
  )
}

/** Now, or with its lock and its slot. */
export function enterAll(draft: Draft, places: readonly string[]): void {
  const { lock, maxConcurrent } = draft.workflow.document
  if (lock !== undefined) waitFor(draft, 'lock')
  else if (maxConcurrent !== undefined) waitFor(draft, 'slot')
  if (draft.now.admission.waitsFor === null) putTokens(draft, places)
  else for (const place of places) addTokens(draft, place, 1)
}

function waitFor(draft: Draft, what: 'lock' | 'slot'): void {
  const { workflow, now, env } = draft
  const { lock, maxConcurrent, name } = workflow.document
  const id = env.newWork()
  const lane =
    what === 'lock'
      ? { key: `lock/${lock?.name ?? name}/${workflow.lockOf(draft.scope)}`, width: 1 }
      : { key: 'slot', width: maxConcurrent ?? 1 }
  now.admission = { ...now.admission, [what]: id, waitsFor: what }
  draft.effects.push({ type: 'work', id, kind: 'admit', step: what, part: null, delayMs: 0, lane })
}

export function admitInstance(draft: Draft, { to, work }: Input<'admitted'>) {
  const { now, workflow, env } = draft
  if (now.admission.waitsFor !== to) refuse('gone', `the instance does not wait for its ${to}`)
  now.admission = { ...now.admission, [to]: work, waitsFor: null }
  draft.history.push({ type: 'admitted', name: to, workId: work })
  const { lock, maxConcurrent } = workflow.document
  if (to === 'lock' && lock !== undefined) {
    const ttl = env.newWork()
    now.admission = { ...now.admission, ttl }
    draft.effects.push({
      type: 'work',
      id: ttl,
      kind: 'timer',
      step: 'ttl',
      part: null,
      delayMs: lock.ttlMs,
      lane: null,
    })
  }
  if (to === 'lock' && maxConcurrent !== undefined) return waitFor(draft, 'slot')
  // Not always the start: a migration may have renamed it meanwhile.
  for (const [place, tokens] of Object.entries(now.marking)) {
    for (let count = 0; count < tokens; count += 1) {
      announce(draft, `entered.${place}`, { place })
      enterPlace(draft, place)
    }
  }
}
