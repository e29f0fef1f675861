// Converts values for PostgreSQL and back.
//
// Arrays travel in the binary format: a body of 20 KiB is copied, not escaped. Text cannot contain U+0000 in PostgreSQL
// but a key made from a payload can, so it is written as an escape and read back; equal texts stay equal, and other
// texts keep their order. Numbers are whole (int8) or floating (float8); int8 is read as a number, and one that a
// number cannot represent is an error rather than a wrong value.

import { Buffer } from 'node:buffer'
import pg, { type CustomTypesConfig } from 'pg'

export type ColumnType = 'text' | 'int8' | 'float8' | 'bool' | 'uuid'

export const OIDS = { bool: 16, int8: 20, text: 25, float8: 701, uuid: 2950 } as const satisfies Record<
  ColumnType,
  number
>

/** The last code point, which is not a character: no sensible text contains it. */
const ESCAPE = '\u{10ffff}'

export function escapeText(text: string): string {
  if (!text.includes('\0') && !text.includes(ESCAPE)) return text
  return text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll('\0', `${ESCAPE}0`)
}

function unescapeText(text: string): string {
  if (!text.includes(ESCAPE)) return text
  return text.replaceAll(`${ESCAPE}0`, '\0').replaceAll(`${ESCAPE}1`, ESCAPE)
}

const HEADER_BYTES = 20

/** One array parameter in the binary format. A uuid is given as its 16 bytes. */
export function makeArray(type: ColumnType, values: readonly unknown[]): Buffer {
  if (type === 'text') return makeTextArray(values as readonly (string | null | undefined)[])
  const width = { bool: 1, int8: 8, float8: 8, uuid: 16 }[type]
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + values.length * (4 + width))
  let hasNull = false
  let offset = HEADER_BYTES
  for (const value of values) {
    if (value === null || value === undefined) {
      hasNull = true
      offset = buffer.writeInt32BE(-1, offset)
      continue
    }
    offset = writeFixed(buffer, buffer.writeInt32BE(width, offset), type, value)
  }
  writeHeader(buffer, type, values.length, hasNull)
  return buffer.subarray(0, offset)
}

function writeFixed(buffer: Buffer, offset: number, type: ColumnType, value: unknown): number {
  switch (type) {
    case 'bool':
      return buffer.writeUInt8(value === true ? 1 : 0, offset)
    case 'float8':
      return buffer.writeDoubleBE(value as number, offset)
    case 'int8':
      return writeInt8(buffer, Math.round(value as number), offset)
    default:
      return offset + (value as Buffer).copy(buffer, offset)
  }
}

const HALF = 2 ** 32

/** In two halves: a bigint for each would create much garbage. */
function writeInt8(buffer: Buffer, value: number, offset: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a whole number that can be kept`)
  buffer.writeInt32BE(Math.floor(value / HALF), offset)
  return buffer.writeUInt32BE(value - Math.floor(value / HALF) * HALF, offset + 4)
}

function makeTextArray(values: readonly (string | null | undefined)[]): Buffer {
  let size = HEADER_BYTES
  const escaped = values.map((value) => (value === null || value === undefined ? null : escapeText(value)))
  for (const value of escaped) size += 4 + (value === null ? 0 : Buffer.byteLength(value))
  const buffer = Buffer.allocUnsafe(size)
  let hasNull = false
  let offset = HEADER_BYTES
  for (const value of escaped) {
    if (value === null) {
      hasNull = true
      offset = buffer.writeInt32BE(-1, offset)
      continue
    }
    const length = buffer.write(value, offset + 4)
    offset = buffer.writeInt32BE(length, offset) + length
  }
  writeHeader(buffer, 'text', values.length, hasNull)
  return buffer
}

function writeHeader(buffer: Buffer, type: ColumnType, length: number, hasNull: boolean): void {
  buffer.writeInt32BE(1, 0)
  buffer.writeInt32BE(hasNull ? 1 : 0, 4)
  buffer.writeInt32BE(OIDS[type], 8)
  buffer.writeInt32BE(length, 12)
  buffer.writeInt32BE(1, 16)
}

function parseInt8(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new Error(`the integer ${text} is beyond what a number holds`)
  return value
}

/** Only for Millrace's pools; the driver's defaults, which other code in the process may use, stay as they are. */
export const TYPES: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === OIDS.text) return unescapeText
    if (oid === OIDS.int8) return parseInt8
    return pg.types.getTypeParser(oid, format as 'text')
  }) as CustomTypesConfig['getTypeParser'],
}
