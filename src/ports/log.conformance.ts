// What every log must do (docs/spec/ports.md).

import { describe, expect, test } from 'vitest'
import type { ControlLine, Log } from './log.ts'

export interface LogHarness {
  readonly log: Log
  /** What was logged at control points so far, as read from the destination. */
  controls(): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** Ordinary messages so far: level, name and fields. */
  messages(): Promise<readonly Readonly<Record<string, unknown>>[]>
}

export const exampleLine: ControlLine = {
  point: 'effect',
  scenarioName: 'invoices',
  routeName: 'invoice_paid',
  runId: 'wrk_1',
  correlationId: 'cor-1',
  traceId: 'trace-1',
  tenantId: 'default',
  sourceSystem: 'stripe',
  targetSystem: 'accounting.example.com',
  objectType: 'invoice',
  objectId: 'in_1',
  eventId: 'evt_1',
  idempotencyKey: 'INVOICE:in_1',
  attempt: 2,
  classification: 'N/A',
  action: 'DONE',
  durationMs: 12.5,
  httpStatus: 201,
  errorCode: null,
  message: 'created',
  payloadHash: 'abc',
  piiRedacted: true,
  stepName: 'book',
  subscriptionName: 'crm',
  filterHash: 'sha256:ab',
  externalRef: '4711',
}

export function logConformance(name: string, makeHarness: () => Promise<LogHarness>): void {
  describe(`log: ${name}`, () => {
    test('[P19] every control point is one line with the values it was given', async () => {
      const { log, controls } = await makeHarness()
      const points = ['ingest', 'dedupe', 'effect', 'dead-letter', 'replay'] as const
      for (const point of points) log.control({ ...exampleLine, point })
      const lines = await controls()
      expect(lines).toHaveLength(points.length)
      for (const [index, point] of points.entries())
        expect(lines[index]).toMatchObject({ ...exampleLine, point })
    })

    test('[P20] unknown values are null, and texts survive whatever they contain', async () => {
      const { log, controls } = await makeHarness()
      const message = 'say "hi" \\ to\nthe\u0000 \u007f\u2028 wörld 💧'
      log.control({
        ...exampleLine,
        routeName: null,
        attempt: null,
        httpStatus: null,
        message,
        objectId: '"',
      })
      expect((await controls())[0]).toMatchObject({
        routeName: null,
        attempt: null,
        httpStatus: null,
        message,
        objectId: '"',
      })
    })

    test('[P21] messages carry their name, level and fields, in order', async () => {
      const { log, messages } = await makeHarness()
      log.info('node.started', { port: 4400 })
      log.warn('route.slow')
      log.error('store.failed', { route: 'a' })
      expect(await messages()).toMatchObject([
        { level: 'info', name: 'node.started', port: 4400 },
        { level: 'warn', name: 'route.slow' },
        { level: 'error', name: 'store.failed', route: 'a' },
      ])
    })

    test('[P22] logging never throws, whatever the fields are', async () => {
      const { log, messages } = await makeHarness()
      const circular: Record<string, unknown> = { big: 1n, run: () => 1, mark: Symbol('x') }
      circular.self = circular
      const hostile = Object.defineProperty({}, 'trap', {
        enumerable: true,
        get: () => {
          throw new Error('trap')
        },
      })
      log.info('circular', circular)
      log.info('hostile', { hostile })
      log.error('failed', { error: new Error('outer', { cause: circular }), nothing: undefined })
      expect(await messages()).toHaveLength(3)
    })
  })
}
