// GitHub's subjects. The list of events is written here; the shapes of their payloads were inferred from real ones
// (scripts/write-github-catalog.ts) and are parsed on demand.

import type { JsonValue } from '../../../foundation/json/index.ts'
import type { CatalogEntry } from '../catalog-entry.ts'
import { sampleOf } from '../sample-payload.ts'
import { GITHUB_PAYLOADS } from './github.generated.ts'

/** By event: its object, and its actions; none: the event has no action. */
export const GITHUB_EVENTS: Readonly<Record<string, readonly [what: string, actions: string]>> = {
  branch_protection_configuration: ['All branch protections of a repository', 'disabled enabled'],
  branch_protection_rule: ['A branch protection rule', 'created deleted edited'],
  check_run: ['A check of a commit', 'completed created requested_action rerequested'],
  check_suite: ['The checks of a commit', 'completed requested rerequested'],
  code_scanning_alert: [
    'A finding of code scanning',
    'appeared_in_branch closed_by_user created fixed reopened reopened_by_user updated_assignment',
  ],
  commit_comment: ['A comment on a commit', 'created'],
  create: ['A branch or tag that was made', ''],
  custom_property: ['A custom property', 'created deleted promote_to_enterprise updated'],
  custom_property_values: ['The custom properties of a repository', 'updated'],
  delete: ['A branch or tag that was deleted', ''],
  dependabot_alert: [
    'A vulnerable dependency',
    'assignees_changed auto_dismissed auto_reopened created dismissed fixed reintroduced reopened',
  ],
  deploy_key: ['A deploy key', 'created deleted'],
  deployment: ['A deployment', 'created'],
  deployment_protection_rule: ['A rule that holds a deployment', 'requested'],
  deployment_review: ['The approval of a deployment', 'approved rejected requested'],
  deployment_status: ['The state of a deployment', 'created'],
  discussion: [
    'A discussion',
    'answered category_changed closed created deleted edited labeled locked pinned reopened transferred unanswered unlabeled unlocked unpinned',
  ],
  discussion_comment: ['A comment in a discussion', 'created deleted edited'],
  fork: ['A fork of a repository', ''],
  github_app_authorization: ['A user’s consent to an app', 'revoked'],
  gollum: ['Pages of a wiki', ''],
  installation: ['An installed app', 'created deleted new_permissions_accepted suspend unsuspend'],
  installation_repositories: ['The repositories of an installed app', 'added removed'],
  installation_target: ['The account of an installed app', 'renamed'],
  issue_comment: ['A comment on an issue or pull request', 'created deleted edited pinned unpinned'],
  issue_dependencies: [
    'What an issue waits for',
    'blocked_by_added blocked_by_removed blocking_added blocking_removed',
  ],
  issues: [
    'An issue',
    'assigned closed deleted demilestoned edited labeled locked milestoned opened pinned reopened transferred typed unassigned unlabeled unlocked unpinned untyped',
  ],
  label: ['A label', 'created deleted edited'],
  marketplace_purchase: [
    'A purchase in the marketplace',
    'cancelled changed pending_change pending_change_cancelled purchased',
  ],
  member: ['A collaborator of a repository', 'added edited removed'],
  membership: ['A member of a team', 'added removed'],
  merge_group: ['A group in a merge queue', 'checks_requested destroyed'],
  meta: ['The webhook itself', 'deleted'],
  milestone: ['A milestone', 'closed created deleted edited opened'],
  org_block: ['A user who is blocked', 'blocked unblocked'],
  organization: ['An organisation', 'deleted member_added member_invited member_removed renamed'],
  package: ['A package', 'published updated'],
  page_build: ['A build of a site', ''],
  personal_access_token_request: [
    'A request for a personal access token',
    'approved cancelled created denied',
  ],
  ping: ['A new webhook', ''],
  project: ['A classic project', 'closed created deleted edited reopened'],
  project_card: ['A card of a classic project', 'converted created deleted edited moved'],
  project_column: ['A column of a classic project', 'created deleted edited moved'],
  projects_v2: ['A project', 'closed created deleted edited reopened'],
  projects_v2_item: ['An item of a project', 'archived converted created deleted edited reordered restored'],
  projects_v2_status_update: ['What a project reports', 'created deleted edited'],
  public: ['A repository that became public', ''],
  pull_request: [
    'A pull request',
    'assigned auto_merge_disabled auto_merge_enabled closed converted_to_draft demilestoned dequeued edited enqueued labeled locked milestoned opened ready_for_review reopened review_request_removed review_requested synchronize unassigned unlabeled unlocked',
  ],
  pull_request_review: ['A review', 'dismissed edited submitted'],
  pull_request_review_comment: ['A comment on a diff', 'created deleted edited'],
  pull_request_review_thread: ['A thread of a review', 'resolved unresolved'],
  push: ['Commits or a tag that were pushed', ''],
  registry_package: ['A package of the registry', 'published updated'],
  release: ['A release', 'created deleted edited prereleased published released unpublished'],
  repository: [
    'A repository',
    'archived created deleted edited privatized publicized renamed transferred unarchived',
  ],
  repository_advisory: ['A security advisory of a repository', 'published reported'],
  // The caller of the API chooses the action.
  repository_dispatch: ['A call of the API with a type of one’s own', '*'],
  repository_import: ['An import of a repository', ''],
  repository_ruleset: ['A ruleset', 'created deleted edited'],
  repository_vulnerability_alert: ['A security alert of a repository', 'create dismiss reopen resolve'],
  secret_scanning_alert: [
    'A secret that was found',
    'assigned created publicly_leaked reopened resolved unassigned validated',
  ],
  secret_scanning_alert_location: ['A place of a secret', 'created'],
  secret_scanning_scan: ['A search for secrets', 'completed'],
  security_advisory: ['A global security advisory', 'performed published updated withdrawn'],
  security_and_analysis: ['Security features of a repository', ''],
  sponsorship: [
    'A sponsorship',
    'cancelled created edited pending_cancellation pending_tier_change tier_changed',
  ],
  star: ['A star', 'created deleted'],
  status: ['The status of a commit', ''],
  sub_issues: [
    'Issues inside an issue',
    'parent_issue_added parent_issue_removed sub_issue_added sub_issue_removed',
  ],
  team: ['A team', 'added_to_repository created deleted edited removed_from_repository'],
  team_add: ['A repository of a team', ''],
  watch: ['A user who starred', 'started'],
  workflow_dispatch: ['A workflow that was started by hand', ''],
  workflow_job: ['A job of a workflow', 'completed in_progress queued waiting'],
  workflow_run: ['A run of a workflow', 'completed in_progress requested'],
}

