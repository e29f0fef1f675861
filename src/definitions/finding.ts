// What `check` reports. The rules are listed in docs/spec/definitions.md; an id is never reused.

import type { TraceStep } from '../core/workflows/analysis/index.ts'

export interface Finding {
  readonly severity: 'error' | 'warning' | 'info'
  readonly rule: RuleId
  readonly message: string
  readonly file: string
  /** Both from 1; columns in UTF-16 units, as editors count them. */
  readonly line: number
  readonly column: number
  /** What to write in place of the marked text. */
  readonly suggestion?: string
  /** How the workflow gets there, for findings of its analysis. */
  readonly trace?: readonly TraceStep[]
  /** The steps after this one repeat. */
  readonly repeatsAfter?: number
}

export const RULES = {
  syntax: 'F1',
  duplicateKey: 'F2',
  tag: 'F3',
  keyNotText: 'F4',
  alias: 'F5',
  tooLarge: 'F6',
  notADocument: 'F7',
  kind: 'F8',
  apiVersion: 'F9',
  name: 'F10',
  duplicate: 'F11',
  unknownField: 'F12',
  notAvailable: 'F13',
  missing: 'F14',
  type: 'F15',
  value: 'F16',
  literal: 'F17',
  unit: 'F18',
  bounds: 'F19',
  expression: 'F20',
  template: 'F21',
  looksLikePath: 'F22',
  condition: 'F23',
  subject: 'F24',
  profile: 'F25',
  delays: 'F26',
  verify: 'F27',
  oneOf: 'F28',
  function: 'F29',
  url: 'F30',
  header: 'F31',
  unknownOutcome: 'F32',
  unsignedTime: 'F33',
  unsignedBody: 'SV18',
  loop: 'F34',
  together: 'F35',
  literalCredential: 'SE50',
  codeBuild: 'FN1',
  codeLoad: 'FN2',
  codeSize: 'FN3',
  functionTwice: 'FN4',
  notData: 'FN5',
  functionShape: 'FN6',
  secretNotSet: 'VA9',
  environment: 'VA10',
  secret: 'IX1',
  envName: 'VA23',
  natsStream: 'BU74',
  catalogSchema: 'CA14',
  unpublished: 'CA16',
  catalogExample: 'CA17',
  sensitivePath: 'SE1',
  restrictedCopy: 'SE20',
  sensitiveInClear: 'SE4',
  keyChanges: 'KY1',
  keyByEvent: 'KY2',
  keyTooBroad: 'KY3',
  keyTooNarrow: 'KY4',
  keyCollision: 'KY5',
  keyWithoutElement: 'KY6',
  keyMigration: 'KY7',
  keySame: 'KY8',
  ledgerKeep: 'KY9',
  lanes: 'DF1',
  stale: 'DF2',
  groups: 'DF3',
  batch: 'DF4',
  batchSilent: 'DF5',
  times: 'DF6',
  neverDrains: 'DF7',
  slowDrain: 'DF8',
  reference: 'DF9',
  foundId: 'DF10',
  race: 'DF11',
  alone: 'DF12',
  unreachablePlace: 'AN1',
  deadTransition: 'AN2',
  deadlock: 'AN3',
  leftBehind: 'AN4',
  noWayToEnd: 'AN5',
  unbounded: 'AN6',
  noWayBack: 'AN7',
  notUndone: 'AN8',
  automaticLoop: 'AN9',
  deadTimeout: 'AN10',
  chooseNothing: 'AN11',
  mayStop: 'AN12',
  target: 'WL1',
  unknownPlace: 'WL2',
  unknownTransition: 'WL3',
  unknownWorkflow: 'WL4',
  unknownAgent: 'WL5',
  permission: 'WL6',
  unknownStep: 'WL7',
  tokens: 'WL8',
  branch: 'WL9',
  rollBack: 'WL10',
  trigger: 'WL11',
  imported: 'WL12',
  encrypt: 'WL13',
  version: 'WL14',
  hands: 'WL15',
  agentInput: 'WL16',
  unknownData: 'WL27',
  endpoint: 'SL6',
  plainHttp: 'SL7',
  sameBody: 'SL8',
  everything: 'SL9',
  hidden: 'SL10',
  patience: 'SL11',
  burst: 'SL12',
  nameTaken: 'SL13',
  unknownProvider: 'PV1',
  unknownConnection: 'PV2',
  unknownCredential: 'PV3',
  unknownOperation: 'PV4',
  otherProvider: 'PV5',
  operationInput: 'PV6',
  authModel: 'PV7',
  idempotency: 'PV8',
  unknownPart: 'PV9',
  connectionConfig: 'PV10',
  plainCredential: 'PV11',
  secretInPlace: 'PV12',
  deprecated: 'PV13',
  providerTaken: 'PV14',
  elsewhere: 'PV15',
  probe: 'PV16',
  needsCredential: 'PV17',
  natsName: 'BU51',
  natsLoop: 'BU52',
  natsOverlap: 'BU53',
  natsDurable: 'BU54',
  unknownVar: 'VR3',
  steps: 'SF9',
  delay: 'SF12',
  varSetting: 'VR14',
  pollsEverything: 'PO15',
  mayMissItems: 'PO17',
} as const

export type RuleName = keyof typeof RULES
export type RuleId = (typeof RULES)[RuleName]

export type FieldPath = readonly (string | number)[]

/** A finding before its position in a file is known. */
export interface Remark {
  readonly rule: RuleName
  readonly message: string
  readonly path: FieldPath
  /** Marks the field's name instead of its value. */
  readonly onKey?: boolean
  /** Into the text of the value. */
  readonly offset?: number
  /** The text seems to continue: a `#` may have ended it. */
  readonly isCut?: boolean
  readonly severity?: 'warning' | 'info'
  /** What to write, as it would be in a file. */
  readonly suggestion?: string
  /** What the text should be; it is quoted as its file requires. */
  readonly suggestedText?: string
}

export function compareFindings(a: Finding, b: Finding): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return a.line - b.line || a.column - b.column || numberOf(a.rule) - numberOf(b.rule)
}

function numberOf(rule: RuleId): number {
  return Number(rule.replace(/^[A-Z]+/, ''))
}

export function missing(path: FieldPath): Remark {
  return { rule: 'missing', message: `\`${path.at(-1)}\` is missing`, path }
}

export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some(({ severity }) => severity === 'error')
}
