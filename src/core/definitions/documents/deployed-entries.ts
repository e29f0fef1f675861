// The deployed definitions of a tenant, each with its owner, and the result of applying others. Not its job: storing them.
//
// Invariants: DV4 only the folder changes what the folder defines. DV5 nothing is removed that was not named, unless pruning
// was requested.

import { hashText } from '../../foundation/hash/index.ts'
import type { DefinitionDocument } from './definition-kinds.ts'
import { type ControlVerb, type DefinitionKind, type DefinitionStatus, factsOf } from './definition-kinds.ts'

/** Who owns a definition: a file of the folder, a user who applied it by the API, or the demo. */
export type ManagedBy = 'folder' | 'api' | 'demo'

/** What its author wrote, and where. */
export interface Authored {
  readonly path: string
  readonly text: string
}

export interface Named {
  readonly kind: DefinitionKind
  readonly name: string
  readonly hash: string
}

export interface Entry extends Named {
  readonly managedBy: ManagedBy
}

export interface Change {
  readonly kind: DefinitionKind
  readonly name: string
  readonly change: 'create' | 'update' | 'remove' | 'unchanged'
}

export function definitionId({ kind, name }: Pick<Named, 'kind' | 'name'>): string {
  return `${kind}/${name}`
}

/** The hash of a bundle: neither the files' names nor the order counts. */
export function hashEntries(entries: readonly Named[]): string {
  const lines = entries.map((entry) => `${definitionId(entry)} ${entry.hash}`)
  return hashText(lines.sort().join('\n'))
}

export interface MergeRequest {
  readonly documents: readonly Named[]
  readonly managedBy: ManagedBy
  /** Definitions that are not named are removed, as far as the applier may remove them. */
  readonly prune: boolean
  /** Whether the folder still has it; a definition that is gone from there may be taken over or pruned. */
  isInFolder(id: string): boolean
}

export type Merged =
  | { readonly ok: true; readonly entries: readonly Entry[]; readonly changes: readonly Change[] }
  /** `held`: the folder's own definitions that the request would change. */
  | { readonly ok: false; readonly held: readonly string[] }

export function mergeEntries(current: readonly Entry[], request: MergeRequest): Merged {
  const wanted = new Map(request.documents.map((one) => [definitionId(one), one]))
  const held: string[] = []
  const changes: Change[] = []
  const note = ({ kind, name }: Named, change: Change['change']) => changes.push({ kind, name, change })
  const entries: Entry[] = []
  for (const entry of current) {
    const id = definitionId(entry)
    const next = wanted.get(id)
    wanted.delete(id)
    if (next === undefined) {
      if (isDropped(entry, request)) note(entry, 'remove')
      else entries.push(entry)
      continue
    }
    const owner = ownerAfter(entry, next, request)
    if (owner === 'held') held.push(id)
    const stays =
      owner === 'kept' || owner === 'held' || (owner === entry.managedBy && next.hash === entry.hash)
    note(entry, stays ? 'unchanged' : 'update')
    entries.push(
      stays ? entry : { kind: entry.kind, name: entry.name, hash: next.hash, managedBy: request.managedBy },
    )
  }
  for (const { kind, name, hash } of wanted.values()) {
    note({ kind, name, hash }, 'create')
    entries.push({ kind, name, hash, managedBy: request.managedBy })
  }
  return held.length > 0 ? { ok: false, held } : { ok: true, entries, changes }
}

/** `kept`: it stays as it is, without a conflict. */
function ownerAfter(entry: Entry, next: Named, request: MergeRequest): ManagedBy | 'kept' | 'held' {
  const { managedBy } = request
  if (managedBy === 'folder' || managedBy === entry.managedBy) return managedBy
  // The demo never replaces another owner's definitions.
  if (managedBy === 'demo') return 'kept'
  const isFolders = entry.managedBy === 'folder' && request.isInFolder(definitionId(entry))
  if (!isFolders) return managedBy
  return entry.hash === next.hash ? 'kept' : 'held'
}

function isDropped(entry: Entry, request: MergeRequest): boolean {
  const { managedBy, prune } = request
  // The demo is deployed until a folder has definitions, and is always the demo of this version.
  if (entry.managedBy === 'demo') return managedBy === 'demo' || managedBy === 'folder'
  if (!prune || managedBy === 'demo') return false
  if (entry.managedBy === managedBy) return true
  return entry.managedBy === 'folder' && !request.isInFolder(definitionId(entry))
}

/** What is removed, created or changed between one set and another. */
export function compareEntries(before: readonly Named[], after: readonly Named[]): readonly Change[] {
  const old = new Map(before.map((entry) => [definitionId(entry), entry]))
  const changes: Change[] = []
  for (const { kind, name, hash } of after) {
    const id = definitionId({ kind, name })
    const known = old.get(id)
    old.delete(id)
    const change = known === undefined ? 'create' : known.hash === hash ? 'unchanged' : 'update'
    changes.push({ kind, name, change })
  }
  for (const { kind, name } of old.values()) changes.push({ kind, name, change: 'remove' })
  return changes
}

const SAID: Readonly<Record<ControlVerb, DefinitionStatus>> = {
  pause: 'paused',
  resume: 'active',
  disable: 'disabled',
}

export type ControlStep =
  /** null: the document says so itself, and nothing is stored beside it. */
  | { readonly ok: true; readonly status: DefinitionStatus; readonly override: DefinitionStatus | null }
  | { readonly ok: false; readonly why: string }

/** The effect of an operator's switch on a definition, beside what its document declares. */
export function controlDefinition(document: DefinitionDocument, verb: ControlVerb): ControlStep {
  const why = factsOf(document).whyUncontrolled?.(document, verb)
  if (why !== undefined) return { ok: false, why }
  const status = SAID[verb]
  return { ok: true, status, override: status === declaredStatus(document) ? null : status }
}

/** null for kinds without a status. */
export function declaredStatus(document: DefinitionDocument): DefinitionStatus | null {
  return factsOf(document).status?.(document) ?? null
}
