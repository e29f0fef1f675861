// Workflows as other documents spell them, applied as they are written: comments, names with blanks, excerpts and all.

import { describe, expect, test } from 'vitest'
import type { WorkflowDocument } from '../core/definitions/documents/index.ts'
import { DEFAULT_TENANT } from '../core/foundation/ids/index.ts'
import { decodeInstance } from '../core/workflows/machine/index.ts'
import { accept, makeWorld, SOURCE } from '../engine/engine.fixture.ts'
import { compileDefinitions } from './language.ts'

const AGENT = `kind: Agent
name: ai_issue_prioritizer
baseUrl: https://api.example.com/v1
secret: { env: OPENAI_KEY }
model: gpt-4o
user: "Title: {{ issue_title }}, description: {{ issue_description }}"
output: { schema: { type: object, properties: { priority_level: { type: string }, summary: { type: string } } } }
`

function read(text: string) {
  const files = [
    { path: 'workflow.json', text },
    { path: 'agent.yaml', text: AGENT },
  ]
  const { documents, findings } = compileDefinitions(files, { functions: () => null })
  const of = (severity: string) =>
    findings
      .filter((one) => one.severity === severity && one.file === 'workflow.json')
      .map(({ rule, line, message }) => ({ rule, line, message }))
  const document = documents.find((one): one is WorkflowDocument => one.kind === 'Workflow')
  return { document, errors: of('error'), warnings: of('warning'), notes: of('info') }
}

const said = (notes: readonly { readonly line: number; readonly message: string }[]) =>
  notes.map(({ line, message }) => `${line} ${message}`)

