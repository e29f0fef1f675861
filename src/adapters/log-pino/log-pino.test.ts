import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { AUDIT_MESSAGES, isAuditMessage } from '../../core/access/callers/index.ts'
import { exampleLine, logConformance } from '../../ports/log.conformance.ts'
import { makeControlLineEncoder } from './control-line.ts'
import { makeLog, type OperatorLog } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-log-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const open: OperatorLog[] = []
afterEach(async () => {
  for (const log of open.splice(0)) await log[Symbol.asyncDispose]()
})

let files = 0
function makeFileLog(over: Partial<Parameters<typeof makeLog>[0]> = {}): { log: OperatorLog; path: string } {
  files += 1
  const path = join(folder, 'deep', `${files}.log`)
  const log = makeLog({ destination: path, env: 'DEV', level: 'info', now: () => 1_700_000_000_007, ...over })
  open.push(log)
  return { log, path }
}

async function readLines(log: OperatorLog, path: string): Promise<Record<string, unknown>[]> {
  await log.flush()
  return readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

logConformance('pino', async () => {
  const { log, path } = makeFileLog()
  return {
    log,
    controls: async () => (await readLines(log, path)).filter((line) => 'point' in line),
    messages: async () => (await readLines(log, path)).filter((line) => 'name' in line),
  }
})

describe('control lines', () => {
  test('have exactly the agreed fields, in the agreed order', async () => {
    const { log, path } = makeFileLog()
    log.control(exampleLine)
    log.setConfigHash('hash-1')
    log.control(exampleLine)
    const [first, second] = await readLines(log, path)
    expect(Object.keys(first!).join(' ')).toBe(
      'timestamp env scenarioName routeName runId correlationId traceId tenantId sourceSystem targetSystem ' +
        'objectType objectId eventId idempotencyKey attempt classification action durationMs httpStatus errorCode ' +
        'message payloadHash piiRedacted configHash point stage stepName subscriptionName filterHash externalRef',
    )
    expect(first).toMatchObject({ timestamp: '2023-11-14T22:13:20.007Z', env: 'DEV', configHash: null })
    expect(second).toMatchObject({ configHash: 'hash-1' })
  })

  test.each([
    ['ACCEPTED', 'INGESTED'],
    ['DONE', 'STEP_COMPLETED'],
    ['DELIVERED', 'STEP_COMPLETED'],
    ['DEDUPE_HIT', 'DEDUPE_HIT'],
  ])('name the stage of %s', async (action, stage) => {
    const { log, path } = makeFileLog()
    log.control({ ...exampleLine, action })
    expect((await readLines(log, path))[0]).toMatchObject({ action, stage, stepName: 'book' })
  })

  test('have the right timestamp across the boundaries of seconds', async () => {
    const times = [0, 999, 1_000, 1_009, 1_099, 1_700_000_000_999, 1_700_000_001_000]
    let now = 0
    const { log, path } = makeFileLog({ now: () => now })
    for (const time of times) {
      now = time
      log.control(exampleLine)
    }
    const lines = await readLines(log, path)
    expect(lines.map((line) => line.timestamp)).toEqual(times.map((time) => new Date(time).toISOString()))
  })

  test('write what is not a number as null and cut a long message', async () => {
    const { log, path } = makeFileLog()
    log.control({ ...exampleLine, durationMs: Number.NaN, message: 'x'.repeat(10_000) })
    const [line] = await readLines(log, path)
    expect(line).toMatchObject({ durationMs: null, message: 'x'.repeat(2_000) })
  })

  const wide = { ...exampleLine, attempt: 1e300, durationMs: -1.234567890123456e-300, httpStatus: 599 }
  test.each([
    ['plain', 'idle ~'],
    ['quoted', '"a" \\ b'],
    ['controls', '\u0000\u001f\u007f\n'],
    ['wide', 'é€😀\u2028'],
    ['broken', 'x\ud800y\udc00'],
  ])('carry %s text in every field, within the announced length', async (_, text) => {
    const { log, path } = makeFileLog({ env: text })
    const encoder = makeControlLineEncoder(text, () => 1_700_000_000_007)
    for (const times of [1, 50, 2_000]) {
      const long = text.repeat(times)
      const given = Object.fromEntries(
        Object.entries(wide).map(([name, value]) => [name, typeof value === 'string' ? long : value]),
      )
      const line = { ...wide, ...given, message: long.slice(0, 2_000), configHash: long }
      const most = encoder.lengthMax(line)
      expect(encoder.encode(Buffer.alloc(most), 0, line)).toBeLessThanOrEqual(most)
      log.control(line)
      const [first, ...others] = (await readLines(log, path)).slice(-1)
      expect(others).toEqual([])
      expect(first).toEqual(
        JSON.parse(
          JSON.stringify({ ...line, stage: line.action, timestamp: '2023-11-14T22:13:20.007Z', env: text }),
        ),
      )
    }
  })

  test('are counted as lost beyond what may be buffered', async () => {
    const { log, path } = makeFileLog({ waitingLengthMax: 1_000 })
    for (let count = 0; count < 5; count += 1) log.control(exampleLine)
    await log.flush()
    log.control(exampleLine)
    const lines = await readLines(log, path)
    const written = lines.filter((line) => 'point' in line).length
    const lost = lines.find((line) => line.name === 'log.dropped')?.lines
    expect([written + Number(lost), Number(lost) > 0]).toEqual([6, true])
  })
})

describe('ordinary messages', () => {
  test('never show secrets, at any depth', async () => {
    const { log, path } = makeFileLog()
    log.info('request', {
      headers: { Authorization: 'Bearer hidden', 'x-hub-signature-256': 'hidden', accept: 'json' },
      list: [{ password: 'hidden', user: 'u' }],
      secret: 'hidden',
      clientSecret: { value: 'hidden' },
      access_token: 'hidden',
      absent: { token: null },
    })
    await log.flush()
    expect(readFileSync(path, 'utf8')).not.toContain('hidden')
    expect(await readLines(log, path)).toMatchObject([
      {
        headers: { Authorization: '[redacted]', accept: 'json' },
        list: [{ password: '[redacted]', user: 'u' }],
        absent: { token: null },
      },
    ])
  })

  test('show an error with its code and stack', async () => {
    const { log, path } = makeFileLog()
    log.error('failed', { error: Object.assign(new Error('full'), { code: 'ENOSPC' }) })
    const [line] = await readLines(log, path)
    expect(line!.error).toMatchObject({ name: 'Error', message: 'full', code: 'ENOSPC' })
  })

  test('respect the level; fields cannot overwrite the log’s own', async () => {
    const { log, path } = makeFileLog({ level: 'warn' })
    log.info('quiet')
    log.warn('loud', { name: 'other', level: 'none', env: 'PROD' })
    await log.flush()
    const text = readFileSync(path, 'utf8')
    expect(text.match(/"(name|level|env)":/g)).toHaveLength(3)
    expect(await readLines(log, path)).toMatchObject([
      { level: 'warn', env: 'DEV', name: 'loud', name_: 'other' },
    ])
  })
})

describe('[AU1] the audit trail', () => {
  test.each(['info', 'warn', 'error', 'silent'] as const)(
    'is written at the level %s, and marked',
    async (level) => {
      const { log, path } = makeFileLog({ level })
      for (const name of Object.values(AUDIT_MESSAGES).flat()) log.info(name, { by: 'key', audit: 'no' })
      log.info('node.started')
      const lines = await readLines(log, path)
      const trail = lines.filter((line) => line.audit === true)
      expect(trail.map((line) => line.name)).toEqual(Object.values(AUDIT_MESSAGES).flat())
      expect(trail[0]).toMatchObject({ level: 'info', by: 'key', audit_: 'no' })
      expect(lines.length - trail.length).toBe(level === 'info' ? 1 : 0)
    },
  )

  test('lists messages that the code writes and the guide explains, and all that are about access', () => {
    const source = readSource('src')
    const guide = readFileSync('docs/logs.md', 'utf8')
    const names = Object.values(AUDIT_MESSAGES).flat()
    expect(names.filter((name) => !source.includes(`'${name}'`))).toEqual([])
    expect(names.filter((name) => !guide.includes(`\`${name}\``))).toEqual([])
    const ofAccess = [...source.matchAll(/'(access\.[a-z-]+)'/g)].map((match) => String(match[1]))
    const housekeeping = ['access.use-not-noted', 'access.sweep-failed']
    expect(ofAccess.filter((name) => !isAuditMessage(name) && !housekeeping.includes(name))).toEqual([])
  })
})

/** All code except tests and the table itself. */
function readSource(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/\.(test|fixture)\.ts$|access.audit\.ts$/.test(path))
    .map((path) => readFileSync(join(folder, path), 'utf8'))
    .join('\n')
}

