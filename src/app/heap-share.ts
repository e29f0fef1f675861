// How many bytes of events a node holds in memory if `MILLRACE_RUNNING_BYTES` is `auto`: as much as its heap has room
// for.

const MIB = 1_048_576
/**
 * Of the heap, for everything but events in memory: loaded code, the young generation, and bodies that are being
 * received.
 */
const RESERVE = 144 * MIB
const LEAST = 4 * MIB

/**
 * What is made of an event in memory (its text, its values, its request) is several times its size. Measured with a heap of 128 MB
 * (`heap_size_limit` 176 MiB), 16 senders of 1 MB bodies and a kill -9: with an eighth of the whole heap, 22 MiB, the node ran out of memory in
 * 3 of 4 runs (those with 90 and 160 events; the one with 56 held out); with 4 MiB in none of 7 (56 to 160 events).
 */
export function runningBytesOf(heapBytesMax: number): number {
  return Math.max(LEAST, Math.floor((heapBytesMax - RESERVE) / 8))
}
