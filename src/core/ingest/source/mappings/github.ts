// GitHub: the event is in a header, its action in the payload. Events such as a push have no action.

import type { Mapping } from './mapping.ts'

export const github: Mapping = {
  title: 'GitHub',
  subject:
    "github.events.{{ coalesce(token(header.x-github-event), 'unknown') }}{{ '.' + token(payload.action) }}",
  event: {
    id: 'header.x-github-delivery',
    // Events of an organisation or an account have no repository.
    objectType:
      "{{ payload.repository.id != null ? 'repository' : payload.organization.id != null ? 'organization' : null }}",
    objectId: 'coalesce(payload.repository.id, payload.organization.id)',
    // A deleted object keeps the time of its last change, which is not that of the event.
    occurredAt:
      "payload.action == 'deleted' ? null : coalesce(payload.comment.updated_at, payload.review.submitted_at, payload.issue.updated_at, payload.pull_request.updated_at, payload.workflow_run.updated_at, payload.check_run.completed_at, payload.deployment_status.updated_at, payload.discussion.updated_at)",
  },
}
