// GitLab's REST API (v4), of gitlab.com or of a private server. A project is its number or its path (`group/project`).
//
// No new secret is created by API: `POST /personal_access_tokens/self/rotate` ends the former token at once, so that
// calls in progress with it would be refused, and a token whose verification fails would have nothing to go back to. A
// user provides the new one.

import { foundBy, foundIn, MORE_BY_LINK } from '../lookup.ts'
import { type Manifest, makeProvider, type OperationManifest } from '../manifest.ts'
import { anyText, flag, id, input, list, map, oneOf, output, text, whole } from '../schema.ts'

const PROJECT = { project: id('Its number, or its path.') }
const EXAMPLE = { project: 'group/app' }
const IN_PROJECT = '/projects/{{ input.project }}'
const NEWEST = { order_by: 'created_at', sort: 'desc', per_page: '100' }
const MARK = '\n\n<!-- {{ hash(key) }} -->'
const ISSUE = output({ id: whole(), iid: whole() }, { web_url: text(), state: text() })
const NOTE = output({ id: whole() })

function read(part: Omit<OperationManifest, 'method' | 'idempotency'>): OperationManifest {
  return { ...part, method: 'GET', idempotency: 'idempotent' }
}

function noteOn(kind: 'issues' | 'merge_requests', description: string): OperationManifest {
  const path = `${IN_PROJECT}/${kind}/{{ input.iid }}/notes`
  return {
    description,
    method: 'POST',
    path,
    body: { body: `{{ input.body }}${MARK}`, internal: '{{ input.internal }}' },
    input: input(
      { ...PROJECT, iid: whole('Its number in the project.'), body: text('Markdown.') },
      { internal: flag() },
      { ...EXAMPLE, iid: 12, body: 'Looking into it.' },
    ),
    output: NOTE,
    idempotency: 'lookup',
    lookup: {
      method: 'GET',
      path,
      query: NEWEST,
      ...foundIn('result.body', "coalesce(one.body, '').contains(hash(key))", MORE_BY_LINK),
    },
    ref: 'result.body.id',
    buckets: ['default', 'notes'],
    scopes: ['api'],
  }
}

const ISSUE_FIELDS = {
  description: anyText('Markdown.'),
  labels: list(text()),
  assigneeIds: list(whole()),
  milestoneId: whole(),
  confidential: flag(),
  dueDate: text('As in 2026-05-31.'),
}

const ISSUE_BODY = {
  title: '{{ input.title }}',
  labels: "{{ input.labels.join(',') }}",
  assignee_ids: '{{ input.assigneeIds }}',
  milestone_id: '{{ input.milestoneId }}',
  confidential: '{{ input.confidential }}',
  due_date: '{{ input.dueDate }}',
}

