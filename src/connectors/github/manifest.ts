// GitHub's REST API (version 2022-11-28), of github.com or of a GitHub Enterprise server.
//
// Only hooks are refused a second time by GitHub itself. Other objects are looked up afterwards: by their name if they
// have one, otherwise by a mark in their text (a comment that readers do not see). Lists are read from the newest on,
// one page: an object created a moment ago is on it. If it is not, and there are more pages, the outcome stays unknown.

import type { JsonValue } from '../../core/foundation/json/index.ts'
import { foundBy, foundIn, MORE_BY_LINK } from '../lookup.ts'
import { type Manifest, makeProvider, type OperationManifest } from '../manifest.ts'
import { anyText, fields, flag, id, input, list, oneOf, orNull, output, text, whole } from '../schema.ts'

const REPOSITORY = { owner: text('User or organisation.'), repo: text('Name of the repository.') }
const EXAMPLE = { owner: 'octo', repo: 'hello' }
const IN_REPOSITORY = '/repos/{{ input.owner }}/{{ input.repo }}'
const CREATED = output({ id: whole() }, { html_url: text(), number: whole() })
const MARKED = "{{ coalesce(input.body, '') }}\n\n<!-- {{ hash(key) }} -->"
const PAGE = { per_page: '100', sort: 'created', direction: 'desc' }
const HAS_MARK = "coalesce(one.body, '').contains(hash(key))"

function create(
  part: Omit<OperationManifest, 'method' | 'buckets' | 'idempotency'> & {
    readonly idempotency?: OperationManifest['idempotency']
  },
): OperationManifest {
  return { idempotency: 'lookup', ...part, method: 'POST', buckets: ['core', 'content'] }
}

function read(part: Omit<OperationManifest, 'method' | 'buckets' | 'idempotency'>): OperationManifest {
  return { ...part, method: 'GET', idempotency: 'idempotent', buckets: ['core'] }
}

const HOOK_CONFIG: JsonValue = {
  url: '{{ input.url }}',
  content_type: 'json',
  secret: '{{ input.secret }}',
  insecure_ssl: '0',
}

