// millrace providers, connections, credentials and runs: other systems, their credentials, and the calls made there.

import type { Command } from 'commander'
import { CONNECTION_STATUSES } from '../../core/connections/connection/index.ts'
import { RUN_PURPOSES, RUN_STATES } from '../../core/effects/integration-run/index.ts'
import { RUN_VIAS } from '../../core/queue/job-run/index.ts'
import type {
  Connection,
  ConnectionDetail,
  Credential,
  Probe,
  ProviderDetail,
} from '../../sdk/client/index.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { EXIT, usageError } from '../failure.ts'
import { readInput } from '../input.ts'
import { noteRest } from '../pages.ts'
import { action, NEEDED_REASON, pathOf, printTable, REASON, resource } from '../resource.ts'
import { parseAhead } from '../since.ts'
import { duration } from '../text.ts'
import { printResponse } from './deliveries.ts'

const addProviders = resource({
  command: 'providers',
  on: ['name', 'one provider, with its operations'],
  description: 'list providers, or show one',
  list: {
    operation: 'listProviders',
    isWhole: true,
    columns: [
      ['NAME', (one) => one.name, 10],
      ['CATEGORY', (one) => one.category],
      ['SIGN-IN', (one) => one.auth.join(' '), 10],
      ['OPERATIONS', (one) => one.operations.length, 'right'],
      ['CONNECTIONS', (one) => one.connections, 'right'],
      ['KEPT BY', (one) => one.managedBy],
      ['TITLE', (one) => one.title, 10],
    ],
  },
  show: {
    operation: 'getProvider',
    fields: (one) => [
      ['name', one.name],
      ['title', one.title],
      ['description', one.description],
      ['category', one.category],
      ['deprecated', one.deprecated],
      ['address', one.baseUrl],
      ...Object.entries(one.endpoints).map(([key, value]) => [`  ${key}`, value] as const),
      ['sign-in', one.auth.join(' ')],
      ['limits', bucketsText(one.buckets)],
      ['test', one.canProbe ? 'by one call that changes nothing' : 'cannot be tested by a call'],
      ['new secrets', one.canRotate ? 'created by its own API' : 'set by an operator'],
      ['managed by', one.managedBy],
    ],
    more: ({ operations }, session) => {
      if (operations.length === 0) return
      session.out.line()
      printTable(
        session,
        [
          ['OPERATION', (one) => one.name, 12],
          ['METHOD', (one) => one.method],
          ['PATH', (one) => one.path, 12],
          ['REPEATING', (one) => one.idempotency],
          ['NEEDS', (one) => one.scopes.join(' '), 6],
        ],
        operations,
      )
    },
  },
  actions: [
    addCreate('putProvider', 'Provider', 'create or replace a provider, from a file', (made, { out }) =>
      out.line(`${made.item.name} is deployed (version ${made.version})`),
    ),
  ],
})

function bucketsText(buckets: ProviderDetail['buckets']): string | null {
  const texts = Object.entries(buckets).map(
    ([name, { perMinute, burst }]) => `${name} ${perMinute}/min, ${burst} at once`,
  )
  return texts.length === 0 ? null : texts.join('; ')
}

// --- Connections

interface CircuitOptions {
  readonly reason: string
  readonly for?: string
}

const addConnections = resource({
  command: 'connections',
  on: ['name', 'one connection, with its health, its circuit and its limits'],
  description: 'list connections, show one, or act on one',
  list: {
    operation: 'listConnections',
    isWhole: true,
    filters: [['--status <status>', 'only with this status', { choices: CONNECTION_STATUSES, as: null }]],
    keeps: (one, { status }) => status === undefined || one.status === status,
    columns: [
      ['NAME', (one) => one.name, 10],
      ['PROVIDER', (one) => one.provider, 8],
      ['CREDENTIAL', (one) => one.credential, 8],
      ['STATUS', (one, { out }) => out.state(one.status)],
      ['HEALTH', (one, { out }) => out.state(one.health)],
      ['CIRCUIT', (one, session) => circuitText(session, one), 8],
      ['LAST LOOK', (one, { out }) => out.time(one.lastProbe?.at)],
    ],
    empty: ({ status }) =>
      status === undefined
        ? 'No connections. ‘millrace connections create --file …’ creates one.'
        : 'No such connections.',
  },
  show: {
    operation: 'getConnection',
    fields: (one, session) => connectionFields(one, session),
    more: ({ status, name }, { out }) => {
      if (status === 'pending') out.note(`It runs nothing until it passes: millrace connections test ${name}`)
    },
  },
  actions: [
    addCreate(
      'putConnection',
      'Connection',
      'create or change a connection, from a file; it is pending until it passes a test',
      ({ item }, { out }) => {
        out.line(`${item.name} is ${item.status}`)
        if (item.status === 'pending') out.note(`Test it: millrace connections test ${item.name}`)
      },
    ),
    addLooks,
    action({
      verb: 'retire',
      on: ['name', 'a connection'],
      description: 'retire a connection: no more calls use it',
      operation: 'retireConnection',
      options: [NEEDED_REASON],
      say: ({ name, status }) => `${name} is ${status}`,
    }),
    addCircuit,
  ],
})

