// HCP Terraform (Terraform Cloud) and Terraform Enterprise, API v2, in JSON:API. The organisation is part of the
// connection.
//
// Rotation: `POST /teams/:id/authentication-tokens` creates an additional token of a team, so that both are valid until
// the former one is removed. It needs `teamId` in the connection's configuration, and a token that may manage the
// team's. The older `/teams/:id/authentication-token` (without s) ends the former one at once, and is not used.

import { foundBy, foundIn, isFull } from '../lookup.ts'
import { type Manifest, makeProvider, type OperationManifest } from '../manifest.ts'
import { anyText, flag, input, list, oneOf, output, text } from '../schema.ts'

const ORGANIZATION = '/organizations/{{ config.organization }}'
const WORKSPACE = '/workspaces/{{ input.workspaceId }}'
const RUN = '/runs/{{ input.runId }}'
const EXAMPLE = { workspaceId: 'ws-abc123' }
const RUN_EXAMPLE = { runId: 'run-abc123' }
const DATA = 'result.body.data'
const NEXT_PAGE = "result.body.meta.pagination['next-page'] != null"
const MORE = `${NEXT_PAGE} || ${isFull(DATA, 100)}`
const STATUS = 'result.body.data.attributes.status'
/** At the end of a message, where users see it and it disturbs no one. */
const MARK = 'substring(hash(key), 0, 16)'

function read(part: Omit<OperationManifest, 'method' | 'idempotency'>): OperationManifest {
  return { result: 'result.body.data', ...part, method: 'GET', idempotency: 'idempotent' }
}

/** Actions on a run are accepted once: a repetition is refused with 409. */
function act(action: string, description: string, statuses: readonly string[]): OperationManifest {
  return {
    description,
    method: 'POST',
    path: `${RUN}/actions/${action}`,
    body: { comment: "{{ coalesce(input.comment, '') }}" },
    input: input({ runId: text() }, { comment: anyText() }, RUN_EXAMPLE),
    idempotency: 'lookup',
    lookup: {
      method: 'GET',
      path: RUN,
      found: foundBy(STATUS, `${STATUS} in [${statuses.map((one) => `'${one}'`).join(', ')}]`),
      id: 'result.body.data.id',
    },
  }
}