const manifest: Manifest = {
  name: 'github',
  title: 'GitHub',
  description: 'Repositories, issues, pull requests, releases and webhooks of GitHub or GitHub Enterprise.',
  category: 'source-control',
  auth: ['bearer', 'githubApp', 'oauth2'],
  oauth2: {
    authorizeUrl: "{{ coalesce(config.webUrl, 'https://github.com') }}/login/oauth/authorize",
    tokenUrl: "{{ coalesce(config.webUrl, 'https://github.com') }}/login/oauth/access_token",
    scopes: ['repo', 'admin:repo_hook'],
    clientAuth: 'body',
  },
  baseUrl: "{{ coalesce(config.baseUrl, 'https://api.github.com') }}",
  config: {
    type: 'object',
    properties: {
      baseUrl: text('Of a GitHub Enterprise server: https://github.example.com/api/v3.'),
      webUrl: text('Of a GitHub Enterprise server, where people sign in: https://github.example.com.'),
    },
    additionalProperties: false,
    examples: [{}],
  },
  capabilities: ['issues', 'pull-requests', 'releases', 'files', 'webhooks', 'dispatch'],
  headers: { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
  buckets: {
    // 5,000 an hour for a user's token; the headers of each response say what is left.
    core: { perMinute: 83, burst: 1_000 },
    // What notifies users has a separate limit: 80 a minute, and 500 an hour.
    content: { perMinute: 60, burst: 20 },
  },
  // It accepts every kind of token, which /user does not, and is not counted.
  probe: { method: 'GET', path: '/rate_limit' },
  refine: [
    {
      when: "(result.status == 403 || result.status == 429) && (result.headers['x-ratelimit-remaining'] == '0' || result.headers['retry-after'] != null || lower(coalesce(result.body.message, '')).contains('rate limit'))",
      as: 'rate_limited',
    },
    // No new secret helps if the account itself lacks the permission.
    {
      when: "result.status == 403 && (coalesce(result.body.message, '').startsWith('Resource not accessible') || coalesce(result.body.message, '').startsWith('Must have admin rights'))",
      as: 'config',
    },
  ],
  operations: {
    getUser: read({
      description: 'Whose token it is.',
      path: '/user',
      input: input({}, {}, {}),
      output: output({ id: whole(), login: text() }),
      ref: 'result.body.login',
    }),
    getRepository: read({
      description: 'Reads a repository.',
      path: IN_REPOSITORY,
      input: input(REPOSITORY, {}, EXAMPLE),
      output: output({ id: whole(), full_name: text(), private: flag(), default_branch: text() }),
      scopes: ['repo'],
    }),
    createWebhook: create({
      description: 'Adds a webhook to a repository. GitHub takes an address once per repository.',
      path: `${IN_REPOSITORY}/hooks`,
      body: {
        name: 'web',
        active: '{{ coalesce(input.active, true) }}',
        events: "{{ coalesce(input.events, ['push']) }}",
        config: HOOK_CONFIG,
      },
      input: input(
        { ...REPOSITORY, url: text('Where events are sent.') },
        {
          events: list(text(), 'Left out: push.'),
          secret: text('What GitHub signs with.'),
          active: flag('Left out: true.'),
        },
        { ...EXAMPLE, url: 'https://hooks.example.com/in/default/github', events: ['push', 'issues'] },
      ),
      output: output({ id: whole() }, { active: flag(), events: list(text()), url: text() }),
      lookup: {
        method: 'GET',
        path: `${IN_REPOSITORY}/hooks`,
        query: { per_page: '100' },
        ...foundIn('result.body', 'one.config.url == input.url', MORE_BY_LINK),
      },
      ref: 'result.body.id',
      scopes: ['admin:repo_hook'],
    }),
    deleteWebhook: {
      description: 'Removes a webhook; one that is gone already is removed.',
      method: 'DELETE',
      path: `${IN_REPOSITORY}/hooks/{{ input.hookId }}`,
      input: input({ ...REPOSITORY, hookId: id() }, {}, { ...EXAMPLE, hookId: 7 }),
      idempotency: 'idempotent',
      classify: { 404: 'done' },
      buckets: ['core'],
      scopes: ['admin:repo_hook'],
    },
    createIssue: create({
      description: 'Opens an issue.',
      path: `${IN_REPOSITORY}/issues`,
      body: {
        title: '{{ input.title }}',
        body: MARKED,
        labels: '{{ input.labels }}',
        assignees: '{{ input.assignees }}',
        milestone: '{{ input.milestone }}',
      },
      input: input(
        { ...REPOSITORY, title: text() },
        { body: anyText('Markdown.'), labels: list(text()), assignees: list(text()), milestone: whole() },
        { ...EXAMPLE, title: 'It leaks', body: 'Since Monday.', labels: ['bug'] },
      ),
      output: CREATED,
      lookup: {
        method: 'GET',
        path: `${IN_REPOSITORY}/issues`,
        query: { ...PAGE, state: 'all' },
        ...foundIn('result.body', HAS_MARK, MORE_BY_LINK, 'number'),
      },
      ref: 'result.body.number',
      scopes: ['repo'],
    }),
    updateIssue: {
      description: 'Changes an issue: title, text, labels, assignees, or whether it is open.',
      method: 'PATCH',
      path: `${IN_REPOSITORY}/issues/{{ input.number }}`,
      body: {
        title: '{{ input.title }}',
        body: '{{ input.body }}',
        state: '{{ input.state }}',
        state_reason: '{{ input.stateReason }}',
        labels: '{{ input.labels }}',
        assignees: '{{ input.assignees }}',
      },
      input: input(
        { ...REPOSITORY, number: whole() },
        {
          title: text(),
          body: anyText(),
          state: oneOf('open', 'closed'),
          stateReason: oneOf('completed', 'not_planned', 'reopened'),
          labels: list(text(), 'In place of those that it has.'),
          assignees: list(text(), 'In place of those that it has.'),
        },
        { ...EXAMPLE, number: 12, state: 'closed', stateReason: 'completed' },
      ),
      output: CREATED,
      idempotency: 'idempotent',
      ref: 'result.body.number',
      buckets: ['core', 'content'],
      scopes: ['repo'],
    },
    createIssueComment: create({
      description: 'Comments on an issue or a pull request.',
      path: `${IN_REPOSITORY}/issues/{{ input.number }}/comments`,
      body: { body: MARKED },
      input: input(
        { ...REPOSITORY, number: whole(), body: text('Markdown.') },
        {},
        { ...EXAMPLE, number: 12, body: 'Looking into it.' },
      ),
      output: CREATED,
      // Comments of one issue come oldest first, and those of the repository newest first.
      lookup: {
        method: 'GET',
        path: `${IN_REPOSITORY}/issues/comments`,
        query: PAGE,
        ...foundIn('result.body', HAS_MARK, MORE_BY_LINK),
      },
      ref: 'result.body.id',
      scopes: ['repo'],
    }),
    addLabels: {
      description: 'Adds labels to an issue; those that it has stay.',
      method: 'POST',
      path: `${IN_REPOSITORY}/issues/{{ input.number }}/labels`,
      body: { labels: '{{ input.labels }}' },
      input: input(
        { ...REPOSITORY, number: whole(), labels: list(text()) },
        {},
        { ...EXAMPLE, number: 12, labels: ['bug'] },
      ),
      output: list(output({ name: text() })),
      idempotency: 'idempotent',
      ref: 'result.body[0].id',
      buckets: ['core', 'content'],
      scopes: ['repo'],
    },
    createPullRequest: create({
      description: 'Opens a pull request. GitHub takes one open request per pair of branches.',
      path: `${IN_REPOSITORY}/pulls`,
      body: {
        title: '{{ input.title }}',
        head: '{{ input.head }}',
        base: '{{ input.base }}',
        body: '{{ input.body }}',
        draft: '{{ input.draft }}',
      },
      input: input(
        { ...REPOSITORY, title: text(), head: text('The branch with the changes.'), base: text() },
        { body: anyText(), draft: flag() },
        { ...EXAMPLE, title: 'Stop the leak', head: 'fix-leak', base: 'main' },
      ),
      output: CREATED,
      lookup: {
        method: 'GET',
        path: `${IN_REPOSITORY}/pulls`,
        query: { ...PAGE, state: 'open', base: '{{ input.base }}' },
        ...foundIn(
          'result.body',
          "one.state == 'open' && (one.head.ref == input.head || one.head.label == input.head)",
          MORE_BY_LINK,
          'number',
        ),
      },
      ref: 'result.body.number',
      scopes: ['repo'],
    }),
    mergePullRequest: {
      description: 'Merges a pull request.',
      method: 'PUT',
      path: `${IN_REPOSITORY}/pulls/{{ input.number }}/merge`,
      body: {
        merge_method: '{{ input.method }}',
        commit_title: '{{ input.title }}',
        commit_message: '{{ input.message }}',
        sha: '{{ input.sha }}',
      },
      input: input(
        { ...REPOSITORY, number: whole() },
        {
          method: oneOf('merge', 'squash', 'rebase'),
          title: text(),
          message: anyText(),
          sha: text('What its head must be: another one is not merged.'),
        },
        { ...EXAMPLE, number: 12, method: 'squash' },
      ),
      output: output({ merged: flag(), sha: text() }),
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: `${IN_REPOSITORY}/pulls/{{ input.number }}`,
        found: 'result.body.merged',
        id: 'result.body.merge_commit_sha',
      },
      // 405: it cannot be merged in its present state, which is a matter of the pull request.
      classify: { 405: 'validation' },
      ref: 'result.body.sha',
      buckets: ['core', 'content'],
      scopes: ['repo'],
    },
    createRelease: create({
      description: 'Publishes a release of a tag.',
      path: `${IN_REPOSITORY}/releases`,
      body: {
        tag_name: '{{ input.tag }}',
        target_commitish: '{{ input.target }}',
        name: '{{ coalesce(input.name, input.tag) }}',
        body: '{{ input.body }}',
        draft: '{{ input.draft }}',
        prerelease: '{{ input.prerelease }}',
        generate_release_notes: '{{ input.generateNotes }}',
      },
      input: input(
        { ...REPOSITORY, tag: text() },
        {
          target: text('Branch or commit of a new tag.'),
          name: text(),
          body: anyText(),
          draft: flag(),
          prerelease: flag(),
          generateNotes: flag(),
        },
        { ...EXAMPLE, tag: 'v1.2.0', generateNotes: true },
      ),
      output: CREATED,
      lookup: {
        method: 'GET',
        path: `${IN_REPOSITORY}/releases`,
        query: { per_page: '100' },
        ...foundIn('result.body', 'one.tag_name == input.tag', MORE_BY_LINK),
      },
      ref: 'result.body.id',
      scopes: ['repo'],
    }),
    createOrUpdateFile: {
      description: 'Writes one file in a commit of its own. `sha` is that of the file that it replaces.',
      method: 'PUT',
      // One step of the path at a time would need a template each: GitHub accepts encoded slashes, too.
      path: `${IN_REPOSITORY}/contents/{{ input.path }}`,
      body: {
        message: '{{ input.message }}',
        content: '{{ input.content }}',
        branch: '{{ input.branch }}',
        sha: '{{ input.sha }}',
      },
      input: input(
        { ...REPOSITORY, path: text(), message: text('Of the commit.'), content: anyText('In base64.') },
        { branch: text(), sha: text() },
        { ...EXAMPLE, path: 'docs/a.md', message: 'Say how', content: 'SGVsbG8=' },
      ),
      output: output({ commit: output({ sha: text() }) }, { content: orNull(output({ sha: text() })) }),
      idempotency: 'lookup',
      lookup: {
        method: 'GET',
        path: `${IN_REPOSITORY}/contents/{{ input.path }}`,
        query: { ref: '{{ input.branch }}' },
        found: foundBy('result.body.content', "replace(result.body.content, '\\n', '') == input.content"),
        id: 'result.body.sha',
      },
      ref: 'result.body.commit.sha',
      buckets: ['core', 'content'],
      scopes: ['repo'],
    },
    createCommitStatus: {
      description: 'Says of a commit how a check went; the latest of a context counts.',
      method: 'POST',
      path: `${IN_REPOSITORY}/statuses/{{ input.sha }}`,
      body: {
        state: '{{ input.state }}',
        context: "{{ coalesce(input.context, 'default') }}",
        description: '{{ input.description }}',
        target_url: '{{ input.targetUrl }}',
      },
      input: input(
        { ...REPOSITORY, sha: text(), state: oneOf('error', 'failure', 'pending', 'success') },
        { context: text(), description: anyText(), targetUrl: text() },
        { ...EXAMPLE, sha: '6dcb09b5b57875f334f61aebed695e2e4193db5e', state: 'success', context: 'ci' },
      ),
      output: output({ id: whole(), state: text() }),
      idempotency: 'idempotent',
      buckets: ['core', 'content'],
      scopes: ['repo:status'],
    },
    createRepositoryDispatch: {
      description:
        'Starts workflows that listen to `repository_dispatch`. GitHub cannot be asked whether it did.',
      method: 'POST',
      path: `${IN_REPOSITORY}/dispatches`,
      body: { event_type: '{{ input.eventType }}', client_payload: '{{ input.payload }}' },
      input: input(
        { ...REPOSITORY, eventType: text() },
        { payload: fields('At most ten fields.') },
        { ...EXAMPLE, eventType: 'deploy' },
      ),
      idempotency: 'none',
      buckets: ['core', 'content'],
      scopes: ['repo'],
    },
    dispatchWorkflow: {
      description: 'Starts a workflow by hand. GitHub cannot be asked whether it did.',
      method: 'POST',
      path: `${IN_REPOSITORY}/actions/workflows/{{ input.workflow }}/dispatches`,
      body: { ref: '{{ input.ref }}', inputs: '{{ input.inputs }}' },
      input: input(
        { ...REPOSITORY, workflow: id('File name or id.'), ref: text('Branch or tag.') },
        { inputs: fields() },
        { ...EXAMPLE, workflow: 'deploy.yml', ref: 'main', inputs: { target: 'qa' } },
      ),
      idempotency: 'none',
      buckets: ['core', 'content'],
      scopes: ['repo', 'workflow'],
    },
  },
  inbound: { scheme: 'github', subjects: 'github' },
}

export const github = makeProvider(manifest)
