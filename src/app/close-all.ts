// Closes the parts of a node, one after the other.

/** Runs every step, in order, whether or not the ones before succeeded. */
export async function closeAll(
  steps: readonly (() => unknown)[],
  onFailure: (error: unknown) => void,
): Promise<void> {
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      onFailure(error)
    }
  }
}

export async function closeQuietly(parts: readonly AsyncDisposable[]): Promise<void> {
  for (const part of parts) {
    try {
      await part[Symbol.asyncDispose]()
    } catch {
      // The first error is the one to report.
    }
  }
}
