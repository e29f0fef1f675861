// Starts the node, at once or when the operator confirms its pause (src/app/data-owner.ts).

import type { OperatorLog } from '../adapters/log-pino/index.ts'
import { AppError, messageOf } from '../core/foundation/errors/index.ts'
import type { HttpApi } from '../http/index.ts'
import type { Pause } from './data-owner.ts'
import { type LoadedDefinitions, refuseOwnErrors } from './load-definitions.ts'
import type { RunningNode } from './run-node.ts'

export interface NodeStart {
  /** Why the node does nothing until the operator decides; null: it runs, or is about to. */
  pause(): Pause | null
  running(): RunningNode | null
  /** Runs the node, unless it is paused. */
  begin(run: RunNode, definitions: LoadedDefinitions): Promise<void>
  /** The start after a confirmed pause. */
  confirmCopy: HttpApi['confirmCopy']
  /** The node, when a start after a pause that is in progress is over; null: there is none. */
  resumed(): Promise<RunningNode | null>
}

type RunNode = (definitions: LoadedDefinitions) => Promise<RunningNode>

export function makeNodeStart(
  first: Pause | null,
  deps: {
    readonly log: OperatorLog
    /** Why the node is still paused; null: the code confirms it. */
    check(code: string, by: string): Promise<Pause | null>
    load(): Promise<LoadedDefinitions>
    readonly onFatal: ((message: string) => void) | undefined
  },
): NodeStart {
  const { log } = deps
  let pause = first
  let run: RunNode | null = null
  let running: RunningNode | null = null
  let resuming: Promise<RunningNode> | null = null

  const resume = async (): Promise<RunningNode> => {
    // The folder may have changed since the node paused.
    const definitions = await deps.load()
    refuseOwnErrors(definitions)
    if (run === null) throw new Error('assertion failed: the node is not put together')
    return run(definitions)
  }

  return {
    pause: () => pause,
    running: () => running,
    async begin(runNode, definitions) {
      run = runNode
      if (pause === null) running = await run(definitions)
    },
    async confirmCopy(code, by) {
      if (pause !== null) {
        const still = await deps.check(code, by)
        if (still !== null)
          throw new AppError('conflict', `${code} is not the code of this pause, which is ${still.confirm}`)
        pause = null
        resuming ??= resume()
      }
      if (resuming === null) return
      try {
        running = await resuming
      } catch (error) {
        // The copy is confirmed: the next start runs, or reports what prevents it.
        log.error('node.resume-failed', { error })
        await log.flush()
        deps.onFatal?.(`the node could not start after its pause: ${messageOf(error)}`)
        throw error
      }
    },
    resumed: async () => (await resuming?.catch(() => null)) ?? null,
  }
}
