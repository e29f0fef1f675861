// Reads definitions that arrive over the network, and checks them together with the deployed ones. Code does not arrive this way:
// the node runs only its own code.

import { type DefinitionDocument, filledVarsOf } from '../core/definitions/documents/index.ts'
import { AppError } from '../core/foundation/errors/index.ts'
import type { TenantId } from '../core/foundation/ids/index.ts'
import {
  type CheckedFiles,
  type CheckQuestions,
  compareFindings,
  type DefinitionFile,
  type Finding,
  findTooMuch,
  hasErrors,
  vetEndpoints,
} from '../definitions/index.ts'
import { heldByApi } from '../engine/webhooks/index.ts'
import type { HttpApi } from './api.ts'
import { outboundJob, readSurroundings } from './check-context.ts'
import { runHere } from './run-check.ts'
import { makeTenantSerializer } from './tenant-serializer.ts'

const CODE = /\.[cm]?[jt]sx?$/i

type Checked = Omit<CheckedFiles, 'endpoints'>

type Api = Pick<
  HttpApi,
  | 'definitions'
  | 'secrets'
  | 'about'
  | 'outbound'
  | 'busPrefix'
  | 'reads'
  | 'vetSubscription'
  | 'runCheck'
  | 'variableNames'
  | 'varSettings'
>

export type CompileFiles = (
  tenant: TenantId,
  files: readonly DefinitionFile[],
  functions?: readonly PlannedFunction[],
) => Promise<Checked>

/** One that comes with the files, and stands instead of the node's own of that name. */
export interface PlannedFunction {
  readonly name: string
  readonly hash: string
  readonly timeoutMs?: number
  readonly emits?: readonly string[]
}

const WAITING_MAX = 10
/** Of the nets of all workflows that are sent together: about a tenth of a second. */
const SENT_MARKINGS_MAX = 20_000

/** What is sent is weighed first, then checked off this thread, once at a time for each tenant. */
export function makeFileCompiler(api: Api): CompileFiles {
  const serializer = makeTenantSerializer(WAITING_MAX)
  return (tenant, files, functions = []) =>
    serializer.take(tenant, () => compileFiles(api, tenant, files, functions))
}

async function compileFiles(
  api: Api,
  tenant: TenantId,
  files: readonly DefinitionFile[],
  planned: readonly PlannedFunction[],
): Promise<Checked> {
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
  if (tooMuch.length > 0)
    return { documents: [], definitions: [], refilled: [], findings: tooMuch, proofs: [] }
  const { runCheck = runHere } = api
  const own = planned.map(({ name, hash, timeoutMs = null }) => [name, { hash, timeoutMs }] as const)
  const beside = await readSurroundings(api, tenant)
  const filledBeside = await readFilled(api, tenant, beside.deployedDocuments)
  const answer = async ({ functions, subscriptions }: CheckQuestions) => ({
    functions: new Map([...functions.flatMap((name) => functionOf(api, tenant, name)), ...own]),
    held: await heldByApi(api.reads(tenant), subscriptions),
  })
  const { endpoints, ...checked } = await runCheck(
    {
      job: 'files',
      files,
      beside: {
        ...beside,
        filledBeside,
        emits: [...(beside.emits ?? []), ...planned.flatMap(({ emits = [] }) => emits)],
      },
      ...outboundJob(api, tenant),
      markings: SENT_MARKINGS_MAX,
    },
    answer,
  )
  const told = await vetEndpoints(endpoints, (document) =>
    api.vetSubscription(tenant, document, checked.documents),
  )
  return { ...checked, findings: [...checked.findings, ...told].sort(compareFindings) }
}

/** Definitions that values of `vars` are filled into, as they were written. */
async function readFilled(
  { definitions }: Api,
  tenant: TenantId,
  deployed: readonly DefinitionDocument[],
): Promise<readonly DefinitionFile[]> {
  const filled = deployed.filter((one) => Object.keys(filledVarsOf(one)).length > 0)
  const all = await Promise.all(filled.map(({ kind, name }) => definitions.one(tenant, kind, name)))
  return all.flatMap(({ authored }) => authored ?? [])
}

function functionOf({ definitions }: Api, tenant: TenantId, name: string) {
  const hash = definitions.functionHash(tenant, name)
  if (hash === null) return []
  return [[name, { hash, timeoutMs: definitions.functionTimeoutMs(tenant, name) }] as const]
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
