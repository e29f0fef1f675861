// Lists what a definition can publish: subjects that are written or known, and patterns where a part is computed. A pattern
// errs on the wide side: "nothing can publish this" is said only when it is certain.

import { CANONICAL_EVENTS, CANONICAL_SOURCE } from '../../events/canonical/index.ts'
import { matchesPattern, parsePattern, parseSubject, patternsMeet } from '../../events/subject/index.ts'
import { compileTemplate } from '../../expression/index.ts'
import {
  type ActionDocument,
  actionFactsOf,
  actionsOf,
  type DefinitionDocument,
  MESSAGE_SUBJECT,
  type SourceDocument,
  type WorkflowDocument,
} from '../documents/index.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import { vendorEntries } from './vendors/index.ts'

export interface Published extends CatalogEntry {
  /** The source's name, `route:<name>` or `workflow:<name>`. */
  readonly source: string
  /** The ready mapping that it comes from. */
  readonly mapping: string | null
}

/** The system's own events, whatever is defined. */
export const PUBLISHED_BY_MILLRACE: readonly Published[] = Object.entries(CANONICAL_EVENTS).map(
  ([subject, { description, example }]) => ({
    source: CANONICAL_SOURCE,
    mapping: null,
    subject,
    description,
    schema: null,
    example,
  }),
)

export function publishedBy(document: DefinitionDocument): readonly Published[] {
  switch (document.kind) {
    case 'Source':
      return publishedBySource(document)
    case 'Poller':
      return derived(
        { source: `poller:${document.name}`, mapping: null },
        document.subject,
        'What a poller found changed.',
        [],
      )
    case 'Route':
      return emittedBy(document.do, `route:${document.name}`, 'a route')
    case 'Workflow':
      return publishedByWorkflow(document)
    default:
      return []
  }
}

function publishedBySource(document: SourceDocument): readonly Published[] {
  const own = { source: document.name, mapping: null }
  const written = (document.catalog?.subjects ?? []).map(({ subject, description, schema, example }) => ({
    ...own,
    subject,
    description: description ?? null,
    schema: schema ?? null,
    ...(example === undefined ? {} : { example }),
  }))
  const { mapping } = document
  const ready = (mapping === undefined ? [] : vendorEntries(mapping)).map((entry) => ({
    ...entry,
    source: document.name,
    mapping: mapping ?? null,
  }))
  const others = [
    ...namedBy(own, document, [...written, ...ready]),
    ...(document.dispatch?.rules ?? []).flatMap(({ emit }) =>
      derived(own, emit, 'Dispatched by a rule.', written),
    ),
  ]
  return firstOfEach([...written, ...ready, ...others])
}

/** A NATS source that keeps the messages' names can publish anything that its patterns match. */
function namedBy(
  own: Pick<Published, 'source' | 'mapping'>,
  { subject, nats }: SourceDocument,
  listed: readonly Published[],
): readonly Published[] {
  const description = 'The subject of its events.'
  if (nats === undefined || subject !== MESSAGE_SUBJECT) return derived(own, subject, description, listed)
  return nats.subjects.flatMap((pattern) => published(own, pattern, description, listed))
}

function emittedBy(action: ActionDocument, source: string, who: string): readonly Published[] {
  const emitted = actionFactsOf(action).emits?.(action)
  if (emitted === undefined) return []
  const description =
    emitted.how === 'at once' ? `Emitted by ${who}.` : `Emitted by the clock, as ${who} said.`
  return derived({ source, mapping: null }, emitted.subject, description, [])
}

/** What its steps emit, and the system's events about its instances. */
function publishedByWorkflow(document: WorkflowDocument): readonly Published[] {
  const source = `workflow:${document.name}`
  const emitted = actionsOf(document).flatMap((action) => emittedBy(action, source, 'a workflow'))
  const subject = `workflow.${document.name}.>`
  const failed = document.triggers.flatMap(({ deadLetter }) =>
    deadLetter === undefined
      ? []
      : derived({ source, mapping: null }, deadLetter.subject, 'A dead letter of its trigger.', []),
  )
  const lifecycle = {
    source,
    mapping: null,
    subject,
    description: 'What becomes of its instances.',
    schema: null,
  }
  return firstOfEach([...emitted, ...failed, lifecycle])
}

/** An author who lists subjects that a template can produce has listed them all; the template itself then adds none. */
function derived(
  own: Pick<Published, 'source' | 'mapping'>,
  template: string,
  description: string,
  listed: readonly Published[],
): readonly Published[] {
  const pattern = patternOfTemplate(template)
  return pattern === null ? [] : published(own, pattern, description, listed)
}

function published(
  own: Pick<Published, 'source' | 'mapping'>,
  pattern: string,
  description: string,
  listed: readonly Published[],
): readonly Published[] {
  if (listed.some(({ subject }) => patternsMeet(pattern, subject))) return []
  return [{ ...own, subject: pattern, description, schema: null }]
}

function firstOfEach(entries: readonly Published[]): readonly Published[] {
  const bySubject = new Map<string, Published>()
  for (const entry of entries) if (!bySubject.has(entry.subject)) bySubject.set(entry.subject, entry)
  return [...bySubject.values()]
}

/** A computed part may be empty, a part of a token, or several. null: it produces no subject at all. */
export function patternOfTemplate(text: string): string | null {
  const compiled = compileTemplate(text)
  if (!compiled.ok) return null
  const { isConstant, literals } = compiled.template
  if (isConstant) return parseSubject(text).ok ? text : null
  const before = literals[0] ?? ''
  const pattern = `${before.slice(0, before.lastIndexOf('.') + 1)}>`
  return parsePattern(pattern).ok ? pattern : null
}

/** The entry for a subject: an exact one wins over a pattern. */
export function findEntry<Entry extends CatalogEntry>(
  entries: readonly Entry[],
  subject: string,
): Entry | undefined {
  return (
    entries.find((entry) => entry.subject === subject) ??
    entries.find((entry) => matchesPattern(entry.subject, subject))
  )
}
