// Reads one page of a poller: an http request or an operation, with the address, credential, limits, circuits and integration runs of
// every other call. Reading has no effect, so that it needs no entry in the ledger and may be repeated.

import {
  type HttpAction,
  type OperationAction,
  parseResponse,
  type RenderedRequest,
} from '../../core/effects/action/index.ts'
import type { Scope } from '../../core/expression/index.ts'
import type { JsonValue } from '../../core/foundation/json/index.ts'
import {
  nextLink,
  type PolledPage,
  type Poller,
  type PollFault,
  type PollWindow,
  pageParam,
} from '../../core/polling/poller/index.ts'
import type { EngineBase } from '../commit/index.ts'
import type { EngineConfig } from '../config.ts'
import type { Connections } from '../connections/index.ts'
import { connectionOf } from '../definitions/index.ts'
import {
  type Call,
  type FlowControl,
  hostOf,
  type InternalCall,
  type OpenHttp,
  type Performed,
  sendFor,
  verdictOf,
} from '../effects/index.ts'
import type { Item } from '../leases/index.ts'
import type { Decisions } from '../settlement/index.ts'

export type PageRead =
  | { readonly is: 'page'; readonly items: readonly JsonValue[]; readonly page: PolledPage }
  | { readonly is: 'fault'; readonly fault: PollFault }
  /** The stored address of the next page is on another server than the request of today: nothing is sent there. */
  | { readonly is: 'moved' }
  /** Not now: without using an attempt. */
  | { readonly is: 'wait'; readonly delayMs: number; readonly why: string }
  | { readonly is: 'failed'; readonly performed: Performed }

/** Throws ExpressionError if the request cannot be rendered. */
export type ReadPage = (item: Item, poller: Poller, window: PollWindow) => Promise<PageRead>

export function makeReadPage(
  deps: Pick<EngineBase, 'clock' | 'http' | 'vars'> & {
    readonly connections: Pick<Connections, 'calls' | 'operations'>
    readonly openHttp: OpenHttp
    readonly flowControl: FlowControl
    readonly decisions: Decisions
  },
  config: Pick<EngineConfig, 'responseBytesMax'>,
): ReadPage {
  const { clock, http, vars, decisions, flowControl, openHttp } = deps
  const { calls, operations } = deps.connections

  const callOf = (item: Item, poller: Poller, window: PollWindow): Call => {
    const { route } = poller
    const { tenant } = item.work
    const scope: Scope = { ...poller.requestScope(window), tenant, vars: vars(tenant) }
    const key = `${poller.consumer}:${window.openedAt}:${window.pages}`
    const plain: InternalCall = { item, route, key, scope }
    const internal = connectionOf(route.document.do) === null ? plain : calls.through(plain)
    const { action } = route
    const call =
      action.type === 'operation'
        ? operations.callOf(internal, withInput(action, window, poller))
        : httpCall(internal, withQuery(action as HttpAction, window, poller))
    return call.through === undefined ? call : calls.around(call)
  }

  const httpCall = (internal: InternalCall, action: HttpAction): Call => {
    const request = action.render(internal.scope, internal.key)
    const shown = { ...internal, action, request: internal.through?.locate(request) ?? request }
    return openHttp(shown, action, internal.key)
  }

  const send = async (call: Call): Promise<Performed> => {
    const options = { timeoutMs: call.action.abilities.timeoutMs, maxResponseBytes: config.responseBytesMax }
    const sent = await sendFor(call, http, call.request, options)
    const verdict = verdictOf(sent, call.action.policy, { decisions, now: clock.now() })
    return { outcome: sent.outcome, verdict, ...(sent.error === null ? {} : { error: sent.error }) }
  }

  const meaningOf = ({ rules, readPage }: Poller, call: Call, { outcome, value }: Performed): PageRead => {
    const response = outcome.kind === 'response' ? parseResponse(outcome) : null
    const next = rules.paging.style === 'link' ? nextLink(response?.headers.link, call.request.url) : NO_LINK
    if (!next.ok) return { is: 'fault', fault: next.fault }
    const { link } = next
    if (link !== null && new URL(link).origin !== new URL(call.request.url).origin) {
      const message = `the next page is at ${new URL(link).origin}, and a page is read only where the first one is`
      return { is: 'fault', fault: { code: 'foreign_link', message } }
    }
    const read = readPage(value ?? ((response ?? null) as JsonValue), link)
    return read.ok ? { is: 'page', items: read.items, page: read.page } : { is: 'fault', fault: read.fault }
  }

  return async (item, poller, window) => {
    const { route } = poller
    const call = callOf(item, poller, window)
    if (poller.rules.paging.style === 'link' && window.next !== null) {
      const today = callOf(item, poller, { ...window, next: null })
      if (originOf(today.request.url) !== originOf(call.request.url)) return { is: 'moved' }
    }
    const host = hostOf(call.request.url)
    const preparing = flowControl.prepare(item, route)
    if (preparing !== null) await preparing
    const perform = call.prepare === undefined ? call.perform : await call.prepare()
    const closed = flowControl.mayCall(item, route, host)
    if (closed !== null) return { is: 'wait', ...closed }
    let isMade = false
    try {
      const beside = await call.beside?.()
      if (beside?.ok === false) return { is: 'wait', delayMs: beside.delayMs, why: beside.why }
      isMade = true
      const performed = await (perform?.(Number.POSITIVE_INFINITY) ?? send(call))
      const { outcome, verdict, wait } = performed
      const isUnmade = outcome.kind === 'failed' && outcome.sent === 'no' && outcome.code === 'blocked'
      flowControl.reportResult({
        item,
        route,
        host: isUnmade ? null : host,
        class: verdict.as === 'done' ? 'done' : verdict.class,
        retryAfterMs: verdict.as === 'done' ? null : verdict.retryAfterMs,
        ...(wait === undefined ? {} : { isSeenTo: true }),
      })
      if (wait !== undefined) return { is: 'wait', ...wait }
      return verdict.as === 'done' ? meaningOf(poller, call, performed) : { is: 'failed', performed }
    } finally {
      if (!isMade) flowControl.unused(item, route, host)
    }
  }
}

const NO_LINK = { ok: true, link: null } as const

function originOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).origin : null
}

/** The address of the next page, or the address with its parameter. */
function withQuery(action: HttpAction, window: PollWindow, { rules: { paging } }: Poller): HttpAction {
  const param = pageParam(window, paging)
  const addressOf = (url: string): string => {
    if (paging.style === 'link' && window.next !== null) return window.next
    if (param === null) return url
    const pair = `${encodeURIComponent(param.name)}=${encodeURIComponent(param.value)}`
    return `${url}${url.includes('?') ? '&' : '?'}${pair}`
  }
  return {
    ...action,
    render(scope, key): RenderedRequest {
      const { url, headers, ...rest } = action.render(scope, key)
      const { 'idempotency-key': _key, ...sent } = headers
      return { ...rest, url: addressOf(url), headers: sent }
    },
  }
}

function withInput(
  action: OperationAction,
  window: PollWindow,
  { rules: { paging } }: Poller,
): OperationAction {
  const param = pageParam(window, paging)
  if (param === null) return action
  const value = paging.style === 'cursor' ? param.value : Number(param.value)
  return {
    ...action,
    input: (scope) => ({
      ...(action.input(scope) as { readonly [name: string]: JsonValue }),
      [param.name]: value,
    }),
  }
}
