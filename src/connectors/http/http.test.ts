import { connectorConformance } from '../connector.conformance.ts'
import { http } from './manifest.ts'

const TARGET = '/v2/v1/things/7?expand=all'

connectorConformance(http, {
  config: (url) => ({ baseUrl: `${url}/v2`, probe: '/me' }),
  effect: 'post',
  probe: { target: 'GET /v2/me', answer: { status: 204 } },
  operations: {
    get: {
      input: { path: '/v1/things/7', query: { expand: 'all' }, headers: { 'X-Team': 'crm' } },
      target: `GET ${TARGET}`,
      headers: { 'x-team': 'crm', authorization: 'Bearer planted-secret-0001' },
      answer: { status: 200, body: { id: 7, name: 'one' } },
      result: { id: 7, name: 'one' },
      ref: '7',
    },
    post: {
      target: `POST ${TARGET}`,
      headers: { 'content-type': 'application/json' },
      json: { name: 'one' },
      answer: { status: 201, headers: { location: '/v1/things/8' }, body: { id: 8 } },
      ref: '/v1/things/8',
    },
    put: {
      target: `PUT ${TARGET}`,
      json: { name: 'one' },
      answer: { status: 200, body: { id: 7 } },
      ref: '7',
    },
    patch: {
      input: { path: '/v1/things/7', headers: { 'content-type': 'text/x-patch' }, body: '- one' },
      target: 'PATCH /v2/v1/things/7',
      headers: { 'content-type': 'text/x-patch' },
      body: '- one',
      answer: { status: 204 },
    },
    delete: { target: `DELETE ${TARGET}`, answer: { status: 204 } },
  },
  answers: [
    { status: 404, body: {}, as: 'config' },
    { status: 500, body: {}, as: 'unknown' },
    { operation: 'put', status: 500, body: {}, as: 'transient' },
    { operation: 'delete', status: 404, body: {}, as: 'done' },
    { operation: 'get', status: 404, body: {}, as: 'config' },
  ],
})
