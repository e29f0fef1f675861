// The CPU cost of a run of an operation on a connection, beside a bare undici call to the same vendor, and beside the
// same request as an http action without a connection. It sends a fixed number of events and waits for all: no cost is
// left for later.

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { AT_ONCE } from './deliveries.ts'
import { connectionFlows, effectFlows, keptFlows } from './flows.ts'
import { ADMIN_KEY, SECRET, SMALL } from './sample.ts'
import { type Server, startServer } from './scenario.ts'

export const DOOR = 'door'
/** What a run may cost over a bare call. */
const ASKED_US = 300
const STEP_MS = 10
const DONE_MS_MAX = 120_000

/** CPU time of all threads of one process, in microseconds. */
export interface DoorMeasurement {
  /** Per call of a loop of undici. */
  readonly bareUs: number
  /** Per event that no route matches. */
  readonly acceptUs: number
  /** Per event that becomes an http action without a connection. */
  readonly httpUs: number
  /** Per event that becomes an operation on a connection. */
  readonly operationUs: number
  /** A run's cost over a bare call: without the accept of its event. The median of the rounds. */
  readonly overUs: number
  /** What the connection adds to the same request without one, in that round. */
  readonly connectionUs: number
  readonly askedUs: number
}

export async function measureDoor(rounds: number, isQuick: boolean): Promise<DoorMeasurement> {
  const events = isQuick ? 3_000 : 20_000
  const root = fileURLToPath(new URL('../.cache/bench', import.meta.url))
  await mkdir(root, { recursive: true })
  const scratch = await mkdtemp(join(root, 'door-'))
  const vendor = await startServer('serve-vendor.mjs', [])
  try {
    const measured: DoorMeasurement[] = []
    for (let round = 0; round < rounds; round += 1) {
      const place = (name: string) => join(scratch, `${name}-${round}`)
      const node = async (name: string, flows: string, isCalled: boolean) => {
        await mkdir(place(name), { recursive: true })
        const args = [place(name), flows, SECRET, ADMIN_KEY]
        return costOf(await startServer('serve-node.mjs', args), events, isCalled)
      }
      const bareUs = await costOfBare(vendor.url, isQuick ? 2_000 : 5_000)
      const acceptUs = await node('accept', keptFlows('ingest'), false)
      const httpUs = await node('http', await effectFlows(place('http-flows'), vendor.url), true)
      const flows = await connectionFlows(place('operation-flows'), vendor.url)
      const operationUs = await node('operation', flows, true)
      measured.push({
        bareUs,
        acceptUs,
        httpUs,
        operationUs,
        overUs: operationUs - acceptUs - bareUs,
        connectionUs: operationUs - httpUs,
        askedUs: ASKED_US,
      })
    }
    measured.sort((a, b) => a.overUs - b.overUs)
    return measured[Math.floor(measured.length / 2)] as DoorMeasurement
  } finally {
    await vendor.stop()
    await rm(scratch, { recursive: true, force: true })
  }
}

export function renderDoor(measured: DoorMeasurement): string {
  const { bareUs, acceptUs, httpUs, operationUs, overUs, connectionUs, askedUs } = measured
  const us = (value: number) => `${Math.round(value)} µs`
  const asked = overUs < askedUs ? 'as asked' : 'MISSED'
  return [
    `door: CPU per bare call ${us(bareUs)}; per event accepted ${us(acceptUs)}, with an http action ${us(httpUs)}, with an operation on a connection ${us(operationUs)}`,
    `door: a run costs ${us(overUs)} over a bare call (asked: under ${us(askedUs)}, ${asked}); the connection adds ${us(connectionUs)} to the same http action`,
    '',
  ].join('\n')
}

async function costOfBare(url: string, forMs: number): Promise<number> {
  const server = await startServer('serve-bare-calls.mjs', [url, String(AT_ONCE)])
  try {
    await pause(forMs)
    const [done, cpuMs] = [await server.ask<number>('done'), await server.ask<number>('cpuMs')]
    await pause(forMs)
    const calls = (await server.ask<number>('done')) - done
    return (((await server.ask<number>('cpuMs')) - cpuMs) * 1_000) / calls
  } finally {
    await server.stop()
  }
}

async function costOf(server: Server, events: number, isCalled: boolean): Promise<number> {
  try {
    // A first half to warm it up.
    await sendAll(server, events / 2, isCalled)
    const before = await server.ask<number>('cpuMs')
    await sendAll(server, events, isCalled)
    return (((await server.ask<number>('cpuMs')) - before) * 1_000) / events
  } finally {
    await server.stop()
  }
}

/** At its end all are acknowledged and, if they become calls, done. */
async function sendAll(server: Server, events: number, isCalled: boolean): Promise<void> {
  const before = await server.ask<number>('done')
  const pool = new Pool(server.url, { connections: AT_ONCE })
  let left = events
  const send = async () => {
    while (left > 0) {
      left -= 1
      const { statusCode, body } = await pool.request({
        method: 'POST',
        path: '/in/default/github',
        headers: {
          'content-type': 'application/json',
          'x-github-event': SMALL.event,
          'x-github-delivery': crypto.randomUUID(),
        },
        body: SMALL.body,
      })
      await body.dump()
      if (statusCode !== 202) throw new Error(`an event was answered ${statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, send))
  await pool.close()
  const endsAt = performance.now() + DONE_MS_MAX
  while (isCalled && (await server.ask<number>('done')) < before + events) {
    if (performance.now() > endsAt) throw new Error(`${events} events were not done in ${DONE_MS_MAX} ms`)
    await pause(STEP_MS)
  }
}