describe('[WL30] the examples, as written', () => {
  test('a subject of the bus, and the payload as the data', () => {
    const { document, errors, warnings, notes } = read(`// Example: a triage
{
  "name": "New Issue Triage Workflow",
  "trigger": {
    "type": "NATS_SUBJECT",
    "subject": "gitlab.events.issue.created" // Specific subject
  },
  "initial_token_data_source": "trigger_event_payload",
  // ... places, transitions, etc.
}
`)
    expect(errors).toEqual([])
    expect(document).toMatchObject({
      name: 'new_issue_triage_workflow',
      description: 'New Issue Triage Workflow',
      start: 'received',
      places: [
        { name: 'received', type: 'waiting' },
        { name: 'finished', type: 'final' },
      ],
      transitions: [{ name: 'finish', from: ['received'], to: ['finished'], on: 'manual' }],
      triggers: [{ on: ['gitlab.events.issue.created'], action: 'create', map: { data: 'payload' } }],
    })
    expect(said(notes)).toEqual([
      '3 read as the name `new_issue_triage_workflow`, and as `description`',
      '4 read as the first of `triggers`',
      '6 read as `on`',
      '8 read as `map` of the trigger: the payload is the data',
    ])
    expect(warnings).toContainEqual({
      rule: 'WL12',
      line: 4,
      message:
        'this is lost in the import: nothing says what follows it, so its instances stay in the place `received` until a user fires `finish`',
    })
  })

  test('runs: an event begins an instance with its payload, which a user finishes', async () => {
    const { document } = read(`{
  "name": "New Issue Triage Workflow",
  "trigger": { "type": "NATS_SUBJECT", "subject": "gitlab.events.issue.created" },
  "initial_token_data_source": "trigger_event_payload",
}`)
    const world = makeWorld()
    const source = { ...SOURCE, subject: 'gitlab.events.issue.created' }
    const node = await world.node({ documents: [source, document as WorkflowDocument] })
    await accept(world, node, { kind: 'issue', id: 'i1', title: 'Broken' })
    const [row] = (await world.reads.instances({ cursor: null, limit: 9 })).items
    expect(decodeInstance(row!)).toMatchObject({
      workflow: 'new_issue_triage_workflow',
      marking: { received: 1 },
      data: { kind: 'issue', id: 'i1', title: 'Broken' },
    })
    const ann = { tenant: DEFAULT_TENANT, actor: 'ann', role: 'operator', permissions: [] } as const
    const fired = node.engine.workflows.instanceActions.fire(ann, row!.id, {
      transition: 'finish',
      input: null,
      comment: null,
    })
    await world.pass()
    expect(await fired).toMatchObject({ state: 'completed' })
  })

  test('an internal event', () => {
    const { document, errors } = read(`// Example: a triage
{
  "name": "New Issue Triage Workflow",
  "trigger": {
    "type": "INTERNAL_EVENT", // Or configured in a central dispatcher
    "event_name": "gitlab_issue_created_event"
  },
  "initial_token_data_source": "trigger_event_payload",
  // ... places, transitions, etc.
}
`)
    expect(errors).toEqual([])
    expect(document?.triggers).toMatchObject([
      { on: ['gitlab_issue_created_event'], map: { data: 'payload' } },
    ])
  })

  test('a whole workflow with a mapping, places, an agent and a correlation that is commented out', () => {
    const { document, errors, notes } = read(`{
  "id": "gitlab_new_issue_triage",
  "name": "GitLab New Issue Triage",
  "description": "Handles new issues created in GitLab.",
  "initial_place": "new_issue_received",
  "trigger": {
    "type": "NATS_MESSAGE", // Or a more specific type
    "config": {
      "subject": "gitlab.events.issue.created",
      // Optionally, a correlation ID
      // "correlation_id_path": "payload.issue.iid"
    }
  },
  "token_schema": { // The data of the token
    "initial_data_mapping": {
      "gitlab_issue_id": "payload.issue.id",
      "gitlab_issue_iid": "payload.issue.iid", // Internal ID for project
      "project_id": "payload.project.id",
      "title": "payload.issue.title",
      "description": "payload.issue.description",
      "author": "payload.user.username",
      "labels": "payload.labels[*].title",
      "raw_event": "payload" // Store the whole event if needed
    }
  },
  "places": [
    {"id": "new_issue_received", "name": "New Issue Received"},
    {"id": "assign_priority", "name": "Assign Priority (AI Agent)"},
    {"id": "notify_team", "name": "Notify Team (Function)"},
    {"id": "closed", "name": "Closed"}
  ],
  "transitions": [
    {
      "id": "process_new_issue",
      "from_places": ["new_issue_received"],
      "to_place": "assign_priority",
      "agent_execution": {
        "agent_id": "ai_issue_prioritizer",
        "input_mapping": { // Data from token to agent
            "issue_title": "data.title",
            "issue_description": "data.description"
        },
        "output_mapping": { // Data from agent back to token
            "data.ai_priority": "priority_level",
            "data.ai_summary": "summary"
        }
      }
    },
    {
      "id": "priority_assigned_notify",
      "from_places": ["assign_priority"],
      "to_place": "notify_team"
      // This transition could trigger a Function
    }
    // ... other transitions
  ]
}
`)
    expect(errors).toEqual([])
    expect(document).toMatchObject({
      name: 'gitlab_new_issue_triage',
      description: 'Handles new issues created in GitLab.',
      start: 'new_issue_received',
      triggers: [
        {
          on: ['gitlab.events.issue.created'],
          map: {
            'data.gitlab_issue_id': 'payload.issue.id',
            'data.labels': 'payload.labels[*].title',
            'data.raw_event': 'payload',
          },
        },
      ],
      transitions: [
        {
          name: 'process_new_issue',
          from: ['new_issue_received'],
          to: ['assign_priority'],
          do: { type: 'agent', with: { issue_title: '{{ data.title }}' } },
          out: { 'data.ai_priority': 'result.priority_level', 'data.ai_summary': 'result.summary' },
        },
        { name: 'priority_assigned_notify', from: ['assign_priority'], to: ['notify_team'] },
      ],
    })
    expect(document?.places.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'new_issue_received normal',
      'assign_priority normal',
      'notify_team final',
      'closed final',
    ])
    expect(said(notes)).toContain('29 read as `final`: no transition leaves it')
  })

  test('an internal event whose data is mapped', () => {
    const { document, errors } = read(`{
  "id": "gitlab_new_issue_triage",
  "name": "GitLab New Issue Triage",
  // ... same as Pattern 1 ...
  "trigger": {
    "type": "INTERNAL_EVENT", // Engine-specific trigger type
    "config": {
      "event_name": "gitlab_issue_created", // Semantic event name
      // "correlation_id_path": "event_data.issue.iid" // If it could update tokens
    }
  },
  "token_schema": {
    "initial_data_mapping": { // From the dispatcher
      "gitlab_issue_id": "event_data.issue.id",
      "labels": "event_data.labels[*].title",
      "raw_event": "event_data"
    }
  },
  // ... places and transitions similar to Pattern 1 ...
}
`)
    expect(errors).toEqual([])
    expect(document).toMatchObject({
      name: 'gitlab_new_issue_triage',
      description: 'GitLab New Issue Triage',
      triggers: [
        {
          on: ['gitlab_issue_created'],
          map: {
            'data.gitlab_issue_id': 'payload.issue.id',
            'data.labels': 'payload.labels[*].title',
            'data.raw_event': 'payload',
          },
        },
      ],
    })
  })
})

