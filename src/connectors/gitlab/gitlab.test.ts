import { connectorConformance, markOf } from '../connector.conformance.ts'
import { gitlab } from './manifest.ts'

const PROJECT = '/api/v4/projects/group%2Fapp'
const MARK = `\n\n<!-- ${markOf()} -->`
const NEWEST = 'order_by=created_at&sort=desc&per_page=100'
const NOBODY = { status: 200, body: [] }
const PAGES = [
  { status: 200, body: Array.from({ length: 100 }, (_, id) => ({ id })) },
  { status: 200, headers: { link: '<https://api.example.com/x?page=2>; rel="next"' }, body: [{ id: 1 }] },
]

const noteOn = (kind: string) => ({
  target: `POST ${PROJECT}/${kind}/12/notes`,
  json: { body: `Looking into it.${MARK}` },
  answer: { status: 201, body: { id: 301 } },
  ref: '301',
  lookup: {
    target: `GET ${PROJECT}/${kind}/12/notes?${NEWEST}`,
    there: {
      status: 200,
      body: [
        { id: 302, body: 'else' },
        { id: 301, body: `x${MARK}` },
      ],
    },
    absent: NOBODY,
    pages: PAGES,
  },
})

connectorConformance(gitlab, {
  config: (url) => ({ baseUrl: url }),
  effect: 'createIssue',
  limits: 'gitlab',
  refusal: { status: 401, body: { message: '401 Unauthorized' } },
  probe: { target: 'GET /api/v4/user', answer: { status: 200, body: { id: 1, username: 'ada' } } },
  operations: {
    getUser: {
      target: 'GET /api/v4/user',
      headers: { authorization: 'Bearer planted-secret-0001' },
      answer: { status: 200, body: { id: 1, username: 'ada' } },
      ref: '1',
    },
    getProject: {
      target: `GET ${PROJECT}`,
      answer: { status: 200, body: { id: 5, path_with_namespace: 'group/app' } },
      ref: '5',
    },
    createIssue: {
      target: `POST ${PROJECT}/issues`,
      json: { title: 'It leaks', labels: 'bug,p1', description: MARK },
      answer: { status: 201, body: { id: 84, iid: 14 } },
      ref: '14',
      lookup: {
        target: `GET ${PROJECT}/issues?${NEWEST}&scope=all`,
        there: {
          status: 200,
          body: [
            { iid: 15, description: null },
            { iid: 14, description: `x${MARK}` },
          ],
        },
        absent: NOBODY,
        pages: PAGES,
      },
    },
    updateIssue: {
      target: `PUT ${PROJECT}/issues/12`,
      json: { state_event: 'close' },
      answer: { status: 200, body: { id: 84, iid: 12 } },
      ref: '12',
    },
    createIssueNote: noteOn('issues'),
    createMergeRequestNote: noteOn('merge_requests'),
    createMergeRequest: {
      target: `POST ${PROJECT}/merge_requests`,
      json: { title: 'Stop the leak', source_branch: 'fix-leak', target_branch: 'main' },
      answer: { status: 201, body: { id: 1, iid: 9 } },
      ref: '9',
      lookup: {
        target: `GET ${PROJECT}/merge_requests?${NEWEST}&state=opened&source_branch=fix-leak&target_branch=main`,
        there: { status: 200, body: [{ iid: 9, source_branch: 'fix-leak' }] },
        absent: NOBODY,
        pages: PAGES,
      },
    },
    acceptMergeRequest: {
      target: `PUT ${PROJECT}/merge_requests/12/merge`,
      json: { squash: true },
      answer: { status: 200, body: { id: 1, iid: 12, state: 'merged' } },
      ref: '12',
      lookup: {
        target: `GET ${PROJECT}/merge_requests/12`,
        there: { status: 200, body: { state: 'merged', merge_commit_sha: 'abc' } },
        ref: 'abc',
        absent: { status: 200, body: { state: 'opened' } },
      },
    },
    createHook: {
      target: `POST ${PROJECT}/hooks`,
      json: {
        url: 'https://hooks.example.com/in/default/gitlab',
        push_events: true,
        issues_events: true,
        enable_ssl_verification: true,
      },
      answer: { status: 201, body: { id: 7, url: 'https://hooks.example.com/in/default/gitlab' } },
      ref: '7',
      lookup: {
        target: `GET ${PROJECT}/hooks?per_page=100`,
        there: { status: 200, body: [{ id: 7, url: 'https://hooks.example.com/in/default/gitlab' }] },
        absent: { status: 200, body: [{ id: 6, url: 'https://else.example.com' }] },
        pages: PAGES,
      },
    },
    deleteHook: { target: `DELETE ${PROJECT}/hooks/7`, answer: { status: 204 } },
    createPipeline: {
      target: `POST ${PROJECT}/pipeline`,
      json: { ref: 'main', variables: [{ key: 'TARGET', value: 'qa' }] },
      answer: { status: 201, body: { id: 61, status: 'pending' } },
      ref: '61',
    },
    createFile: {
      target: `POST ${PROJECT}/repository/files/docs%2Fa.md`,
      json: { branch: 'main', content: 'SGVsbG8=', encoding: 'base64', commit_message: 'Say how' },
      answer: { status: 201, body: { file_path: 'docs/a.md', branch: 'main' } },
      ref: 'docs/a.md',
      lookup: {
        target: `GET ${PROJECT}/repository/files/docs%2Fa.md?ref=main`,
        there: { status: 200, body: { content: 'SGVsbG8=', last_commit_id: 'c1' } },
        ref: 'c1',
        absent: { status: 404, body: { message: '404 File Not Found' } },
      },
    },
  },
  answers: [
    { status: 403, body: { error: 'insufficient_scope', scope: 'api' }, as: 'config' },
    { status: 403, body: { message: '403 Forbidden' }, as: 'auth' },
    { status: 404, body: { message: '404 Project Not Found' }, as: 'config' },
    { status: 409, body: { message: 'Another open merge request already exists' }, as: 'validation' },
    { status: 500, body: {}, as: 'unknown' },
    { operation: 'deleteHook', status: 404, body: {}, as: 'done' },
    { operation: 'acceptMergeRequest', status: 405, body: {}, as: 'validation' },
  ],
  inbound: {
    secret: 's3cret',
    headers: { 'x-gitlab-event': 'Issue Hook', 'x-gitlab-event-uuid': 'u1' },
    payload: { object_kind: 'issue', object_attributes: { id: 301, action: 'open' } },
    subject: 'gitlab.events.issue.created',
  },
})
