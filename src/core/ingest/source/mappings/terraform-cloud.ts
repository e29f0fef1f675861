// Terraform Cloud: a notification with one trigger, `run:completed`. It has no id of its own: its object, time and recipient
// identify it. The ping that verifies an address is answered before it becomes an event.

import type { Mapping } from './mapping.ts'

const trigger = 'coalesce(payload.notifications[0].trigger, payload.trigger)'
const time =
  'coalesce(payload.notifications[0].run_updated_at, payload.run_created_at, payload.details.new_assessment_result.created_at)'

export const terraformCloud: Mapping = {
  title: 'Terraform Cloud',
  subject: `terraform-cloud.events.{{ coalesce(token(${trigger}, ':'), 'unknown') }}`,
  event: {
    id: `hash(payload.notification_configuration_id, coalesce(payload.run_id, payload.details.new_assessment_result.id), ${trigger}, ${time})`,
    objectType: "{{ payload.run_id != null ? 'run' : 'workspace' }}",
    objectId: 'coalesce(payload.run_id, payload.workspace_id, payload.details.workspace_id)',
    occurredAt: time,
  },
}
