// Writes the measured figures into the documents, between marks, so that no figure in them is typed by hand. A test compares them.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { drawChart } from './chart.ts'
import type { Measured, Origin, Results } from './results.ts'
import { START_ASKED } from './start.ts'
import type { Spread } from './statistics.ts'
import { ASKED_P99_MS } from './steady.ts'

const ROOT = new URL('../', import.meta.url)

const MEANINGS: Readonly<Record<string, string>> = {
  bareFastify: 'Fastify alone answers the same request',
  ingest: 'an event of 1 KiB is on disk before the response',
  ingestSigned: "the same, with GitHub's signature verified",
  endToEnd: 'also matched, run by a function, and its end on disk',
  effect: 'also one HTTP call under the ledger: reserve, call, settle',
  endToEnd256: '`endToEnd` with 256 connections',
  endToEnd1024: '`endToEnd` with 1,024 connections',
  bareDeliveries: 'an undici loop signs and posts the same bodies',
  deliveries: 'webhooks out: claimed, signed, sent, and their end on disk',
}

const SERIES: Readonly<Record<string, { readonly title: string; readonly x: string }>> = {
  rows: { title: 'CPU time per event as the store grows', x: 'stored events' },
  connections: { title: 'CPU time per event with more connections', x: 'connections' },
  routes: { title: 'CPU time per event with more routes', x: 'deployed routes' },
  tenants: {
    title: 'CPU time per event with more tenants',
    x: 'tenants, each with its own source and route',
  },
}

/** The text of every document that holds figures, by its path from the root. */
export function documentsOf(results: Results, read: (path: string) => string): ReadonlyMap<string, string> {
  const put = (path: string, mark: string, lines: readonly string[]) =>
    documents.set(path, between(documents.get(path) ?? read(path), path, mark, lines))
  const documents = new Map<string, string>()
  put('README.md', 'bench', readmeTable(results.table))
  put('bench/RESULTS.md', 'table', resultsTable(results.table))
  put('bench/RESULTS.md', 'peers', peersTable(results.peers))
  put('docs/performance.md', 'growth', growthPictures(results.growth))
  for (const { name, points } of results.growth?.series ?? []) {
    const { title = name, x = name } = SERIES[name] ?? {}
    documents.set(
      `docs/performance/${name}.svg`,
      drawChart(
        title,
        x,
        'µs',
        points.map(({ at, cpuUs }) => ({ x: at, y: cpuUs })),
      ),
    )
  }
  return documents
}

export function writeDocuments(results: Results): void {
  for (const [path, text] of documentsOf(results, readDocument)) {
    const file = fileURLToPath(new URL(path, ROOT))
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}

export function readDocument(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8')
}

function between(text: string, path: string, mark: string, lines: readonly string[]): string {
  const [begin, end] = [`<!-- ${mark}:begin`, `<!-- ${mark}:end -->`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${path} has no marks ${begin} --> and ${end}`)
  const head = text.slice(0, text.indexOf('-->', from) + '-->'.length)
  return `${head}\n\n${lines.join('\n')}\n\n${text.slice(to)}`
}

function readmeTable(table: Results['table']): string[] {
  if (table === null) return [notMeasured('--record')]
  const { rows, date } = table
  return [
    '| scenario | what happens | events per second | share | CPU per event |',
    '| --- | --- | ---: | ---: | ---: |',
    ...rows.map(
      (row) =>
        `| ${row.name} | ${meaningOf(row)} | ${count(row.perSecond.median)} | ${shareOf(row)} | ${row.cpuUs.median} µs |`,
    ),
    '',
    `Measured on ${date}. Shares are of bare Fastify unless they say otherwise. How, how far rounds were apart, and what else was counted:`,
    '[bench/RESULTS.md](bench/RESULTS.md). What growth costs: [performance](docs/performance.md).',
  ]
}

function resultsTable(table: Results['table']): string[] {
  if (table === null) return [notMeasured('--record')]
  const { rows, steady, start } = table
  const verdict = (isMet: boolean) => (isMet ? 'reached' : '**not reached**')
  const calls = ({ calls }: Measured, name: 'promises' | 'statements') =>
    calls === null ? '' : calls[name].toFixed(1)
  return [
    originOf(table),
    '',
    '| scenario | events/s | share | asked | CPU µs | main thread µs | bytes | flushes | promises | statements | RSS MB |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
    ...rows.map((row) =>
      [
        '',
        row.name,
        range(row.perSecond),
        row.share === null ? '' : `${shareRange(row.share)} of ${row.of}`,
        row.asked === null || row.share === null
          ? ''
          : `≥ ${percent(row.asked)}: ${verdict(row.share.median >= row.asked)}`,
        range(row.cpuUs),
        row.mainCpuUs === null ? '' : String(row.mainCpuUs.median),
        row.bytes === null ? '' : count(row.bytes.median),
        row.flushes === null ? '' : String(row.flushes.median),
        calls(row, 'promises'),
        calls(row, 'statements'),
        range(row.rssMb),
        '',
      ]
        .join(' | ')
        .trim(),
    ),
    '',
    ...rows.map((row) => `- \`${row.name}\`: ${meaningOf(row)}.`),
    '',
    '| | measured | asked |',
    '| --- | ---: | ---: |',
    `| accept to done at ${steady.perSecond}/s, p50 / p99 | ${steady.doneP50Ms} / ${steady.doneP99Ms} ms | p99 ≤ ${ASKED_P99_MS} ms: ${verdict(steady.doneP99Ms <= ASKED_P99_MS)} |`,
    `| response at ${steady.perSecond}/s, p50 / p99 | ${steady.responseP50Ms} / ${steady.responseP99Ms} ms | |`,
    `| start on an existing store | ${range(start.startMs)} ms | ≤ ${count(START_ASKED.startMs)} ms: ${verdict(start.startMs.median <= START_ASKED.startMs)} |`,
    ...(start.startCpuMs === null ? [] : [`| its CPU time | ${range(start.startCpuMs)} ms | |`]),
    ...(start.idleMb === null
      ? []
      : [
          `| memory after ${start.idleSeconds} s without work | ${start.idleMb} MB | ≤ ${START_ASKED.idleMb} MB: ${verdict(start.idleMb <= START_ASKED.idleMb)} |`,
        ]),
    `| the command \`millrace events\` | ${range(start.commandMs)} ms | < ${START_ASKED.commandMs} ms: ${verdict(start.commandMs.median < START_ASKED.commandMs)} |`,
  ]
}

