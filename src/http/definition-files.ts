// Definitions that come over the network: read and checked beside what is in force already. Code does not come this way:
// what runs in the node is the node's own.

import { setImmediate } from 'node:timers/promises'
import { AppError } from '../core/errors/index.ts'
import type { TenantId } from '../core/ids/index.ts'
import {
  type Compiled,
  compareFindings,
  compileDefinitions,
  type DefinitionFile,
  type Finding,
  findTooMuch,
  hasErrors,
  type ReadDocument,
  readDocuments,
} from '../definitions/index.ts'
import { heldByApi } from '../engine/subscriptions/index.ts'
import type { HttpApi } from './api.ts'
import { readSurroundings } from './surroundings.ts'
import { makeTurns } from './turns.ts'

const CODE = /\.[cm]?[jt]sx?$/i

type Checked = Omit<Compiled, 'changedKeys' | 'heldNames' | 'addresses'>

type Api = Pick<HttpApi, 'definitions' | 'secrets' | 'about' | 'outbound' | 'reads' | 'vetSubscription'>

export type CompileFiles = (tenant: TenantId, files: readonly DefinitionFile[]) => Promise<Checked>

const WAITING_MAX = 10
/** Of the nets of all workflows that are sent together: about a tenth of a second. */
const SENT_MARKINGS_MAX = 20_000

/** Reading keeps the node busy: it is weighed first, done file by file, and once at a time for each tenant. */
export function makeFileCompiler(api: Api): CompileFiles {
  const turns = makeTurns(WAITING_MAX)
  return (tenant, files) => turns.take(tenant, () => compileFiles(api, tenant, files))
}

async function compileFiles(api: Api, tenant: TenantId, files: readonly DefinitionFile[]): Promise<Checked> {
  const fields = files.flatMap(({ path }, index) =>
    CODE.test(path)
      ? [{ path: `/files/${index}/path`, message: 'is code: put it into the folder of the node' }]
      : [],
  )
  if (fields.length > 0) {
    const detail = `${files.find(({ path }) => CODE.test(path))?.path} is code; functions come from the folder of the node`
    throw new AppError('invalid_request', detail, { details: { fields } })
  }
  const tooMuch = findTooMuch(files)
  if (tooMuch.length > 0) return { documents: [], definitions: [], findings: tooMuch, proofs: [] }
  const documents: ReadDocument[] = []
  const findings: Finding[] = []
  for (const file of files) {
    const read = readDocuments([file])
    documents.push(...read.documents)
    findings.push(...read.findings)
    // What else the node has to do comes first.
    await setImmediate()
  }
  const subscriptions = documents.flatMap(({ value: { kind, name } }) =>
    kind === 'Subscription' && typeof name === 'string' ? [name] : [],
  )
  const held = await heldByApi(api.reads(tenant), subscriptions)
  const deps = {
    ...(await readSurroundings(api, tenant)),
    ...(api.outbound === undefined ? {} : { outbound: api.outbound(tenant) }),
    isHeld: (name: string) => held.has(name),
    functions: (name: string) => api.definitions.functionHash(tenant, name),
    timeouts: (name: string) => api.definitions.functionTimeoutMs(tenant, name),
    markings: SENT_MARKINGS_MAX,
  }
  const compiled = compileDefinitions([], deps, documents)
  const told = await compiled.addresses(deps.inForce, (document) => api.vetSubscription(tenant, document))
  return { ...compiled, findings: [...findings, ...compiled.findings, ...told].sort(compareFindings) }
}

export function refuseErrors(findings: readonly Finding[]): void {
  if (!hasErrors(findings)) return
  const errors = findings.filter(({ severity }) => severity === 'error')
  const { file, line, column, message } = errors[0] as Finding
  const others = errors.length > 1 ? `, and ${errors.length - 1} more` : ''
  throw new AppError('definitions_invalid', `${file}:${line}:${column} ${message}${others}`, {
    details: { findings },
  })
}
