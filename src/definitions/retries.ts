// Checks retries, wherever they are.

import { parseDuration } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import type { Surroundings } from './document-context.ts'
import type { FieldPath, Remark } from './finding.ts'
import { checkProfileName } from './profiles.ts'
import { type Fields, fieldsOf } from './written.ts'

export function checkRetry(
  retry: JsonValue | undefined,
  around: Surroundings,
  at: FieldPath = ['retry'],
): readonly Remark[] {
  if (typeof retry === 'string') return checkProfileName(retry, 'retry', at, around.profiles)
  const fields = fieldsOf(retry)
  return fields.backoff === undefined
    ? [...checkWithoutBackoff(fields, at), ...checkDelays(fields, at)]
    : checkBackoff(fields, at)
}

function checkDelays({ attempts, delays }: Fields, at: FieldPath): readonly Remark[] {
  const count = delays === undefined ? 0 : Array.isArray(delays) ? delays.length : null
  if (typeof attempts !== 'number' || attempts < 1 || count === null || attempts - 1 === count) return []
  const message = `\`attempts\` counts the first: ${attempts} attempts have ${attempts - 1} delays, here are ${count}`
  const path = [...at, delays === undefined ? 'attempts' : 'delays']
  return [{ rule: 'delays', message, path, suggestion: `attempts: ${count + 1}` }]
}

const OF_BACKOFF = ['first', 'factor', 'max'] as const

function checkWithoutBackoff(retry: Fields, at: FieldPath): readonly Remark[] {
  return OF_BACKOFF.filter((name) => retry[name] !== undefined).map((name) => ({
    rule: 'together',
    message: `\`${name}\` belongs to a formula: write \`backoff: exponential\`, \`linear\` or \`fixed\` beside it, or list \`delays\``,
    path: [...at, name],
    onKey: true,
  }))
}

function checkBackoff(retry: Fields, at: FieldPath): readonly Remark[] {
  const { backoff, delays, first, factor, max } = retry
  const excluded = (name: string, message: string): Remark => ({
    rule: 'together',
    message,
    path: [...at, name],
    onKey: true,
  })
  const remarks: Remark[] = []
  if (delays !== undefined) {
    remarks.push(excluded('delays', '`backoff` computes the delays: keep it, or `delays`'))
  }
  if (factor !== undefined && (backoff === 'linear' || backoff === 'fixed')) {
    remarks.push(excluded('factor', `\`factor\` belongs to \`backoff: exponential\`; ${USES[backoff]}`))
  }
  if (max !== undefined && backoff === 'fixed') {
    remarks.push(excluded('max', `\`max\` limits delays that grow; ${USES.fixed}`))
  }
  const firstMs = typeof first === 'string' ? parseDuration(first) : null
  const maxMs = typeof max === 'string' ? parseDuration(max) : null
  if (firstMs !== null && maxMs !== null && maxMs < firstMs && backoff !== 'fixed') {
    const message = `no delay is longer than \`max\`, and \`first\` is: ${String(first)}`
    remarks.push({ rule: 'bounds', message, path: [...at, 'max'] })
  }
  return remarks
}

const USES = {
  linear: 'with `linear` each delay is one `first` longer',
  fixed: 'with `fixed` every delay is `first`',
} as const
