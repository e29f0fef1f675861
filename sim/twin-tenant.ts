// The name of the tenant that is the shop's twin (twin.ts).

import type { TenantId } from '../src/core/foundation/ids/index.ts'

export const TWIN = 'twin' as TenantId