const manifest: Manifest = {
  name: 'terraform-cloud',
  title: 'Terraform Cloud',
  description: 'Workspaces, runs, variables and notifications of HCP Terraform or Terraform Enterprise.',
  category: 'infrastructure',
  auth: ['bearer'],
  baseUrl: "{{ coalesce(config.baseUrl, 'https://app.terraform.io') }}/api/v2",
  config: {
    type: 'object',
    properties: {
      organization: text('Its name.'),
      baseUrl: text('Of Terraform Enterprise: https://terraform.example.com.'),
      teamId: text('Whose token it is: needed to make new ones by API.'),
    },
    required: ['organization'],
    additionalProperties: false,
    examples: [{ organization: 'acme', teamId: 'team-abc123' }],
  },
  capabilities: ['workspaces', 'runs', 'variables', 'notifications', 'rotation'],
  headers: { 'content-type': 'application/vnd.api+json' },
  // 30 a second.
  buckets: { default: { perMinute: 1_800, burst: 30 } },
  probe: { method: 'GET', path: '/account/details' },
  operations: {
    getOrganization: read({
      description: 'Reads the organisation.',
      path: ORGANIZATION,
      input: input({}, {}, {}),
      output: output({ id: text() }),
    }),
    getWorkspace: read({
      description: 'Reads a workspace by its name.',
      path: `${ORGANIZATION}/workspaces/{{ input.name }}`,
      input: input({ name: text() }, {}, { name: 'network' }),
      output: output({ id: text() }),
    }),
    createWorkspace: {
      description: 'Adds a workspace. Names are taken once in an organisation.',
      method: 'POST',
      path: `${ORGANIZATION}/workspaces`,
      body: {
        data: {
          type: 'workspaces',
          attributes: {
            name: '{{ input.name }}',
            description: '{{ input.description }}',
            'auto-apply': '{{ input.autoApply }}',
            'execution-mode': '{{ input.executionMode }}',
            'terraform-version': '{{ input.terraformVersion }}',
            'working-directory': '{{ input.workingDirectory }}',
            'tag-bindings': '{{ input.tagBindings }}',
          },
          // Omitted with the project.
          relationships:
            "{{ input.projectId == null ? input.projectId : {'project': {'data': {'type': 'projects', 'id': input.projectId}}} }}",
        },
      },
      input: input(
        { name: text('Letters, digits, - and _.') },
        {
          description: anyText(),
          autoApply: flag(),
          executionMode: oneOf('remote', 'local', 'agent'),
          terraformVersion: text(),
          workingDirectory: text(),
          projectId: text(),
          tagBindings: list(output({ key: text() }, { value: anyText() })),
        },
        { name: 'network', autoApply: false, projectId: 'prj-abc123' },
      ),
      output: output({ id: text() }, { attributes: output({ name: text() }) }),
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: `${ORGANIZATION}/workspaces/{{ input.name }}`,
        found: foundBy('result.body.data.attributes.name', 'result.body.data.attributes.name == input.name'),
        id: 'result.body.data.id',
      },
      result: 'result.body.data',
      ref: 'result.body.data.id',
    },
    createRun: {
      description:
        'Plans a workspace, and applies it where it may. The message ends with a mark by which it is found again.',
      method: 'POST',
      path: '/runs',
      body: {
        data: {
          type: 'runs',
          attributes: {
            message: `{{ coalesce(input.message, 'Started by Millrace') }} [{{ ${MARK} }}]`,
            'is-destroy': '{{ input.isDestroy }}',
            'auto-apply': '{{ input.autoApply }}',
            'plan-only': '{{ input.planOnly }}',
            'refresh-only': '{{ input.refreshOnly }}',
            'target-addrs': '{{ input.targets }}',
            variables: '{{ input.variables }}',
          },
          relationships: {
            workspace: { data: { type: 'workspaces', id: '{{ input.workspaceId }}' } },
          },
        },
      },
      input: input(
        { workspaceId: text() },
        {
          message: text(),
          isDestroy: flag(),
          autoApply: flag(),
          planOnly: flag(),
          refreshOnly: flag(),
          targets: list(text()),
          variables: list(output({ key: text(), value: text('In the syntax of HCL.') })),
        },
        { ...EXAMPLE, message: 'A new region' },
      ),
      output: output({ id: text() }, { attributes: output({ status: text() }) }),
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: `${WORKSPACE}/runs`,
        query: { 'page[size]': '100' },
        ...foundIn(DATA, `coalesce(one.attributes.message, '').contains(${MARK})`, MORE),
      },
      result: 'result.body.data',
      ref: 'result.body.data.id',
    },
    getRun: read({
      description: 'Reads a run.',
      path: RUN,
      input: input({ runId: text() }, {}, RUN_EXAMPLE),
      output: output({ id: text() }, { attributes: output({ status: text() }) }),
    }),
    applyRun: act('apply', 'Applies a run that waits for it.', [
      'confirmed',
      'apply_queued',
      'applying',
      'applied',
    ]),
    discardRun: act('discard', 'Discards a run that waits for a decision.', ['discarded']),
    cancelRun: act('cancel', 'Stops a run that plans or applies.', ['canceled', 'force_canceled']),
    createVariable: {
      description: 'Adds a variable to a workspace. Keys are taken once per category.',
      method: 'POST',
      path: `${WORKSPACE}/vars`,
      body: {
        data: {
          type: 'vars',
          attributes: {
            key: '{{ input.key }}',
            value: '{{ input.value }}',
            description: '{{ input.description }}',
            category: "{{ coalesce(input.category, 'terraform') }}",
            hcl: '{{ coalesce(input.hcl, false) }}',
            sensitive: '{{ coalesce(input.sensitive, false) }}',
          },
        },
      },
      input: input(
        { workspaceId: text(), key: text(), value: anyText() },
        { description: anyText(), category: oneOf('terraform', 'env'), hcl: flag(), sensitive: flag() },
        { ...EXAMPLE, key: 'region', value: 'eu-central-1' },
      ),
      output: output({ id: text() }),
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: `${WORKSPACE}/vars`,
        ...foundIn(
          DATA,
          "one.attributes.key == input.key && one.attributes.category == coalesce(input.category, 'terraform')",
          // Variables come all at once, however many there are.
          NEXT_PAGE,
        ),
      },
      result: 'result.body.data',
      ref: 'result.body.data.id',
    },
    updateVariable: {
      description: 'Changes a variable of a workspace.',
      method: 'PATCH',
      path: `${WORKSPACE}/vars/{{ input.variableId }}`,
      body: {
        data: {
          type: 'vars',
          id: '{{ input.variableId }}',
          attributes: {
            value: '{{ input.value }}',
            description: '{{ input.description }}',
            hcl: '{{ input.hcl }}',
            sensitive: '{{ input.sensitive }}',
          },
        },
      },
      input: input(
        { workspaceId: text(), variableId: text() },
        { value: anyText(), description: anyText(), hcl: flag(), sensitive: flag() },
        { ...EXAMPLE, variableId: 'var-abc123', value: 'eu-west-1' },
      ),
      output: output({ id: text() }),
      idempotency: 'idempotent',
      result: 'result.body.data',
      ref: 'result.body.data.id',
    },
    createNotification: {
      description: 'Sends what happens to the runs of a workspace to an address.',
      method: 'POST',
      path: `${WORKSPACE}/notification-configurations`,
      body: {
        data: {
          type: 'notification-configurations',
          attributes: {
            name: '{{ input.name }}',
            url: '{{ input.url }}',
            token: '{{ input.token }}',
            enabled: '{{ coalesce(input.enabled, true) }}',
            'destination-type': "{{ coalesce(input.type, 'generic') }}",
            triggers: "{{ coalesce(input.triggers, ['run:completed', 'run:errored']) }}",
          },
        },
      },
      input: input(
        { workspaceId: text(), name: text(), url: text() },
        {
          token: text('What Terraform Cloud signs with.'),
          enabled: flag('Left out: true. Terraform Cloud then calls the address to see whether it answers.'),
          type: oneOf('generic', 'slack', 'microsoft-teams'),
          triggers: list(text()),
        },
        { ...EXAMPLE, name: 'millrace', url: 'https://hooks.example.com/in/default/terraform' },
      ),
      output: output({ id: text() }),
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: `${WORKSPACE}/notification-configurations`,
        query: { 'page[size]': '100' },
        ...foundIn(DATA, 'one.attributes.url == input.url && one.attributes.name == input.name', MORE),
      },
      result: 'result.body.data',
      ref: 'result.body.data.id',
    },
    deleteNotification: {
      description: 'Removes a notification; one that is gone already is removed.',
      method: 'DELETE',
      path: '/notification-configurations/{{ input.notificationId }}',
      input: input({ notificationId: text() }, {}, { notificationId: 'nc-abc123' }),
      idempotency: 'idempotent',
      classify: { 404: 'done' },
    },
    lockWorkspace: {
      description:
        'Locks a workspace against runs. One that is locked may be locked by another user, so it cannot be looked up.',
      method: 'POST',
      path: `${WORKSPACE}/actions/lock`,
      body: { reason: "{{ coalesce(input.reason, 'Locked by Millrace') }}" },
      input: input({ workspaceId: text() }, { reason: text() }, { ...EXAMPLE, reason: 'A migration' }),
      output: output({ id: text() }),
      idempotency: 'none',
      result: 'result.body.data',
      ref: 'result.body.data.id',
    },
    unlockWorkspace: {
      description: 'Unlocks a workspace; one that is not locked is unlocked.',
      method: 'POST',
      path: `${WORKSPACE}/actions/unlock`,
      input: input({ workspaceId: text() }, {}, EXAMPLE),
      idempotency: 'idempotent',
      refine: [
        {
          when: "result.status == 409 && string(result.body.errors).contains('already unlocked')",
          as: 'done',
        },
      ],
    },
    createTeamToken: {
      description: 'Makes one token more of the team; those that it has stay good.',
      method: 'POST',
      path: '/teams/{{ config.teamId }}/authentication-tokens',
      body: {
        data: {
          type: 'authentication-tokens',
          attributes: { description: 'millrace {{ substring(hash(key), 0, 16) }}' },
        },
      },
      input: input({}, {}, {}),
      output: output({ id: text() }, { attributes: output({}, { token: text(), 'expired-at': text() }) }),
      idempotency: 'none',
      result: 'result.body.data',
      ref: 'result.body.data.id',
      timeoutMs: 15_000,
    },
    deleteToken: {
      description: 'Ends a token; one that is gone already is ended.',
      method: 'DELETE',
      path: '/authentication-tokens/{{ input.tokenId }}',
      input: input({ tokenId: text() }, {}, { tokenId: 'at-abc123' }),
      idempotency: 'idempotent',
      classify: { 404: 'done' },
    },
  },
  inbound: { scheme: 'terraform-cloud', subjects: 'terraform-cloud' },
}

export const terraformCloud = makeProvider(manifest)
