// Reads what a flow test sends, and what other systems answer.

import { ERRORS } from '../../core/foundation/errors/index.ts'
import { type JsonValue, stringifyJson } from '../../core/foundation/json/index.ts'
import { closest } from '../../core/foundation/text/index.ts'
import { DAY } from '../../core/foundation/time/index.ts'
import {
  type CallAddress,
  type LostCall,
  OPERATOR_ACTS,
  type OperatorAct,
  parseCallAddress,
  type ScriptedAnswer,
  type TestStep,
} from '../../core/testing/flow-test/index.ts'
import type { FieldPath } from '../finding.ts'
import { listed } from '../suggest.ts'
import type { Fields, PartReader } from './part-reader.ts'

const TIMES_MAX = 1_000
/** A year of it takes about half a minute. */
const WAIT_MS_MAX = 3_650 * DAY

const REQUEST = ['source', 'body', 'headers', 'signed', 'times', 'refused']
const EVENT = ['subject', 'data', 'id', 'objectId', 'times']

export function readSteps(
  reader: PartReader,
  value: JsonValue | undefined,
  path: FieldPath,
): readonly TestStep[] {
  if (value === undefined) {
    reader.report({ rule: 'missing', message: '`send` is missing: it says what arrives', path })
    return []
  }
  const isList = Array.isArray(value)
  return (reader.list(value) ?? []).flatMap((one, index) =>
    readStep(reader, one, isList ? [...path, index] : path),
  )
}

function readStep(reader: PartReader, value: JsonValue, path: FieldPath): readonly TestStep[] {
  const isOf = (name: string) => typeof value === 'object' && value !== null && Object.hasOwn(value, name)
  if (isOf('wait')) {
    const fields = reader.fields(value, path, 'a pause', ['wait'])
    const ms = reader.duration(fields?.wait, [...path, 'wait'], WAIT_MS_MAX)
    return ms === null ? [] : [{ type: 'wait', path, ms }]
  }
  const act = OPERATOR_ACTS.find(isOf)
  if (act !== undefined) return readOperatorStep(reader, value, path, act)
  return isOf('subject') && !isOf('source')
    ? readEvent(reader, value, path)
    : readRequest(reader, value, path)
}

const TARGETS = ['route', 'workflow', 'subscription', 'source'] as const

function readOperatorStep(
  reader: PartReader,
  value: JsonValue,
  path: FieldPath,
  act: OperatorAct,
): readonly TestStep[] {
  const at = [...path, act]
  const step = reader.fields(value, path, `a step with \`${act}\``, [act])
  const isOfDefinition = act === 'pause' || act === 'resume'
  const more = isOfDefinition ? [] : act === 'resolve' ? ['key', 'as'] : ['key']
  const fields = step === null ? null : reader.fields(step[act], at, `\`${act}\``, [...TARGETS, ...more])
  if (fields === null) return []
  const [kind, ...others] = TARGETS.filter((one) => fields[one] !== undefined)
  if (kind === undefined || others.length > 0) {
    const message = `\`${act}\` names one of ${listed(TARGETS)}`
    reader.report({ rule: 'oneOf', message, path: at, onKey: true })
    return []
  }
  const as = reader.text(fields.as, [...at, 'as'])
  if (act === 'resolve' && as !== 'done' && as !== 'released') {
    const message = 'say what became of the effect: `as: done` (it is there) or `as: released` (it is not)'
    reader.report({ rule: 'value', message, path: [...at, 'as'] })
    return []
  }
  return [
    {
      type: 'operator',
      path,
      act,
      target: { kind, name: reader.needed(fields[kind], [...at, kind]) },
      key: reader.text(fields.key, [...at, 'key']),
      as: as === 'done' || as === 'released' ? as : null,
    },
  ]
}

function readEvent(reader: PartReader, value: JsonValue, path: FieldPath): readonly TestStep[] {
  const fields = reader.fields(value, path, 'an event', EVENT)
  if (fields === null) return []
  return [
    {
      type: 'event',
      path,
      subject: reader.needed(fields.subject, [...path, 'subject']),
      data: fields.data ?? null,
      id: reader.text(fields.id, [...path, 'id']),
      objectId: reader.text(fields.objectId, [...path, 'objectId']),
      times: timesOf(reader, fields, path),
    },
  ]
}