/** test and health */
function addLooks(connections: Command, cli: Cli): void {
  const act = (verb: string, description: string) =>
    connections.command(verb).argument('<name>', 'a connection').description(description)
  handle(
    act('test', 'make one call now; the connection becomes active if it passes'),
    cli,
    (session, _options, name) => testConnection(session, String(name)),
  )
  handle(act('health', 'list the latest health checks, newest first'), cli, (session, _options, name) =>
    listHealth(session, String(name)),
  )
}

function addCircuit(connections: Command, cli: Cli): void {
  const circuit = connections
    .command('circuit')
    .argument('<name>', 'a connection')
    .argument('<is>', 'open: stop calls; closed: allow calls even if they fail; auto: follow the circuit')
    .description('open or close the circuit of a connection, or set it to automatic')
    .requiredOption('--reason <text>', 'the reason (recorded)')
    .option('--for <duration>', 'how long, such as 30m; default: until you change it')
  handle<CircuitOptions>(circuit, cli, (session, options, name, is) =>
    switchCircuit(session, options, String(name), String(is)),
  )
}

async function switchCircuit(
  session: Session,
  { reason, for: ahead }: CircuitOptions,
  name: string,
  is: string,
): Promise<void> {
  if (!['open', 'closed', 'auto'].includes(is)) throw usageError(`‘${is}’ must be open, closed or auto`)
  if (is === 'auto' && ahead !== undefined) throw usageError('--for goes with open or closed')
  const until = ahead === undefined ? undefined : new Date(parseAhead(ahead, Date.now())).toISOString()
  const answer = await session.api.post<Connection>(pathOf('switchConnectionCircuit', name), {
    is,
    reason,
    ...(until !== undefined && { until }),
  })
  session.show(answer, () =>
    session.out.line(`the circuit of ${answer.name} is ${circuitText(session, answer)}`),
  )
}

function circuitText({ out }: Session, { circuit }: Connection): string {
  const { override, state, tryAt } = circuit
  if (override !== null) {
    const end = override.until === null ? '' : ` until ${out.time(override.until)}`
    return `${override.is} by ${override.by}${end}`
  }
  return tryAt === null ? state : `${state}, tries ${out.time(tryAt)}`
}

function connectionFields(one: ConnectionDetail, session: Session) {
  const { out } = session
  const { lastProbe, retired, circuit, history } = one
  const good = history.filter(({ ok }) => ok).length
  return [
    ['name', one.name],
    ['description', one.description],
    ['provider', one.provider],
    ['credential', one.credential],
    ['status', out.state(one.status)],
    ['health', out.state(one.health)],
    ['circuit', circuitText(session, one)],
    ['reason', circuit.override?.reason ?? retired?.reason ?? null],
    ['last check', lastProbe === null ? null : `${out.time(lastProbe.at)}, ${probeText(lastProbe)}`],
    ['recently', history.length === 0 ? null : `${good} of ${history.length} checks passed`],
    ...Object.entries(one.endpoints).map(([key, value]) => [`address ${key}`, value] as const),
    ...one.buckets.map(
      (bucket) =>
        [
          `limit ${bucket.name}`,
          `${Math.floor(bucket.left)} of ${bucket.burst} left, ${bucket.perMinute}/min${bucket.closedUntil === null ? '' : `, closed until ${out.time(bucket.closedUntil)}`}`,
        ] as const,
    ),
    ['managed by', one.managedBy === 'api' ? 'the API' : `the definitions ${one.managedBy}`],
  ] as const
}

const UNVERIFIED = 'reachable, credential not verified'

function probeText({ ok, durationMs, httpStatus, class: name, error, unverified }: Probe): string {
  const status = httpStatus === null ? '' : `HTTP ${httpStatus}, `
  return `${status}${duration(durationMs)}${ok ? (unverified === true ? `, ${UNVERIFIED}` : '') : `, ${name ?? 'failed'}: ${error ?? ''}`}`
}

