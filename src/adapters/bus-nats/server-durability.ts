// Whether a server has a message on its disk when it acknowledges it. No server reports that to its clients; those
// before version 2.10 are known never to have it.

const SAFE =
  'Events that were accepted here are safe, the store has them; what others published and was not taken yet, and what was told to others, may be missing after a power failure'

/** About another system's stream that a source reads; null: there is nothing to say. */
export function describeSource(stream: string, isInMemory: boolean): string | null {
  if (!isInMemory) return null
  return `the stream ${stream} is in the memory of the server alone: messages that were not taken yet are gone when it restarts; keep it in files (storage: file), or mind the gap`
}

export function describeSync(
  version: string | null,
  isInMemory: boolean,
): { readonly isSynced: boolean | null; readonly warning: string | null } {
  if (version === null) return { isSynced: null, warning: null }
  if (isInMemory) {
    return { isSynced: false, warning: `NATS ${version} keeps a stream of Millrace in memory alone. ${SAFE}` }
  }
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < 2 || (major === 2 && minor < 10)) {
    return {
      isSynced: false,
      warning: `NATS ${version} acknowledges messages before they are on its disk, which it writes every two minutes. ${SAFE}`,
    }
  }
  return {
    isSynced: null,
    warning: `NATS ${version} does not say whether messages are on its disk when it acknowledges them; by default they are not: set \`sync_interval: always\` in its \`jetstream\` block. ${SAFE}`,
  }
}
