// A small cache of recent reads: bounded in number and in age, the least recently used is evicted first.
//
// Time is an argument of every call. Invariant: a result read before a `forget` is never stored after it, or a read in flight
// would undo a change made here.

export interface Cache<Value> {
  /** undefined: absent, or too old. */
  get(key: string, nowMs: number): Value | undefined
  /** Begins a read; the returned function stores its result, unless something was forgotten meanwhile. */
  reading(): (key: string, value: Value, nowMs: number) => void
  forget(key: string): void
  readonly size: number
}

export function makeCache<Value>(limits: {
  readonly entriesMax: number
  readonly ageMsMax: number
}): Cache<Value> {
  // A Map preserves the order of insertion: the first is the least recently used.
  const entries = new Map<string, { readonly value: Value; readonly untilMs: number }>()
  let forgotten = 0
  /** The latest of them, as far as known. */
  let latest: string | null = null
  return {
    get(key, nowMs) {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      const isFresh = nowMs < entry.untilMs
      if (isFresh && key === latest) return entry.value
      entries.delete(key)
      if (!isFresh) return undefined
      entries.set(key, entry)
      latest = key
      return entry.value
    },
    reading() {
      const before = forgotten
      return (key, value, nowMs) => {
        if (forgotten !== before) return
        entries.delete(key)
        if (entries.size >= limits.entriesMax) entries.delete(entries.keys().next().value as string)
        entries.set(key, { value, untilMs: nowMs + limits.ageMsMax })
        latest = key
      }
    },
    forget(key) {
      forgotten += 1
      entries.delete(key)
    },
    get size() {
      return entries.size
    },
  }
}