describe('the destination', () => {
  test('[DU10] a file is rotated at its limit, a bounded number of them stays, and no line is lost between', async () => {
    const { log, path } = makeFileLog({ rotation: { bytesMax: 2_000, files: 2 } })
    for (let number = 0; number < 60; number += 1) {
      log.info('test.line', { number, text: 'x'.repeat(100) })
      await log.flush()
    }
    const numbers = (name: string) =>
      readFileSync(name, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as { number: number }).number)
    const seen = [...numbers(`${path}.2`), ...numbers(`${path}.1`), ...numbers(path)]
    expect(seen).toEqual(Array.from({ length: seen.length }, (_, index) => 60 - seen.length + index))
    expect(existsSync(`${path}.3`)).toBe(false)
    for (const name of [`${path}.1`, `${path}.2`]) expect(statSync(name).size).toBeLessThan(2_400)
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  test('[DU10] a file that was full before the start is rotated too', async () => {
    const { log, path } = makeFileLog()
    log.info('test.old', { text: 'x'.repeat(3_000) })
    await log[Symbol.asyncDispose]()
    const next = makeLog({
      destination: path,
      env: 'DEV',
      level: 'info',
      now: () => 0,
      rotation: { bytesMax: 2_000, files: 2 },
    })
    open.push(next)
    next.info('test.new')
    await next.flush()
    next.info('test.newest')
    await next.flush()
    expect(readFileSync(path, 'utf8')).toContain('test.newest')
    expect(readFileSync(`${path}.1`, 'utf8')).toContain('test.old')
  })

  test('gets every line in order, also when a chunk is larger than a write', async () => {
    const { log, path } = makeFileLog({ waitingLengthMax: 32 * 1024 * 1024 })
    for (let n = 0; n < 20_000; n += 1) {
      if (n % 100 === 0) log.info('n', { n })
      else log.control({ ...exampleLine, attempt: n })
    }
    const lines = await readLines(log, path)
    expect(lines.map((line) => line.attempt ?? line.n)).toEqual(Array.from({ length: 20_000 }, (_, n) => n))
  })

  test('is flushed and closed at the end; later lines are ignored', async () => {
    const { log, path } = makeFileLog()
    log.control(exampleLine)
    await log[Symbol.asyncDispose]()
    log.control(exampleLine)
    await log[Symbol.asyncDispose]()
    await log.flush()
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(2)
  })

  test('may be full: nothing throws, memory stays bounded, closing does not hang', async () => {
    const log = makeLog({
      destination: '/dev/full',
      env: 'DEV',
      level: 'info',
      now: Date.now,
      waitingLengthMax: 50_000,
    })
    for (let n = 0; n < 5_000; n += 1) log.control(exampleLine)
    await log.flush()
    log.error('still.here')
    await log.flush()
    await log[Symbol.asyncDispose]()
  })

  /** What a pipe delivers after its reader was gone while 100 lines were written. */
  async function writeToBrokenPipe(
    name: string,
    waitingLengthMax: number,
  ): Promise<Record<string, unknown>[]> {
    const pipe = join(folder, name)
    execFileSync('sh', ['-c', 'mkfifo "$0"', pipe])
    const gone = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
    const log = makeLog({ destination: pipe, env: 'DEV', level: 'info', now: Date.now, waitingLengthMax })
    closeSync(gone)
    for (let n = 0; n < 100; n += 1) log.control({ ...exampleLine, attempt: n })
    await log.flush()
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
    await log[Symbol.asyncDispose]()
    const lines = readFileSync(reader, 'utf8').split('\n').slice(0, -1)
    closeSync(reader)
    return lines.map((line) => JSON.parse(line))
  }

  test('may be a pipe whose reader comes back: buffered lines are written, in order', async () => {
    const lines = await writeToBrokenPipe('pipe-kept', 1_000_000)
    expect(lines.map((line) => line.attempt)).toEqual(Array.from({ length: 100 }, (_, n) => n))
  })

  test('may be blocked for so long that lines are lost: it says how many', async () => {
    const lines = await writeToBrokenPipe('pipe-lost', 20_000)
    const last = lines.at(-1)
    expect(last).toMatchObject({ name: 'log.dropped' })
    expect(lines.length - 1 + (last?.lines as number)).toBe(100)
  })

  test('is refused at the start if it cannot be opened', () => {
    expect(() =>
      makeLog({ destination: '/dev/null/x.log', env: 'DEV', level: 'info', now: Date.now }),
    ).toThrow()
  })
})
