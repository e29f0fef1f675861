// Events from a connector's vendor: a request signed by its scheme is accepted, one with another secret is not, and its
// mapping names the event.

import { describe, expect, test } from 'vitest'
import type { ProviderDocument, SourceDocument, VerifyDocument } from '../core/definitions/documents/index.ts'
import { hashText } from '../core/foundation/hash/index.ts'
import {
  compileSource,
  MAPPINGS,
  type MappingName,
  signRequest,
  verifySignature,
} from '../core/ingest/source/index.ts'
import type { ConnectorSamples } from './samples.fixture.ts'

export type { ConnectorSamples } from './samples.fixture.ts'

const NOW = 1_700_000_000_000

export function inboundConformance(provider: ProviderDocument, samples: ConnectorSamples): void {
  describe('inbound', () => {
    test('[VN16] what its vendor signs is accepted and named', () => {
      expect(samples.inbound !== undefined).toBe(provider.inbound !== null)
      if (provider.inbound === null || samples.inbound === undefined) return
      const { secret, headers, payload, subject } = samples.inbound
      const verify = { scheme: provider.inbound.scheme, secret: [] } as VerifyDocument
      const body = new TextEncoder().encode(JSON.stringify(payload))
      const signed = { ...headers, ...signRequest(verify, { headers, body, secret, now: NOW, id: 'msg_1' }) }
      const request = { headers: signed, body, now: NOW }
      expect(verifySignature(verify, { ...request, secrets: [secret] })).toEqual({ ok: true })
      expect(verifySignature(verify, { ...request, secrets: [`${secret}x`] }).ok).toBe(false)

      const mapping = provider.inbound.subjects
      if (mapping === null) return
      expect(Object.keys(MAPPINGS)).toContain(mapping)
      const source = compileSource(sourceOf(provider.name, mapping as MappingName, verify))
      const named = source.name({
        header: signed,
        payload,
        tenant: 'default',
        payloadHash: hashText(JSON.stringify(payload)),
      })
      expect(named).toMatchObject({ ok: true, names: { subject } })
    })
  })
}

function sourceOf(name: string, mapping: MappingName, verify: VerifyDocument): SourceDocument {
  const { subject, event } = MAPPINGS[mapping]
  return {
    kind: 'Source',
    name,
    description: null,
    verify,
    subject,
    mapping,
    event,
    dedup: { by: 'event.id', windowMs: 60_000 },
    limits: { bodyBytes: 65_536, depth: 16 },
    status: 'active',
  }
}
