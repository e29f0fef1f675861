import { connectorConformance, markOf } from '../connector.conformance.ts'
import { github } from './manifest.ts'

const REPOSITORY = '/repos/octo/hello'
const MARK = `\n\n<!-- ${markOf()} -->`
const NEWEST = 'per_page=100&sort=created&direction=desc'
const HEADERS = {
  accept: 'application/vnd.github+json',
  'x-github-api-version': '2022-11-28',
  authorization: 'Bearer planted-secret-0001',
}
const NOBODY = { status: 200, body: [] }
const PAGES = [
  { status: 200, body: Array.from({ length: 100 }, (_, id) => ({ id })) },
  { status: 200, headers: { link: '<https://api.example.com/x?page=2>; rel="next"' }, body: [{ id: 1 }] },
]

connectorConformance(github, {
  config: (url) => ({ baseUrl: url }),
  effect: 'createIssue',
  limits: 'github',
  refusal: { status: 401, body: { message: 'Bad credentials', status: '401' } },
  probe: { target: 'GET /rate_limit', answer: { status: 200, body: { resources: {} } } },
  operations: {
    getUser: {
      target: 'GET /user',
      headers: HEADERS,
      answer: { status: 200, body: { id: 1, login: 'octo' } },
      result: { id: 1, login: 'octo' },
      ref: 'octo',
    },
    getRepository: {
      target: `GET ${REPOSITORY}`,
      answer: {
        status: 200,
        body: { id: 7, full_name: 'octo/hello', private: false, default_branch: 'main' },
      },
      ref: '7',
    },
    createWebhook: {
      target: `POST ${REPOSITORY}/hooks`,
      headers: { ...HEADERS, 'content-type': 'application/json' },
      json: {
        name: 'web',
        active: true,
        events: ['push', 'issues'],
        config: {
          url: 'https://hooks.example.com/in/default/github',
          content_type: 'json',
          insecure_ssl: '0',
        },
      },
      answer: { status: 201, body: { id: 12345678, active: true } },
      ref: '12345678',
      lookup: {
        target: `GET ${REPOSITORY}/hooks?per_page=100`,
        there: {
          status: 200,
          body: [
            { id: 1, config: { url: 'https://else.example.com' } },
            { id: 12345678, config: { url: 'https://hooks.example.com/in/default/github' } },
          ],
        },
        absent: { status: 200, body: [{ id: 1, config: { url: 'https://else.example.com' } }] },
        pages: PAGES,
      },
    },
    deleteWebhook: { target: `DELETE ${REPOSITORY}/hooks/7`, answer: { status: 204 } },
    createIssue: {
      target: `POST ${REPOSITORY}/issues`,
      json: { title: 'It leaks', body: `Since Monday.${MARK}`, labels: ['bug'] },
      answer: { status: 201, body: { id: 1, number: 1347 } },
      ref: '1347',
      lookup: {
        target: `GET ${REPOSITORY}/issues?${NEWEST}&state=all`,
        there: {
          status: 200,
          body: [
            { number: 1348, body: null },
            { number: 1347, body: `Since${MARK}` },
          ],
        },
        absent: NOBODY,
        pages: PAGES,
      },
    },
    updateIssue: {
      target: `PATCH ${REPOSITORY}/issues/12`,
      json: { state: 'closed', state_reason: 'completed' },
      answer: { status: 200, body: { id: 1, number: 12 } },
      ref: '12',
    },
    createIssueComment: {
      target: `POST ${REPOSITORY}/issues/12/comments`,
      json: { body: `Looking into it.${MARK}` },
      answer: { status: 201, body: { id: 99 } },
      ref: '99',
      lookup: {
        target: `GET ${REPOSITORY}/issues/comments?${NEWEST}`,
        there: { status: 200, body: [{ id: 99, body: `x${MARK}` }] },
        absent: NOBODY,
        pages: PAGES,
      },
    },
    addLabels: {
      target: `POST ${REPOSITORY}/issues/12/labels`,
      json: { labels: ['bug'] },
      answer: { status: 200, body: [{ id: 5, name: 'bug' }] },
      ref: '5',
    },
    createPullRequest: {
      target: `POST ${REPOSITORY}/pulls`,
      json: { title: 'Stop the leak', head: 'fix-leak', base: 'main' },
      answer: { status: 201, body: { id: 1, number: 77 } },
      ref: '77',
      lookup: {
        target: `GET ${REPOSITORY}/pulls?${NEWEST}&state=open&base=main`,
        there: { status: 200, body: [{ number: 77, state: 'open', head: { ref: 'fix-leak' } }] },
        absent: { status: 200, body: [{ number: 70, state: 'closed', head: { ref: 'fix-leak' } }] },
        pages: PAGES,
      },
    },
    mergePullRequest: {
      target: `PUT ${REPOSITORY}/pulls/12/merge`,
      json: { merge_method: 'squash' },
      answer: { status: 200, body: { sha: 'abc', merged: true } },
      ref: 'abc',
      lookup: {
        target: `GET ${REPOSITORY}/pulls/12`,
        there: { status: 200, body: { merged: true, merge_commit_sha: 'abc' } },
        absent: { status: 200, body: { merged: false, merge_commit_sha: 'def' } },
      },
    },
    createRelease: {
      target: `POST ${REPOSITORY}/releases`,
      json: { tag_name: 'v1.2.0', name: 'v1.2.0', generate_release_notes: true },
      answer: { status: 201, body: { id: 3 } },
      ref: '3',
      lookup: {
        target: `GET ${REPOSITORY}/releases?per_page=100`,
        there: { status: 200, body: [{ id: 3, tag_name: 'v1.2.0' }] },
        absent: { status: 200, body: [{ id: 2, tag_name: 'v1.1.0' }] },
        pages: PAGES,
      },
    },
    createOrUpdateFile: {
      target: `PUT ${REPOSITORY}/contents/docs%2Fa.md`,
      json: { message: 'Say how', content: 'SGVsbG8=' },
      answer: { status: 201, body: { content: { sha: 'f1' }, commit: { sha: 'c1' } } },
      ref: 'c1',
      lookup: {
        target: `GET ${REPOSITORY}/contents/docs%2Fa.md`,
        there: { status: 200, body: { sha: 'f1', content: 'SGVs\nbG8=\n' } },
        ref: 'f1',
        absent: { status: 404, body: { message: 'Not Found' } },
      },
    },
    createCommitStatus: {
      target: `POST ${REPOSITORY}/statuses/6dcb09b5b57875f334f61aebed695e2e4193db5e`,
      json: { state: 'success', context: 'ci' },
      answer: { status: 201, body: { id: 4, state: 'success' } },
      ref: '4',
    },
    createRepositoryDispatch: {
      target: `POST ${REPOSITORY}/dispatches`,
      json: { event_type: 'deploy' },
      answer: { status: 204 },
    },
    dispatchWorkflow: {
      target: `POST ${REPOSITORY}/actions/workflows/deploy.yml/dispatches`,
      json: { ref: 'main', inputs: { target: 'qa' } },
      answer: { status: 204 },
    },
  },
  answers: [
    {
      status: 403,
      headers: { 'x-ratelimit-remaining': '0' },
      body: { message: 'API rate' },
      as: 'rate_limited',
    },
    { status: 403, headers: { 'retry-after': '60' }, body: {}, as: 'rate_limited' },
    { status: 403, body: { message: 'You have exceeded a secondary rate limit.' }, as: 'rate_limited' },
    { status: 403, body: { message: 'Resource not accessible by personal access token' }, as: 'config' },
    { status: 403, body: { message: 'Forbidden' }, as: 'auth' },
    { status: 404, body: { message: 'Not Found' }, as: 'config' },
    { status: 502, body: {}, as: 'unknown' },
    { operation: 'updateIssue', status: 502, body: {}, as: 'transient' },
    { operation: 'deleteWebhook', status: 404, body: {}, as: 'done' },
    { operation: 'mergePullRequest', status: 405, body: { message: 'not mergeable' }, as: 'validation' },
  ],
  inbound: {
    secret: 's3cret',
    headers: { 'x-github-event': 'issues', 'x-github-delivery': 'd1' },
    payload: { action: 'opened', repository: { id: 7 } },
    subject: 'github.events.issues.opened',
  },
})
