// What Acme receives for each operation and how it responds, from its documentation: the suite sends every one of them
// to a server that behaves so.

import { connectorConformance, markOf } from '../connector.conformance.ts'
import { acme } from './manifest.ts'

const THINGS = '/workspaces/main/things'

connectorConformance(acme, {
  config: (url) => ({ baseUrl: url, workspace: 'main' }),
  effect: 'createThing',
  probe: { target: 'GET /me', answer: { status: 200, body: { id: 1 } } },
  operations: {
    getThing: {
      target: `GET ${THINGS}/7`,
      headers: { accept: 'application/json', authorization: 'Bearer planted-secret-0001' },
      answer: { status: 200, body: { id: 7, name: 'one' } },
      result: { id: 7, name: 'one' },
      ref: '7',
    },
    createThing: {
      target: `POST ${THINGS}`,
      json: { name: 'one', tags: ['new'], reference: markOf() },
      answer: { status: 201, body: { id: 7, name: 'one' } },
      ref: '7',
      lookup: {
        target: `GET ${THINGS}?reference=${markOf()}`,
        there: { status: 200, body: { items: [{ id: 7, reference: markOf() }] } },
        absent: { status: 200, body: { items: [] } },
        pages: [{ status: 200, body: { items: [], next: 'c2' } }],
      },
    },
    updateThing: {
      target: `PATCH ${THINGS}/7`,
      json: { name: 'two' },
      answer: { status: 200, body: { id: 7, name: 'two' } },
      ref: '7',
    },
    deleteThing: { target: `DELETE ${THINGS}/7`, answer: { status: 204 } },
  },
  answers: [
    { status: 403, body: { code: 'missing_scope' }, as: 'config' },
    { status: 403, body: {}, as: 'auth' },
    { status: 500, body: {}, as: 'unknown' },
    { operation: 'updateThing', status: 500, body: {}, as: 'transient' },
    { operation: 'deleteThing', status: 404, body: {}, as: 'done' },
  ],
})
