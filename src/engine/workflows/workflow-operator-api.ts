// The operator API of workflows: those a user may see, manual starts, and every action on an instance.

import { AppError } from '../../core/foundation/errors/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import { closest } from '../../core/foundation/text/index.ts'
import type { Data } from '../../core/workflows/instance/index.ts'
import type { Workflow } from '../../core/workflows/machine/index.ts'
import type { Seal } from '../../ports/encryption.ts'
import type { Registry } from '../definitions/index.ts'
import { type Hand, type HandDeps, type Hands, makeHands } from './instance-actions.ts'
import { type Migrations, makeMigrations } from './instance-migrations.ts'
import { type InstanceReading, makeInstanceReading } from './read-instance.ts'
import type { Started, Starter } from './start-instance.ts'
import { assertPermitted, assertSees, maySee } from './workflow-permissions.ts'

export interface StartByHand {
  readonly input: JsonValue
  readonly metadata?: Data
  /** The id of one of its manual triggers; omitted: the first. */
  readonly trigger?: string
}

export interface WorkflowPeople {
  readonly hands: Hands
  readonly reading: InstanceReading
  readonly migrations: Migrations
  /** Deployed, and visible to the caller. */
  list(hand: Hand): readonly Workflow[]
  /** Throws AppError: none is deployed, or the caller may not see it. */
  one(hand: Hand, name: string): Workflow
  start(hand: Hand, name: string, request: StartByHand): Promise<Started>
}

export function makeWorkflowPeople(
  deps: Omit<HandDeps, 'hide'> & {
    readonly seal: Seal
    readonly registry: Pick<Registry, 'workflow' | 'workflows' | 'pinnedWorkflow'>
    readonly starter: Pick<Starter, 'start' | 'triggerOf'>
  },
): WorkflowPeople {
  const { starter, registry } = deps
  const reading = makeInstanceReading(deps)
  return {
    hands: makeHands({ ...deps, hide: reading.hide }),
    reading,
    migrations: makeMigrations(deps),
    list: (hand) => registry.workflows(hand.tenant).filter(({ document }) => maySee(hand, document)),
    one(hand, name) {
      const workflow = registry.workflow(hand.tenant, name)
      if (workflow === null) {
        const near = closest(
          name,
          registry.workflows(hand.tenant).map(({ document }) => document.name),
        )
        const hint = near === undefined ? '' : `; did you mean ‘${near}’?`
        throw new AppError('not_found', `there is no workflow ‘${name.slice(0, 100)}’ in force${hint}`)
      }
      assertSees(hand, workflow.document)
      return workflow
    },
    async start(hand, name, request) {
      const { workflow, trigger } = starter.triggerOf(hand.tenant, name, request.trigger)
      assertSees(hand, workflow.document)
      assertPermitted(hand, trigger.document.manual?.permission, `starting ${name}`)
      return starter.start(hand.tenant, name, { ...request, actor: hand.actor })
    },
  }
}
