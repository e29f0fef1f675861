import { connectorConformance, markOf } from '../connector.conformance.ts'
import { terraformCloud } from './manifest.ts'

const MARK = markOf().slice(0, 16)
const JSON_API = { 'content-type': 'application/vnd.api+json' }
const of = (id: string, attributes: object = {}) => ({ data: { id, attributes } })
const lists = (...items: readonly object[]) => ({ status: 200, body: { data: items } })
const NOBODY = lists()
const FOLLOWED = { status: 200, body: { data: [{ id: 'x-1' }], meta: { pagination: { 'next-page': 2 } } } }
const PAGES = [FOLLOWED, lists(...Array.from({ length: 100 }, (_, at) => ({ id: `x-${at}` })))]

const act = (action: string, status: string) => ({
  target: `POST /api/v2/runs/run-abc123/actions/${action}`,
  json: { comment: '' },
  answer: { status: 202 },
  lookup: {
    target: 'GET /api/v2/runs/run-abc123',
    there: { status: 200, body: of('run-abc123', { status }) },
    ref: 'run-abc123',
    absent: { status: 200, body: of('run-abc123', { status: 'planned' }) },
  },
})

connectorConformance(terraformCloud, {
  config: (url) => ({ baseUrl: url, organization: 'acme', teamId: 'team-abc123' }),
  effect: 'createRun',
  refusal: { status: 401, body: { errors: [{ status: '401', title: 'unauthorized' }] } },
  probe: { target: 'GET /api/v2/account/details', answer: { status: 200, body: of('user-1') } },
  operations: {
    getOrganization: {
      target: 'GET /api/v2/organizations/acme',
      answer: { status: 200, body: of('acme') },
      result: { id: 'acme', attributes: {} },
    },
    getWorkspace: {
      target: 'GET /api/v2/organizations/acme/workspaces/network',
      answer: { status: 200, body: of('ws-1') },
      result: { id: 'ws-1', attributes: {} },
    },
    createWorkspace: {
      target: 'POST /api/v2/organizations/acme/workspaces',
      headers: { ...JSON_API, authorization: 'Bearer planted-secret-0001' },
      json: {
        data: {
          type: 'workspaces',
          attributes: { name: 'network', 'auto-apply': false },
          relationships: { project: { data: { type: 'projects', id: 'prj-abc123' } } },
        },
      },
      answer: { status: 201, body: of('ws-1', { name: 'network' }) },
      result: { id: 'ws-1', attributes: { name: 'network' } },
      ref: 'ws-1',
      lookup: {
        target: 'GET /api/v2/organizations/acme/workspaces/network',
        there: { status: 200, body: of('ws-1', { name: 'network' }) },
        absent: { status: 404, body: { errors: [{ status: '404' }] } },
      },
    },
    createRun: {
      target: 'POST /api/v2/runs',
      json: {
        data: {
          type: 'runs',
          attributes: { message: `A new region [${MARK}]` },
          relationships: { workspace: { data: { type: 'workspaces', id: 'ws-abc123' } } },
        },
      },
      answer: { status: 201, body: of('run-1', { status: 'pending' }) },
      ref: 'run-1',
      lookup: {
        target: 'GET /api/v2/workspaces/ws-abc123/runs?page%5Bsize%5D=100',
        there: lists(
          { id: 'run-2', attributes: { message: 'else' } },
          { id: 'run-1', attributes: { message: `A new region [${MARK}]` } },
        ),
        absent: lists({ id: 'run-2', attributes: { message: null } }),
        pages: PAGES,
      },
    },
    getRun: {
      target: 'GET /api/v2/runs/run-abc123',
      answer: { status: 200, body: of('run-abc123', { status: 'planned' }) },
      result: { id: 'run-abc123', attributes: { status: 'planned' } },
    },
    applyRun: act('apply', 'apply_queued'),
    discardRun: act('discard', 'discarded'),
    cancelRun: act('cancel', 'canceled'),
    createVariable: {
      target: 'POST /api/v2/workspaces/ws-abc123/vars',
      json: {
        data: {
          type: 'vars',
          attributes: {
            key: 'region',
            value: 'eu-central-1',
            category: 'terraform',
            hcl: false,
            sensitive: false,
          },
        },
      },
      answer: { status: 201, body: of('var-1') },
      ref: 'var-1',
      lookup: {
        target: 'GET /api/v2/workspaces/ws-abc123/vars',
        there: lists(
          { id: 'var-0', attributes: { key: 'region', category: 'env' } },
          { id: 'var-1', attributes: { key: 'region', category: 'terraform' } },
        ),
        absent: lists({ id: 'var-0', attributes: { key: 'region', category: 'env' } }),
        pages: [FOLLOWED],
      },
    },
    updateVariable: {
      target: 'PATCH /api/v2/workspaces/ws-abc123/vars/var-abc123',
      json: { data: { type: 'vars', id: 'var-abc123', attributes: { value: 'eu-west-1' } } },
      answer: { status: 200, body: of('var-abc123') },
      ref: 'var-abc123',
    },
    createNotification: {
      target: 'POST /api/v2/workspaces/ws-abc123/notification-configurations',
      json: {
        data: {
          type: 'notification-configurations',
          attributes: {
            name: 'millrace',
            url: 'https://hooks.example.com/in/default/terraform',
            enabled: true,
            'destination-type': 'generic',
            triggers: ['run:completed', 'run:errored'],
          },
        },
      },
      answer: { status: 201, body: of('nc-1') },
      ref: 'nc-1',
      lookup: {
        target: 'GET /api/v2/workspaces/ws-abc123/notification-configurations?page%5Bsize%5D=100',
        there: lists({
          id: 'nc-1',
          attributes: { name: 'millrace', url: 'https://hooks.example.com/in/default/terraform' },
        }),
        absent: NOBODY,
        pages: PAGES,
      },
    },
    deleteNotification: {
      target: 'DELETE /api/v2/notification-configurations/nc-abc123',
      answer: { status: 204 },
    },
    lockWorkspace: {
      target: 'POST /api/v2/workspaces/ws-abc123/actions/lock',
      json: { reason: 'A migration' },
      answer: { status: 200, body: of('ws-abc123') },
      ref: 'ws-abc123',
    },
    unlockWorkspace: {
      target: 'POST /api/v2/workspaces/ws-abc123/actions/unlock',
      answer: { status: 200, body: of('ws-abc123') },
    },
    createTeamToken: {
      target: 'POST /api/v2/teams/team-abc123/authentication-tokens',
      json: { data: { type: 'authentication-tokens', attributes: { description: `millrace ${MARK}` } } },
      answer: { status: 201, body: of('at-1', { token: 'new.atlasv1.token' }) },
      result: { id: 'at-1', attributes: { token: 'new.atlasv1.token' } },
      ref: 'at-1',
    },
    deleteToken: { target: 'DELETE /api/v2/authentication-tokens/at-abc123', answer: { status: 204 } },
  },
  answers: [
    { status: 404, body: { errors: [{ status: '404' }] }, as: 'config' },
    { status: 409, body: { errors: [{ status: '409' }] }, as: 'validation' },
    { status: 500, body: {}, as: 'unknown' },
    {
      operation: 'unlockWorkspace',
      status: 409,
      body: { errors: [{ detail: 'Unable to unlock workspace. The workspace is already unlocked.' }] },
      as: 'done',
    },
    { operation: 'unlockWorkspace', status: 409, body: { errors: [] }, as: 'validation' },
    { operation: 'deleteToken', status: 404, body: {}, as: 'done' },
  ],
  inbound: {
    secret: 's3cret',
    headers: {},
    payload: {
      payload_version: 1,
      run_id: 'run-1',
      workspace_id: 'ws-1',
      notifications: [{ trigger: 'run:completed', run_status: 'applied' }],
    },
    subject: 'terraform-cloud.events.run.completed',
  },
})