const TRIGGER = {
  trigger_type: 'NatsMessage',
  config: {
    NatsMessage: {
      subject: 'gitlab.events.issue.updated',
      correlation_id_path_in_payload: 'payload.issue.id',
      correlation_id_field_in_token: 'data.gitlab_issue_id',
      action_type: 'UpdateExistingInstance',
      retry_config: {
        max_attempts: 4,
        backoff_strategy: { Exponential: { multiplier: 2.0 } },
        retry_delay_seconds: 5,
        retry_on_errors: [],
      },
      dead_letter_queue: 'gitlab.dead.issues',
      max_processing_time: { secs: 30, nanos: 0 },
      filters: [{ field_path: 'payload.issue.labels[*].name', operator: 'Contains', value: 'bug' }],
      rate_limiting: null,
    },
  },
  filters: [{ field_path: 'payload.issue.weight', operator: 'GreaterThan', value: 3 }],
  rate_limiting: { max_events_per_minute: 60, burst_allowance: 10, backoff_on_limit: false },
}

const STRUCT = {
  id: 'triage',
  name: 'Triage',
  description: null,
  version: 'v1.2.3',
  initial_place: 'open',
  trigger: TRIGGER,
  triggers: [
    {
      trigger_type: 'NatsMessage',
      config: {
        NatsMessage: {
          subject: 'gitlab.events.issue.created',
          correlation_id_path_in_payload: 'payload.issue.id',
          correlation_id_field_in_token: 'gitlab_issue_id',
          action_type: 'CreateNewInstance',
        },
      },
    },
  ],
  initial_token_data_mapping: { 'data.gitlab_issue_id': 'payload.issue.id' },
  update_token_data_mapping: { 'data.title': 'payload.issue.title' },
  migration_rules: [
    {
      from_version: 'v1.2.2',
      to_version: 'v1.2.3',
      migration_strategy: 'InPlace',
      token_transformations: [
        { field_path: 'issue', transformation_type: 'Rename', parameters: { to: 'gitlab_issue_id' } },
        { field_path: 'old', transformation_type: 'Delete', parameters: {} },
        { field_path: 'title', transformation_type: 'AddDefault', parameters: { value: 'none' } },
        {
          field_path: 'label',
          transformation_type: 'Transform',
          parameters: { expression: "data.title + '!'" },
        },
      ],
    },
  ],
  backward_compatibility: { supported_versions: ['v1.2.1'], deprecation_warnings: false, strict_mode: true },
  security_config: {
    required_permissions: ['triage.see'],
    data_classification: 'Confidential',
    encryption_required: true,
    audit_level: 'Full',
  },
  places: [
    { id: 'open', name: 'Open' },
    { id: 'closed', type: 'final' },
  ],
  transitions: [{ id: 'close', from_places: ['open'], to_place: 'closed', on: 'manual' }],
}

