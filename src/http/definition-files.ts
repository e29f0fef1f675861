// Definitions that come over the network: read and checked beside what is in force already. Code does not come this way:
// what runs in the node is the node's own.

import type { RetryPolicy } from '../core/definition/index.ts'
import { AppError } from '../core/errors/index.ts'
import type { TenantId } from '../core/ids/index.ts'
import {
  type Compiled,
  compileDefinitions,
  type DefinitionFile,
  type Finding,
  hasErrors,
} from '../definitions/index.ts'
import type { HttpApi } from './api.ts'

const CODE = /\.[cm]?[jt]sx?$/i

export async function compileFiles(
  api: Pick<HttpApi, 'definitions' | 'secrets'>,
  tenant: TenantId,
  files: readonly DefinitionFile[],
): Promise<Compiled> {
  const fields = files.flatMap(({ path }, index) =>
    CODE.test(path)
      ? [{ path: `/files/${index}/path`, message: 'is code: put it into the folder of the node' }]
      : [],
  )
  if (fields.length > 0) {
    const detail = `${files.find(({ path }) => CODE.test(path))?.path} is code; functions come from the folder of the node`
    throw new AppError('invalid_request', detail, { details: { fields } })
  }
  const profiles = new Map<string, RetryPolicy>()
  for (const { document } of await api.definitions.list(tenant)) {
    if (document.kind === 'Profile') profiles.set(document.name, document.retry)
  }
  const names = await api.secrets.names(tenant)
  return compileDefinitions(files, {
    functions: (name) => api.definitions.functionHash(tenant, name),
    timeouts: (name) => api.definitions.functionTimeoutMs(tenant, name),
    profiles,
    secrets: (name) => names.has(name),
  })
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
