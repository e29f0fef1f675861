// GitLab's subjects: kinds of objects and what happened to them, named as in the ready mapping.

import type { JsonValue } from '../../../foundation/json/index.ts'
import type { CatalogEntry } from '../catalog-entry.ts'
import { sampleOf } from '../sample-payload.ts'
import { constant, list, maybe, object, text, whole } from './schema-helpers.ts'

const project = object({ id: whole, name: text, path_with_namespace: text }, { web_url: text })
const user = object({ id: whole, name: text, username: text })

const withAttributes = (kind: string, attributes: JsonValue) =>
  object(
    { object_kind: constant(kind), object_attributes: attributes },
    { user, project, labels: list, changes: { type: 'object' } },
  )

const titled = object(
  { id: whole, iid: whole, title: text },
  { action: text, state: text, description: maybe('string'), url: text, updated_at: text },
)
const push = (kind: string) =>
  object(
    { object_kind: constant(kind), ref: text, before: text, after: text, project_id: whole },
    {
      user_username: text,
      checkout_sha: maybe('string'),
      commits: list,
      total_commits_count: whole,
      project,
    },
  )

const TRIED = 'created updated closed reopened'
const STATES =
  'created waiting_for_resource preparing pending running success failed canceled skipped manual scheduled'

interface Kind {
  readonly what: string
  /** The part after the kind; empty: none. */
  readonly ends: string
  readonly schema: JsonValue
}

const KINDS: Readonly<Record<string, Kind>> = {
  push: { what: 'Commits that were pushed', ends: '', schema: push('push') },
  tag_push: { what: 'A tag that was pushed or deleted', ends: '', schema: push('tag_push') },
  issue: { what: 'An issue', ends: TRIED, schema: withAttributes('issue', titled) },
  work_item: { what: 'A work item', ends: TRIED, schema: withAttributes('work_item', titled) },
  merge_request: {
    what: 'A merge request',
    ends: `${TRIED} merged approved unapproved approval_added approval_removed`,
    schema: withAttributes('merge_request', titled),
  },
  note: {
    what: 'A comment',
    ends: ' created updated',
    schema: withAttributes(
      'note',
      object({ id: whole, note: text, noteable_type: text }, { action: text, url: text }),
    ),
  },
  wiki_page: {
    what: 'A page of the wiki',
    ends: 'created updated deleted',
    schema: withAttributes('wiki_page', object({ title: text, slug: text }, { action: text, content: text })),
  },
  pipeline: {
    what: 'A pipeline',
    ends: STATES,
    schema: withAttributes(
      'pipeline',
      object({ id: whole, ref: text, status: text }, { sha: text, source: text }),
    ),
  },
  build: {
    what: 'A job of a pipeline',
    ends: STATES,
    schema: object(
      { object_kind: constant('build'), build_id: whole, build_name: text, build_status: text },
      { ref: text, build_stage: text, pipeline_id: whole, project_id: whole, project },
    ),
  },
  deployment: {
    what: 'A deployment',
    ends: 'running success failed canceled',
    schema: object(
      { object_kind: constant('deployment'), deployment_id: whole, status: text },
      { environment: text, ref: text, short_sha: text, project },
    ),
  },
  release: {
    what: 'A release',
    ends: 'created updated deleted',
    schema: object(
      { object_kind: constant('release'), id: whole, tag: text },
      { name: text, action: text, project },
    ),
  },
  milestone: { what: 'A milestone', ends: `${TRIED} deleted`, schema: withAttributes('milestone', titled) },
  emoji: {
    what: 'An emoji on something',
    ends: 'awarded revoked',
    schema: withAttributes(
      'emoji',
      object({ id: whole, name: text }, { action: text, awardable_type: text }),
    ),
  },
  feature_flag: {
    what: 'A feature flag',
    ends: '',
    schema: withAttributes(
      'feature_flag',
      object({ id: whole, name: text }, { active: { type: 'boolean' } }),
    ),
  },
  vulnerability: {
    what: 'A vulnerability',
    ends: '',
    schema: withAttributes(
      'vulnerability',
      object({ title: text }, { state: text, severity: text, url: text }),
    ),
  },
  access_token: {
    what: 'An access token that will expire',
    ends: '',
    schema: withAttributes('access_token', object({ id: whole, name: text }, { expires_at: text })),
  },
}

/** Events that have a name and no object. */
const NAMED: Readonly<Record<string, string>> = {
  user_add_to_group: 'A user joined a group.',
  user_update_for_group: 'A user’s role in a group changed.',
  user_remove_from_group: 'A user left a group.',
  user_access_request_to_group: 'A user asks to join a group.',
  user_access_request_denied_for_group: 'A user may not join a group.',
  user_add_to_team: 'A user joined a project.',
  user_update_for_team: 'A user’s role in a project changed.',
  user_remove_from_team: 'A user left a project.',
  subgroup_create: 'A subgroup was made.',
  subgroup_destroy: 'A subgroup was removed.',
  project_create: 'A project was made.',
  project_destroy: 'A project was removed.',
}

/** GitLab's name for what happened. */
const ACTIONS: Readonly<Record<string, string>> = {
  created: 'create',
  updated: 'update',
  closed: 'close',
  reopened: 'reopen',
  merged: 'merge',
  deleted: 'delete',
  approval_added: 'approval',
  approval_removed: 'unapproval',
  awarded: 'award',
  revoked: 'revoke',
}

/** A payload of this kind with GitLab's field for what happened. */
function exampleOf(kind: string, end: string, schema: JsonValue): JsonValue {
  const example = sampleOf(schema) as { readonly [name: string]: JsonValue }
  if (end === '') return example
  if (kind === 'build') return { ...example, build_status: end }
  if (kind === 'deployment') return { ...example, status: end }
  const action = OPENED.has(kind) && end === 'created' ? 'open' : (ACTIONS[end] ?? end)
  if (kind === 'release') return { ...example, action }
  const said = kind === 'pipeline' ? { status: end } : { action }
  return { ...example, object_attributes: { ...(example.object_attributes as object), ...said } }
}

const OPENED = new Set(['issue', 'work_item', 'merge_request'])

export function gitlabEntries(): readonly CatalogEntry[] {
  const kinds = Object.entries(KINDS).flatMap(([kind, { what, ends, schema }]) =>
    ends.split(' ').map((end) => ({
      subject: end === '' ? `gitlab.events.${kind}` : `gitlab.events.${kind}.${end}`,
      description: end === '' ? `${what}.` : `${what}: ${end.replaceAll('_', ' ')}.`,
      schema,
      example: exampleOf(kind, end, schema),
    })),
  )
  const named = Object.entries(NAMED).map(([name, description]) => {
    const schema = object({ event_name: constant(name) }, { created_at: text })
    return { subject: `gitlab.events.${name}`, description, schema, example: sampleOf(schema) }
  })
  return [...kinds, ...named]
}
