// The destination of log lines: one file descriptor, written in the background, one write at a time. A file that has
// grown to its limit is renamed to `.1`, older ones move up, and the oldest is removed.
//
// Not pino's own destination: its flush at exit repeats a failed write for ever, so a full disk would keep a dying
// process alive. Here a log that cannot be written costs lines, never the engine.
//
// Invariants: lines stay in order. A bounded length is buffered; more is dropped and counted. No call throws, and none
// waits for the disk except `flush` and `close`, which give up on the first failure.

import { closeSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, write, writeSync } from 'node:fs'
import { dirname } from 'node:path'

const WRITE_AT_LENGTH = 65_536
/** A page holds what is written at once, and lines that arrive in the same turn. */
const PAGE_BYTES = 2 * WRITE_AT_LENGTH
const FLUSH_MS = 200
const RETRY_MS = 1_000
const CLOSE_MS_MAX = 2_000
/** More is waiting than may be buffered. */
const NO_ROOM = -1

export interface Sink {
  write(text: string): void
  /** One line, which `encode` puts into the page: at most `bytesMax` bytes. It returns where the line ends. */
  put<Line>(bytesMax: number, encode: (page: Buffer, start: number, line: Line) => number, line: Line): void
  /** Settles when everything written before is out, or is known to have failed. */
  flush(): Promise<void>
  close(): Promise<void>
}

type Encode = <Line>(
  bytesMax: number,
  encode: (page: Buffer, start: number, line: Line) => number,
  line: Line,
) => number

export interface Rotation {
  readonly bytesMax: number
  /** Besides the one that is written. */
  readonly files: number
}

export interface SinkOptions {
  /** `stdout`, `stderr` or the path of a file that is appended to. */
  readonly destination: string
  /** Bytes that may be buffered. */
  readonly lengthMax: number
  /** When a file is rotated, and how many rotated files stay; omitted: never. */
  readonly rotation?: Rotation
  /** A line that says that this many lines were lost; written when the sink works again. */
  dropped(lines: number): string
}

