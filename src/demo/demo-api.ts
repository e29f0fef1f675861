// The demo's part of the API: only for the tenant that has it, and only while its definitions are deployed.

import { AppError } from '../core/foundation/errors/index.ts'
import { DEFAULT_TENANT, type TenantId } from '../core/foundation/ids/index.ts'
import type { Demo } from './demo.ts'
import type { DemoState } from './stream.ts'

const NOTHING: DemoState = { isSending: false, sent: 0, total: 0 }

/** `demo` is null on a node that never had it. */
export function makeDemoApi(demo: Demo | null, isDeployed: () => Promise<boolean>) {
  const find = async (tenant: TenantId): Promise<Demo | null> =>
    demo !== null && tenant === DEFAULT_TENANT && (await isDeployed()) ? demo : null
  const show = (found: Demo | null) => ({ available: found !== null, ...(found?.state() ?? NOTHING) })
  return {
    state: async (tenant: TenantId) => show(await find(tenant)),
    async send(tenant: TenantId, options: { readonly count: number; readonly perSecond: number }) {
      const found = await find(tenant)
      if (found === null) throw new AppError('demo_unavailable')
      return { sending: found.send(options) }
    },
    async stop(tenant: TenantId) {
      const found = await find(tenant)
      found?.stop()
      return show(found)
    },
  }
}
