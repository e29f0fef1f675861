// Tenants with definitions of their own, made through the API of a running node.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EMITTING, keptFlows } from './flows.ts'
import { ADMIN_KEY, tenantNames } from './sample.ts'

/** The first tenant has its definitions from the folder. */
export async function makeTenants(url: string, count: number): Promise<void> {
  const source = await readFile(join(keptFlows('ingest'), 'source.yaml'), 'utf8')
  const files = [
    { path: 'source.yaml', text: source },
    { path: 'route.yaml', text: EMITTING },
  ]
  for (const tenant of tenantNames(count).slice(1)) {
    await post(url, 'tenants', ADMIN_KEY, { name: tenant })
    const { key } = await post<{ key: string }>(url, 'keys', ADMIN_KEY, {
      name: 'bench',
      role: 'admin',
      tenant,
    })
    await post(url, 'definitions/apply', key, { files })
  }
}

async function post<Answer>(url: string, path: string, key: string, body: object): Promise<Answer> {
  const response = await fetch(`${url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`HTTP ${response.status} for ${path}: ${await response.text()}`)
  return (await response.json()) as Answer
}
