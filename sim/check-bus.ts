// What is promised of the bus. In: a message is acknowledged only when the store has its event, and each that stays in its stream
// becomes one (N1). Out: a change and its outbox row are one commit; a row leaves the outbox when the bus has it; at the end
// nothing is left in it, and the bus holds the tokens of every instance (N13).

import type { StoredMessage } from '../src/adapters/bus-local/index.ts'
import type { OutboxRow } from '../src/core/store/outbox/index.ts'
import type { IncomingMessage, OutgoingMessage } from '../src/ports/bus.ts'
import type { Commit, Write } from '../src/ports/store.ts'
import { STREAM, WIRE } from './bus.ts'
import type { Outcome } from './data.ts'
import { short } from './node.ts'
import type { Outside } from './node-access.ts'

export interface BusChecks {
  applying(commits: readonly Commit[]): void
  applied(commits: readonly Commit[], outcomes: readonly Outcome[]): void
  /** A node acknowledges that it is stored. */
  acknowledged(message: IncomingMessage): void
  /** The bus says that it has it. */
  told(message: OutgoingMessage): void
  /** The bus is about to lose all that it holds. */
  lost(): void
  isMended(): boolean
  end(): void
}

/** As its event is known (BU57). */
const keyOf = (subject: string, id: string) => `id:${subject} ${id}`

/** One that cannot be read is another with other content. */
const knownBy = (dedupKey: string) =>
  /^unread:(.+?):(?:sha256:)?[0-9a-f]{64}$/.exec(dedupKey)?.[1] ?? dedupKey

const TOKENS = 'millrace.*.workflows.>'

export function makeBusChecks(
  deps: Pick<Outside, 'observations' | 'data'> & {
    readonly hasOutbox: boolean
    stored(pattern: string): readonly StoredMessage[]
  },
): BusChecks {
  const { observations, data, hasOutbox } = deps
  /** Keys of events that were made of messages. */
  const kept = new Set<string>()
  const told = new Set<string>()
  /** Rows of the outbox, by their positions, before the group that takes some of them out. */
  let known = new Map<number, OutboxRow>()
  let hasLost = false

  const appendedBy = ({ writes }: Commit) =>
    writes.flatMap((write) => (write.w === 'event.append' ? [write.event] : []))

  const rowsAddedBy = ({ writes }: Commit) =>
    writes.flatMap((write) => (write.w === 'outbox.add' ? write.rows : []))

  const checkMirrored = (commit: Commit) => {
    const ids = new Set(rowsAddedBy(commit).map(({ id }) => id))
    for (const { id, subject } of appendedBy(commit))
      if (!ids.has(id))
        observations.violate('N13', `event ${short(id)} ${subject} is stored and will never be published`)
  }

  const deleted = ({ positions }: Extract<Write, { w: 'outbox.delete' }>) => {
    for (const position of positions) {
      const row = known.get(position)
      if (row === undefined) continue
      known.delete(position)
      observations.counts.relayed += 1
      const isGone = row.event !== null && data.event(row.tenant, row.event) === null
      if (!told.has(row.id) && !isGone)
        observations.violate('N13', `${row.id} leaves the outbox, and the bus does not have it`)
    }
  }

  return {
    applying(commits) {
      if (!commits.some(({ writes }) => writes.some(({ w }) => w === 'outbox.delete'))) return
      known = new Map(data.outbox().map((row) => [row.position, row]))
    },
    applied(commits, outcomes) {
      const done = commits.filter((_commit, index) => outcomes[index]?.ok === true)
      for (const commit of done) {
        for (const event of appendedBy(commit))
          if (event.source === WIRE.name) kept.add(knownBy(event.dedupKey))
        if (hasOutbox) checkMirrored(commit)
        for (const write of commit.writes) if (write.w === 'outbox.delete') deleted(write)
      }
    },
    acknowledged({ id, place, subject }) {
      observations.counts.taken += 1
      if (!kept.has(id === null ? `at:${place}` : keyOf(subject, id)))
        observations.violate('N1', `a message ${subject} is acknowledged, and the store does not have it`)
    },
    told({ id }) {
      told.add(id)
    },
    lost() {
      hasLost = true
    },
    isMended: () =>
      data.outbox().length === 0 &&
      deps.stored(STREAM.subjects[0]!).every((message) => isTaken(message)) &&
      // What the bus lost is republished, after everything else.
      (!hasLost || !hasOutbox || tokenProblems().length === 0),
    end() {
      for (const message of deps.stored(STREAM.subjects[0]!))
        if (!isTaken(message))
          observations.violate('N1', `a message ${message.subject} never became an event`)
      if (hasOutbox) for (const problem of tokenProblems()) observations.violate('N13', problem)
    },
  }

  function isTaken({ id, subject, number }: StoredMessage): boolean {
    if (id !== null) return kept.has(keyOf(subject, id))
    // Its identity is the stream, the creation time of the stream, and the sequence number.
    return [...kept].some((key) => key.startsWith(`at:${STREAM.name}@`) && key.endsWith(`:${number}`))
  }

  function tokenProblems(): readonly string[] {
    const problems: string[] = []
    const there = new Map<string, number>()
    for (const { body } of deps.stored(TOKENS)) {
      if (body.byteLength === 0) continue
      const { instance, place } = JSON.parse(new TextDecoder().decode(body)) as {
        instance: string
        place: string
      }
      const name = `${short(instance)} ${place}`
      there.set(name, (there.get(name) ?? 0) + 1)
    }
    for (const row of data.dump().instances) {
      if (row.state !== 'active') continue
      for (const [place, count] of Object.entries(row.marking)) {
        const name = `${short(row.id)} ${place}`
        if ((there.get(name) ?? 0) !== count)
          problems.push(`the bus holds ${there.get(name) ?? 0} tokens of ${name}, not ${count}`)
        there.delete(name)
      }
    }
    for (const name of there.keys()) problems.push(`the bus holds tokens of ${name}, which has none`)
    return problems
  }
}
