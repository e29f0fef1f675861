// What a check of definitions takes from its surroundings, besides the files.

import type { OutboundPolicy } from '../core/access/network/index.ts'
import type {
  DefinitionDocument,
  EnvironmentName,
  ProfileDocument,
  VarSettings,
} from '../core/definitions/documents/index.ts'
import type { ReadableStreams } from './nats.ts'
import type { DefinitionFile } from './source-text.ts'

export interface CompileDeps {
  /** The hash of the code that has the function, or null. */
  readonly functions: (name: string) => string | null
  /** The timeout that a function declares, or null. */
  readonly timeouts?: (name: string) => number | null
  /** Deployed profiles besides the files; one of the files of the same name takes precedence. */
  readonly profiles?: ReadonlyMap<string, ProfileDocument>
  /** Whether the vault has a secret now; without it unset secrets are not reported. */
  readonly secrets?: (name: string) => boolean
  /** Whether the environment has a variable; without it unset variables are not reported. */
  readonly variables?: (name: string) => boolean
  /** False if the environment belongs to another tenant: `{ env }` is refused then. */
  readonly hasEnvironment?: boolean
  /** Whether the node lets `{ env }` read this variable; omitted: no node was asked. */
  readonly isEnvReadable?: ((name: string) => boolean) | undefined
  /** Deployed documents besides the files; those of the files of the same kind and name take precedence. */
  readonly deployedDocuments?: readonly DefinitionDocument[]
  /** Subjects that functions declare to emit. */
  readonly emits?: readonly string[]
  /** How many markings are explored in all workflows together. */
  readonly markings?: number
  /**
   * Where the node that will have them may call; without it, what only an operator can allow is a warning. null: the
   * caller judges addresses.
   */
  readonly outbound?: OutboundPolicy | null
  /** Whether they are for production. */
  readonly isProduction?: boolean
  /** Whether credentials in clear text are errors, except for deployed ones; otherwise they are warnings. */
  readonly refusesLiterals?: boolean
  /** If a name has a document per environment, which one is deployed; omitted: `DEV`. */
  readonly environment?: EnvironmentName
  /** The prefix of the subjects that the node publishes to the bus; omitted: not known. */
  readonly busPrefix?: string | undefined
  /** Which streams of the bus its sources may read; omitted: not known. */
  readonly streams?: ReadableStreams | undefined
  /** What the settings of the node say of `vars`; omitted: nothing. */
  readonly varSettings?: VarSettings
  /** Deployed documents besides the files, for `vars` alone; omitted: `deployedDocuments`. */
  readonly varsBeside?: readonly DefinitionDocument[]
  /** Those of `varsBeside` that values of `vars` are filled into, as they were written. */
  readonly filledBeside?: readonly DefinitionFile[]
  /** Whether `{{ vars.x }}` may stand for a number or a duration: it is filled in again when the value changes. */
  readonly fillsVars?: boolean
  /** Whether the API has a subscription of this name. */
  readonly isHeld?: (name: string) => boolean
}