async function testConnection(session: Session, name: string): Promise<number> {
  const answer = await session.api.post<Answer<'testConnection'>>(pathOf('testConnection', name))
  session.show(answer, ({ ok, run, connection }) => {
    const { out } = session
    const attempt = run.attempts.at(-1)
    out.fields([
      ['', out.state(ok ? 'done' : 'failed')],
      ['status', out.state(connection.status)],
      ['response', run.httpStatus],
      ['took', run.durationMs === null ? null : duration(run.durationMs)],
      ['class', run.class],
      ['error', run.error],
      ['run', run.id],
    ])
    if (ok && connection.lastTest?.unverified === true && connection.credential !== null)
      out.note(`${UNVERIFIED}: name a path that can be read with it in \`config.probe\``)
    if (!ok && attempt?.response != null) printResponse(session, attempt.response)
  })
  return answer.ok ? EXIT.ok.code : EXIT.failed.code
}

async function listHealth(session: Session, name: string): Promise<void> {
  const path = pathOf('listConnectionHealth', name)
  const answer = await session.api.get<Answer<'listConnectionHealth'>>(path)
  session.show(answer, ({ items }) => {
    printTable(
      session,
      [
        ['AT', (one, { out }) => out.time(one.at)],
        ['RESULT', (one, { out }) => out.state(one.ok ? 'done' : 'failed')],
        ['TOOK', (one) => duration(one.durationMs), 'right'],
        ['RESPONSE', (one) => one.httpStatus, 'right'],
        ['ERROR', (one) => (one.unverified === true ? UNVERIFIED : one.error), 10],
      ],
      items,
    )
    noteRest(session, answer, 'No health checks yet.')
  })
}

// --- Credentials

const addCredentials = resource({
  command: 'credentials',
  on: ['name', 'one credential, with its versions and rotations; never a value'],
  description: 'list credentials, show one, or act on one',
  list: {
    operation: 'listCredentials',
    isWhole: true,
    columns: [
      ['NAME', (one) => one.name, 10],
      ['PROVIDER', (one) => one.provider, 8],
      ['SIGN-IN', (one) => one.auth],
      ['STATUS', (one, { out }) => out.state(one.status)],
      ['VERSION', (one) => one.version, 'right'],
      ['FINGERPRINT', (one) => one.fingerprint],
      ['LAST ROTATED', (one, { out }) => out.time(one.rotation.lastAt)],
      ['NEXT', (one, { out }) => out.time(one.rotation.nextAt)],
    ],
    empty: 'No credentials. ‘millrace credentials create --file …’ creates one.',
  },
  show: {
    operation: 'getCredential',
    fields: (one, session) => credentialFields(one, session),
    more: ({ versions }, session) => {
      if (versions.length === 0) return
      session.out.line()
      printTable(
        session,
        [
          ['VERSION', (one) => one.version, 'right'],
          ['STATE', (one, { out }) => out.state(one.state)],
          ['FINGERPRINT', (one) => one.fingerprint],
          ['SINCE', (one, { out }) => out.time(one.since)],
          ['BY', (one) => one.by],
        ],
        versions,
      )
    },
  },
  actions: [
    addCreate(
      'putCredential',
      'Credential',
      'create or change a credential, from a file; set its value with ‘millrace secrets set’',
      ({ item }, { out }) => out.line(`${item.name} is ${item.status}`),
    ),
    action({
      verb: 'rotate',
      on: ['name', 'a credential', 'credentialId'],
      description: 'start a rotation: the new value is verified before it replaces the current one',
      operation: 'rotateCredential',
      options: [REASON],
      asksWhy: true,
      print: ({ rotationId, isNew, credential }, { out }) => {
        if (rotationId === null) return out.line(`${credential.name} has nothing to rotate`)
        out.line(rotationId)
        out.note(`${credential.name} is ${credential.status}${isNew ? '' : '; it was already in progress'}`)
        if (credential.status === 'waiting') {
          const [secret = 'NAME'] = Object.values(credential.secret)
          out.note(`Set the new value: millrace secrets set ${secret} --pending`)
        }
      },
    }),
    action({
      verb: 'authorize',
      on: ['name', 'a credential with the grant authorizationCode'],
      description: 'print the OAuth consent URL',
      operation: 'authorizeCredential',
      print: ({ url, expiresAt }, { out }) => {
        out.line(url)
        out.note(`Open it in a browser before ${out.time(expiresAt)}.`)
      },
    }),
  ],
})

function credentialFields(one: Credential, { out }: Session) {
  const { rotation } = one
  const timeOrNull = (time: string | null) => (time === null ? null : out.time(time))
  return [
    ['name', one.name],
    ['description', one.description],
    ['provider', one.provider],
    ['sign-in', one.grant === null ? one.auth : `${one.auth}, ${one.grant}`],
    ['secret', Object.entries(one.secret).flat().join(' ')],
    ['status', out.state(one.status)],
    ['connections', one.connections.join(' ')],
    ['token until', timeOrNull(one.tokenExpiresAt)],
    ['rotation', rotation.everyMs === null ? 'when asked or refused' : `every ${duration(rotation.everyMs)}`],
    ['next', timeOrNull(rotation.nextAt)],
    ['last rotated', timeOrNull(rotation.lastAt)],
    [
      'in progress',
      rotation.underWay === null
        ? null
        : `since ${out.time(rotation.underWay.begunAt)}, ${rotation.underWay.reason}, by ${rotation.underWay.by} (${rotation.underWay.workId})`,
    ],
    [
      'last failure',
      rotation.lastFailure === null
        ? null
        : `${out.time(rotation.lastFailure.at)}, ${rotation.lastFailure.error}`,
    ],
  ] as const
}