/** The content of the generated text. */
export interface GithubPayloads {
  /** Schemas of single fields. */
  readonly parts: readonly JsonValue[]
  /** Of an event, and of an event with its action: fields by the number of their part; those that are always present. */
  readonly payloads: Readonly<
    Record<
      string,
      { readonly fields: Readonly<Record<string, number>>; readonly required: readonly string[] }
    >
  >
}

export function githubEntries(): readonly CatalogEntry[] {
  const known = JSON.parse(GITHUB_PAYLOADS) as GithubPayloads
  return Object.entries(GITHUB_EVENTS).flatMap(([event, [what, actions]]) =>
    actions.split(' ').map((action) => {
      const name = action === '' ? event : `${event}.${action}`
      const schema = schemaOf(known, event, action)
      const description =
        action === '' || action === '*' ? `${what}.` : `${what}: ${action.replaceAll('_', ' ')}.`
      return {
        subject: `github.events.${name}`,
        description,
        schema,
        ...(schema === null ? {} : { example: sampleOf(schema) }),
      }
    }),
  )
}

function schemaOf({ parts, payloads }: GithubPayloads, event: string, action: string): JsonValue {
  const payload = payloads[`${event}.${action}`] ?? payloads[event]
  if (payload === undefined) return null
  const properties = Object.fromEntries(
    Object.entries(payload.fields).map(([name, part]) => [name, parts[part] ?? {}]),
  )
  if (action !== '' && action !== '*') properties.action = { const: action }
  return { type: 'object', required: payload.required, properties }
}
