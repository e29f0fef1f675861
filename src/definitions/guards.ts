// Checks who may send to a source and how it responds, as far as a schema of single fields cannot.

import { parseAllowed, vendorNames } from '../core/access/network/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { closest } from '../core/foundation/text/index.ts'
import type { FieldPath, Remark } from './finding.ts'
import { listed } from './suggest.ts'
import type { Fields } from './written.ts'

export function checkGuards(source: Fields): readonly Remark[] {
  return [
    ...checkAllow(source.allow),
    ...checkContentType(source.respond, 'respond'),
    ...checkContentType(source.handshake, 'handshake'),
  ]
}

function checkAllow(allow: JsonValue | undefined): readonly Remark[] {
  if (typeof allow === 'string') return checkEntry(allow, ['allow'])
  if (!Array.isArray(allow)) return []
  return allow.flatMap((entry, index) =>
    typeof entry === 'string' ? checkEntry(entry, ['allow', index]) : [],
  )
}

function checkEntry(entry: string, path: FieldPath): readonly Remark[] {
  // Another finding reports a template here, or an empty entry.
  if (entry === '' || entry.includes('{{') || parseAllowed(entry) !== null) return []
  const near = /^[\w-]+$/.test(entry) ? closest(entry, vendorNames()) : undefined
  const known = `a network such as 192.0.2.0/24, an address, or a vendor whose networks are known: ${listed(vendorNames())}`
  const message = `\`${entry.slice(0, 100)}\` is not ${known}`
  return [{ rule: 'value', message, path, ...(near === undefined ? {} : { suggestedText: near }) }]
}

const CONTENT_TYPE = /^[\w.+-]+\/[\w.+-]+(?: *; *[\w.+-]+=[\w.+"-]+)*$/

function checkContentType(answer: JsonValue | undefined, field: string): readonly Remark[] {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return []
  const { contentType } = answer as Fields
  if (typeof contentType !== 'string' || contentType === '' || contentType.includes('{{')) return []
  if (CONTENT_TYPE.test(contentType)) return []
  const message = 'this is a content type such as text/xml or application/json; charset=utf-8'
  return [{ rule: 'value', message, path: [field, 'contentType'] }]
}
