// millrace providers, connections, credentials and runs: other systems, their credentials, and the calls made there.

import { type Command, Option } from 'commander'
import { CONNECTION_STATUSES } from '../../core/connections/connection/index.ts'
import { RUN_PURPOSES, RUN_STATES } from '../../core/effects/integration-run/index.ts'
import type {
  Connection,
  ConnectionDetail,
  Credential,
  Probe,
  Provider,
  ProviderDetail,
  Run,
} from '../../sdk/client/index.ts'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { EXIT, usageError } from '../failure.ts'
import { postWithReason, readInput } from '../input.ts'
import { type ListOptions, limitOption, noteRest, readPages } from '../pages.ts'
import { parseAhead } from '../since.ts'
import { duration } from '../text.ts'
import { printResponse } from './deliveries.ts'

const BASE = '/v1/integrations'
const at = (folder: string, name: string, verb?: string) =>
  `${BASE}/${folder}/${encodeURIComponent(name)}${verb === undefined ? '' : `/${verb}`}`

export function addIntegrationCommands(program: Command, cli: Cli): void {
  addProviders(program, cli)
  addConnections(program, cli)
  addCredentials(program, cli)
  addRuns(program, cli)
}

// --- Providers

function addProviders(program: Command, cli: Cli): void {
  const providers = program
    .command('providers')
    .argument('[name]', 'one provider, with its operations')
    .description('list the systems that connections may lead to, or show one')
  handle(providers, cli, (session, _options, name) =>
    name === undefined ? listProviders(session) : showProvider(session, name),
  )
  const create = providers
    .command('create')
    .description('describe a provider, or describe it anew, from a file')
    .requiredOption('-f, --file <file>', 'a definition of the kind Provider, as YAML or JSON; - reads stdin')
  handle<{ file: string }>(create, cli, async (session, { file }) => {
    const made = await put<Answer<'putProvider'>>(session, 'providers', file)
    session.show(made, () => session.out.line(`${made.item.name} is in force (version ${made.version})`))
  })
}

async function listProviders(session: Session): Promise<void> {
  const answer = await session.api.get<Answer<'listProviders'>>(`${BASE}/providers`)
  session.show(answer, ({ items }) => {
    session.out.table(
      [
        { title: 'NAME', min: 10 },
        { title: 'CATEGORY' },
        { title: 'SIGN-IN', min: 10 },
        { title: 'OPERATIONS', align: 'right' },
        { title: 'CONNECTIONS', align: 'right' },
        { title: 'KEPT BY' },
        { title: 'TITLE', min: 10 },
      ],
      items.map((one: Provider) => [
        one.name,
        one.category,
        one.auth.join(' '),
        one.operations.length,
        one.connections,
        one.managedBy,
        one.title,
      ]),
    )
  })
}

async function showProvider(session: Session, name: string): Promise<void> {
  const answer = await session.api.get<ProviderDetail>(at('providers', name))
  session.show(answer, (one) => {
    const { out } = session
    out.fields([
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
      ['new secrets', one.canRotate ? 'made by its own API' : 'brought by a person'],
      ['kept by', one.managedBy],
    ])
    if (one.operations.length === 0) return
    out.line()
    out.table(
      [
        { title: 'OPERATION', min: 12 },
        { title: 'METHOD' },
        { title: 'PATH', min: 12 },
        { title: 'REPEATING' },
        { title: 'NEEDS', min: 6 },
      ],
      one.operations.map(({ name: operation, method, path, idempotency, scopes }) => [
        operation,
        method,
        path,
        idempotency,
        scopes.join(' '),
      ]),
    )
  })
}

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

