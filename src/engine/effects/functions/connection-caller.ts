// Returns a caller for a connection to a function; src/engine/connections implements it.

import type { ConnectionCaller } from '../../../ports/code.ts'
import type { FunctionRun } from './function-run.ts'

export interface FunctionConnections {
  caller(run: FunctionRun, connection: string): ConnectionCaller
}
