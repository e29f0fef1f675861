// A migration that replaces an instance: the old one ends, and a new one takes over its keys, its data and its tokens. Both
// are changed in one commit, by two inputs that are decided by the same plan.
//
// Invariants: WF27 the new instance has the tokens where the migration puts them, and nothing of the old one is under way.

import { placeText } from '../../foundation/json/index.ts'
import type { DataChange } from '../instance/index.ts'
import { shown } from './assign.ts'
import { enterAll, openNew } from './begin-instance.ts'
import { announce, type Draft } from './instance-draft.ts'
import { endInstance } from './instance-end.ts'
import { refuse } from './machine-refusal.ts'
import type { InstanceInput, StepEnv } from './machine-types.ts'
import { plan } from './migrate-instance.ts'
import { instanceScope } from './workflow-scope.ts'

type Input<Type extends InstanceInput['type']> = Extract<InstanceInput, { readonly type: Type }>

export function replaceInstance(
  draft: Draft,
  { by, to, actor, reason, transformed }: Input<'replace'>,
): void {
  const planned = plan(draft.workflow, to, draft.now, draft.scope, transformed)
  if (typeof planned === 'string') refuse('cannot_migrate', planned)
  endInstance(draft, 'cancelled')
  draft.history.push({ type: 'migrated', state: 'cancelled', successor: by, actor, comment: reason })
}

/** Its keys are moved by the caller: both instances have them in one commit. */
export function takeOver(
  { id, of, from, to, actor, reason, transformed }: Input<'takeOver'>,
  env: StepEnv,
): Draft {
  const planned = plan(from, to, of, instanceScope(from, of, env.scope), transformed)
  if (typeof planned === 'string') refuse('cannot_migrate', planned)
  const { marking, assigned } = planned
  const { data, metadata, correlations } = assigned
  const { parent, correlationId } = of
  const draft = openNew(to, { id, data, metadata, correlations, parent, correlationId }, env)
  const puts = Object.entries(marking).flatMap(([place, tokens]) => Array<string>(tokens).fill(place))
  const changes: readonly DataChange[] = [
    ...Object.entries(data).map(([key, after]) => ({ path: placeText(['data', key]), after })),
    ...Object.entries(metadata).map(([key, after]) => ({ path: placeText(['metadata', key]), after })),
    ...correlations.map((key) => ({ path: placeText(['correlation', key.name]), after: key.value })),
  ]
  draft.history.push({
    type: 'created',
    put: puts,
    version: to.document.version,
    state: 'active',
    eventId: env.eventId,
    predecessor: of.id,
    ...(changes.length === 0 ? {} : { changes: shown(draft, changes) }),
    actor,
    comment: reason,
  })
  announce(draft, 'created')
  enterAll(draft, puts)
  return draft
}
