// Runs a job of a workflow by its kind.

import { unreachable } from '../../core/foundation/errors/index.ts'
import type { Item } from '../leases/index.ts'

export interface WorkflowItems {
  run(item: Item): Promise<void>
}

export function makeWorkflowItems(deps: {
  readonly steps: WorkflowItems
  readonly signals: WorkflowItems
  readonly triggers: WorkflowItems
}): WorkflowItems {
  return {
    run(item) {
      const { kind } = item.work
      switch (kind) {
        case 'trigger':
          return deps.triggers.run(item)
        case 'step':
          return deps.steps.run(item)
        case 'timer':
        case 'admit':
        case 'signal':
          return deps.signals.run(item)
        case 'route':
        case 'batch':
        case 'intake':
        case 'delivery':
        case 'rotation':
        case 'poll':
          throw new Error(`assertion failed: an item of the kind ${kind} is of no workflow`)
        default:
          return unreachable(kind)
      }
    },
  }
}
