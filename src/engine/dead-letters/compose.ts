// Composes what operators decide about jobs: one dead letter, many, or a job that waits for a decision.

import type { EngineBase } from '../commit/index.ts'
import type { RunningConfig } from '../config.ts'
import type { Registry } from '../definitions/index.ts'
import type { Failures, Settler, WorkActions } from '../settlement/index.ts'
import type { Instances, Steps } from '../workflows/index.ts'
import { type InternalDeadLetterActions, makeDeadLetterActions } from './dead-letter-actions.ts'
import { makeWorkActions } from './job-actions.ts'
import { type BulkReplayer, type BulkReplayHooks, makeBulkReplays } from './replays/index.ts'

export interface DeadLetters {
  readonly deadLetterActions: InternalDeadLetterActions
  readonly bulk: BulkReplayer
  readonly actions: WorkActions
}

export function composeDeadLetters(
  deps: EngineBase &
    BulkReplayHooks & {
      readonly registry: Registry
      readonly settler: Settler
      readonly failures: Failures
      readonly instances: Instances
      readonly steps: Steps
    },
  config: Pick<
    RunningConfig,
    'vars' | 'responseBytesMax' | 'resultBytesMax' | 'replayReadyPerMinute' | 'followMs'
  >,
): DeadLetters {
  const deadLetterActions = makeDeadLetterActions(deps)
  return {
    deadLetterActions,
    bulk: makeBulkReplays({ ...deps, deadLetterActions }, config),
    actions: makeWorkActions(deps, config),
  }
}