describe('[WL30] the fields of the struct', () => {
  const text = (more: object = {}) => JSON.stringify({ ...STRUCT, ...more }, null, 2)

  test('each becomes a field of this language', () => {
    const { document, errors } = read(text())
    expect(errors).toEqual([])
    expect(document).toMatchObject({
      name: 'triage',
      description: 'Triage',
      version: 'v1.2.3',
      start: 'open',
      triggers: [
        {
          on: ['gitlab.events.issue.updated'],
          action: 'update',
          correlate: { gitlab_issue_id: 'payload.issue.id' },
          map: { 'data.title': 'payload.issue.title' },
          where: {
            all: [
              { path: 'payload.issue.weight', greaterThan: 3 },
              { path: 'payload.issue.labels[*].name', contains: 'bug' },
            ],
          },
          rateLimit: { perMinute: 60, burst: 10 },
          onLimit: 'reject',
          retry: { attempts: 4, delaysMs: [5_000, 10_000, 20_000] },
          maxProcessingMs: 30_000,
          deadLetter: { subject: 'gitlab.dead.issues' },
        },
        {
          on: ['gitlab.events.issue.created'],
          action: 'create',
          correlate: { gitlab_issue_id: 'payload.issue.id' },
          map: { 'data.gitlab_issue_id': 'payload.issue.id' },
        },
      ],
      migrations: [
        {
          from: 'v1.2.2',
          to: 'v1.2.3',
          strategy: 'inPlace',
          data: [
            { rename: 'data.issue', to: 'data.gitlab_issue_id' },
            { delete: 'data.old' },
            { default: 'data.title', value: 'none' },
            { set: 'data.label', value: "data.title + '!'" },
          ],
        },
      ],
      compatibility: { supported: ['v1.2.1'], deprecationWarnings: false, strict: true },
      security: {
        permissions: ['triage.see'],
        required: ['triage.see'],
        classification: 'confidential',
        encrypt: ['data', 'metadata'],
        audit: 'full',
      },
    })
  })

  test.each([
    ['Fixed', [5_000, 5_000, 5_000]],
    ['Linear', [5_000, 10_000, 15_000]],
    [{ Exponential: { multiplier: 1.5 } }, [5_000, 7_500, 11_250]],
    // No formula has it: the pauses are written out.
    [{ Exponential: { multiplier: 0.5 } }, [5_000, 2_500, 1_250]],
    // Longer than a formula that names no `max`.
    [{ Exponential: { multiplier: 100 } }, [5_000, 500_000, 50_000_000]],
  ])('pauses of %j', (backoff_strategy, delaysMs) => {
    expect(retryOf({ backoff_strategy }).retry?.delaysMs).toEqual(delaysMs)
  })

  test('what each field of a retry became', () => {
    const {
      retry,
      said: notes,
      warnings,
    } = retryOf({
      backoff_strategy: 'Linear',
      retry_on_errors: ['NetworkError', 'timeout', 'disk_full', 'connection_errors'],
    })
    expect(retry).toMatchObject({
      attempts: 4,
      delaysMs: [5_000, 10_000, 15_000],
      retryOn: ['transient', 'timeout'],
    })
    expect(notes).toEqual([
      'read as `retry`',
      'read as `retry.attempts`',
      'read as `retry.backoff: linear`',
      'read as `retry.first`',
      'read as `retry.retryOn: [transient, timeout]`',
    ])
    expect(warnings).toEqual([expect.stringContaining('there is no such cause')])
  })

  test.each([
    ['Equals', 'equals', 1],
    ['NotEquals', 'notEquals', 1],
    ['NotContains', 'notContains', 'x'],
    ['LessThan', 'lessThan', 1],
    ['Exists', 'exists', true],
    ['NotExists', 'notExists', true],
  ])('the operator %s', (operator, field, value) => {
    const filters = [{ field_path: 'payload.x', operator, value: value === true ? null : value }]
    const trigger = { type: 'NATS_SUBJECT', subject: 'a.b', filters }
    const { document, errors } = read(text({ trigger }))
    expect(errors).toEqual([])
    expect(document?.triggers[0]?.where).toEqual({ path: 'payload.x', [field]: value })
  })

  test('triggers of the clock and of users', () => {
    const triggers = [
      {
        trigger_type: 'Schedule',
        config: { Schedule: { cron_expression: '0 6 * * *', timezone: 'Europe/Berlin', max_instances: 1 } },
      },
      {
        trigger_type: 'Manual',
        config: { Manual: { required_permissions: ['triage.start'], input_schema: { type: 'object' } } },
      },
    ]
    const { document, errors } = read(text({ triggers }))
    expect(errors).toEqual([])
    expect(document?.triggers.slice(1)).toMatchObject([
      { schedule: { cron: '0 6 * * *', zone: 'Europe/Berlin', maxInstances: 1 } },
      { manual: { permission: 'triage.start', input: { type: 'object' } } },
    ])
    expect(document?.security?.permissions).toEqual(['triage.see', 'triage.start'])
  })

  test('a note says what each became, at its line', () => {
    const { notes } = read(text())
    const lines = text().split('\n')
    const noted = notes.map(({ line, message }) => [/"(\w+)"/.exec(lines[line - 1] ?? '')?.[1], message])
    expect(noted).toEqual(
      expect.arrayContaining([
        ['dead_letter_queue', 'read as `deadLetter: { subject }`'],
        ['max_processing_time', 'read as `maxProcessingTime`'],
        ['rate_limiting', 'read as `rateLimit`'],
        ['backoff_on_limit', 'read as `onLimit: reject`'],
        ['retry_config', 'read as `retry`'],
        ['max_attempts', 'read as `retry.attempts`'],
        ['backoff_strategy', 'read as `retry.backoff: exponential`'],
        ['multiplier', 'read as `retry.factor`'],
        ['retry_delay_seconds', 'read as `retry.first`'],
        ['migration_rules', 'read as `migrations`'],
        ['migration_strategy', 'read as `strategy`'],
        ['backward_compatibility', 'read as `compatibility`'],
        ['security_config', 'read as `security`'],
        ['data_classification', 'read as `classification`'],
        ['encryption_required', 'read as `encrypt`'],
        ['audit_level', 'read as `audit`'],
        ['initial_token_data_mapping', 'read as `map` of the trigger'],
        ['update_token_data_mapping', 'read as `map` of the triggers that update'],
      ]),
    )
  })

  function retryOf(more: object) {
    const { config } = TRIGGER
    const retry_config = { ...config.NatsMessage.retry_config, ...more }
    const trigger = { ...TRIGGER, config: { NatsMessage: { ...config.NatsMessage, retry_config } } }
    const { document, notes, warnings, errors } = read(text({ trigger }))
    expect(errors).toEqual([])
    const of = (remarks: typeof notes) => remarks.map(({ message }) => message)
    return {
      retry: document?.triggers[0]?.retry,
      said: of(notes).filter((message) => message.includes('`retry')),
      warnings: of(warnings.filter(({ rule }) => rule === 'WL12')),
    }
  }

  const lost = (more: object) => {
    const { warnings } = read(text(more))
    const lines = text(more).split('\n')
    return warnings
      .filter(({ rule }) => rule === 'WL12')
      .map(({ line, message }) => [/"(\w+)"/.exec(lines[line - 1] ?? '')?.[1], message])
  }
  const withConfig = (more: object) => ({
    trigger: { ...TRIGGER, config: { NatsMessage: { ...TRIGGER.config.NatsMessage, ...more } } },
  })

  test('[WL30] `NewInstance` and a transformation by a function are read as such', () => {
    const rule = { field_path: 'a', transformation_type: 'Transform', parameters: { function: 'f' } }
    const { errors } = read(
      text({
        migration_rules: [
          {
            from_version: 'a',
            to_version: 'v1.2.3',
            migration_strategy: 'NewInstance',
            token_transformations: [rule],
          },
        ],
      }),
    )
    // The name of the function is the only thing that is wrong here.
    expect(errors).toMatchObject([{ rule: 'F29', message: expect.stringContaining('`f`') }])
  })

  test.each([
    [
      withConfig({
        retry_config: { ...TRIGGER.config.NatsMessage.retry_config, retry_on_errors: ['Timeout'] },
      }),
      'retry_on_errors',
    ],
    [withConfig({ correlation_id_path_in_payload: null }), 'correlation_id_field_in_token'],
    [{ initial_token_data_source: 'somewhere' }, 'initial_token_data_source'],
    [
      {
        triggers: [{ trigger_type: 'Manual', config: { Manual: { required_permissions: ['a', 'b'] } } }],
      },
      'b',
    ],
    [
      {
        migration_rules: [
          {
            from_version: 'v1.2.2',
            to_version: 'v1.2.3',
            token_transformations: [
              { field_path: 'a', transformation_type: 'Transform', parameters: { by: 'f' } },
            ],
          },
        ],
      },
      'parameters',
    ],
  ])('[WL12] what is lost is said at its field: %#', (more, field) => {
    expect(lost(more)).toEqual([[field, expect.stringContaining('lost in the import')]])
  })

  test('a field that nobody knows is refused by its name', () => {
    const { errors } = read(text(withConfig({ consumer_group: 'x' })))
    expect(errors).toMatchObject([{ rule: 'F12', message: expect.stringContaining('consumer_group') }])
  })
})

describe('[F36] JSON with comments', () => {
  test('keeps its positions, and is otherwise read strictly', () => {
    const text = (body: string) => `{ /* a, } */ "kind": "Workflow", // "b"
  "name": "w", "start": "a", "triggers": [{ "manual": {}, }], "places": { "a": {}, "b": { "final": true } },
  "transitions": { "go": { "from": "a", "to": ${body}, }, }, }`
    expect(read(text('"b"')).errors).toEqual([])
    expect(read(text('"c//"')).errors).toMatchObject([{ rule: 'WL2', line: 3 }])
    expect(read(text('"b",,')).errors).toMatchObject([{ line: 3 }])
    expect(read(text('"b" /* open')).errors).toHaveLength(1)
    expect(read('{ "a": "/*", "b": "*/" }').errors[0]?.message).toContain('kind')
  })
})
