// Checks flow control, order and batching of one route: fields that exclude each other, and times that cannot work out.
// Reads the route as written, valid or not.

import { formatDuration, isSameFormula, parseDuration, readFormula } from '../core/expression/index.ts'
import type { JsonValue } from '../core/foundation/json/index.ts'
import { checkBatched } from './actions/index.ts'
import type { Remark } from './finding.ts'
import { changeOf, isTelling } from './key-words.ts'
import { DEBOUNCE_WINDOWS, MAX_WAIT_MS } from './kinds/parts.ts'
import { clashOfForEach, EVENT_LANE } from './short-forms.ts'
import { type Fields, fieldsOf, reads } from './written.ts'

export function checkBuffers(route: Fields): readonly Remark[] {
  return [
    ...checkLanes(route),
    ...checkVersion(fieldsOf(route.order)),
    ...checkGroups(route),
    ...checkBatch(route),
    ...checkDebounce(route),
    ...checkNote(fieldsOf(route.keyMigration)),
    ...checkForEach(route),
  ]
}

function milliseconds(value: JsonValue | undefined): number | null {
  return typeof value === 'string' ? parseDuration(value) : null
}

// --- Lanes: a job is in one

function checkLanes(route: Fields): readonly Remark[] {
  const order = fieldsOf(route.order).by
  const debounce = fieldsOf(route.debounce).by
  const concurrency = fieldsOf(route.concurrency).by
  const remarks: Remark[] = []
  if (concurrency !== undefined && (order !== undefined || debounce !== undefined)) {
    const other = order === undefined ? 'debounce' : 'order'
    const message = `\`${other}\` lets one item of a value run at a time already: leave out \`concurrency.by\`, or \`${other}\``
    remarks.push({ rule: 'lanes', message, path: ['concurrency', 'by'], onKey: true })
  }
  if (typeof order === 'string' && typeof debounce === 'string' && !isSameFormula(order, debounce)) {
    const message = `an item stands in one lane: \`debounce.by\` is the same as \`order.by\`, \`${order}\``
    remarks.push({ rule: 'lanes', message, path: ['debounce', 'by'], suggestedText: order })
  }
  return remarks
}

function checkVersion({ by, version, stale }: Fields): readonly Remark[] {
  if (stale === 'skip' && version === undefined) {
    const message = '`stale: skip` needs a `version` to tell what is older'
    return [{ rule: 'stale', message, path: ['order', 'stale'], onKey: true }]
  }
  if (version === undefined || stale !== undefined || by === undefined) return []
  const message = '`version` changes nothing without `stale: skip`: an older one runs all the same'
  return [{ rule: 'stale', severity: 'warning', message, path: ['order', 'version'], onKey: true }]
}

/** A group that is the same for no two events, or for all of them, groups nothing or everything. */
export function checkGroups(route: Fields): readonly Remark[] {
  return ['order', 'debounce', 'concurrency'].flatMap((field): readonly Remark[] => {
    const { by } = fieldsOf(route[field])
    const formula = typeof by === 'string' ? readFormula(by) : null
    if (formula === null) return []
    const path = [field, 'by']
    // The elements of one event belong together.
    const isOfElements = field === 'concurrency' && (route.each ?? route.forEach) !== undefined
    const own = formula.reads.find(
      (read) =>
        changeOf(read) !== null &&
        changeOf(read) !== 'probably' &&
        !(isOfElements && read.path === EVENT_LANE),
    )
    if (own !== undefined) {
      const message = `\`${own.path}\` differs with every event, so that no two belong together: write what the events are about`
      return [{ rule: 'groups', severity: 'warning', message, path }]
    }
    if (field !== 'debounce' || formula.reads.some(isTelling)) return []
    const message =
      'this is the same for every event: one of the whole route would stand for all. Add what the events are about'
    return [{ rule: 'groups', severity: 'warning', message, path }]
  })
}

// --- Batches

function checkBatch(route: Fields): readonly Remark[] {
  if (route.batch === undefined) return []
  const { results, item } = fieldsOf(route.batch)
  const remarks: Remark[] = [...checkBatched(route.do)]
  if ((results === undefined) !== (item === undefined)) {
    const message =
      item === undefined
        ? '`results` needs `item`, to know whose each is and whether it went well: `item: { key: item.ref, ok: item.ok }`'
        : '`item` needs `results`, the list that it reads'
    remarks.push({
      rule: 'batch',
      message,
      path: ['batch', item === undefined ? 'results' : 'item'],
      onKey: true,
    })
  }
  const { http: written } = fieldsOf(route.do)
  const http = fieldsOf(written)
  if (written !== undefined && ![http.body, http.url, http.headers].some((one) => reads(one, 'batch'))) {
    const message =
      'the call says nothing of the items that it stands for: write them with `batch`, as in `{{ batch[*].payload }}`'
    remarks.push({ rule: 'batchSilent', severity: 'warning', message, path: ['do', 'http'], onKey: true })
  }
  return remarks
}

// --- The elements of a list

/** One that is possible was rewritten before. */
function checkForEach(route: Fields): readonly Remark[] {
  const clash = route.forEach === undefined ? null : clashOfForEach(route)
  if (clash === null) return []
  const message =
    clash === 'each'
      ? '`forEach` is short for `each`: keep one'
      : '`forEach.parallel` is short for `concurrency`: keep one'
  const path = clash === 'each' ? ['forEach'] : ['forEach', 'parallel']
  return [{ rule: 'together', message, path, onKey: true }]
}

// --- Times

function checkDebounce(route: Fields): readonly Remark[] {
  const { window, maxWait } = fieldsOf(route.debounce)
  if (window !== undefined && route.delay !== undefined) {
    const message = '`debounce` puts a job off already, for its `window`: leave out `delay`'
    return [{ rule: 'together', message, path: ['delay'], onKey: true }]
  }
  const [windowMs, maxWaitMs] = [milliseconds(window), milliseconds(maxWait)]
  if (windowMs === null) return []
  if (maxWaitMs !== null && maxWaitMs < windowMs) {
    const message = `the window never ends by itself: after \`maxWait\` (${maxWait}) one is done, before it was quiet for ${window}. \`maxWait\` is at least the window`
    return [{ rule: 'times', message, path: ['debounce', 'maxWait'], suggestedText: String(window) }]
  }
  const latestMs = maxWaitMs ?? DEBOUNCE_WINDOWS * windowMs
  const routeWaitMs = milliseconds(route.maxWait) ?? MAX_WAIT_MS
  if (latestMs <= routeWaitMs) return []
  const message = `an item may be kept waiting for ${formatDuration(latestMs)}, longer than \`maxWait\` of the route (${formatDuration(routeWaitMs)}): people will look for it before it is due`
  const path = ['debounce', maxWait === undefined ? 'window' : 'maxWait']
  return [{ rule: 'times', severity: 'warning', message, path }]
}

function checkNote({ note }: Fields): readonly Remark[] {
  if (typeof note !== 'string' || note.trim() !== '') return []
  const message = 'say why no effect is repeated or lost by the change of the key'
  return [{ rule: 'missing', message, path: ['keyMigration', 'note'] }]
}