export function makeSink(options: SinkOptions): Sink {
  const { rotation } = options
  const opened = openDestination(options.destination)
  const { owned } = opened
  let { fd, length } = opened
  // Bytes, not strings: lines are encoded one after the other into one page, which is used again once it is written.
  let waiting: Buffer[] = []
  let page: Buffer = Buffer.allocUnsafeSlow(PAGE_BYTES)
  let pageUsed = 0
  let spare: Buffer | null = null
  let waitingLength = 0
  let writing = false
  /** The last write failed: lines wait for the next attempt, which happens by itself. */
  let failing = false
  let lost = 0
  let closed = false
  let timer: NodeJS.Timeout | null = null
  let idlers: (() => void)[] = []

  const wakeIdlers = () => {
    const woken = idlers
    idlers = []
    for (const wake of woken) wake()
  }

  const schedule = (delayMs: number) => {
    timer ??= setTimeout(start, delayMs).unref()
  }

  const unschedule = () => {
    if (timer !== null) clearTimeout(timer)
    timer = null
  }

  /** What is in the page becomes a chunk, and another page takes its place. */
  const turnPage = () => {
    if (pageUsed === 0) return
    waiting.push(page.subarray(0, pageUsed))
    page = spare ?? Buffer.allocUnsafeSlow(PAGE_BYTES)
    spare = null
    pageUsed = 0
  }

  const takeWaiting = (): Buffer => {
    turnPage()
    const [first] = waiting
    const chunk = waiting.length === 1 && first !== undefined ? first : Buffer.concat(waiting, waitingLength)
    waiting = []
    waitingLength = 0
    return chunk
  }

  /** Nothing refers to the bytes of a written chunk any more: its page is kept for the next lines. */
  const reuse = (chunk: Buffer) => {
    if (chunk.buffer.byteLength === PAGE_BYTES && chunk.buffer !== page.buffer)
      spare ??= Buffer.from(chunk.buffer)
  }

  const keepApart = (bytes: Buffer): number => {
    if (waitingLength + bytes.length > options.lengthMax) return NO_ROOM
    turnPage()
    waiting.push(bytes)
    return bytes.length
  }

  const keepInPage = (length: number): number => {
    if (waitingLength + length > options.lengthMax) return NO_ROOM
    pageUsed += length
    return length
  }

  /** The bytes that the text takes. */
  const encodeText = (text: string): number => {
    // A character takes three bytes at most.
    const most = text.length * 3
    if (most > PAGE_BYTES) return keepApart(Buffer.from(text))
    if (pageUsed + most > PAGE_BYTES) turnPage()
    return keepInPage(page.write(text, pageUsed))
  }

  /** The same for a line that is encoded in place. */
  const encodeLine: Encode = (bytesMax, encode, line) => {
    if (bytesMax > PAGE_BYTES) {
      const bytes = Buffer.allocUnsafe(bytesMax)
      return keepApart(bytes.subarray(0, encode(bytes, 0, line)))
    }
    if (pageUsed + bytesMax > PAGE_BYTES) turnPage()
    return keepInPage(encode(page, pageUsed, line) - pageUsed)
  }

  const putFirst = (chunk: Buffer) => {
    waiting.unshift(chunk)
    waitingLength += chunk.length
  }

  const start = () => {
    unschedule()
    if (writing || waitingLength === 0) return
    const chunk = takeWaiting()
    writing = true
    step(chunk)
  }

  const step = (chunk: Buffer) => {
    write(fd, chunk, 0, chunk.length, null, (error, bytes) => {
      if (error === null) length += bytes
      if (error === null && bytes < chunk.length) return step(chunk.subarray(bytes))
      writing = false
      if (closed) return
      if (error === null) {
        reuse(chunk)
        succeed()
      } else fail(chunk)
    })
  }

  /** Between two writes. If it fails the file grows on, and the next chunk tries again. */
  const rotate = ({ files }: Rotation) => {
    const path = options.destination
    try {
      rmSync(`${path}.${files}`, { force: true })
      for (let number = files - 1; number >= 1; number -= 1)
        renameIfThere(`${path}.${number}`, `${path}.${number + 1}`)
      renameSync(path, `${path}.1`)
      const old = fd
      fd = openSync(path, 'a', 0o600)
      closeSync(old)
    } catch {
      // Lines matter more than the size of the file.
    }
    length = 0
  }

  const succeed = () => {
    failing = false
    if (rotation !== undefined && owned && length >= rotation.bytesMax) rotate(rotation)
    if (lost > 0) {
      putFirst(Buffer.from(options.dropped(lost)))
      lost = 0
    }
    if (waitingLength === 0) wakeIdlers()
    else if (waitingLength >= WRITE_AT_LENGTH || idlers.length > 0) start()
    else schedule(FLUSH_MS)
  }

  /** A full disk, a closed pipe, a busy terminal. */
  const fail = (chunk: Buffer) => {
    failing = true
    if (chunk.length + waitingLength <= options.lengthMax) putFirst(chunk)
    else lost += countLines(chunk)
    wakeIdlers()
    schedule(RETRY_MS)
  }

  /** The last chance of a process that ends without closing: one attempt, no waiting. */
  const onExit = () => {
    try {
      writeSync(fd, takeWaiting())
    } catch {
      // There is nowhere left to report it.
    }
  }
  process.on('exit', onExit)

  const flush = () =>
    new Promise<void>((resolve) => {
      if (closed || (!writing && waitingLength === 0)) return resolve()
      idlers.push(resolve)
      start()
    })

  const noteWaiting = (bytes: number) => {
    waitingLength += bytes
    if (writing || failing) return
    if (waitingLength >= WRITE_AT_LENGTH) start()
    else schedule(FLUSH_MS)
  }

  return {
    write: (text) => {
      if (closed) return
      const bytes = encodeText(text)
      if (bytes === NO_ROOM) lost += countLines(Buffer.from(text))
      else noteWaiting(bytes)
    },
    put: (bytesMax, encode, line) => {
      if (closed) return
      const bytes = encodeLine(bytesMax, encode, line)
      if (bytes === NO_ROOM) lost += 1
      else noteWaiting(bytes)
    },
    flush,
    close: async () => {
      if (closed) return
      await within(CLOSE_MS_MAX, flush())
      closed = true
      unschedule()
      process.off('exit', onExit)
      // During a write the descriptor stays open: its number could otherwise be reused for another file.
      if (owned && !writing) closeSync(fd)
    },
  }
}

function openDestination(destination: string): { fd: number; owned: boolean; length: number } {
  if (destination === 'stdout') return { fd: 1, owned: false, length: 0 }
  if (destination === 'stderr') return { fd: 2, owned: false, length: 0 }
  mkdirSync(dirname(destination), { recursive: true, mode: 0o700 })
  const fd = openSync(destination, 'a', 0o600)
  const found = fstatSync(fd)
  // A pipe or a device is written, and never renamed.
  return { fd, owned: true, length: found.isFile() ? found.size : Number.NEGATIVE_INFINITY }
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

async function within(limitMs: number, promise: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs)
  })
  await Promise.race([promise, limit])
  clearTimeout(timer)
}

function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines += 1
  return lines
}
