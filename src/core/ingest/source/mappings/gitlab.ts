// GitLab: the kind is in the payload, and so is the action where there is one. Its verbs are imperative (`open`); subjects say
// what happened (`created`). Pipelines, jobs and deployments have a status instead.

import type { Mapping } from './mapping.ts'

const WORDS = {
  open: 'created',
  create: 'created',
  update: 'updated',
  close: 'closed',
  reopen: 'reopened',
  merge: 'merged',
  delete: 'deleted',
  approval: 'approval_added',
  unapproval: 'approval_removed',
  award: 'awarded',
  revoke: 'revoked',
} as const

const words = Object.entries(WORDS)
  .map(([from, to]) => `'${from}': '${to}'`)
  .join(', ')
const kind = "coalesce(token(payload.object_kind), token(payload.event_name), 'unknown')"
const action = 'token(coalesce(payload.object_attributes.action, payload.action))'
const status =
  "token(payload.object_kind == 'pipeline' ? payload.object_attributes.status : payload.object_kind == 'build' ? payload.build_status : payload.object_kind == 'deployment' ? payload.status : null)"
const time =
  'string(coalesce(payload.object_attributes.updated_at, payload.object_attributes.created_at, payload.updated_at))'

export const gitlab: Mapping = {
  title: 'GitLab',
  subject: `gitlab.events.{{ ${kind} }}{{ '.' + coalesce({${words}}[${action}], ${action}, ${status}) }}`,
  event: {
    // X-Gitlab-Event-UUID is shared by events that caused each other, which would be treated as duplicates.
    id: 'coalesce(header.idempotency-key, header.webhook-id)',
    objectType: `{{ ${kind} }}`,
    objectId:
      'coalesce(payload.object_attributes.id, payload.build_id, payload.deployment_id, payload.id, payload.project_id, payload.project.id, payload.group_id)',
    // Some of its times are `2024-01-02 03:04:05 UTC`.
    occurredAt: `replace(replace(${time}, ' UTC', 'Z'), ' ', 'T')`,
  },
}