// --- Runs

const addRuns = resource({
  command: 'runs',
  on: ['id', 'one run, with every attempt, its request and its response'],
  description: 'list outbound operations, newest first, or show one',
  list: {
    operation: 'listRuns',
    filters: [
      ['--connection <name>', 'only on this connection'],
      ['--state <state>', 'only in this state', { choices: RUN_STATES }],
      ['--purpose <purpose>', 'only for this', { choices: RUN_PURPOSES }],
      ['--via <via>', 'only calls made this way', { choices: RUN_VIAS }],
      ['--work <id>', 'only of this job', { as: 'workId' }],
    ],
    columns: [
      ['ID', (one) => one.id],
      ['BEGAN', (one, { out }) => out.time(one.createdAt)],
      ['VIA', (one) => one.connection ?? one.via, 8],
      ['OPERATION', (one) => one.operation, 8],
      ['STATE', (one, { out }) => out.state(one.state)],
      ['ATTEMPTS', (one) => one.attemptCount, 'right'],
      ['RESPONSE', (one) => one.httpStatus, 'right'],
      ['ERROR', (one) => one.error ?? one.externalRef, 8],
    ],
    empty: 'No such runs.',
  },
  show: {
    operation: 'getRun',
    fields: (one, { out }) => [
      ['id', one.id],
      ['state', out.state(one.state)],
      ['for', one.purpose],
      ['via', one.via],
      ['connection', one.connection],
      ['operation', one.provider === null ? one.operation : `${one.provider} ${one.operation}`],
      ['event', one.eventId],
      ['work', one.workId],
      ['key', one.key],
      ['vendor ref', one.externalRef],
      ['replay of', one.replayOf],
      ['trace', one.traceId],
      ['correlation', one.correlationId],
      ['began', out.time(one.createdAt)],
    ],
    more: ({ attempts }, session) => {
      const { out } = session
      for (const attempt of attempts) {
        const what = [attempt.class ?? 'done', attempt.httpStatus, attempt.error].filter(
          (part) => part !== null,
        )
        out.fields(
          [
            [
              `#${attempt.number}  ${out.time(attempt.startedAt)}  ${duration(attempt.durationMs)}`,
              what.join('  '),
            ],
          ],
          '  ',
        )
        if (attempt.request !== null) printResponse(session, attempt.request)
        if (attempt.response !== null) printResponse(session, attempt.response)
      }
    },
  },
})

export function addIntegrationCommands(program: Command, cli: Cli): void {
  for (const add of [addProviders, addConnections, addCredentials, addRuns]) add(program, cli)
}

// --- What is created from files

type Put = 'putProvider' | 'putConnection' | 'putCredential'

/** `create`: one document, as a definition is written. */
function addCreate<Operation extends Put>(
  operation: Operation,
  kind: string,
  description: string,
  print: (made: Answer<Operation>, session: Session) => void,
) {
  return (command: Command, cli: Cli) => {
    const create = command
      .command('create')
      .description(description)
      .requiredOption('-f, --file <file>', `a definition of the kind ${kind}, as YAML or JSON; - reads stdin`)
    handle<{ file: string }>(create, cli, async (session, { file }) => {
      const made = await session.api.post<Answer<Operation>>(
        pathOf(operation),
        await readDocument(session, file),
      )
      for (const { field, message } of made.warnings) session.out.note(`Note: ${field}: ${message}`)
      session.show(made, () => print(made, session))
    })
  }
}

/** One document, as a definition is written. */
async function readDocument(session: Session, from: string): Promise<object> {
  const text = (await readInput(session, from)).toString('utf8')
  const { readDocuments } = await import('../../definitions/language.ts')
  const path = from === '-' ? 'stdin.yaml' : from
  const { documents, findings } = readDocuments([{ path, text }])
  const [wrong] = findings.filter(({ severity }) => severity === 'error')
  if (wrong !== undefined) throw usageError(`${path}:${wrong.line}: ${wrong.message}`)
  const [document] = documents
  if (document === undefined || documents.length > 1)
    throw usageError(
      `${path} has ${documents.length} documents`,
      'Pass one document; use ‘apply’ for a folder.',
    )
  return document.value
}
