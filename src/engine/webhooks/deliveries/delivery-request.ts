// The request to an endpoint: its address, the subscription's own headers and ours, the body, and the signature.
//
// Invariants: DY10 the id is the event's, for every attempt, replay and resend. Nothing is sent unsigned. DY7 values that a
// source declares as sensitive are hidden, unless the subscription says `sensitive: send`.

import { editedFrom, type StoredEvent } from '../../../core/events/event/index.ts'
import { ExpressionError, type Scope } from '../../../core/expression/index.ts'
import type { FailureClass } from '../../../core/failures/failure/index.ts'
import type { TenantId, WorkId } from '../../../core/foundation/ids/index.ts'
import type { JsonValue } from '../../../core/foundation/json/index.ts'
import type { Instant } from '../../../core/foundation/time/index.ts'
import { routeScope, type Vars } from '../../../core/routing/index.ts'
import { SecretError, signDelivery } from '../../../core/webhooks/signing/index.ts'
import { isTestEvent, type Subscription, secretRefOf } from '../../../core/webhooks/subscription/index.ts'
import type { Vault } from '../../../ports/vault.ts'
import { openSecrets } from '../../effects/index.ts'
import { hidingScope, isHiding, isVaultTrouble, placeOfSecret } from '../../secrets/index.ts'

export interface Rendered {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface ToRender {
  readonly work: { readonly id: WorkId }
  readonly event: StoredEvent
  payload(): JsonValue
  header(): JsonValue
}

/**
 * Throws ExpressionError if the condition cannot be evaluated: the endpoint may not be allowed to get the event. A condition
 * that merely became false changes nothing. `scope`: the event as the subscription sees it.
 */
export function mustBeDecided(
  { route, document }: Subscription,
  event: StoredEvent,
  scope: () => Scope,
): void {
  // Our own test event is for the requester alone.
  if (document.where === null || isTestEvent(event)) return
  try {
    route.wants(scope())
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    const at = error.path === undefined ? '' : ` (${error.path})`
    const message = `the condition cannot be decided: ${error.message}${at}`
    throw new ExpressionError(error.code, message, 'where', error.valueType)
  }
}

/** The event as a subscription sees it. */
export function sightOf(
  { document }: Subscription,
  { event, payload, header }: Pick<ToRender, 'event' | 'payload' | 'header'>,
  vars: Vars,
): Scope {
  const whole = routeScope(event, payload(), header(), vars)
  return isHiding(event, document) ? hidingScope(event, document, whole) : whole
}

/**
 * Everything but the signature; without `open`, which provides their values, secrets are hidden. Throws ExpressionError if the
 * condition cannot be evaluated or a template fails, JsonError if the payload cannot be read.
 */
export function renderDelivery(
  subscription: Subscription,
  toRender: ToRender,
  { vars, version }: { readonly vars: Vars; readonly version: string },
  open: (scope: Scope) => Scope = asItIs,
): Rendered {
  const { work, event } = toRender
  let scope: Scope | null = null
  const seen = () => {
    scope ??= open(sightOf(subscription, toRender, vars))
    return scope
  }
  mustBeDecided(subscription, event, seen)
  const original = editedFrom(event)
  const span = work.id.replaceAll('-', '').slice(-16)
  return {
    url: subscription.urlOf(open({ vars: vars(event.tenant) })),
    headers: {
      ...subscription.headersOf(seen),
      'content-type': 'application/json',
      'user-agent': `millrace/${version}`,
      traceparent: `00-${event.traceId}-${span}-01`,
      // A user changed the payload: the endpoint must not mistake it for the source's original.
      ...(original !== null && { 'millrace-edited-from': original }),
    },
    body: subscription.bodyOf(event, seen),
  }
}

const asItIs = (scope: Scope): Scope => scope

export interface ToSign {
  readonly id: string
  readonly at: Instant
  render(open: (scope: Scope) => Scope): Rendered
}

export type Signed =
  | (Rendered & {
      readonly ok: true
      /** The secrets in it beside the signature: they must never be shown. */
      readonly hidden: readonly string[]
    })
  /** Names what is missing, never a value. `class`: omitted if waiting may help. */
  | { readonly ok: false; readonly error: string; readonly class?: FailureClass }

/**
 * Inserts the request's secrets, and signs with all secrets that are valid at this moment. `render` makes the request with
 * them. Throws what the vault throws.
 */
export async function signRequest(
  vault: Vault,
  tenant: TenantId,
  { document, secrets: uses }: Subscription,
  shown: Rendered,
  { id, at, render }: ToSign,
): Promise<Signed> {
  const ref = secretRefOf(document)
  try {
    const opened = await openSecrets(vault, tenant, uses)
    if (!opened.ok) {
      const isLasting = opened.class === 'validation'
      return { ok: false, error: opened.error, ...(isLasting ? { class: opened.class } : {}) }
    }
    const { hidden } = opened
    const rendered = uses.length === 0 ? shown : render(opened.open)
    const secrets = await vault.resolve(tenant, [ref])
    if (secrets.length === 0)
      return { ok: false, error: `${placeOfSecret(ref)} is not set; nothing is sent without a signature` }
    const timestamp = Math.floor(at / 1_000)
    const { signing } = document
    const signature = signDelivery({ signing, secrets, id, timestamp, body: rendered.body })
    return { ...rendered, ok: true, headers: { ...rendered.headers, ...signature }, hidden }
  } catch (error) {
    if (error instanceof SecretError)
      return { ok: false, error: `${placeOfSecret(ref)} cannot sign: ${error.message}` }
    // A secret that cannot be decrypted needs an operator, like one that is not set.
    if (isVaultTrouble(error)) return { ok: false, error: error.message }
    throw error
  }
}
