// Terraform Cloud's subjects: what triggers a notification. The ping that verifies an address is not an event.

import type { CatalogEntry } from '../catalog-entry.ts'
import { constant, list, maybe, object, text, whole } from './schema-helpers.ts'

const RUN: Readonly<Record<string, string>> = {
  created: 'A run is made and waits.',
  planning: 'A run begins to plan.',
  needs_attention: 'A run waits for a user: to confirm a plan, or to override a policy.',
  applying: 'A run begins to apply its plan.',
  completed: 'A run is done.',
  errored: 'A run ended early by an error or was cancelled.',
}
const OTHERS: Readonly<Record<string, string>> = {
  'assessment.drifted': 'What is there differs from what was applied.',
  'assessment.check_failure': 'A continuous check fails.',
  'assessment.failed': 'A health assessment could not be done.',
  'workspace.auto_destroy_reminder': 'A workspace will be destroyed soon.',
  'workspace.auto_destroy_run_results': 'A workspace was to be destroyed.',
  'change_request.created': 'A change is asked for.',
}

const AT = '2024-01-02T03:04:05Z'

export function terraformCloudEntries(): readonly CatalogEntry[] {
  const runs = Object.entries(RUN).map(([state, description]) => ({
    subject: `terraform-cloud.events.run.${state}`,
    description,
    schema: object(
      { notification_configuration_id: text, run_id: text, workspace_id: text, notifications: list },
      {
        payload_version: whole,
        run_url: text,
        run_message: maybe('string'),
        run_created_at: text,
        workspace_name: text,
        organization_name: text,
      },
    ),
    example: {
      payload_version: 1,
      notification_configuration_id: 'nc-1001',
      run_id: 'run-1001',
      run_message: 'Some text',
      run_created_at: AT,
      workspace_id: 'ws-1001',
      workspace_name: 'sample',
      organization_name: 'example',
      notifications: [
        { message: 'Some text', trigger: `run:${state}`, run_status: 'planned', run_updated_at: AT },
      ],
    },
  }))
  const others = Object.entries(OTHERS).map(([name, description]) => {
    const trigger = name.replace('.', ':')
    return {
      subject: `terraform-cloud.events.${name}`,
      description,
      schema: object({ trigger: constant(trigger) }, { message: text, details: { type: 'object' } }),
      example: {
        trigger,
        message: 'Some text',
        details: { workspace_id: 'ws-1001', workspace_name: 'sample' },
      },
    }
  })
  return [...runs, ...others]
}