function addConnections(program: Command, cli: Cli): void {
  const connections = program
    .command('connections')
    .argument('[name]', 'one connection, with its health, its circuit and its limits')
    .description('list accounts at other systems, show one, or act on one')
    .addOption(new Option('--status <status>', 'only with this status').choices(CONNECTION_STATUSES))
  handle<{ status?: string }>(connections, cli, (session, { status }, name) =>
    name === undefined ? listConnections(session, status) : showConnection(session, name),
  )
  const create = connections
    .command('create')
    .description('make a connection, or change it, from a file; it is pending until it passes a test')
    .requiredOption(
      '-f, --file <file>',
      'a definition of the kind Connection, as YAML or JSON; - reads stdin',
    )
  handle<{ file: string }>(create, cli, async (session, { file }) => {
    const made = await put<Answer<'putConnection'>>(session, 'connections', file)
    session.show(made, ({ item }) => {
      session.out.line(`${item.name} is ${item.status}`)
      if (item.status === 'pending') session.out.note(`Test it: millrace connections test ${item.name}`)
    })
  })
  const act = (verb: string, description: string) =>
    connections.command(verb).argument('<name>', 'a connection').description(description)

  handle(act('test', 'make one call now; one that passes makes it active'), cli, (session, _options, name) =>
    testConnection(session, String(name)),
  )
  handle(
    act('health', 'list the latest looks at the other side, the last one first'),
    cli,
    (session, _options, name) => listHealth(session, String(name)),
  )
  const retire = act('retire', 'let nothing run on it any more').requiredOption(
    '--reason <text>',
    'why; it is kept',
  )
  handle<{ reason: string }>(retire, cli, async (session, { reason }, name) => {
    const answer = await session.api.post<Connection>(at('connections', String(name), 'retire'), { reason })
    session.show(answer, () => session.out.line(`${answer.name} is ${answer.status}`))
  })
  const circuit = connections
    .command('circuit')
    .argument('<name>', 'a connection')
    .argument('<is>', 'open: hold calls back; closed: let them go whatever fails; auto: as the circuit says')
    .description('hold the calls of a connection back, let them go, or leave it to the circuit')
    .requiredOption('--reason <text>', 'why; it is kept')
    .option('--for <duration>', 'how long, such as 30m; left out: until it is taken back')
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
  if (!['open', 'closed', 'auto'].includes(is)) throw usageError(`‘${is}’ is none of open, closed and auto`)
  if (is === 'auto' && ahead !== undefined) throw usageError('--for goes with open or closed')
  const until = ahead === undefined ? undefined : new Date(parseAhead(ahead, Date.now())).toISOString()
  const answer = await session.api.post<Connection>(at('connections', name, 'circuit'), {
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

async function listConnections(session: Session, status: string | undefined): Promise<void> {
  const all = await session.api.get<Answer<'listConnections'>>(`${BASE}/connections`)
  const answer = { ...all, items: all.items.filter((one) => status === undefined || one.status === status) }
  session.show(answer, ({ items }) => {
    const { out } = session
    out.table(
      [
        { title: 'NAME', min: 10 },
        { title: 'PROVIDER', min: 8 },
        { title: 'CREDENTIAL', min: 8 },
        { title: 'STATUS' },
        { title: 'HEALTH' },
        { title: 'CIRCUIT', min: 8 },
        { title: 'LAST LOOK' },
      ],
      items.map((one) => [
        one.name,
        one.provider,
        one.credential,
        out.state(one.status),
        out.state(one.health),
        circuitText(session, one),
        out.time(one.lastProbe?.at),
      ]),
    )
    noteRest(
      session,
      answer,
      status === undefined
        ? 'No connections. ‘millrace connections create --file …’ makes one.'
        : 'No such connections.',
    )
  })
}

async function showConnection(session: Session, name: string): Promise<void> {
  const answer = await session.api.get<ConnectionDetail>(at('connections', name))
  session.show(answer, (one) => {
    const { out } = session
    const { lastProbe, retired, circuit, history } = one
    const good = history.filter(({ ok }) => ok).length
    out.fields([
      ['name', one.name],
      ['description', one.description],
      ['provider', one.provider],
      ['credential', one.credential],
      ['status', out.state(one.status)],
      ['health', out.state(one.health)],
      ['circuit', circuitText(session, one)],
      ['because', circuit.override?.reason ?? retired?.reason ?? null],
      ['last look', lastProbe === null ? null : `${out.time(lastProbe.at)}, ${probeText(lastProbe)}`],
      ['recently', history.length === 0 ? null : `${good} of ${history.length} looks went well`],
      ...Object.entries(one.endpoints).map(([key, value]) => [`address ${key}`, value] as const),
      ...one.buckets.map(
        (bucket) =>
          [
            `limit ${bucket.name}`,
            `${Math.floor(bucket.left)} of ${bucket.burst} left, ${bucket.perMinute}/min${bucket.closedUntil === null ? '' : `, closed until ${out.time(bucket.closedUntil)}`}`,
          ] as const,
      ),
      ['kept by', one.managedBy === 'api' ? 'the API' : `the definitions ${one.managedBy}`],
    ])
    if (one.status === 'pending')
      out.note(`It runs nothing until it passes: millrace connections test ${one.name}`)
  })
}

const UNVERIFIED = 'reachable, credential not verified'

function probeText({ ok, durationMs, httpStatus, class: name, error, unverified }: Probe): string {
  const status = httpStatus === null ? '' : `HTTP ${httpStatus}, `
  return `${status}${duration(durationMs)}${ok ? (unverified === true ? `, ${UNVERIFIED}` : '') : `, ${name ?? 'failed'}: ${error ?? ''}`}`
}

async function testConnection(session: Session, name: string): Promise<number> {
  const answer = await session.api.post<Answer<'testConnection'>>(at('connections', name, 'test'))
  session.show(answer, ({ ok, run, connection }) => {
    const { out } = session
    const attempt = run.attempts.at(-1)
    out.fields([
      ['', out.state(ok ? 'done' : 'failed')],
      ['status', out.state(connection.status)],
      ['answer', run.httpStatus],
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
  const answer = await session.api.get<Answer<'listConnectionHealth'>>(at('connections', name, 'health'))
  session.show(answer, ({ items }) => {
    const { out } = session
    out.table(
      [
        { title: 'AT' },
        { title: 'RESULT' },
        { title: 'TOOK', align: 'right' },
        { title: 'ANSWER', align: 'right' },
        { title: 'ERROR', min: 10 },
      ],
      items.map((one) => [
        out.time(one.at),
        out.state(one.ok ? 'done' : 'failed'),
        duration(one.durationMs),
        one.httpStatus,
        one.unverified === true ? UNVERIFIED : one.error,
      ]),
    )
    noteRest(session, answer, 'Nobody looked yet.')
  })
}

// --- Credentials

function addCredentials(program: Command, cli: Cli): void {
  const credentials = program
    .command('credentials')
    .argument('[name]', 'one credential, with its versions and rotations; never a value')
    .description('list what opens accounts, show one, or act on one')
  handle(credentials, cli, (session, _options, name) =>
    name === undefined ? listCredentials(session) : showCredential(session, name),
  )
  const create = credentials
    .command('create')
    .description('make a credential, or change it, from a file; its value is set by ‘millrace secrets set’')
    .requiredOption(
      '-f, --file <file>',
      'a definition of the kind Credential, as YAML or JSON; - reads stdin',
    )
  handle<{ file: string }>(create, cli, async (session, { file }) => {
    const made = await put<Answer<'putCredential'>>(session, 'credentials', file)
    session.show(made, ({ item }) => session.out.line(`${item.name} is ${item.status}`))
  })
  const rotate = credentials
    .command('rotate')
    .argument('<name>', 'a credential')
    .description('begin a rotation: the new value is tried before it takes the place of the one in use')
    .option('--reason <text>', 'why; it is kept')
  handle<{ reason?: string }>(rotate, cli, async (session, { reason }, name) => {
    const answer = await postWithReason<Answer<'rotateCredential'>>(
      session,
      `${BASE}/credentials/rotate`,
      { credentialId: String(name), ...(reason !== undefined && { reason }) },
      '--reason',
    )
    session.show(answer, ({ rotationId, isNew, credential }) => {
      const { out } = session
      if (rotationId === null) return out.line(`${credential.name} has nothing to rotate`)
      out.line(rotationId)
      out.note(`${credential.name} is ${credential.status}${isNew ? '' : '; it was under way already'}`)
      if (credential.status === 'waiting') {
        const [secret = 'NAME'] = Object.values(credential.secret)
        out.note(`Bring the new value: millrace secrets set ${secret} --pending`)
      }
    })
  })
  const authorize = credentials
    .command('authorize')
    .argument('<name>', 'a credential of the authorization code')
    .description('print the address where a person allows it in at the vendor')
  handle(authorize, cli, async (session, _options, name) => {
    const answer = await session.api.post<Answer<'authorizeCredential'>>(
      at('credentials', String(name), 'authorize'),
    )
    session.show(answer, () => {
      session.out.line(answer.url)
      session.out.note(`Open it in a browser before ${session.out.time(answer.expiresAt)}.`)
    })
  })
}

async function listCredentials(session: Session): Promise<void> {
  const answer = await session.api.get<Answer<'listCredentials'>>(`${BASE}/credentials`)
  session.show(answer, ({ items }) => {
    const { out } = session
    out.table(
      [
        { title: 'NAME', min: 10 },
        { title: 'PROVIDER', min: 8 },
        { title: 'SIGN-IN' },
        { title: 'STATUS' },
        { title: 'VERSION', align: 'right' },
        { title: 'FINGERPRINT' },
        { title: 'LAST ROTATED' },
        { title: 'NEXT' },
      ],
      items.map((one) => [
        one.name,
        one.provider,
        one.auth,
        out.state(one.status),
        one.version,
        one.fingerprint,
        out.time(one.rotation.lastAt),
        out.time(one.rotation.nextAt),
      ]),
    )
    noteRest(session, answer, 'No credentials. ‘millrace credentials create --file …’ makes one.')
  })
}

async function showCredential(session: Session, name: string): Promise<void> {
  const answer = await session.api.get<Credential>(at('credentials', name))
  session.show(answer, (one) => {
    const { out } = session
    const { rotation } = one
    const timeOrNull = (time: string | null) => (time === null ? null : out.time(time))
    out.fields([
      ['name', one.name],
      ['description', one.description],
      ['provider', one.provider],
      ['sign-in', one.grant === null ? one.auth : `${one.auth}, ${one.grant}`],
      ['secret', Object.entries(one.secret).flat().join(' ')],
      ['status', out.state(one.status)],
      ['connections', one.connections.join(' ')],
      ['token until', timeOrNull(one.tokenExpiresAt)],
      [
        'rotation',
        rotation.everyMs === null ? 'when asked or refused' : `every ${duration(rotation.everyMs)}`,
      ],
      ['next', timeOrNull(rotation.nextAt)],
      ['last rotated', timeOrNull(rotation.lastAt)],
      [
        'under way',
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
    ])
    if (one.versions.length === 0) return
    out.line()
    out.table(
      [
        { title: 'VERSION', align: 'right' },
        { title: 'STATE' },
        { title: 'FINGERPRINT' },
        { title: 'SINCE' },
        { title: 'BY' },
      ],
      one.versions.map((version) => [
        version.version,
        out.state(version.state),
        version.fingerprint,
        out.time(version.since),
        version.by,
      ]),
    )
  })
}

// --- Runs

interface RunOptions extends ListOptions {
  readonly connection?: string
  readonly state?: string
  readonly purpose?: string
  readonly work?: string
}

function addRuns(program: Command, cli: Cli): void {
  const runs = program
    .command('runs')
    .argument('[id]', 'one run, with every attempt and what was sent and answered')
    .description('list calls of operations, newest first, or show one')
    .option('--connection <name>', 'only on this connection')
    .addOption(new Option('--state <state>', 'only in this state').choices(RUN_STATES))
    .addOption(new Option('--purpose <purpose>', 'only for this').choices(RUN_PURPOSES))
    .option('--work <id>', 'only of this work item')
    .addOption(limitOption())
  handle<RunOptions>(runs, cli, (session, options, id) =>
    id === undefined ? listRuns(session, options) : showRun(session, id),
  )
}

async function listRuns(session: Session, options: RunOptions): Promise<void> {
  const { connection, state, purpose, work } = options
  const query = { connection, state, purpose, workId: work }
  const page = await readPages<Run>(session, `${BASE}/runs`, query, options.limit)
  session.show(page, ({ items }) => {
    const { out } = session
    out.table(
      [
        { title: 'ID' },
        { title: 'BEGAN' },
        { title: 'CONNECTION', min: 8 },
        { title: 'OPERATION', min: 8 },
        { title: 'STATE' },
        { title: 'TRIES', align: 'right' },
        { title: 'ANSWER', align: 'right' },
        { title: 'ERROR', min: 8 },
      ],
      items.map((one) => [
        one.id,
        out.time(one.createdAt),
        one.connection,
        one.operation,
        out.state(one.state),
        one.attemptCount,
        one.httpStatus,
        one.error ?? one.externalRef,
      ]),
    )
    noteRest(session, page, 'No such runs.')
  })
}

async function showRun(session: Session, id: string): Promise<void> {
  const answer = await session.api.get<Run>(at('runs', id))
  session.show(answer, (one) => {
    const { out } = session
    out.fields([
      ['id', one.id],
      ['state', out.state(one.state)],
      ['for', one.purpose],
      ['connection', one.connection],
      ['operation', `${one.provider} ${one.operation}`],
      ['event', one.eventId],
      ['work', one.workId],
      ['key', one.key],
      ['there', one.externalRef],
      ['does anew', one.replayOf],
      ['trace', one.traceId],
      ['story', one.correlationId],
      ['began', out.time(one.createdAt)],
    ])
    for (const attempt of one.attempts) {
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
  })
}

// --- What is created from files

async function put<Made extends { readonly warnings: readonly { field: string; message: string }[] }>(
  session: Session,
  folder: 'providers' | 'connections' | 'credentials',
  from: string,
): Promise<Made> {
  const made = await session.api.post<Made>(`${BASE}/${folder}`, await readDocument(session, from))
  for (const { field, message } of made.warnings) session.out.note(`Note: ${field}: ${message}`)
  return made
}

/** One document, as a definition is written. */
async function readDocument(session: Session, from: string): Promise<object> {
  const text = (await readInput(session, from)).toString('utf8')
  const { readDocuments } = await import('../../definitions/index.ts')
  const path = from === '-' ? 'stdin.yaml' : from
  const { documents, findings } = readDocuments([{ path, text }])
  const [wrong] = findings.filter(({ severity }) => severity === 'error')
  if (wrong !== undefined) throw usageError(`${path}:${wrong.line}: ${wrong.message}`)
  const [document] = documents
  if (document === undefined || documents.length > 1)
    throw usageError(`${path} has ${documents.length} documents`, 'One is needed; a folder goes by ‘apply’.')
  return document.value
}
