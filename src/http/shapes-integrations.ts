// Providers, connections, credentials and runs as the API shows them. None of these contains the value of a secret, so nothing is removed;
// only requests and responses are hidden from viewers, because they may quote the sensitive data of an event.

import type { ProbeResult } from '../core/connections/connection/index.ts'
import type { CredentialVersion } from '../core/connections/credential/index.ts'
import type { ProviderDocument } from '../core/definitions/documents/index.ts'
import type { Run, RunAttempt } from '../core/effects/integration-run/index.ts'
import type {
  ConnectionDetail,
  ConnectionView,
  CredentialView,
  ProviderView,
} from '../engine/connections/index.ts'
import { iso, isoOrNull } from './shapes.ts'

export function showProvider({ document, managedBy, connections }: ProviderView) {
  const { name, title, description, category, auth, capabilities, deprecated, inbound } = document
  return {
    name,
    title,
    description,
    category,
    auth,
    capabilities,
    deprecated,
    inbound,
    managedBy,
    connections,
    operations: Object.keys(document.operations).sort(),
    canProbe: document.probe !== null,
    canRotate: document.rotation !== null,
  }
}

export function showProviderDetail(view: ProviderView) {
  const { document } = view
  const { baseUrl, endpoints, config, buckets, oauth2, authentication } = document
  return {
    ...showProvider(view),
    baseUrl,
    endpoints,
    config,
    buckets,
    authentication,
    oauth2:
      oauth2 === null ? null : { scopes: oauth2.scopes, hasAuthorizationCode: oauth2.authorizeUrl !== null },
    operations: Object.values(document.operations).map(showOperation),
  }
}

function showOperation(operation: ProviderDocument['operations'][string]) {
  const {
    name,
    description,
    method,
    path,
    input,
    output,
    idempotency,
    keyTtlMs,
    scopes,
    deprecated,
    timeoutMs,
  } = operation
  return {
    name,
    description,
    method,
    path,
    input,
    output,
    idempotency,
    keyTtlMs,
    scopes,
    deprecated,
    timeoutMs,
  }
}

export function showConnection({ document, managedBy, state, lastProbe, buckets }: ConnectionView) {
  const { name, description, provider, credential, config, endpoints, probe } = document
  const { circuit, override } = state
  return {
    id: name,
    name,
    description,
    provider,
    credential,
    config,
    endpoints,
    probeEveryMs: probe?.everyMs ?? null,
    managedBy,
    status: state.status,
    health: state.health,
    lastTest: state.lastTest === null ? null : showProbe(state.lastTest),
    lastProbe: lastProbe === null ? null : showProbe(lastProbe),
    circuit: {
      state: circuit.state,
      since: circuit.state === 'closed' ? null : iso(circuit.since),
      openedBy: circuit.state === 'closed' ? null : (circuit.by ?? 'calls'),
      tryAt: circuit.state === 'closed' ? null : iso(circuit.tryAt),
      class: circuit.state === 'closed' ? null : circuit.class,
      override:
        override === null
          ? null
          : {
              is: override.is,
              reason: override.reason,
              by: override.by,
              since: iso(override.since),
              until: isoOrNull(override.until),
            },
    },
    retired:
      state.retired === null
        ? null
        : { by: state.retired.by, reason: state.retired.reason, at: iso(state.retired.at) },
    buckets: buckets.map((bucket) => ({ ...bucket, closedUntil: isoOrNull(bucket.closedUntil) })),
    updatedAt: iso(state.updatedAt),
  }
}

export function showConnectionDetail(view: ConnectionDetail) {
  return { ...showConnection(view), history: view.health.map(showProbe) }
}

export function showProbe({ window, at, isUnverified, ...result }: ProbeResult) {
  return {
    ...result,
    at: iso(at),
    window: iso(window),
    ...(isUnverified === true && { unverified: true }),
  }
}

export function showCredential({ document, managedBy, state, connections, nextRotationAt }: CredentialView) {
  const { name, description, provider, auth, secret, rotation, oauth2 } = document
  return {
    id: name,
    name,
    description,
    provider,
    auth,
    grant: oauth2?.grant ?? null,
    secret,
    managedBy,
    status: state.status,
    version: state.current?.version ?? null,
    fingerprint: state.current?.fingerprint ?? null,
    versions: state.versions.map(showVersion),
    connections,
    rotation: {
      everyMs: rotation.everyMs,
      coolDownMs: rotation.coolDownMs,
      overlapMs: rotation.overlapMs,
      nextAt: isoOrNull(nextRotationAt),
      lastAt: isoOrNull(state.lastRotatedAt),
      underWay:
        state.rotation === null
          ? null
          : {
              reason: state.rotation.reason,
              note: state.rotation.note,
              by: state.rotation.by,
              begunAt: iso(state.rotation.begunAt),
              workId: state.rotation.workId,
            },
      lastFailure:
        state.lastFailure === null
          ? null
          : {
              at: iso(state.lastFailure.at),
              error: state.lastFailure.error,
              version: state.lastFailure.version,
            },
    },
    tokenExpiresAt: isoOrNull(state.token?.expiresAt ?? null),
    updatedAt: iso(state.updatedAt),
  }
}

function showVersion({ version, fingerprint, since, by, state }: CredentialVersion) {
  return { version, fingerprint, since: iso(since), by, state }
}

/** `seesHeads`: what was sent and answered. */
export function showRun(run: Run, seesHeads: boolean) {
  const { attempts, createdAt, updatedAt, tenant: _, ...row } = run
  return {
    ...row,
    attempts: attempts.map((attempt) => showRunAttempt(attempt, seesHeads)),
    createdAt: iso(createdAt),
    updatedAt: iso(updatedAt),
  }
}

function showRunAttempt({ startedAt, request, response, ...attempt }: RunAttempt, seesHeads: boolean) {
  return {
    ...attempt,
    startedAt: iso(startedAt),
    request: seesHeads ? request : null,
    response: seesHeads ? response : null,
  }
}
