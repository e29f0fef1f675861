// Statements of one transaction sent as one batch: one write to the socket, one Sync, one response.
//
// The driver's pipeline sends each statement with its own Sync, which costs a write here, a response there and a
// wake-up for each of them, and has it describe its columns every time. A batch asks for them once per connection.
// After a failure the server skips the rest, so nothing after it is executed; an open transaction stays open, and must
// be rolled back.
//
// Statements of batches have names of their own: the driver does not know them, and need not.

import pg, { type FieldDef, type PoolClient } from 'pg'
import type { Statement } from './connection.ts'
import { TYPES } from './parameters.ts'

export interface Answer {
  // biome-ignore lint/suspicious/noExplicitAny: rows are what the statements name; the port's types say which.
  readonly rows: any[]
  /** As the server names it: `COMMIT`, or `ROLLBACK` if it could not commit. */
  readonly command: string
}

interface Column {
  readonly name: string
  parse(text: string): unknown
}

/** The part of the driver's connection that submittables use; newer than its types. */
interface Connection {
  readonly stream: { cork(): void; uncork(): void; writable: boolean; write(bytes: Uint8Array): boolean }
  close(message: { type: 'S'; name: string }): void
  parse(message: { name: string; text: string }): void
  bind(message: { statement: string; values: readonly unknown[]; valueMapper(value: unknown): unknown }): void
  describe(message: { type: 'P'; name: string }): void
  execute(message: { portal: string }): void
  sync(): void
}

/** The statements prepared on a connection, with their columns. */
const known = new WeakMap<object, Map<string, readonly Column[]>>()

const NO_COLUMNS: readonly Column[] = []

export const nameInBatch = (name: string) => `b${name}`

type Done = (error: Error | null, answers?: readonly Answer[]) => void

/** A query to the driver, because its pipeline accepts nothing else. */
class Batch extends pg.Query {
  /** Read by the driver, which wraps it to bound the wait. */
  callback: Done
  readonly #statements: readonly Statement[]
  readonly #answers: Answer[] = []
  readonly #learned = new Map<string, readonly Column[]>()
  #knows = new Map<string, readonly Column[]>()
  #columns: readonly Column[] | undefined
  #rows: unknown[] = []
  #broken: Error | null = null

  constructor(statements: readonly Statement[], done: Done) {
    super('')
    this.#statements = statements
    this.callback = done
    this.submit = (connection) => this.#submit(connection as unknown as Connection)
  }

  #submit(connection: Connection): null {
    this.#knows = known.get(connection) ?? new Map()
    known.set(connection, this.#knows)
    connection.stream.cork()
    try {
      for (const { name, text, values, bind } of this.#statements) {
        const statement = nameInBatch(name)
        const isNew = !this.#knows.has(statement) && !this.#learned.has(statement)
        if (isNew) {
          this.#learned.set(statement, NO_COLUMNS)
          // A statement that failed half-way may exist: closing one that does not exist is not an error.
          connection.close({ type: 'S', name: statement })
          connection.parse({ name: statement, text })
        }
        if (bind === undefined) connection.bind({ statement, values, valueMapper: asItIs })
        else if (connection.stream.writable) connection.stream.write(bind)
        if (isNew) connection.describe({ type: 'P', name: '' })
        connection.execute({ portal: '' })
      }
      connection.sync()
    } finally {
      connection.stream.uncork()
    }
    return null
  }

  handleRowDescription({ fields }: { fields: readonly FieldDef[] }): void {
    const columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: TYPES.getTypeParser(dataTypeID, 'text'),
    }))
    this.#learned.set(this.#current(), columns)
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    this.#columns ??= this.#knows.get(this.#current()) ?? this.#learned.get(this.#current()) ?? NO_COLUMNS
    try {
      this.#rows.push(readRow(this.#columns, fields))
    } catch (error) {
      this.#broken ??= error as Error
    }
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.#answers.push({ rows: this.#rows, command: text })
    this.#rows = []
    this.#columns = undefined
  }

  handleError(error: Error): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    for (const [statement, columns] of this.#learned) this.#knows.set(statement, columns)
    this.callback(this.#broken, this.#answers)
  }

  #current(): string {
    return nameInBatch(this.#statements[this.#answers.length]?.name ?? '')
  }
}

/** Numbers travel as text; arrays are already in the binary format. */
const asItIs = (value: unknown) => (typeof value === 'number' ? String(value) : value)

function readRow(columns: readonly Column[], fields: readonly (string | null)[]): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (let index = 0; index < columns.length; index += 1) {
    const { name, parse } = columns[index] as Column
    const text = fields[index] as string | null
    row[name] = text === null ? null : parse(text)
  }
  return row
}

export function sendBatch(client: PoolClient, statements: readonly Statement[]): Promise<readonly Answer[]> {
  return new Promise((resolve, reject) => {
    const done: Done = (error, answers) => (error === null ? resolve(answers ?? []) : reject(error))
    client.query(new Batch(statements, done))
  })
}
