// An operator of workflows: fires, moves, edits, retries and cancels instances, and assigns orphaned events. Each
// action is one that the API offers, at a moment when it may be wrong.

import { DEFAULT_TENANT } from '../src/core/foundation/ids/index.ts'
import type { InstanceRow } from '../src/core/workflows/instance/index.ts'
import type { Engine } from '../src/engine/index.ts'
import type { StoreDump } from '../src/ports/store.ts'
import { short } from './node.ts'
import { ask, type Outside } from './node-access.ts'

type InstanceAct = 'fire' | 'move' | 'edit' | 'retry' | 'cancel'

const ACTS: Readonly<Record<InstanceAct, number>> = { fire: 50, move: 10, edit: 10, retry: 25, cancel: 5 }
/** A step that ran twice must be caused by the engine, not by an operator. */
const UNMOVED = 'chain'

const OPERATOR = { tenant: DEFAULT_TENANT, actor: 'clerk', role: 'admin', permissions: [] } as const
const WHY = { reason: 'because' } as const

export function actOnCases(outside: Outside, engine: Engine, dump: StoreDump): void {
  const { rng, observations } = outside
  if (observations.cases === null) return
  const active = dump.instances.filter(({ state }) => state === 'active')
  for (let acts = rng.between(1, 3); acts > 0 && active.length > 0; acts -= 1)
    actOn(outside, engine, rng.pick(active))
  const orphans = dump.orphans.filter(({ state }) => state === 'open' || state === 'waiting')
  if (orphans.length === 0 || !rng.chance(400)) return
  const { id, workflow } = rng.pick(orphans)
  const homes = active.filter((one) => one.workflow === workflow)
  const isWanted = homes.length > 0 && rng.chance(700)
  outside.trace('clerk', () => `${isWanted ? 'correlates' : 'discards'} ${short(id)}`)
  const said = { actor: OPERATOR.actor, reason: 'because' }
  ask(
    outside,
    isWanted
      ? engine.orphans.correlate(DEFAULT_TENANT, id, rng.pick(homes).id, said)
      : engine.orphans.discard(DEFAULT_TENANT, id, said),
  )
}

function actOn(outside: Outside, engine: Engine, { id, workflow, definition, marking }: InstanceRow): void {
  const { rng, observations } = outside
  const { instanceActions } = engine.workflows
  const document = observations.cases?.byHash(definition)
  if (document === undefined) return
  if (outside.profile.hasMigrations && rng.chance(300)) {
    outside.trace('clerk', () => `migrates ${workflow} ${short(id)}`)
    ask(outside, engine.workflows.migrations.one(OPERATOR, id, { dryRun: rng.chance(200), ...WHY }))
    return
  }
  const act = rng.weighted(ACTS)
  outside.trace('clerk', () => `${act} ${workflow} ${short(id)}`)
  switch (act) {
    case 'fire': {
      const byHand = document.transitions.filter(({ on }) => on === 'manual' || on === 'event')
      const transition = rng.pick(byHand.length > 0 && rng.chance(900) ? byHand : document.transitions).name
      ask(outside, instanceActions.fire(OPERATOR, id, { transition, input: null, comment: null }))
      return
    }
    case 'move': {
      const from = Object.keys(marking)
      if (workflow === UNMOVED || from.length === 0) return
      const to = rng.pick(document.places.filter(({ type }) => type !== 'error')).name
      ask(
        outside,
        instanceActions.move(OPERATOR, id, { from: { [rng.pick(from)]: 1 }, to: { [to]: 1 }, ...WHY }),
      )
      return
    }
    case 'edit': {
      const changes = [{ path: 'data.n', value: rng.between(1, 100) }]
      ask(outside, instanceActions.edit(OPERATOR, id, { changes, ...WHY }))
      return
    }
    case 'retry':
      ask(outside, instanceActions.retry(OPERATOR, id, { firing: null, ...WHY }))
      return
    case 'cancel':
      ask(outside, instanceActions.cancel(OPERATOR, id, WHY))
      return
  }
}
