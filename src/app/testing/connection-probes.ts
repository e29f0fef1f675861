// The probes by which a node tests connections by itself. A flow test is not about them: where it writes no answer for one, it succeeds.

import { BUILT_IN_PROVIDERS } from '../../connectors/index.ts'
import { resolveAddresses } from '../../core/connections/connection/index.ts'
import type { DefinitionDocument, ProviderDocument } from '../../core/definitions/documents/index.ts'
import { ExpressionError } from '../../core/expression/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import type { CallAddress } from '../../core/testing/flow-test/index.ts'

export function probesOf(
  documents: readonly DefinitionDocument[],
  vars: Readonly<Record<string, JsonValue>>,
): readonly CallAddress[] {
  const own = documents.filter((one): one is ProviderDocument => one.kind === 'Provider')
  const providers = [...own, ...BUILT_IN_PROVIDERS]
  return documents.flatMap((document): readonly CallAddress[] => {
    if (document.kind !== 'Connection') return []
    const provider = providers.find(({ name }) => name === document.provider)
    if (provider === undefined || provider.probe === null) return []
    const { method, path, query } = provider.probe
    const end = Object.keys(query).length > 0 ? '*' : ''
    try {
      const { base } = resolveAddresses(provider, document, vars)
      return [{ method, url: `${base}${path.replaceAll(/\{\{.*?\}\}/g, '*')}${end}` }]
    } catch (error) {
      // It cannot be called either, and the calls of the test say so.
      if (error instanceof ExpressionError) return []
      throw error
    }
  })
}
