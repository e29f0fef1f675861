// The definitions folder of a node: deployed at the start and, in DEV, whenever it changes.

import {
  type Change,
  type DefinitionDocument,
  definitionId,
  type SubscriptionDocument,
} from '../core/definitions/documents/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import {
  compareFindings,
  type Finding,
  formatFindings,
  hasErrors,
  type LoadedFolder,
  type VetAddress,
  vetEndpoints,
  watchFolder,
} from '../definitions/index.ts'
import type { Applied, Definitions } from '../engine/definitions/index.ts'

export interface FolderDeps {
  readonly owner: 'folder' | 'demo'
  /** No other node applies a folder to this store: without one here there is none. */
  readonly isAlone: boolean
  readonly definitions: Pick<Definitions, 'apply' | 'goneFromFolder' | 'list'>
  /** Folders of the node itself, which may be inside the folder. */
  readonly ownFolders: readonly string[]
  load(): Promise<LoadedFolder>
  /** Stores the folder's code before definitions name it. */
  keepCode(code: LoadedFolder['code']): Promise<void>
  /** Those of these names that subscriptions of the API have. */
  heldByApi(names: readonly string[]): Promise<ReadonlySet<string>>
  /** Whether credentials in clear text may not be applied. */
  readonly refusesLiterals?: boolean
  /** Whether the address of a subscription may be called from here. */
  readonly vet: (
    document: SubscriptionDocument,
    beside: readonly DefinitionDocument[],
  ) => ReturnType<VetAddress>
}

const TRIES = 5

/** Nodes of one database start together and apply the same: the second one reads again, and finds it done. */
export async function applyFolder(deps: FolderDeps, loaded: LoadedFolder): Promise<Applied> {
  await deps.keepCode(loaded.code)
  for (let tries = 1; ; tries += 1) {
    try {
      return await deps.definitions.apply(DEFAULT_TENANT, {
        definitions: loaded.definitions,
        refilled: loaded.refilled,
        managedBy: deps.owner,
        prune: false,
        isWithoutFolder: deps.isAlone && deps.owner !== 'folder',
        by: deps.owner,
        reason: null,
      })
    } catch (error) {
      const isLost = error instanceof AppError && error.code === 'conflict'
      if (!isLost || tries >= TRIES) throw error
    }
  }
}

/**
 * What prevents its deployment: keys that differ from the deployed ones, without a note, names of subscriptions that
 * the API has, and addresses that may not be called. The demo always belongs to itself.
 */
export async function findObjections(
  {
    owner,
    definitions,
    heldByApi,
    vet,
    refusesLiterals = false,
  }: Pick<FolderDeps, 'owner' | 'definitions' | 'heldByApi' | 'vet' | 'refusesLiterals'>,
  loaded: LoadedFolder,
): Promise<readonly Finding[]> {
  if (owner !== 'folder') return []
  const items = await definitions.list(DEFAULT_TENANT)
  // The demo is removed when a folder comes, and its effects were for show.
  const deployedDocuments = items.filter(({ managedBy }) => managedBy !== 'demo')
  const names = loaded.definitions.flatMap(({ document: { kind, name } }) =>
    kind === 'Subscription' ? [name] : [],
  )
  const held = names.length === 0 ? new Set<string>() : await heldByApi(names)
  const documents = deployedDocuments.map(({ document }) => document)
  return [
    ...loaded.changedKeys(documents),
    ...(refusesLiterals ? loaded.freshLiterals(documents) : []),
    ...loaded.heldNames((name) => held.has(name)),
    ...(await vetEndpoints(loaded.endpoints(documents), (document) =>
      vet(
        document,
        loaded.definitions.map((one) => one.document),
      ),
    )),
  ]
}

/** What was rolled back and is what the folder says again, as lines for the terminal. */
export function putBackLines({ putBack }: Pick<Applied, 'putBack'>): readonly string[] {
  return putBack.map((id) => `${id} was rolled back; the folder has put its own back in force`)
}

/** What is deployed and no longer in the folder, as lines for the terminal. */
export function goneLines({ definitions }: Pick<FolderDeps, 'definitions'>): readonly string[] {
  return definitions
    .goneFromFolder(DEFAULT_TENANT)
    .map(
      (entry) =>
        `${definitionId(entry)} is gone from the folder and stays in force; \`millrace apply --prune\` removes it`,
    )
}

/** `say` gets whole lines for the terminal. */
export function followFolder(
  deps: FolderDeps,
  folder: string,
  first: { readonly version: number; readonly loaded: LoadedFolder; readonly loadedAt: number },
  say: (text: string) => void,
): { close(): Promise<void> } {
  let { version } = first
  let said = first.loaded.findings.length > 0 ? formatFindings(first.loaded.findings, first.loaded.files) : ''
  let gone = goneLines(deps).join('\n')

  const look = async () => {
    const loaded = await deps.load()
    const all = [...loaded.findings, ...(await findObjections(deps, loaded))].sort(compareFindings)
    const findings = all.length > 0 ? formatFindings(all, loaded.files) : ''
    if (findings !== '' && findings !== said) say(`\n${findings}`)
    const isBroken = hasErrors(all)
    if (isBroken && findings !== said) say(`nothing was applied: version ${version} stays in force\n`)
    said = findings
    if (isBroken) return
    const applied = await applyFolder(deps, loaded)
    version = applied.version
    // Other nodes may have applied changes meanwhile: those are not reported here.
    const described = describeChanges(applied.changes)
    if (described !== '') say(`applied version ${version}: ${described}\n`)
    for (const line of putBackLines(applied)) say(`${line}\n`)
    const left = goneLines(deps)
    if (left.join('\n') !== gone) for (const line of left) say(`${line}\n`)
    gone = left.join('\n')
  }

  const logFailure = (error: unknown) =>
    say(`the definitions were not read: ${error instanceof Error ? error.message : String(error)}\n`)
  try {
    return watchFolder(folder, look, logFailure, { except: deps.ownFolders, since: first.loadedAt })
  } catch (error) {
    logFailure(error)
    return { close: async () => {} }
  }
}

const WORDS: Readonly<Record<Change['change'], string>> = {
  create: 'added',
  update: 'updated',
  remove: 'removed',
  unchanged: 'unchanged',
}
const TOLD_MAX = 10

function describeChanges(changes: readonly Change[]): string {
  const described = changes
    .filter(({ change }) => change !== 'unchanged')
    .map(({ kind, name, change }) => `${kind.toLowerCase()} ${name} ${WORDS[change]}`)
  const more = described.length > TOLD_MAX ? [`${described.length - TOLD_MAX} more`] : []
  return [...described.slice(0, TOLD_MAX), ...more].join(', ')
}