function readRequest(reader: PartReader, value: JsonValue, path: FieldPath): readonly TestStep[] {
  const fields = reader.fields(value, path, 'a request', REQUEST)
  if (fields === null) return []
  const { body, signed } = fields
  if (signed !== undefined && typeof signed !== 'boolean')
    reader.report({ rule: 'type', message: '`signed` is true or false', path: [...path, 'signed'] })
  const isText = typeof body === 'string'
  const headers = lowerCase(reader.texts(fields.headers, [...path, 'headers']))
  return [
    {
      type: 'request',
      path,
      source: reader.needed(fields.source, [...path, 'source']),
      headers: { 'content-type': isText ? 'text/plain' : 'application/json', ...headers },
      body: body === undefined ? '' : isText ? body : stringifyJson(body),
      times: timesOf(reader, fields, path),
      isSigned: signed !== false,
      refused: readErrorCode(reader, fields.refused, [...path, 'refused']),
    },
  ]
}

function readErrorCode(reader: PartReader, value: JsonValue | undefined, path: FieldPath): string | null {
  const code = reader.text(value, path)
  if (code === null || Object.hasOwn(ERRORS, code)) return code
  const near = closest(code, Object.keys(ERRORS))
  const message = `\`${code}\` is no error code${near === undefined ? ': docs/errors.md lists them' : `: did you mean \`${near}\`?`}`
  reader.report({ rule: 'value', message, path, ...(near === undefined ? {} : { suggestion: near }) })
  return null
}

function timesOf(reader: PartReader, fields: Fields, path: FieldPath): number {
  return reader.wholeNumber(fields.times, [...path, 'times'], { min: 1, max: TIMES_MAX }) ?? 1
}

const ANSWER = ['to', 'status', 'headers', 'body', 'lost', 'after', 'times']
const LOST: readonly LostCall[] = ['timeout', 'reset', 'refused']

export function readAnswers(
  reader: PartReader,
  value: JsonValue | undefined,
  path: FieldPath,
): readonly ScriptedAnswer[] {
  const isList = Array.isArray(value)
  return (reader.list(value) ?? []).flatMap((one, index) =>
    readAnswer(reader, one, isList ? [...path, index] : path),
  )
}

function readAnswer(reader: PartReader, value: JsonValue, path: FieldPath): readonly ScriptedAnswer[] {
  const fields = reader.fields(value, path, 'an answer', ANSWER)
  if (fields === null) return []
  const to = readCallAddress(reader, fields.to, [...path, 'to'])
  const { times, lost, status, body } = fields
  if (lost !== undefined && !LOST.some((how) => how === lost))
    reader.report({ rule: 'value', message: `\`lost\` is one of ${listed(LOST)}`, path: [...path, 'lost'] })
  if (lost !== undefined && (status ?? body ?? fields.headers) !== undefined)
    reader.report({
      rule: 'together',
      message: '`lost` means that no answer comes: leave the rest out',
      path: [...path, 'lost'],
    })
  const isText = typeof body === 'string'
  const headers = lowerCase(reader.texts(fields.headers, [...path, 'headers']))
  return [
    {
      path,
      to,
      times: times === 'any' ? null : timesOf(reader, fields, path),
      afterMs: reader.duration(fields.after, [...path, 'after'], DAY) ?? 0,
      answer:
        lost === undefined
          ? {
              kind: 'response',
              status: reader.wholeNumber(status, [...path, 'status'], { min: 200, max: 599 }) ?? 200,
              headers: {
                ...(body === undefined || isText ? {} : { 'content-type': 'application/json' }),
                ...headers,
              },
              body: body === undefined ? '' : isText ? body : stringifyJson(body),
            }
          : { kind: 'lost', how: lost as LostCall },
    },
  ]
}

const NOWHERE: CallAddress = { method: '', url: '' }

export function readCallAddress(
  reader: PartReader,
  value: JsonValue | undefined,
  path: FieldPath,
): CallAddress {
  const text = reader.needed(value, path)
  if (text === '') return NOWHERE
  const address = parseCallAddress(text)
  if (address !== null) return address
  const message =
    'write the method and the whole address, such as `POST https://api.example.com/orders`; `*` stands for any text'
  reader.report({ rule: 'value', message, path })
  return NOWHERE
}

function lowerCase(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
