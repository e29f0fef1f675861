// The chunks of one body, until it is whole. A sender decides how large its chunks are, and a buffer costs far more than a byte: small
// ones are copied into blocks, so that what a body costs follows its bytes and not its chunks.
//
// Invariant: however the body is cut, there are at most `AS_THEY_ARE + 2 + 2 * bytes / BLOCK_BYTES` buffers, with at most twice its bytes
// and one block.

/** Most bodies have one chunk or two: the first few are not copied. */
const AS_THEY_ARE = 8
const BLOCK_BYTES = 16_384

export interface Gatherer {
  readonly size: number
  add(chunk: Buffer): void
  /** Once, at the end; the chunks are let go. */
  whole(): Buffer
}

export function makeGatherer(): Gatherer {
  return new Chunks()
}

class Chunks implements Gatherer {
  size = 0
  #first: Buffer | null = null
  #buffers: Buffer[] | null = null
  /** Open for more; comes after all the others. */
  #block: Buffer | null = null
  #filled = 0

  add(chunk: Buffer): void {
    this.size += chunk.length
    if (this.#first === null) {
      this.#first = chunk
      return
    }
    this.#buffers ??= [this.#first]
    if (this.#buffers.length < AS_THEY_ARE) {
      this.#buffers.push(chunk)
      return
    }
    if (this.#block !== null && this.#filled + chunk.length > BLOCK_BYTES) this.#closeBlock(this.#buffers)
    if (chunk.length >= BLOCK_BYTES) {
      this.#buffers.push(chunk)
      return
    }
    this.#block ??= Buffer.allocUnsafeSlow(BLOCK_BYTES)
    this.#filled += chunk.copy(this.#block, this.#filled)
  }

  whole(): Buffer {
    const buffers = this.#buffers
    const first = this.#first
    this.#buffers = this.#first = null
    if (buffers === null) return first ?? EMPTY
    this.#closeBlock(buffers)
    return Buffer.concat(buffers, this.size)
  }

  #closeBlock(buffers: Buffer[]): void {
    if (this.#block === null) return
    buffers.push(this.#block.subarray(0, this.#filled))
    this.#block = null
    this.#filled = 0
  }
}

const EMPTY = Buffer.alloc(0)