const manifest: Manifest = {
  name: 'gitlab',
  title: 'GitLab',
  description: 'Projects, issues, merge requests, pipelines and webhooks of GitLab.',
  category: 'source-control',
  auth: ['bearer', 'apiKey', 'oauth2'],
  authentication: { header: 'private-token', prefix: '' },
  oauth2: {
    authorizeUrl: "{{ coalesce(config.baseUrl, 'https://gitlab.com') }}/oauth/authorize",
    tokenUrl: "{{ coalesce(config.baseUrl, 'https://gitlab.com') }}/oauth/token",
    scopes: ['api'],
    clientAuth: 'body',
  },
  baseUrl: "{{ coalesce(config.baseUrl, 'https://gitlab.com') }}/api/v4",
  config: {
    type: 'object',
    properties: { baseUrl: text('Of one’s own server: https://gitlab.example.com.') },
    additionalProperties: false,
    examples: [{}],
  },
  capabilities: ['issues', 'merge-requests', 'files', 'pipelines', 'webhooks'],
  buckets: {
    // What gitlab.com allows an account; a private server may have other limits, and its headers say so.
    default: { perMinute: 2_000, burst: 200 },
    notes: { perMinute: 60, burst: 20 },
  },
  probe: { method: 'GET', path: '/user' },
  refine: [{ when: "result.status == 403 && result.body.error == 'insufficient_scope'", as: 'config' }],
  operations: {
    getUser: read({
      description: 'Whose token it is.',
      path: '/user',
      input: input({}, {}, {}),
      output: output({ id: whole(), username: text() }),
      scopes: ['read_user'],
    }),
    getProject: read({
      description: 'Reads a project.',
      path: IN_PROJECT,
      input: input(PROJECT, {}, EXAMPLE),
      output: output({ id: whole(), path_with_namespace: text() }),
      scopes: ['read_api'],
    }),
    createIssue: {
      description: 'Opens an issue.',
      method: 'POST',
      path: `${IN_PROJECT}/issues`,
      body: { ...ISSUE_BODY, description: `{{ coalesce(input.description, '') }}${MARK}` },
      input: input({ ...PROJECT, title: text() }, ISSUE_FIELDS, {
        ...EXAMPLE,
        title: 'It leaks',
        labels: ['bug', 'p1'],
      }),
      output: ISSUE,
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: `${IN_PROJECT}/issues`,
        query: { ...NEWEST, scope: 'all' },
        ...foundIn('result.body', "coalesce(one.description, '').contains(hash(key))", MORE_BY_LINK, 'iid'),
      },
      ref: 'result.body.iid',
      scopes: ['api'],
    },
    updateIssue: {
      description: 'Changes an issue, closes or opens it.',
      method: 'PUT',
      path: `${IN_PROJECT}/issues/{{ input.iid }}`,
      body: { ...ISSUE_BODY, description: '{{ input.description }}', state_event: '{{ input.state }}' },
      input: input(
        { ...PROJECT, iid: whole() },
        { title: text(), ...ISSUE_FIELDS, state: oneOf('close', 'reopen') },
        { ...EXAMPLE, iid: 12, state: 'close' },
      ),
      output: ISSUE,
      idempotency: 'idempotent',
      ref: 'result.body.iid',
      scopes: ['api'],
    },
    createIssueNote: noteOn('issues', 'Comments on an issue.'),
    createMergeRequestNote: noteOn('merge_requests', 'Comments on a merge request.'),
    createMergeRequest: {
      description: 'Opens a merge request. GitLab takes one open request per pair of branches.',
      method: 'POST',
      path: `${IN_PROJECT}/merge_requests`,
      body: {
        title: '{{ input.title }}',
        source_branch: '{{ input.source }}',
        target_branch: '{{ input.target }}',
        description: '{{ input.description }}',
        labels: "{{ input.labels.join(',') }}",
        remove_source_branch: '{{ input.removeSource }}',
      },
      input: input(
        { ...PROJECT, title: text(), source: text('The branch with the changes.'), target: text() },
        { description: anyText(), labels: list(text()), removeSource: flag() },
        { ...EXAMPLE, title: 'Stop the leak', source: 'fix-leak', target: 'main' },
      ),
      output: ISSUE,
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: `${IN_PROJECT}/merge_requests`,
        query: {
          ...NEWEST,
          state: 'opened',
          source_branch: '{{ input.source }}',
          target_branch: '{{ input.target }}',
        },
        ...foundIn('result.body', 'one.source_branch == input.source', MORE_BY_LINK, 'iid'),
      },
      ref: 'result.body.iid',
      scopes: ['api'],
    },
    acceptMergeRequest: {
      description: 'Merges a merge request.',
      method: 'PUT',
      path: `${IN_PROJECT}/merge_requests/{{ input.iid }}/merge`,
      body: {
        squash: '{{ input.squash }}',
        sha: '{{ input.sha }}',
        should_remove_source_branch: '{{ input.removeSource }}',
      },
      input: input(
        { ...PROJECT, iid: whole() },
        { squash: flag(), sha: text('What its head must be.'), removeSource: flag() },
        { ...EXAMPLE, iid: 12, squash: true },
      ),
      output: ISSUE,
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: `${IN_PROJECT}/merge_requests/{{ input.iid }}`,
        found: foundBy('result.body.state', "result.body.state == 'merged'"),
        id: 'result.body.merge_commit_sha',
      },
      // 405: it cannot be merged in its present state, which is a matter of the merge request.
      classify: { 405: 'validation' },
      ref: 'result.body.iid',
      scopes: ['api'],
    },
    createHook: {
      description: 'Adds a webhook to a project.',
      method: 'POST',
      path: `${IN_PROJECT}/hooks`,
      body: {
        url: '{{ input.url }}',
        token: '{{ input.token }}',
        push_events: '{{ coalesce(input.push, true) }}',
        issues_events: '{{ input.issues }}',
        merge_requests_events: '{{ input.mergeRequests }}',
        note_events: '{{ input.notes }}',
        pipeline_events: '{{ input.pipelines }}',
        tag_push_events: '{{ input.tags }}',
        releases_events: '{{ input.releases }}',
        enable_ssl_verification: true,
      },
      input: input(
        { ...PROJECT, url: text('Where events are sent.') },
        {
          token: text('What GitLab shows us with each event.'),
          push: flag('Left out: true.'),
          issues: flag(),
          mergeRequests: flag(),
          notes: flag(),
          pipelines: flag(),
          tags: flag(),
          releases: flag(),
        },
        { ...EXAMPLE, url: 'https://hooks.example.com/in/default/gitlab', issues: true },
      ),
      output: output({ id: whole(), url: text() }),
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: `${IN_PROJECT}/hooks`,
        query: { per_page: '100' },
        ...foundIn('result.body', 'one.url == input.url', MORE_BY_LINK),
      },
      ref: 'result.body.id',
      scopes: ['api'],
    },
    deleteHook: {
      description: 'Removes a webhook; one that is gone already is removed.',
      method: 'DELETE',
      path: `${IN_PROJECT}/hooks/{{ input.hookId }}`,
      input: input({ ...PROJECT, hookId: whole() }, {}, { ...EXAMPLE, hookId: 7 }),
      idempotency: 'idempotent',
      classify: { 404: 'done' },
      scopes: ['api'],
    },
    createPipeline: {
      description: 'Runs a pipeline. GitLab cannot be asked whether it began by us.',
      method: 'POST',
      path: `${IN_PROJECT}/pipeline`,
      body: { ref: '{{ input.ref }}', variables: '{{ input.variables }}' },
      input: input(
        { ...PROJECT, ref: text('Branch or tag.') },
        { variables: list(map({ key: text(), value: anyText() })) },
        { ...EXAMPLE, ref: 'main', variables: [{ key: 'TARGET', value: 'qa' }] },
      ),
      output: output({ id: whole(), status: text() }),
      idempotency: 'none',
      ref: 'result.body.id',
      scopes: ['api'],
    },
    createFile: {
      description: 'Adds a file in a commit of its own. GitLab refuses one that is there.',
      method: 'POST',
      path: `${IN_PROJECT}/repository/files/{{ input.path }}`,
      body: {
        branch: '{{ input.branch }}',
        content: '{{ input.content }}',
        encoding: 'base64',
        commit_message: '{{ input.message }}',
      },
      input: input(
        { ...PROJECT, path: text(), branch: text(), content: anyText('In base64.'), message: text() },
        {},
        { ...EXAMPLE, path: 'docs/a.md', branch: 'main', content: 'SGVsbG8=', message: 'Say how' },
      ),
      output: output({ file_path: text(), branch: text() }),
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: `${IN_PROJECT}/repository/files/{{ input.path }}`,
        query: { ref: '{{ input.branch }}' },
        found: foundBy('result.body.content', 'result.body.content == input.content'),
        id: 'result.body.last_commit_id',
      },
      ref: 'result.body.file_path',
      scopes: ['api'],
    },
  },
  inbound: { scheme: 'gitlab', subjects: 'gitlab' },
}

export const gitlab = makeProvider(manifest)
