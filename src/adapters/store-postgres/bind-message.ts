// A Bind message of the wire protocol whose parameters are columns, written once and directly from the rows.
//
// Each parameter is an array in the binary format, like those of parameters.ts. A column whose values are all null is
// sent as null: `unnest` fills it up. No array of values is built in between, and no byte is copied twice.

import { Buffer } from 'node:buffer'
import { type ColumnType, escapeText, OIDS } from './parameters.ts'

/** A shorter text is copied character by character while it is ASCII: a call into native code costs more. */
const SHORT_MAX = 48
const FIRST_BYTES = 64 * 1024
const HALF = 2 ** 32
/** Dimensions, null flag, type of the elements, length and lower bound; the length of the parameter is before it. */
const HEADER_BYTES = 24

export class BindMessage {
  #bytes: Buffer
  #at = 0

  /** For a prepared statement with this many parameters, all of them in the binary format. Written over the bytes of an earlier one, if given. */
  constructor(statement: string, parameters: number, bytes: Buffer = Buffer.allocUnsafe(FIRST_BYTES)) {
    this.#bytes = bytes
    this.#bytes[0] = 0x42
    // The length comes last. Then the unnamed portal, the statement, one format for all, the number of parameters.
    this.#bytes[5] = 0
    this.#at = 6 + this.#bytes.write(statement, 6, 'latin1')
    this.#bytes[this.#at++] = 0
    this.#int16(1)
    this.#int16(1)
    this.#int16(parameters)
  }

  uuid(text: string): void {
    this.#reserve(20)
    this.#int32(16)
    this.#at += this.#bytes.write(text.replaceAll('-', ''), this.#at, 'hex')
  }

  /** One column. A uuid is given as its 16 bytes. */
  column<Row>(type: ColumnType, rows: readonly Row[], valueIn: (row: Row) => unknown): void {
    const start = this.#at
    this.#reserve(HEADER_BYTES)
    this.#at += HEADER_BYTES
    let nulls = 0
    let last: unknown
    let lastAt = 0
    let lastBytes = 0
    for (const row of rows) {
      const value = valueIn(row)
      if (value === null || value === undefined) {
        nulls += 1
        this.#reserve(4)
        this.#int32(-1)
      } else if (value === last) {
        // Tenant, consumer, definition: the same in most rows of a group.
        this.#reserve(lastBytes)
        this.#bytes.copyWithin(this.#at, lastAt, lastAt + lastBytes)
        this.#at += lastBytes
      } else {
        last = value
        lastAt = this.#at
        this.#value(type, value)
        lastBytes = this.#at - lastAt
      }
    }
    const end = this.#at
    this.#at = start
    if (nulls === rows.length) {
      this.#int32(-1)
      return
    }
    this.#int32(end - start - 4)
    this.#int32(1)
    this.#int32(nulls > 0 ? 1 : 0)
    this.#int32(OIDS[type])
    this.#int32(rows.length)
    this.#int32(1)
    this.#at = end
  }

  /** The whole message, from the start of its memory on. Its results come as text. */
  end(): Buffer {
    this.#reserve(4)
    this.#int16(1)
    this.#int16(0)
    const end = this.#at
    this.#at = 1
    this.#int32(end - 1)
    return this.#bytes.subarray(0, end)
  }

  /** For the next message, once the server has answered this one. */
  get bytes(): Buffer {
    return this.#bytes
  }

  #value(type: ColumnType, value: unknown): void {
    if (type === 'text') {
      this.#text(escapeText(value as string))
      return
    }
    this.#reserve(20)
    switch (type) {
      case 'int8':
        this.#int8(Math.round(value as number))
        break
      case 'float8':
        this.#int32(8)
        this.#at = this.#bytes.writeDoubleBE(value as number, this.#at)
        break
      case 'bool':
        this.#int32(1)
        this.#bytes[this.#at++] = value === true ? 1 : 0
        break
      default:
        this.#int32(16)
        this.#bytes.set(value as Buffer, this.#at)
        this.#at += 16
    }
  }

  #text(text: string): void {
    const { length } = text
    this.#reserve(4 + 3 * length)
    const bytes = this.#bytes
    const start = this.#at + 4
    let written = 0
    if (length <= SHORT_MAX) {
      for (; written < length; written += 1) {
        const code = text.charCodeAt(written)
        if (code > 0x7f) break
        bytes[start + written] = code
      }
    }
    if (written < length) written = bytes.write(text, start)
    this.#int32(written)
    this.#at = start + written
  }

  #int8(value: number): void {
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a whole number that can be kept`)
    this.#int32(8)
    const high = Math.floor(value / HALF)
    this.#int32(high)
    this.#int32(value - high * HALF)
  }

  #int16(value: number): void {
    this.#bytes[this.#at++] = value >>> 8
    this.#bytes[this.#at++] = value
  }

  #int32(value: number): void {
    const bytes = this.#bytes
    const at = this.#at
    bytes[at] = value >>> 24
    bytes[at + 1] = value >>> 16
    bytes[at + 2] = value >>> 8
    bytes[at + 3] = value
    this.#at = at + 4
  }

  #reserve(more: number): void {
    const needed = this.#at + more
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}
