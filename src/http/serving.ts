// What routes need of the server beside what the node does.

import type { Log } from '../ports/log.ts'
import type { CompileFiles } from './definition-files.ts'

export interface Serving {
  readonly limits: { readonly eventBodyLimit: number }
  readonly log: Pick<Log, 'info'>
  readonly compileFiles: CompileFiles
  /** The node's public address; null: as each request says. */
  readonly publicUrl: string | null
}
