// The operator API of workflows: those a user may see, manual starts, and every action on an instance.

import { AppError } from '../../../core/foundation/errors/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import { closest } from '../../../core/foundation/text/index.ts'
import type { Data } from '../../../core/workflows/instance/index.ts'
import type { Workflow } from '../../../core/workflows/machine/index.ts'
import type { Encryption } from '../../../ports/encryption.ts'
import type { EngineBase } from '../../commit/index.ts'
import type { Registry } from '../../definitions/index.ts'
import type { Started, Starter } from '../starts/index.ts'
import {
  type InstanceActionDeps,
  type InstanceActions,
  makeInstanceActions,
  type Operator,
} from './instance-actions.ts'
import { type Migrations, makeMigrations } from './instance-migrations.ts'
import { type InstanceReading, makeInstanceReading } from './read-instance.ts'
import { assertPermitted, assertSees, maySee } from './workflow-permissions.ts'

export interface StartRequest {
  readonly input: JsonValue
  readonly metadata?: Data
  /** The id of one of its manual triggers; omitted: the first. */
  readonly trigger?: string
}

export interface WorkflowOperatorApi {
  readonly instanceActions: InstanceActions
  readonly reading: InstanceReading
  readonly migrations: Migrations
  /** Deployed, and visible to the caller. */
  list(operator: Operator): readonly Workflow[]
  /** Throws AppError: none is deployed, or the caller may not see it. */
  one(operator: Operator, name: string): Workflow
  start(operator: Operator, name: string, request: StartRequest): Promise<Started>
}

export function makeWorkflowOperatorApi(
  deps: Omit<InstanceActionDeps, 'hide'> &
    Pick<EngineBase, 'code' | 'clock' | 'ids' | 'unitOfWork'> & {
      readonly encryption: Encryption
      readonly registry: Pick<Registry, 'workflow' | 'workflows' | 'pinnedWorkflow'>
      readonly starter: Pick<Starter, 'start' | 'triggerOf'>
    },
): WorkflowOperatorApi {
  const { starter, registry } = deps
  const reading = makeInstanceReading(deps)
  return {
    instanceActions: makeInstanceActions({ ...deps, hide: reading.hide }),
    reading,
    migrations: makeMigrations(deps),
    list: (operator) =>
      registry.workflows(operator.tenant).filter(({ document }) => maySee(operator, document)),
    one(operator, name) {
      const workflow = registry.workflow(operator.tenant, name)
      if (workflow === null) {
        const near = closest(
          name,
          registry.workflows(operator.tenant).map(({ document }) => document.name),
        )
        const hint = near === undefined ? '' : `; did you mean ‘${near}’?`
        throw new AppError('not_found', `there is no workflow ‘${name.slice(0, 100)}’ in force${hint}`)
      }
      assertSees(operator, workflow.document)
      return workflow
    },
    async start(operator, name, request) {
      const { workflow, trigger } = starter.triggerOf(operator.tenant, name, request.trigger)
      assertSees(operator, workflow.document)
      assertPermitted(operator, trigger.document.manual?.permission, `starting ${name}`)
      return starter.start(operator.tenant, name, { ...request, actor: operator.actor })
    },
  }
}
