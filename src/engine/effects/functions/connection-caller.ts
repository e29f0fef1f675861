// How a function gets a caller for a connection; src/engine/connections provides it.

import type { ConnectionCaller } from '../../../ports/code.ts'
import type { FunctionRun } from './function-run.ts'

export interface FunctionConnections {
  caller(run: FunctionRun, connection: string): ConnectionCaller
}
