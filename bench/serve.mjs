// What a server under test reports to the harness, over the channel to its parent.

import { getEnvironmentData } from 'node:worker_threads'

/** @param {{ url: string, done(): Promise<number>, completionMs(): Promise<number[]>, close(): Promise<void> }} served */
export function serve(served) {
  const answers = {
    done: () => served.done(),
    completionMs: () => served.completionMs(),
    rssBytes: async () => process.memoryUsage().rss,
    // Promises and statements so far, if count-calls.cjs was loaded.
    counts: async () => [...(getEnvironmentData('bench.counts') ?? [])].map(Number),
    cpuMs: async () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1_000
    },
  }
  process.on('message', (question) => {
    if (question === 'close') {
      void served.close().then(() => process.exit(0))
      return
    }
    void answers[question]().then((value) => process.send?.({ question, value }))
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.({ question: 'url', value: served.url })
}
