// millrace pace [route] | pace close-circuit: flow control, when the jobs of routes may run.

import type { Command } from 'commander'
import { type Answer, type Cli, handle, type Session } from '../command.ts'
import { action, printTable } from '../resource.ts'

type Pace = Answer<'listPace'>['items'][number]

export function addPaceCommands(program: Command, cli: Cli): void {
  const pace = program
    .command('pace')
    .argument('[route]', 'one route, with its number of jobs')
    .description('show the flow control of routes: circuits, rates, closed hosts, drains and limits')
  handle<object>(pace, cli, (session, _options, route) =>
    route === undefined ? listPace(session) : showPace(session, String(route)),
  )
  action({
    verb: 'close-circuit',
    on: ['route', 'a route with an open circuit'],
    description: 'close the circuit of a route',
    operation: 'closeCircuit',
    options: [['--reason <text>', 'the reason (logged)', { isNeeded: true }]],
    say: ({ route, circuit }) => `the circuit of ${route} is ${circuit.state}`,
  })(pace, cli)
  action({
    verb: 'close-workflow-circuit',
    on: ['workflow', 'a workflow with an open circuit'],
    description: 'close the circuit of a workflow’s step or trigger',
    operation: 'closeWorkflowCircuit',
    options: [
      [
        '--part <name>',
        'the step or trigger, as `millrace pace` shows it: fire/charge, trigger/0',
        { isNeeded: true },
      ],
      ['--reason <text>', 'the reason (logged)', { isNeeded: true }],
    ],
    say: ({ workflow, part, circuit }) => `the circuit of ${workflow} ${part} is ${circuit.state}`,
  })(pace, cli)
}

/** How many open dead letters a route has: a circuit does not show them. */
async function readDead(session: Session): Promise<(route: string) => string> {
  const query = { state: 'open' }
  const { items, isCapped } = await session.api.get<Answer<'listDeadLetterGroups'>>(
    '/v1/dead-letters/groups',
    query,
  )
  return (route) => {
    const own = items.filter(({ consumer }) => consumer.kind === 'route' && consumer.name === route)
    const count = own.reduce((sum, group) => sum + group.count, 0)
    return `${count}${count > 0 && isCapped ? '+' : ''}`
  }
}

function hostText({ out }: Session, host: Pace['host']): string | null {
  if (host === null) return null
  return host.closedUntil === null ? host.name : `${host.name}, closed until ${out.time(host.closedUntil)}`
}

function connectionText({ out }: Session, connection: NonNullable<Pace['connection']>): string {
  const { name, state, until, why } = connection
  if (state === 'open') return name
  const waits = state === 'refused' ? 'refused' : until === null ? 'waits' : `waits until ${out.time(until)}`
  return `${name}, ${waits}: ${why}`
}

async function listPace(session: Session): Promise<void> {
  const [answer, dead] = await Promise.all([
    session.api.get<Answer<'listPace'>>('/v1/pace'),
    readDead(session),
  ])
  session.show(answer, ({ items, workflows }) => {
    const { out } = session
    if (items.length === 0 && workflows.length === 0)
      return out.line('No routes. Apply some with `millrace apply`.')
    if (items.length > 0) printRoutes(session, items, dead)
    if (workflows.length === 0) return
    printTable(
      session,
      [
        ['WORKFLOW', (one) => one.workflow, 8],
        ['PART', (one) => one.part, 8],
        ['CIRCUIT', ({ circuit }) => circuitText(session, circuit)],
        ['BECAUSE', ({ circuit }) => circuit.class ?? '-'],
      ],
      workflows,
    )
  })
}

function circuitText({ out }: Session, { state, tryAt }: Pace['circuit']): string {
  return tryAt === null ? state : `${state}, tries ${out.time(tryAt)}`
}

function printRoutes(session: Session, items: readonly Pace[], dead: (route: string) => string): void {
  const { out } = session
  printTable(
    session,
    [
      ['ROUTE', (one) => one.route, 8],
      ['CIRCUIT', ({ circuit }) => circuitText(session, circuit)],
      ['DEAD LETTERS', (one) => dead(one.route), 'right'],
      ['RATE', ({ rate }) => (rate === null ? '-' : `${rate.tokens} of ${rate.perMinute}/min`)],
      ['HOST', ({ host }) => hostText(session, host) ?? '-'],
      [
        'DRAIN',
        ({ drain }) => (drain === null ? '-' : `${drain.profile ?? 'own'}, next ${out.time(drain.nextAt)}`),
      ],
      ['LIMIT', ({ limit }) => (limit === null ? '-' : `${limit.running} of ${limit.limit}`)],
    ],
    items,
  )
}

async function showPace(session: Session, route: string): Promise<void> {
  const [answer, dead] = await Promise.all([
    session.api.get<Answer<'getPace'>>(`/v1/pace/${encodeURIComponent(route)}`),
    readDead(session),
  ])
  session.show(answer, (one) => {
    const { out } = session
    const { work, circuit, host, drain, rate, limit, connection } = one
    const capped = (count: number) => (count >= work.cappedAt ? `${count} or more` : String(count))
    out.line(`${one.route}  ${one.status}, priority ${one.priority}`)
    out.line(
      `jobs      ${capped(work.ready)} ready, ${capped(work.waiting)} waiting, ${capped(work.leased)} running`,
    )
    out.line(
      `circuit   ${circuit.state}${circuit.tryAt === null ? '' : `, tries one ${out.time(circuit.tryAt)}`}`,
    )
    if (dead(one.route) !== '0')
      out.line(
        `dead      ${dead(one.route)} dead-lettered; \`millrace dead-letters --consumer ${one.route}\` lists them`,
      )
    if (rate !== null)
      out.line(`rate      ${rate.perMinute} a minute, ${rate.burst} at once; ${rate.tokens} now`)
    if (host !== null) out.line(`host      ${hostText(session, host)}`)
    if (connection !== null) out.line(`calls on  ${connectionText(session, connection)}`)
    if (drain !== null) out.line(`drain     next ${out.time(drain.nextAt)}, ${drain.left} left of the cycle`)
    if (limit !== null) out.line(`limit     ${limit.running} of ${limit.limit} running on this node`)
  })
}