function peersTable(peers: Results['peers']): string[] {
  if (peers === null) return [notMeasured('--peers --record')]
  return [
    originOf(peers),
    '',
    '| system | durable before the response | events/s | CPU µs with its database | the node does |',
    '| --- | --- | ---: | ---: | ---: |',
    ...peers.nodes.map(
      ({ plan, perSecond, cpuUs }) =>
        `| Millrace, \`${plan}\` | yes | ${range(perSecond)} | ${cpuUs.median} | |`,
    ),
    ...peers.peers.map(
      (peer) =>
        `| ${peer.name} | ${peer.isDurable ? 'yes' : 'no'} | ${range(peer.perSecond)} | ${peer.cpuUs.median} | ${range(peer.nodeTimes)} times as many (\`${peer.plan}\`) |`,
    ),
  ]
}

function growthPictures(growth: Results['growth']): string[] {
  if (growth === null) return [notMeasured('--growth --record')]
  return [
    originOf(growth),
    ...growth.series.flatMap(({ name, points }) => {
      const { title = name, x = name } = SERIES[name] ?? {}
      return [
        '',
        `![${title}](performance/${name}.svg)`,
        '',
        `| ${x} | CPU µs per event | events/s |`,
        '| ---: | ---: | ---: |',
        ...points.map(
          ({ at, cpuUs, perSecond }) => `| ${count(at)} | ${range(cpuUs)} | ${range(perSecond)} |`,
        ),
      ]
    }),
  ]
}

function notMeasured(options: string): string {
  return `Not measured yet: \`npm run bench -- ${options}\`.`
}

function originOf({ date, commit, machine, rounds, secondsPerRun, loadBefore }: Origin): string {
  return `Measured on ${date} at commit ${commit}: ${machine}; ${rounds} ${rounds === 1 ? 'round' : 'rounds'} of ${secondsPerRun} s, medians, smallest and largest in brackets. Load average before it: ${loadBefore}.`
}

function meaningOf({ name }: Measured): string {
  return MEANINGS[name] ?? ''
}

function shareOf({ share, of }: Measured): string {
  if (share === null) return ''
  return of === 'bareFastify' ? percent(share.median) : `${percent(share.median)} of ${of}`
}

function range({ median, smallest, largest }: Spread): string {
  return smallest === largest ? count(median) : `${count(median)} (${count(smallest)}–${count(largest)})`
}

function shareRange({ median, smallest, largest }: Spread): string {
  const middle = percent(median)
  return smallest === largest ? middle : `${middle} (${percent(smallest)}–${percent(largest)})`
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}
